import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// Everything that the watch keeps for one connected phone.
struct PhoneLink: Sendable {
    /// Which characteristic carries a transport's packets.
    enum Carrier: Hashable, Sendable {
        /// The phone's data characteristic: the watch writes, the phone notifies.
        case forward(AttributeHandle)
        /// The watch's own pair: the watch notifies, the phone writes.
        case reversed

        /// What a session calls it.
        var sessionTransport: SessionTransport {
            switch self {
            case .forward: .forwardPPoGATT
            case .reversed: .reversedPPoGATT
            }
        }
    }

    /// One PPoGATT link and the session that runs over it.
    struct Transport: Sendable {
        var link: PPoGATTLink
        /// Where the phone's service is; nil for the watch's own.
        let service: PPoGATTService?
        var session: SessionID?
        /// Of what the session gave, how much had not been acknowledged when the link was last looked at.
        var undeliveredCount = 0
        /// A packet that the GATT layer had no room for; it goes first when there is.
        var unsentPacket: [UInt8] = []
        /// Whether the service's app may have started again without the watch noticing.
        var doubt = RestartDoubt()
    }

    /// Who waits for the end of a GATT procedure.
    enum Purpose: Sendable {
        case finder
        case meta(Carrier)
        case subscription(Carrier)
        /// One of the clients of the phone's own services.
        case client(PhoneServiceKind)
        /// Nothing waits for it: the transport is gone already.
        case farewell
        /// The read that wakes the phone's Pebble app.
        case waking

        var isWaking: Bool {
            if case .waking = self { true } else { false }
        }
    }

    /// When the phone connected.
    let start: Duration
    /// Why the watch wants it to end; nil if it does not.
    var endCause: Disconnection.Cause?
    /// How fast the link is to be.
    var policy: LinkPolicy
    /// The phone's identity, once the Security Manager knows it, else the address that it uses.
    var identity: LEAddress
    var finder: PhoneServiceFinder
    /// What is used of the phone's own services.
    var clients = PhoneClients()
    /// Whether the finder was at work when it was last looked at.
    var wasSearching = false
    var transports = SmallTable<Carrier, Transport>()
    /// The channels that the phone has opened to the Pebble stream.
    var streams = SmallTable<Channel.ID, SessionStream>()
    /// The channels that the phone has opened to loopback streams.
    var loopbacks = SmallTable<Channel.ID, WatchStream>()
    var procedures: [GATTProcedureID: Purpose] = [:]
    /// Whether the phone has subscribed to the watch's own PPoGATT service.
    var wantsReversedTransport = false
    /// The time that the phone is given after its subscription, while it lasts.
    var subscriptionPause: SubscriptionPause?
    /// Whether an app on the phone has subscribed to Connectivity on this link, which each does when it starts.
    var hasAppStarted = false
    /// The service by which the phone's Pebble app can be woken.
    var appLaunch: PhoneService?
    /// Companions that have left a session while the link went on, the oldest first: they may come back.
    var departed: [PPoGATTDestination] = []
    /// Whether the services that could not be used were looked for once more.
    var hasLookedAgain = false
    var mtu = ATT.defaultMTU
    /// Whether the link has been encrypted, so that the phone has been told.
    var wasEncrypted = false
    /// Whether the link's bond is in the store, so that the phone has been told.
    var wasBonded = false
    /// Whether what is remembered of the phone has been given back to the GATT layer on this link.
    var isRestored = false
    /// The Security Manager's code for the last pairing that failed on this link; 0 for none.
    var lastPairingResult: UInt8 = 0
    /// Why a pairing was last refused on this link, as far as the owner was told.
    var refusedFor: RefusedPairing.Reason?

    /// The sessions over this link, some of them twice.
    var sessions: [SessionID] { transports.values.compactMap(\.session) + streams.values.compactMap(\.session) }

    /// Whether a session runs over this link.
    func has(_ session: SessionID) -> Bool {
        transports.keys.contains { transports[$0]?.session == session }
            || streams.keys.contains { streams[$0]?.session == session }
    }

    /// When the next companion that opened a channel must have introduced itself.
    var streamDeadline: Duration? { streams.keys.lazy.compactMap { streams[$0]?.deadline }.min() }

    init(identity: LEAddress, policy: LinkPolicy, discovery: PhoneDiscovery, at now: Duration) {
        self.identity = identity
        self.policy = policy
        finder = PhoneServiceFinder(of: WantedService.all, discovery)
        start = now
    }
}
