import BluetoothHCI
import DequeModule

/// Notices links that come and go in a loop, whichever side is at fault, so that they can be slowed down: at 20 ms, a phone
/// that connects and drops could keep the watch, its log and its battery busy for as long as the fast step lasts.
public struct LinkChurn: Sendable {
    /// So many links may end...
    public static let limit = 30
    /// ...within this time.
    public static let window: Duration = .seconds(60)
    /// If they do, what can be connected to is advertised no more often: a phone in a loop then has one link a second.
    public static let shortestInterval = AdvertisingInterval.apple1022_5

    /// When the latest links ended.
    private var ends: Deque<Duration> = []

    /// A link has ended.
    mutating func linkEnded(at now: Duration) {
        if ends.count == Self.limit { ends.removeFirst() }
        ends.append(now)
    }

    /// Until when the loop counts as one, if no other link ends; nil for never.
    var end: Duration? {
        guard ends.count == Self.limit, let first = ends.first else { return nil }
        return first + Self.window
    }

    func isOn(at now: Duration) -> Bool { end.map { now < $0 } ?? false }
}
