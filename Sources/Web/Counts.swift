import NIOConcurrencyHelpers

/// What this program counts of itself.
final class Counts: Sendable {
    struct Request: Hashable {
        let route: String
        let status: Int
    }

    struct Values {
        var requests: [Request: Int] = [:]
        /// Streams that are open, by kind.
        var streams: [String: Int] = [:]
        /// Readers that were cut off because they were too slow.
        var overruns = 0
        /// Packets that a capture has lost, because the watch had no room for them.
        var lostPackets = 0
    }

    private let box = NIOLockedValueBox(Values())

    var values: Values { box.withLockedValue { $0 } }

    func change(_ body: (inout Values) -> Void) { box.withLockedValue { body(&$0) } }
}
