import BluetoothHCI

/// The names of parameters, as they are typed in front of `=`.
public enum FaultKey: String, Hashable, Sendable, CaseIterable {
    case button
    case by
    case bytes
    case capability
    case channel
    case code
    case delay
    case direction
    case during
    case endpoint
    case error
    case event
    case from
    case handle
    case length
    case minutes
    case mps
    case opcode
    case over
    case packets
    case percent
    case ppm
    case psm
    case reason
    case result
    case seconds
    case status
    case step
    case to
    case told
    case version

    // The options of every fault.
    case after
    case count
    case every
    case `for`
    case phone
    case probability
    case seed
    case skip
}

/// The value of a parameter.
public enum FaultValue: Hashable, Sendable {
    /// A number.
    case number(Int)
    /// A time, in whole milliseconds.
    case time(Duration)
    /// One of the parameter's words.
    case word(String)
    /// A probability, in millionths.
    case fraction(Int)
    /// A device address.
    case address(DeviceAddress)
}

/// A parameter of a fault: its name, its values and what it means.
public struct FaultParameter: Sendable {
    /// What a parameter's value looks like.
    public enum Form: Hashable, Sendable {
        /// A number in a range, in decimal or, with `0x` in front, in hexadecimal. The unit is what is counted.
        case number(ClosedRange<Int>, unit: String? = nil)
        /// A time in a range: `250ms`, `2s`, or a number of seconds.
        case time(ClosedRange<Duration>)
        /// One of these.
        case word([String])
        /// A probability above 0 and up to 1, with at most six digits behind the point.
        case fraction
        /// A device address, as `C0:DE:00:00:12:34`.
        case address
    }

    /// Its name.
    public let key: FaultKey
    /// What it looks like.
    public let form: Form
    /// What it is if nothing is said; nil for one without which the fault is about everything, or does not look for it.
    public let fallback: FaultValue?
    /// What it says, as a noun.
    public let help: String

    init(_ key: FaultKey, _ form: Form, _ fallback: FaultValue?, _ help: String) {
        self.key = key
        self.form = form
        self.fallback = fallback
        self.help = help
    }

    static func number(
        _ key: FaultKey,
        _ range: ClosedRange<Int>,
        unit: String? = nil,
        default fallback: Int? = nil,
        _ help: String
    ) -> Self { Self(key, .number(range, unit: unit), fallback.map(FaultValue.number), help) }

    static func time(
        _ key: FaultKey,
        _ range: ClosedRange<Duration>,
        default fallback: Duration? = nil,
        _ help: String
    ) -> Self { Self(key, .time(range), fallback.map(FaultValue.time), help) }

    static func word(_ key: FaultKey, _ words: [String], default fallback: String? = nil, _ help: String) -> Self {
        Self(key, .word(words), fallback.map(FaultValue.word), help)
    }
}
