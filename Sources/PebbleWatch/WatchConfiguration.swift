/// Whether a phone must pair before it may talk to the watch's inside.
public enum LinkSecurityPolicy: Sendable, Equatable {
    /// As the real watch: nothing but the pairing service and the standard services works on a plain link.
    case required
    /// The Pebble transport opens on a plain link, to anyone in range. Only for test rigs that cannot pair.
    case insecureTestLink
}

/// Everything that is decided about a watch before it starts.
public struct WatchConfiguration: Sendable {
    public var identity: WatchIdentity
    public var linkSecurity: LinkSecurityPolicy
    public var advertising: AdvertisingPolicy.Profile
    /// The app that runs when nothing else does.
    public var defaultApp: any WatchApp
    /// What the clock shows at start, in seconds since 1970.
    public var startTime: UInt32
    /// Percent of charge that the battery service shows at start.
    public var batteryLevel: UInt8

    /// A watch of this identity, as it comes out of the box.
    public init(identity: WatchIdentity) {
        self.identity = identity
        linkSecurity = .required
        advertising = .pebble
        defaultApp = EchoApp()
        startTime = 0
        batteryLevel = 100
    }
}
