import ByteCoding

/// How often the two sides of a connection meet, and when they give each other up.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.12 and 7.8.18.
public struct ConnectionParameters: Hashable, Sendable {
    /// The shortest time between connection events.
    public var intervalMinimum: ConnectionInterval
    /// The longest time between connection events.
    public var intervalMaximum: ConnectionInterval
    /// How many connection events the peripheral may skip: 0 to 499.
    public var latency: UInt16
    /// How long the link may hear nothing before it is lost.
    public var supervisionTimeout: SupervisionTimeout
    /// How long a connection event should last at least; a hint.
    public var eventLengthMinimum: ConnectionEventLength
    /// How long a connection event should last at most; a hint.
    public var eventLengthMaximum: ConnectionEventLength

    /// The most connection events that a peripheral may skip.
    package static let maximumLatency: UInt16 = 499

    /// Makes parameters of any values: `areValid` says whether the Core allows them. Event lengths are 0 unless given.
    public init(
        intervalMinimum: ConnectionInterval,
        intervalMaximum: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout,
        eventLengthMinimum: ConnectionEventLength = ConnectionEventLength(rawValue: 0),
        eventLengthMaximum: ConnectionEventLength = ConnectionEventLength(rawValue: 0)
    ) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
        self.eventLengthMinimum = eventLengthMinimum
        self.eventLengthMaximum = eventLengthMaximum
    }

    /// Whether the Core allows them: each in its range, the interval's bounds in order, and a supervision timeout
    /// longer than (1 + latency) * longest interval * 2.
    public var areValid: Bool {
        guard intervalMinimum.isValid, intervalMaximum.isValid, intervalMinimum <= intervalMaximum else { return false }
        guard latency <= Self.maximumLatency, supervisionTimeout.isValid else { return false }
        return supervisionTimeout.duration > intervalMaximum.duration * 2 * (1 + Int(latency))
    }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        intervalMinimum = try ConnectionInterval(reading: &reader, field + ".interval_min")
        intervalMaximum = try ConnectionInterval(reading: &reader, field + ".interval_max")
        latency = try reader.readLittleEndian(field + ".max_latency")
        supervisionTimeout = try SupervisionTimeout(reading: &reader, field + ".supervision_timeout")
        eventLengthMinimum = try ConnectionEventLength(reading: &reader, field + ".min_ce_length")
        eventLengthMaximum = try ConnectionEventLength(reading: &reader, field + ".max_ce_length")
    }

    func encode(to buffer: inout [UInt8]) {
        intervalMinimum.encode(to: &buffer)
        intervalMaximum.encode(to: &buffer)
        buffer.appendLittleEndian(latency)
        supervisionTimeout.encode(to: &buffer)
        eventLengthMinimum.encode(to: &buffer)
        eventLengthMaximum.encode(to: &buffer)
    }
}

/// Whether an initiator connects to one peer or to any in the filter accept list.
package enum InitiatorFilterPolicy: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the initiator connects to the peer that the command names.
    case peerAddress = 0
    /// 1: the initiator connects to any device in the filter accept list, and ignores the peer that the command names.
    case acceptList = 1
}

/// Which side of a connection this device is.
public enum ConnectionRole: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the device that initiated the connection.
    case central = 0
    /// 1: the device that advertised.
    case peripheral = 1
}

/// How precise the central's clock is, in parts per million; only a peripheral is told.
package enum ClockAccuracy: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: at most 500 ppm, which is 0.5 ms a second.
    case ppm500 = 0
    /// 1: at most 250 ppm.
    case ppm250 = 1
    /// 2: at most 150 ppm.
    case ppm150 = 2
    /// 3: at most 100 ppm.
    case ppm100 = 3
    /// 4: at most 75 ppm.
    case ppm75 = 4
    /// 5: at most 50 ppm.
    case ppm50 = 5
    /// 6: at most 30 ppm.
    case ppm30 = 6
    /// 7: at most 20 ppm.
    case ppm20 = 7
}

/// How much one link layer packet carries.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.33.
public struct DataLength: Hashable, Sendable {
    /// How many octets of payload: 27 to 251.
    public var octets: UInt16
    /// How long the packet takes on air, in microseconds: 328 to 17040.
    public var timeMicroseconds: UInt16

    /// What every link starts with, and all that controllers without data length extension have.
    package static let minimum = DataLength(octets: 27, timeMicroseconds: 328)
    /// The most there is, long enough for the coded PHY.
    package static let maximum = DataLength(octets: 251, timeMicroseconds: 17040)

    /// Makes a data length of any values: the ranges are not checked.
    public init(octets: UInt16, timeMicroseconds: UInt16) {
        self.octets = octets
        self.timeMicroseconds = timeMicroseconds
    }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        octets = try reader.readLittleEndian(field + "_octets")
        timeMicroseconds = try reader.readLittleEndian(field + "_time")
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(octets)
        buffer.appendLittleEndian(timeMicroseconds)
    }
}

/// How a connection hops between channels.
package enum ChannelSelectionAlgorithm: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: Channel Selection Algorithm #1, which adds the same hop increment each time.
    case algorithm1 = 0
    /// 1: Channel Selection Algorithm #2, which hops pseudo-randomly. Both sides must support it.
    case algorithm2 = 1
}
