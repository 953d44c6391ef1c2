/// Makes one edge of a bouncing contact's many, for chips whose driver does not: an edge counts when the line has been quiet
/// for a while, and if it then is not as it was.
public struct LineDebouncer: Sendable {
    private struct Line: Sendable {
        /// What was reported last.
        var isActive = false
        /// What was seen last, and since when; nil if that was reported.
        var pending: GPIOEdge?
    }

    /// How long a line has to be quiet.
    public let period: Duration
    private var lines: [UInt32: Line] = [:]

    /// - Parameters:
    ///   - active: the lines that are active now.
    public init(period: Duration, active: Set<UInt32> = []) {
        self.period = period
        for line in active { lines[line] = Line(isActive: true) }
    }

    /// Takes an edge; its time is on the same clock as that of `advance(to:)`.
    public mutating func receive(_ edge: GPIOEdge) {
        lines[edge.line, default: Line()].pending = edge
    }

    /// When an edge counts that has not yet.
    public var nextDeadline: Duration? { lines.values.compactMap { $0.pending?.time }.min().map { $0 + period } }

    /// The edges that count by now, the earliest first.
    public mutating func advance(to now: Duration) -> [GPIOEdge] {
        var edges: [GPIOEdge] = []
        for (number, line) in lines {
            guard let edge = line.pending, edge.time + period <= now else { continue }
            lines[number] = Line(isActive: edge.isActive)
            if edge.isActive != line.isActive { edges.append(edge) }
        }
        return edges.sorted { ($0.time, $0.line) < ($1.time, $1.line) }
    }
}
