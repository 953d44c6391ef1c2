import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// How the watch is doing at one moment: what `cairn status` and every dashboard show.
public struct WatchStatus: Sendable {
    /// A phone on a link.
    public struct Link: Sendable, Equatable {
        /// The link's handle, by which events name it.
        public let connection: ConnectionHandle
        /// Who it is: its identity if it is bonded, else the address that it uses.
        public let phone: LEAddress
        /// Whether the link is encrypted, and how well.
        public let security: LinkSecurity
        /// The MTU of its ATT bearer.
        public let mtu: Int
        /// Which of the phone's own services the watch uses.
        public let services: [PhoneServiceKind]
    }

    /// A companion's session.
    public struct Session: Sendable, Equatable {
        /// The session's number, by which events name it.
        public let id: SessionID
        /// Whether it is the Pebble app's, another app's, or serves all apps.
        public let kind: SessionKind
        /// What carries it now.
        public let transport: SessionTransport
        /// The watchapp that the companion belongs to.
        public let application: PebbleUUID
    }

    /// A phone that is remembered.
    public struct Phone: Sendable, Equatable {
        /// Its public or static random address, the one that its bond is stored under.
        public let identity: LEAddress
        /// Whether a link is there on which it has proved that it is this phone.
        public let isConnected: Bool
        /// Whether its bond would survive a power cut now.
        public let isStored: Bool
        /// Whether it paired with protection against a man in the middle.
        public let isAuthenticated: Bool
    }

    /// A pairing that waits for a person.
    public struct WaitingPairing: Sendable, Equatable {
        /// The link that is being paired.
        public let connection: ConnectionHandle
        /// The phone's identity if it is known, else the address that it uses.
        public let phone: LEAddress
        /// What the person is asked, or shown.
        public let question: PairingPrompt.Kind
    }

    /// Who may pair.
    public struct Pairing: Sendable, Equatable {
        /// The rules that the watch was configured with.
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

    /// What the watch really is: its own name, serial number and address, also while it hides them on the air.
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
    /// The phones that are connected, in the order of their handles.
    public let links: [Link]
    /// The Pebble Protocol sessions that are open, oldest first.
    public let sessions: [Session]
    /// The streams that phones can open, and their PSMs.
    public let streams: [WatchStream: SPSM]
    /// The phones that are bonded, in the order of their addresses.
    public let phones: [Phone]
    /// Who may pair, and which pairing waits.
    public let pairing: Pairing
    /// The app that runs.
    public let runningApp: RunningApp
    /// What the sensors said last.
    public let sensors: WatchSensors
    /// The buttons that are down.
    public let heldButtons: Set<WatchButton>
    /// What phones have put on the watch, and what goes on with them.
    public let services: ServiceModel
    /// How the watch compares with the firmware in its shadow; nil if there is none.
    public let mirror: MirrorTally?

    /// The app that runs.
    public struct RunningApp: Sendable, Equatable {
        /// Its UUID, by which companions and commands name it.
        public let uuid: PebbleUUID
        /// What the launcher calls it.
        public let name: String
    }
}

extension Watch {
    /// How the watch is doing.
    public var status: WatchStatus {
        WatchStatus(
            identity: configuration.identity,
            isReady: isReady,
            lastDisconnection: history.last,
            lastStranger: history.lastStranger,
            strangersTurnedAway: presence.tenure.turnedAwayCount,
            onAir: onAir,
            links: links.keys.sorted().compactMap { handle in
                links[handle].map { link in
                    WatchStatus.Link(
                        connection: handle,
                        phone: link.identity,
                        security: core.host.connection(handle)?.security ?? .none,
                        mtu: link.mtu,
                        services: link.clients.used
                    )
                }
            },
            sessions: core.system.sessions.status,
            streams: spsms,
            phones: bondedPhones.map { identity in
                WatchStatus.Phone(
                    identity: identity,
                    isConnected: links.keys.contains { core.host.security?.provenIdentity(on: $0) == identity },
                    isStored: core.phones.stored.contains(identity),
                    isAuthenticated: core.phones[identity]?.bond.isAuthenticated ?? false
                )
            },
            pairing: WatchStatus.Pairing(
                policy: configuration.pairing,
                isBondable: configuration.isBondable,
                isOpen: core.phones.isPairable,
                windowEnd: core.phones.windowEnd,
                waiting: core.phones.prompts.keys.sorted().compactMap { handle in
                    guard let prompt = core.phones.prompts[handle], let link = links[handle] else { return nil }
                    return WatchStatus.WaitingPairing(
                        connection: handle,
                        phone: link.identity,
                        question: prompt.kind
                    )
                },
                refused: core.phones.refused
            ),
            runningApp: core.system.runningApp,
            sensors: controls.sensors,
            heldButtons: controls.buttons.held,
            services: model,
            mirror: mirrorTally
        )
    }
}
