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

    /// The host reports something about a link that its policy has to know.
    mutating func linkChanged(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .remoteFeaturesRead(let handle, let features):
            links[handle]?.policy.remoteFeaturesRead(features, at: now)
        case .dataLengthUpdated(let handle):
            guard let connection = host.connection(handle) else { return }
            let lengths = (connection.transmitLength, connection.receiveLength)
            links[handle]?.policy.dataLengthChanged(transmit: lengths.0, receive: lengths.1, at: now)
        case .phyUpdated(let handle, let outcome):
            links[handle]?.policy.phyChanged(outcome, at: now)
        case .parametersUpdated(let handle):
            guard let connection = host.connection(handle) else { return }
            links[handle]?.policy.parametersChanged(
                interval: connection.interval,
                latency: connection.latency,
                supervisionTimeout: connection.supervisionTimeout,
                at: now
            )
        case .parametersUpdateFailed(let handle, let failure):
            links[handle]?.policy.parametersRefused(failure)
        default:
            break
        }
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
        }
    }

    private func connection(of session: SessionID) -> ConnectionHandle? {
        links.first { $0.value.sessions.contains(session) }?.key
    }
}

// MARK: - Pumping

extension Firmware {
    var nextLinkPolicyDeadline: Duration? { links.values.lazy.compactMap(\.policy.nextDeadline).min() }

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
                case .setDataLength(let length): host.setDataLength(connection, transmit: length)
                case .setPHY(let preferences): host.setPHY(connection, preferences)
                case .requestParameters(let parameters): host.requestParameters(connection, parameters)
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
