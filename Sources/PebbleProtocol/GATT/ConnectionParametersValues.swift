import ByteCoding

/// What the Connection Parameters characteristic says of a link: seven bytes.
///
/// | Offset | Size | Field |
/// |---|---|---|
/// | 0 | 1 | bit 0: packets can be made longer |
/// | 1 | 2 | connection interval, 1.25 ms units |
/// | 3 | 2 | latency, connection events |
/// | 5 | 2 | supervision timeout, 10 ms units |
public struct ConnectionParametersStatus: Equatable, Sendable {
    public var supportsLongPackets: Bool
    public var interval: UInt16
    public var latency: UInt16
    public var supervisionTimeout: UInt16

    public init(supportsLongPackets: Bool, interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.supportsLongPackets = supportsLongPackets
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The characteristic's value.
    public var encoded: [UInt8] {
        var value: [UInt8] = [supportsLongPackets ? 1 : 0]
        for field in [interval, latency, supervisionTimeout] { value.appendLittleEndian(field) }
        return value
    }
}

/// What a phone asks for by writing Connection Parameters.
public enum ConnectionParametersCommand: Equatable, Sendable {
    /// Parameters that a phone wants a watch to ask for, in the units of the status.
    public struct ParameterSet: Equatable, Sendable {
        public var intervalMinimum: UInt16
        public var intervalMaximum: UInt16
        public var latency: UInt16
        public var supervisionTimeout: UInt16

        public init(intervalMinimum: UInt16, intervalMaximum: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
            self.intervalMinimum = intervalMinimum
            self.intervalMaximum = intervalMaximum
            self.latency = latency
            self.supervisionTimeout = supervisionTimeout
        }
    }

    /// The sets of the three response times.
    public struct ParameterSets: Equatable, Sendable {
        public var slow: ParameterSet
        public var middle: ParameterSet
        public var fast: ParameterSet

        public init(slow: ParameterSet, middle: ParameterSet, fast: ParameterSet) {
            self.slow = slow
            self.middle = middle
            self.fast = fast
        }
    }

    /// Whether the phone manages the parameters itself, and what the watch is to ask for if it does not.
    case manage(byPhone: Bool, ParameterSets?)
    /// The phone needs a response time: 0 slow, 1 middle, 2 fast.
    case need(responseTime: UInt8)
    /// Whether the watch is to make packets longer now.
    case lengthenPackets(Bool)
    /// The controller is not to sleep.
    case stayAwake

    /// Why a command is refused: the ATT error that answers it.
    public enum Refusal: UInt8, Error, Sendable {
        case tooShort = 0x0D
        case unknownCommand = 0x80
        case noSuchResponseTime = 0x81
        case intervalMinimumTooShort = 0x82
        case intervalMinimumTooLong = 0x83
        case intervalMaximumTooLong = 0x84
        case supervisionTimeoutTooShort = 0x85
        case longPacketsNotSupported = 0x86
    }

    /// Reads what was written.
    public init(_ value: ArraySlice<UInt8>) throws(Refusal) {
        var reader = ByteReader(value)
        guard let command = try? reader.readUInt8("connection_parameters.command"),
            let argument = try? reader.readUInt8("connection_parameters.argument")
        else { throw .tooShort }
        switch command {
        case 0x00:
            guard !reader.remaining.isEmpty else {
                self = .manage(byPhone: argument & 1 != 0, nil)
                return
            }
            let slow = try ParameterSet(reading: &reader)
            let middle = try ParameterSet(reading: &reader)
            let fast = try ParameterSet(reading: &reader)
            self = .manage(byPhone: argument & 1 != 0, ParameterSets(slow: slow, middle: middle, fast: fast))
        case 0x01:
            guard argument & 0b11 <= 2 else { throw .noSuchResponseTime }
            self = .need(responseTime: argument & 0b11)
        case 0x02: self = .lengthenPackets(argument & 1 != 0)
        case 0x03: self = .stayAwake
        default: throw .unknownCommand
        }
    }
}

extension ConnectionParametersCommand.ParameterSet {
    /// Core 5.4, Vol 4, Part E, 7.8.18: the interval's range, and the least timeout, in the status's units.
    private static let intervals: ClosedRange<UInt16> = 6...3200
    private static let shortestTimeout: UInt16 = 10
    /// One count of a set's timeout is 30 ms.
    private static let timeoutFactor: UInt16 = 3

    /// Five bytes: shortest interval (two), how much the longest is longer, latency, timeout in 30 ms units.
    init(reading reader: inout ByteReader) throws(ConnectionParametersCommand.Refusal) {
        guard let minimum: UInt16 = try? reader.readLittleEndian("connection_parameters.interval_min"),
            let spread = try? reader.readUInt8("connection_parameters.interval_spread"),
            let latency = try? reader.readUInt8("connection_parameters.latency"),
            let timeout = try? reader.readUInt8("connection_parameters.timeout")
        else { throw .tooShort }
        guard minimum >= Self.intervals.lowerBound else { throw .intervalMinimumTooShort }
        guard minimum <= Self.intervals.upperBound else { throw .intervalMinimumTooLong }
        let maximum = minimum + UInt16(spread)
        guard maximum <= Self.intervals.upperBound else { throw .intervalMaximumTooLong }
        let supervisionTimeout = UInt16(timeout) * Self.timeoutFactor
        guard supervisionTimeout >= Self.shortestTimeout else { throw .supervisionTimeoutTooShort }
        self.init(
            intervalMinimum: minimum,
            intervalMaximum: maximum,
            latency: UInt16(latency),
            supervisionTimeout: supervisionTimeout
        )
    }
}
