import BluetoothHCI

/// Which connection parameters a phone grants to an accessory that asks for them.
///
/// A phone refuses a request that breaks its rules as a whole, and the link stays as slow as it was; so nothing is
/// asked for that would be refused. The rules are Apple's, the only ones that are written down; Android grants all
/// that they allow.
///
/// Sources: Apple's Accessory Design Guidelines, "Connection Parameters" (from release 7 on), and QA1931 for the
/// earlier ones.
public struct ConnectionParameterRules: Sendable, Equatable {
    /// What messages call the rules.
    public let name: String
    let shortestInterval: Duration
    /// What the shorter bound of the interval must be a multiple of.
    let intervalGrid: ConnectionInterval?
    /// How far apart the bounds of the interval must be at least.
    let intervalSpread: Duration
    /// Whether both bounds may be the shortest interval, without any spread.
    let allowsShortestIntervalAlone: Bool
    let maximumLatency: UInt16
    let supervisionTimeouts: ClosedRange<Duration>

    /// The longest time between two connection events that the peripheral attends.
    static let longestSilence: Duration = .seconds(2)

    /// The rules since 2013: 15 ms is the shortest interval, and the only one that can be asked for exactly.
    public static let apple = ConnectionParameterRules(
        name: "apple",
        shortestInterval: .milliseconds(15),
        intervalGrid: .milliseconds(15),
        intervalSpread: .milliseconds(15),
        allowsShortestIntervalAlone: true,
        maximumLatency: 30,
        supervisionTimeouts: .seconds(2)...(.seconds(6))
    )

    /// The rules of 2012 (release 6), by which phones were judged that are still about: 20 ms at least, always with a spread.
    public static let apple2012 = ConnectionParameterRules(
        name: "apple-2012",
        shortestInterval: .milliseconds(20),
        intervalGrid: nil,
        intervalSpread: .milliseconds(20),
        allowsShortestIntervalAlone: false,
        maximumLatency: 4,
        supervisionTimeouts: .zero...(.seconds(6))
    )

    /// The first rule that a request breaks.
    public enum Violation: Error, Hashable, Sendable {
        /// The Core does not allow such parameters to either side.
        case notAllowedByCore
        /// The shorter bound of the interval is below this.
        case intervalTooShort(minimum: Duration)
        /// The shorter bound of the interval is not a multiple of this.
        case intervalOffGrid(ConnectionInterval)
        /// The bounds of the interval are less than this apart, and are not both the shortest interval where that is allowed.
        case intervalSpreadTooNarrow(minimum: Duration)
        /// The latency is above this, in connection events that the peripheral may leave out.
        case latencyTooHigh(maximum: UInt16)
        /// The supervision timeout is not in this range, whose ends are allowed.
        case supervisionTimeoutOutOfRange(ClosedRange<Duration>)
        /// The longest interval times the events from one attended to the next is more than two seconds.
        case silenceTooLong
        /// Three silences do not fit into the supervision timeout.
        case supervisionTimeoutTooShortForLatency
    }

    /// Throws the rule that parameters break.
    public func check(_ parameters: ConnectionParameters) throws(Violation) {
        guard parameters.areValid else { throw .notAllowedByCore }
        let shortest = parameters.intervalMinimum.duration
        let longest = parameters.intervalMaximum.duration
        guard shortest >= shortestInterval else { throw .intervalTooShort(minimum: shortestInterval) }
        if let intervalGrid, !parameters.intervalMinimum.rawValue.isMultiple(of: intervalGrid.rawValue) {
            throw .intervalOffGrid(intervalGrid)
        }
        let isShortestAlone = shortest == shortestInterval && longest == shortestInterval
        guard longest - shortest >= intervalSpread || allowsShortestIntervalAlone && isShortestAlone else {
            throw .intervalSpreadTooNarrow(minimum: intervalSpread)
        }
        guard parameters.latency <= maximumLatency else { throw .latencyTooHigh(maximum: maximumLatency) }
        let timeout = parameters.supervisionTimeout.duration
        guard supervisionTimeouts.contains(timeout) else { throw .supervisionTimeoutOutOfRange(supervisionTimeouts) }
        let silence = longest * (Int(parameters.latency) + 1)
        guard silence <= Self.longestSilence else { throw .silenceTooLong }
        guard silence * 3 < timeout else { throw .supervisionTimeoutTooShortForLatency }
    }
}

extension ConnectionParameterRules.Violation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAllowedByCore: "the Core does not allow such parameters"
        case .intervalTooShort(let minimum): "the interval is shorter than \(minimum)"
        case .intervalOffGrid(let grid): "the shortest interval is not a multiple of \(grid)"
        case .intervalSpreadTooNarrow(let minimum): "the intervals asked for are less than \(minimum) apart"
        case .latencyTooHigh(let maximum): "the latency is above \(maximum)"
        case .supervisionTimeoutOutOfRange(let range):
            "the supervision timeout is not between \(range.lowerBound) and \(range.upperBound)"
        case .silenceTooLong: "the watch could be silent for more than \(ConnectionParameterRules.longestSilence)"
        case .supervisionTimeoutTooShortForLatency:
            "the supervision timeout is shorter than three silences of the watch"
        }
    }
}
