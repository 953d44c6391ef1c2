import BluetoothHCI
import BluetoothHost

// The clients of the phone's own services: between the GATT layer, which carries out what they ask, and the system, where
// what they report ends.

extension Firmware {
    /// When one of the clients has something to do.
    var nextPhoneClientDeadline: Duration? {
        links.keys.reduce(nil) { Duration.earlier($0, links[$1]?.clients.nextDeadline) }
    }

    mutating func advancePhoneClients(to now: Duration) {
        for connection in links.keys { links[connection]?.clients.advance(to: now) }
    }

    /// Moves what can be moved between a link's clients, the GATT layer and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpPhoneClients(of connection: ConnectionHandle, at now: Duration) -> Bool {
        var moved = false
        links[connection]?.clients.media.holdBack(system.services.music.isTaken(from: connection))
        while let event = links[connection]?.clients.notifications.nextEvent() {
            moved = true
            if case .problem(let problem) = event { report(.notifications(problem), on: connection) }
            _ = system.withServices(at: now) { $0.receive(event, from: connection, in: &$1) }
        }
        while let event = links[connection]?.clients.media.nextEvent() {
            moved = true
            if case .problem(let problem) = event { report(.media(problem), on: connection) }
            _ = system.withServices(at: now) { $0.receive(event, from: connection, in: &$1) }
        }
        while let event = links[connection]?.clients.time.nextEvent() {
            moved = true
            if case .problem(let problem) = event { report(.time(problem), on: connection) }
            _ = system.withServices(at: now) { $0.receive(event, in: &$1) }
        }
        for change in links[connection]?.clients.takeChanges() ?? [] { emit(.phoneService(connection, change)) }
        while let (kind, procedure) = links[connection]?.clients.nextProcedure(at: now) {
            moved = true
            run(procedure, for: .client(kind), on: connection, at: now)
        }
        return moved
    }

    /// Hands the clients what the system wants to be done on phones.
    /// - Returns: whether there was anything.
    mutating func pumpPhoneRequests(at now: Duration) -> Bool {
        var moved = false
        while let request = system.nextPhoneRequest() {
            moved = true
            switch request {
            case .act(let action, let source):
                links[source.connection]?.clients.notifications.perform(action, of: source.uid)
            case .music(let command, let connection):
                links[connection]?.clients.media.send(command)
            }
        }
        return moved
    }

    /// The link is gone, and with it the phone's services.
    mutating func phoneServicesLost(on connection: ConnectionHandle, at now: Duration) {
        for kind in links[connection]?.clients.used ?? [] { emit(.phoneService(connection, .ended(kind))) }
        _ = system.withServices(at: now) { $0.phoneGone(connection, in: &$1) }
    }

    private mutating func report(_ problem: PhoneServiceProblem, on connection: ConnectionHandle) {
        emit(.phoneService(connection, .problem(problem)))
    }
}
