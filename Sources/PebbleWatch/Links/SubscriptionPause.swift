import BluetoothHCI
import BluetoothHost

/// The time that a phone has for itself after it has subscribed to the watch's own PPoGATT service, before the watch's first
/// packet.
///
/// An Android app has one GATT operation under way at a time, and Android refuses a second one. Gadgetbridge goes on with its
/// next operation as soon as its subscription is answered, and never repeats what is refused: if the watch's Reset Request
/// comes meanwhile, the answer to it is lost, and with it the session. So the watch is silent for a while, and as long as the
/// phone may not have its response yet.
struct SubscriptionPause: Sendable {
    /// How long it lasts unless it is configured otherwise. Gadgetbridge's next operations take less.
    static let usual: Duration = .milliseconds(250)
    /// On a slow link it lasts so many connection events at least: one each for the response, for the phone's next request and
    /// for its response, and one to spare.
    static let eventCount = 4
    /// The longest that a slow or a busy link makes it. libpebble3 waits 12 s for a session.
    static let limit: Duration = .seconds(2)

    private let length: Duration
    private let latestEnd: Duration
    /// When it may be over.
    private(set) var end: Duration

    /// A pause that begins.
    /// - Parameters:
    ///   - configured: how long it lasts on a fast link.
    ///   - eventSpacing: the time from one connection event that the watch listens to, to the next.
    init(_ configured: Duration, eventSpacing: Duration, at now: Duration) {
        length = max(configured, min(eventSpacing * Self.eventCount, Self.limit))
        end = now + length
        latestEnd = now + max(length, Self.limit)
    }

    /// The pause behind a subscription on a link, if there is one. Where the phone begins it needs none: it begins when it has
    /// nothing else to do.
    init?(on handle: ConnectionHandle, _ core: borrowing WatchCore, at now: Duration) {
        guard core.configuration.reversedRules == .reversedV1, core.configuration.subscriptionPause > .zero,
            let link = core.host.connection(handle)
        else { return nil }
        let eventSpacing = link.interval.duration * (Int(link.latency) + 1)
        self.init(core.configuration.subscriptionPause, eventSpacing: eventSpacing, at: now)
    }

    /// Lets time pass.
    /// - Parameter hasUnsentData: whether the phone has not received everything that it was sent, such as a response.
    /// - Returns: whether the pause is over. Else it lasts until a new ``end``.
    mutating func isOver(at now: Duration, hasUnsentData: Bool) -> Bool {
        guard end <= now else { return false }
        guard hasUnsentData, now < latestEnd else { return true }
        end = min(now + length, latestEnd)
        return false
    }
}
