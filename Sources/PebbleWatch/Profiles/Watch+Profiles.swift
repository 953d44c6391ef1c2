import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The watch and its GATT services: what they are told, and what phones ask for by them.

extension Watch {
    /// Gives a GATT event to the service that it concerns, and does what phones ask for by it.
    mutating func handleByServices(_ event: GATTEvent, on connection: ConnectionHandle, at now: Duration) {
        profiles.services.describe(connection, links, core)
        profiles.handle(event, &core.host, at: now)
        while let request = profiles.services.pairing.nextRequest() { handle(request, at: now) }
        while let change = profiles.services.reversed?.nextChange() {
            links[change.connection]?.reversedSubscriptionChanged(to: change.subscription, change.cause, &core, at: now)
        }
    }

    /// A value of the pairing service has changed for a phone.
    mutating func tell(
        _ value: PairingService.Value,
        on connection: ConnectionHandle,
        evenIfNotSubscribed: Bool = false,
        at now: Duration
    ) {
        profiles.services.describe(connection, links, core)
        database.update(&profiles, &core, at: now) {
            $0.pairing.changed(value, on: connection, evenIfNotSubscribed: evenIfNotSubscribed)
        }
    }

    // MARK: What phones ask for

    private mutating func handle(_ request: PairingService.Request, at now: Duration) {
        switch request {
        case .security(let connection, let token):
            requestSecurity(on: connection, at: now)
            profiles.accept(token, &core.host, at: now)
        case .exchangeMTU(let connection, let token):
            // That can be done once in a connection, and is done by itself sooner or later.
            do {
                _ = try core.host.gatt.start(.exchangeMTU, on: connection, at: now)
            } catch {
                core.log(.debug, .gatt, "\(connection): the MTU is not exchanged once more: \(error)")
            }
            profiles.accept(token, &core.host, at: now)
        case .parameters(let command, let connection, let token):
            do throws(ConnectionParametersCommand.Refusal) {
                try links[connection]?.carryOut(command, &core, at: now)
                profiles.accept(token, &core.host, at: now)
            } catch {
                core.log(.info, .gatt, "\(connection): connection parameters refused: \(error)")
                profiles.refuse(token, with: ATTError(rawValue: error.rawValue), &core.host, at: now)
            }
        case .badParameters(let refusal, let connection):
            core.log(.info, .gatt, "\(connection): connection parameters refused: \(refusal)")
        case .app(isThere: true, let connection):
            links[connection]?.connectivitySubscribed()
        case .app(isThere: false, let connection):
            // Pebble 2 takes that for the end of the app.
            guard configuration.personality.wakesUnsubscribers else { return }
            links[connection]?.wake(because: .unsubscribed, &core, at: now)
        }
    }

    /// Asks the phone to encrypt or to pair; a refusal to ask is logged, and the phone is never told.
    private mutating func requestSecurity(on connection: ConnectionHandle, at now: Duration) {
        do throws(SecurityRefusal) {
            try core.host.security?.sendSecurityRequest(connection, at: now)
        } catch {
            if error == .notPairable { return pairingFailed(on: connection, .notPairable, at: now) }
            core.log(.info, .smp, "\(connection): no Security Request was sent: \(error)")
        }
    }

    // MARK: Streams

    /// The streams that are published, and where.
    var spsms: [WatchStream: SPSM] {
        var spsms: [WatchStream: SPSM] = [:]
        for service in profiles.services.streams { spsms[service.stream] = service.spsm }
        return spsms
    }
}
