import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The speed of links: what happens reaches each link's policy, and what the policy wants reaches the host.

extension Firmware {
    /// The policy of a connection that has just been made.
    func linkPolicy(for connection: Connection, at now: Duration) -> LinkPolicy {
        LinkPolicy(
            connection,
            abilities: LinkPolicy.Abilities(host.capabilities),
            profile: configuration.link,
            at: now
        )
    }

    mutating func dataLengthUpdated(on handle: ConnectionHandle, at now: Duration) {
        guard let connection = host.connection(handle) else { return }
        let lengths = (connection.transmitLength, connection.receiveLength)
        links[handle]?.policy.dataLengthChanged(transmit: lengths.0, receive: lengths.1, at: now)
    }

    mutating func parametersUpdated(on handle: ConnectionHandle, at now: Duration) {
        guard let connection = host.connection(handle) else { return }
        links[handle]?.policy.parametersChanged(
            interval: connection.interval,
            latency: connection.latency,
            supervisionTimeout: connection.supervisionTimeout,
            at: now
        )
        notifyConnectionParameters(on: handle, at: now)
    }

    /// What goes over a session decides how fast its link has to be.
    mutating func noteNeed(for event: WatchEvent, at now: Duration) {
        guard case .message(let session, _, let message) = event, let consumer = SpeedConsumer(message.endpoint),
            let connection = connection(of: session)
        else { return }
        links[connection]?.policy.need(consumer, at: now)
    }

    /// A link is fast while the watch looks for the phone's services, and for some time after, when the phone and the
    /// services that were found have most to say to each other.
    mutating func noteSearching(on connection: ConnectionHandle, at now: Duration) {
        guard let link = links[connection], link.finder.isSearching != link.wasSearching else { return }
        links[connection]?.wasSearching = link.finder.isSearching
        if link.finder.isSearching {
            links[connection]?.policy.need(.discovery, at: now)
        } else {
            links[connection]?.policy.release(.discovery, after: LinkPolicy.afterDiscovery, at: now)
            rememberServices(on: connection)
        }
    }

    private func connection(of session: SessionID) -> ConnectionHandle? {
        links.keys.first { links[$0]?.has(session) ?? false }
    }
}

// MARK: - The phone's say

extension Firmware {
    /// What a phone reads of its link.
    func connectionParameters(on connection: ConnectionHandle) -> [UInt8] {
        guard let link = host.connection(connection) else { return [] }
        return ConnectionParametersStatus(
            supportsLongPackets: host.capabilities.supportsDataLengthExtension,
            interval: link.interval.rawValue,
            latency: link.latency,
            supervisionTimeout: link.supervisionTimeout.rawValue
        ).encoded
    }

    /// Says how the link is to a phone that has subscribed.
    mutating func notifyConnectionParameters(on connection: ConnectionHandle, at now: Duration) {
        guard !host.gatt.subscription(to: handles.connectionParameters, on: connection).isEmpty else { return }
        do {
            let value = connectionParameters(on: connection)
            try host.notify(value[...], of: handles.connectionParameters, on: connection, at: now)
        } catch {
            log(.info, .gatt, "\(connection): the connection parameters were not notified: \(error)")
        }
    }

    /// The phone manages the parameters, or says what it needs.
    mutating func answerConnectionParameters(_ request: WriteRequest, at now: Duration) {
        do {
            try carryOut(try ConnectionParametersCommand(request.value), on: request.connection, at: now)
            host.respond(to: request, at: now)
        } catch {
            log(.info, .gatt, "\(request.connection): connection parameters refused: \(error)")
            host.refuse(request, with: ATTError(rawValue: error.rawValue), at: now)
        }
    }

    private mutating func carryOut(
        _ command: ConnectionParametersCommand,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(ConnectionParametersCommand.Refusal) {
        switch command {
        case .manage(let isByPhone, let sets):
            let profile = sets.map { LinkProfile($0, rules: configuration.link.rules) }
            if let profile { links[connection]?.policy.use(profile, at: now) }
            links[connection]?.policy.setManagedByPhone(isByPhone, at: now)
        case .need(let state):
            guard let responseTime = ResponseTime(rawValue: state) else { throw .noSuchResponseTime }
            links[connection]?.policy.need(.phone, responseTime, at: now)
        case .lengthenPackets(let isWanted):
            guard host.capabilities.supportsDataLengthExtension else { throw .longPacketsNotSupported }
            if isWanted { host.setDataLength(connection, transmit: host.capabilities.maximumTransmitLength, at: now) }
        case .stayAwake:
            // This controller decides itself when it sleeps, and that costs no speed.
            break
        }
    }
}

// MARK: - Pumping

extension Firmware {
    var nextLinkPolicyDeadline: Duration? { links.keys.lazy.compactMap { links[$0]?.policy.nextDeadline }.min() }

    mutating func advanceLinkPolicies(to now: Duration) {
        for connection in links.keys { links[connection]?.policy.advance(to: now) }
    }

    /// Carries out what the policies want.
    /// - Returns: whether there was anything, so that there may be more to do.
    mutating func pumpLinkPolicies(at now: Duration) -> Bool {
        var moved = false
        for connection in links.keys {
            while let event = links[connection]?.policy.nextEvent() { emit(.link(connection, event)) }
            while let action = links[connection]?.policy.nextAction() {
                moved = true
                host.advance(to: now)
                switch action {
                case .setDataLength(let length): host.setDataLength(connection, transmit: length, at: now)
                case .setPHY(let preferences): host.setPHY(connection, preferences, at: now)
                case .requestParameters(let parameters): host.requestParameters(connection, parameters, at: now)
                }
            }
        }
        return moved
    }
}

extension LinkPolicy {
    /// How long a link stays fast after the watch has found the phone's services.
    static let afterDiscovery: Duration = .seconds(10)
}

extension LinkPolicy.Abilities {
    init(_ capabilities: ControllerCapabilities) {
        maximumLength = capabilities.supportsDataLengthExtension ? capabilities.maximumTransmitLength : .minimum
        has2M = capabilities.supportsPHYChange && capabilities.features.contains(.le2MPHY)
    }
}
