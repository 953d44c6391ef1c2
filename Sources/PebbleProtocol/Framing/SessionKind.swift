/// Whom a Pebble Protocol session belongs to, which decides what it may ask for.
public enum SessionKind: Equatable, Sendable {
    /// The Pebble app's own: every endpoint, and apps that run JavaScript.
    case system
    /// One third-party phone app's: only endpoints whose access is `any`, only while its watchapp runs.
    case app
    /// Both at once, as on Android.
    case hybrid
}

extension SessionKind: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    public var description: String {
        switch self {
        case .system: "system"
        case .app: "app"
        case .hybrid: "hybrid"
        }
    }
}
