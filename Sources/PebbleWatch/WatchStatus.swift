import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// How the watch is doing at one moment: what `cairn status` and every dashboard show.
public struct WatchStatus: Sendable {
    /// A phone on a link.
    public struct Link: Sendable, Equatable {
        public let connection: ConnectionHandle
        /// Who it is: its identity if it is bonded, else the address that it uses.
        public let phone: LEAddress
        public let security: LinkSecurity
        /// The MTU of its ATT bearer.
        public let mtu: Int
        /// Which of the phone's own services the watch uses.
        public let services: [PhoneServiceKind]
    }

    /// A companion's session.
    public struct Session: Sendable, Equatable {
        public let id: SessionID
        public let kind: SessionKind
        public let transport: SessionTransport
        /// The watchapp that the companion belongs to.
        public let application: PebbleUUID
    }

    /// A phone that is remembered.
    public struct Phone: Sendable, Equatable {
        public let identity: LEAddress
        public let isConnected: Bool
        /// Whether its bond would survive a power cut now.
        public let isStored: Bool
        /// Whether nobody can have been in the middle when it paired.
        public let isAuthenticated: Bool
    }

    /// A pairing that waits for a person.
    public struct WaitingPairing: Sendable, Equatable {
        public let connection: ConnectionHandle
        public let phone: LEAddress
        public let question: PairingPrompt.Kind
    }

    /// Who may pair.
    public struct Pairing: Sendable, Equatable {
        public let policy: PairingPolicy
        /// Whether keys are kept.
        public let isBondable: Bool
        /// Whether a phone may pair now that has not proved who it is: at once, or if a person says yes.
        public let isOpen: Bool
        /// Until when the window is open that somebody opened.
        public let windowEnd: Duration?
        /// In the order of the links.
        public let waiting: [WaitingPairing]
        /// The phone that was refused last; nil once one has paired, or the window was opened.
        public let refused: RefusedPairing?
    }

    public let identity: WatchIdentity
    /// Whether the controller is ready.
    public let isReady: Bool
    /// How the last link ended that did, and what the watch did about it; nil if none has.
    public let lastDisconnection: Disconnection?
    /// How the last link of a stranger ended, while a bonded phone was waited for; nil if there was none.
    public let lastStranger: Disconnection?
    /// How many strangers were turned away as soon as they had connected.
    public let strangersTurnedAway: Int
    /// What is on the air, why, and for how long.
    public let onAir: OnAir
    public let links: [Link]
    public let sessions: [Session]
    /// The streams that phones can open, and their PSMs.
    public let streams: [WatchStream: SPSM]
    public let phones: [Phone]
    public let pairing: Pairing
    /// The app that runs.
    public let runningApp: RunningApp
    public let sensors: WatchSensors
    /// The buttons that are down.
    public let heldButtons: Set<WatchButton>
    /// What phones have put on the watch, and what goes on with them.
    public let services: ServiceModel

    /// The app that runs.
    public struct RunningApp: Sendable, Equatable {
        public let uuid: PebbleUUID
        public let name: String
    }
}

extension Firmware {
    /// How the watch is doing.
    public var status: WatchStatus {
        WatchStatus(
            identity: configuration.identity,
            isReady: isReady,
            lastDisconnection: lastDisconnection,
            lastStranger: lastStranger,
            strangersTurnedAway: tenure.turnedAwayCount,
            onAir: onAir,
            links: links.keys.sorted().compactMap { handle in
                links[handle].map { link in
                    WatchStatus.Link(
                        connection: handle,
                        phone: link.identity,
                        security: host.connection(handle)?.security ?? .none,
                        mtu: link.mtu,
                        services: link.clients.used
                    )
                }
            },
            sessions: system.openSessions,
            streams: spsms,
            phones: bondedPhones.map { identity in
                WatchStatus.Phone(
                    identity: identity,
                    isConnected: links.keys.contains { host.security?.provenIdentity(on: $0) == identity },
                    isStored: storedBonds.contains(identity),
                    isAuthenticated: phones[identity]?.bond.isAuthenticated ?? false
                )
            },
            pairing: WatchStatus.Pairing(
                policy: configuration.pairing,
                isBondable: configuration.isBondable,
                isOpen: isPairable,
                windowEnd: pairingWindowEnd,
                waiting: pairingPrompts.keys.sorted().compactMap { handle in
                    guard let prompt = pairingPrompts[handle], let link = links[handle] else { return nil }
                    return WatchStatus.WaitingPairing(
                        connection: handle,
                        phone: link.identity,
                        question: prompt.kind
                    )
                },
                refused: refusedPairing
            ),
            runningApp: system.runningApp,
            sensors: sensors,
            heldButtons: buttons.held,
            services: model
        )
    }
}
