import PebbleProtocol

/// Whether a phone must pair before it may talk to the watch's inside.
public enum LinkSecurityPolicy: Sendable, Equatable {
    /// As the real watch: nothing but the pairing service and the standard services works on a plain link.
    case required
    /// The Pebble transport opens on a plain link, to anyone in range. Only for test rigs that cannot pair.
    case insecureTestLink
}

/// Which address the watch shows on the air.
public enum AddressPrivacy: Sendable, Equatable {
    /// Its own static random address, always: what companions that compare addresses need.
    case identityAddress
    /// A resolvable private address, changed after this time: only bonded phones know whose it is. Name and serial number
    /// change with it, for all but a phone on an encrypted link.
    case resolvablePrivateAddress(lifetime: Duration)
}

/// Everything that is decided about a watch before it starts.
public struct WatchConfiguration: Sendable {
    /// What the watch says it is, with its name, serial number and address.
    public var identity: WatchIdentity
    /// What phones take the watch for.
    public let personality: Personality
    /// Whether the Pebble transport asks for an encrypted link.
    public var linkSecurity: LinkSecurityPolicy
    /// Who may pair, and whether keys are kept.
    public var pairing: PairingPolicy
    /// Which address the watch shows on the air. A watch that is not bondable shows its own in any case.
    public var privacy: AddressPrivacy
    /// What is on the air when, and how often.
    public var advertising: AdvertisingProfile
    /// How strongly the watch is to send what it advertises, in dBm, and what it says of that in its advertisement; nil
    /// leaves the former to the controller and says 0 dBm, as the real watch does.
    public var advertisingPower: Int8?
    /// What wakes companion apps on iPhones while no phone is connected; nil for nothing.
    public var beacon: Beacon?
    /// Whether the beacon is shown by a watch that hides its address, although it says the same all the time.
    public var showsBeaconDespitePrivacy: Bool
    /// What the time was at the origin of the watch's own, since 1970, as exactly as it is known: private addresses change at
    /// moments that all watches have in common.
    public var wallClock: Duration
    /// Which connection parameters phones are asked for.
    public var link: LinkProfile
    /// Whether phones can read and manage the connection parameters by a characteristic, as with watches before 2025.
    public var offersConnectionParameters: Bool
    /// How long after encryption a bonded phone is told that the database has changed.
    public var serviceChangedDelay: Duration
    /// How long the watch is silent after a phone has subscribed to the watch's own PPoGATT service, where the watch begins:
    /// Android apps have something else to do at that moment. Zero for no pause, as the real watch.
    public var subscriptionPause: Duration
    /// How the watch finds out what a phone offers.
    public var phoneDiscovery: PhoneDiscovery
    /// How many enhanced ATT bearers a phone may open, and the watch opens with a phone that has the feature: 0 to 5. Zero for
    /// none, as the real watch. Personalities whose clients may not cache the database have none in any case.
    public var enhancedBearers: Int
    /// What answers the sessions of phones.
    public var brain: WatchBrain
    /// Whether phones see the battery service from the start.
    public var offersBattery: Bool
    /// The streams that phones can open from the start.
    public var streams: Set<WatchStream>
    /// The app that runs when nothing else does: a watchface.
    public var defaultApp: any WatchApp
    /// The other apps that come with the watch.
    public var builtInApps: [any WatchApp]
    /// Apps that are installed from the start.
    public var apps: [AppPackage]
    /// What installed apps do, by UUID; any other is ``AppBehavior/external``.
    public var behaviors: [PebbleUUID: AppBehavior]
    /// What the clock shows at start, in seconds since 1970.
    public var startTime: UInt32
    /// Percent of charge that the battery service shows at start.
    public var batteryLevel: UInt8

    /// A watch of this identity, as it comes out of the box. The identity is best made for the same personality.
    public init(identity: WatchIdentity, personality: Personality = .universal) {
        self.identity = identity
        self.personality = personality
        linkSecurity = .required
        pairing = PairingPolicy()
        privacy = .identityAddress
        serviceChangedDelay = DatabaseChanges.iOSDelay
        subscriptionPause = SubscriptionPause.usual
        phoneDiscovery = .remembering
        enhancedBearers = 0
        brain = .builtIn
        offersBattery = personality.hasBattery
        streams = personality.streams
        advertising = personality.advertising
        advertisingPower = nil
        beacon = nil
        showsBeaconDespitePrivacy = false
        wallClock = .zero
        link = .pebble
        offersConnectionParameters = personality.hasConnectionParameters
        defaultApp = ClockFace()
        builtInApps = [EchoApp(), SportsApp(), GolfApp()]
        apps = []
        behaviors = [:]
        startTime = 0
        batteryLevel = 100
    }

    /// Whether phones can be bonded. A rig on plain links does not bond, and neither does a watch told not to: its database
    /// never changes and has no Service Changed.
    public var isBondable: Bool { pairing.isBondable && linkSecurity == .required }
}

extension WatchConfiguration {
    /// How many enhanced ATT bearers a phone may open: they need a link that is encrypted, and a model of a time that knew them.
    var offeredBearers: Int { isBondable && personality.caching != .none ? enhancedBearers : 0 }
}
