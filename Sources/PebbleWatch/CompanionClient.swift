/// An app on a phone that Pebbles meet, in one of its modes: each comes to the watch by a way of its own.
public enum CompanionClient: String, Sendable, CaseIterable {
    /// The Core Devices app on Android, which prefers the watch's PPoGATT service.
    case libPebble3Android = "libpebble3-android"
    /// The same, with the setting that leaves the watch's service alone.
    case libPebble3AndroidForward = "libpebble3-android-forward"
    /// The same, with the setting that uses the PPoGATT service of Pebble 2 too.
    case libPebble3AndroidLegacy = "libpebble3-android-legacy"
    /// The Core Devices app on iOS.
    case libPebble3IOS = "libpebble3-ios"
    /// Gadgetbridge, with its own GATT server.
    case gadgetbridge
    /// Gadgetbridge as GATT client only.
    case gadgetbridgeClientOnly = "gadgetbridge-client-only"
    /// Companion apps with PebbleKit iOS, next to the system app.
    case pebbleKitIOS = "pebblekit-ios"
}

/// What a personality promises a client.
public enum CompanionSupport: Sendable, Equatable {
    /// The client works with it, in this way.
    case works(String)
    /// It does not, for this reason, which is the client's or the model's own.
    case doesNotWork(String)

    /// Whether the client works.
    public var isPromised: Bool {
        switch self {
        case .works: true
        case .doesNotWork: false
        }
    }

    /// In which way, or why not.
    public var explanation: String {
        switch self {
        case .works(let way): way
        case .doesNotWork(let reason): reason
        }
    }
}

extension Personality {
    /// What this personality promises a client: derived from what the model has, and from what the client looks for.
    public func support(for client: CompanionClient) -> CompanionSupport {
        switch client {
        case .libPebble3Android, .libPebble3AndroidForward, .libPebble3AndroidLegacy:
            if isReachedByClassic {
                return .doesNotWork("it lists no Pebble before Pebble 2: those it reaches over Bluetooth Classic")
            }
            let usesWatchs =
                switch reversedTransport {
                case .v2: client != .libPebble3AndroidForward
                case .v1: client == .libPebble3AndroidLegacy
                case nil: false
                }
            return usesWatchs
                ? .works("over the watch's own PPoGATT service") : .works("over the phone's PPoGATT service")
        case .libPebble3IOS, .pebbleKitIOS:
            let way =
                client == .pebbleKitIOS ? "over a PPoGATT service for each app" : "over the phone's PPoGATT service"
            return isReachedByClassic
                ? .works(way + ", once iOS has been paired in its settings: the app asks no Pebble Time for it")
                : .works(way)
        case .gadgetbridge:
            return .works("over the phone's PPoGATT service")
        case .gadgetbridgeClientOnly:
            return reversedTransport == .v1
                ? .works("over the watch's own PPoGATT service")
                : .doesNotWork("it knows the PPoGATT service of Pebble 2 only")
        }
    }

    /// The watches that libpebble3 takes for Bluetooth Classic ones.
    private var isReachedByClassic: Bool {
        switch hardware.appPlatform {
        case .aplite, .basalt, .chalk: true
        case .diorite, .emery, .flint, .gabbro, nil: false
        }
    }
}
