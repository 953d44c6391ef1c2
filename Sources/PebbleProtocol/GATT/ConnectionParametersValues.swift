import ByteCoding

/// What the Connection Parameters characteristic says of a link: seven bytes.
///
/// | Offset | Size | Field |
/// |---|---|---|
/// | 0 | 1 | bit 0: packets can be made longer |
/// | 1 | 2 | connection interval, 1.25 ms units |
/// | 3 | 2 | latency, connection events |
/// | 5 | 2 | supervision timeout, 10 ms units |
package struct ConnectionParametersStatus: Equatable, Sendable {
    /// Whether packets can be made longer than 27 bytes (LE Data Packet Length Extension).
    package var supportsLongPackets: Bool
    /// The connection interval, in units of 1.25 ms.
    package var interval: UInt16
    /// How many connection events the watch may leave out in a row.
    package var latency: UInt16
    /// The supervision timeout, in units of 10 ms.
    package var supervisionTimeout: UInt16

    /// A status by its fields, in the characteristic's units.
    package init(supportsLongPackets: Bool, interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.supportsLongPackets = supportsLongPackets
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The characteristic's value.
    package var encoded: [UInt8] {
        var value: [UInt8] = [supportsLongPackets ? 1 : 0]
        for field in [interval, latency, supervisionTimeout] { value.appendLittleEndian(field) }
        return value
    }
}

/// What a phone asks for by writing Connection Parameters.
package enum ConnectionParametersCommand: Equatable, Sendable {
    /// Parameters that a phone wants a watch to ask for, in the units of the status.
    package struct ParameterSet: Equatable, Sendable {
        /// The shortest connection interval, in units of 1.25 ms; 6 to 3200 in a set that was read.
        package var intervalMinimum: UInt16
        /// The longest connection interval, in units of 1.25 ms; the shortest one to 3200 in a set that was read.
        package var intervalMaximum: UInt16
        /// How many connection events the watch may leave out in a row; 0 to 255 in a set that was read.
        package var latency: UInt16
        /// The supervision timeout, in units of 10 ms; 12 to 765 in a set that was read.
        package var supervisionTimeout: UInt16

        /// A set by its fields, in the status's units. Ranges are not checked.
        package init(intervalMinimum: UInt16, intervalMaximum: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
            self.intervalMinimum = intervalMinimum
            self.intervalMaximum = intervalMaximum
            self.latency = latency
            self.supervisionTimeout = supervisionTimeout
        }
    }

    /// The sets of the three response times.
    package struct ParameterSets: Equatable, Sendable {
        /// What the watch asks for while no need is there: response time 0.
        package var slow: ParameterSet
        /// What the watch asks for at response time 1.
        package var middle: ParameterSet
        /// What the watch asks for while speed is needed: response time 2.
        package var fast: ParameterSet

        /// The sets by their response times.
        package init(slow: ParameterSet, middle: ParameterSet, fast: ParameterSet) {
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
    package enum Refusal: UInt8, Error, Sendable {
        /// The value has fewer bytes than its command needs: Invalid Attribute Value Length.
        case tooShort = 0x0D
        /// The first byte is no command.
        case unknownCommand = 0x80
        /// The response time is 3, which does not exist.
        case noSuchResponseTime = 0x81
        /// The shortest interval of a set is below 7.5 ms.
        case intervalMinimumTooShort = 0x82
        /// The shortest interval of a set is above 4 s.
        case intervalMinimumTooLong = 0x83
        /// The longest interval of a set is above 4 s.
        case intervalMaximumTooLong = 0x84
        /// The supervision timeout of a set is below 100 ms.
        case supervisionTimeoutTooShort = 0x85
        /// Packets are to be made longer, and the watch's controller cannot do that.
        case longPacketsNotSupported = 0x86
    }

    /// Reads what was written.
    package init(_ value: ArraySlice<UInt8>) throws(Refusal) {
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
