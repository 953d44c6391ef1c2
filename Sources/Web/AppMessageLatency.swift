/// How long AppMessages take: from the message on its way until the other side's answer, both as the watch saw them.
struct AppMessageLatency: Sendable {
    /// Which way a message went.
    enum Direction: String, CaseIterable, Sendable {
        /// From a companion; the watch answers.
        case received
        /// From the watch; the companion answers.
        case sent
    }

    /// How often a time was at most each of the limits, and in all.
    struct Histogram: Sendable {
        /// The upper limits, in seconds.
        static let limits = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

        private(set) var counts = [Int](repeating: 0, count: limits.count)
        private(set) var count = 0
        private(set) var sum = 0.0

        fileprivate mutating func add(_ seconds: Double) {
            for (index, limit) in Self.limits.enumerated() where seconds <= limit { counts[index] += 1 }
            count += 1
            sum += seconds
        }
    }

    /// The number of the endpoint.
    private static let endpoint = 0x30
    /// The length of an answer: its command and its transaction. A dictionary is longer.
    private static let answerLength = 2

    private(set) var histograms: [Direction: Histogram] = [:]
    /// When the message that waits for its answer was seen. AppMessage has one at a time in each direction.
    private var beginnings: [Direction: Double] = [:]

    /// Takes an event.
    mutating func take(_ event: ControlLine) {
        switch event.event {
        case "message":
            guard event.endpoint == Self.endpoint, let at = event.at, let length = event.length,
                let fromPhone = event.fromPhone
            else { return }
            let isAnswer = length == Self.answerLength
            let direction: Direction = fromPhone != isAnswer ? .received : .sent
            if !isAnswer {
                beginnings[direction] = at
            } else if let beginning = beginnings.removeValue(forKey: direction), at >= beginning {
                histograms[direction, default: Histogram()].add(at - beginning)
            }
        case "session-closed": linkIsGone()
        default: break
        }
    }

    /// What waited for its answer does not get it any more.
    mutating func linkIsGone() { beginnings = [:] }
}
