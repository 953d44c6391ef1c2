import ByteCoding

/// Which of the 37 data channels of LE are, or may be, in use: a bit each, channel 0 in bit 0.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.19.
package struct DataChannelMap: OptionSet, Hashable, Sendable {
    /// How many data channels there are.
    package static let channelCount = 37
    /// A connection cannot do with fewer.
    package static let minimumCount = 2
    /// Every channel.
    package static let all = DataChannelMap(rawValue: 1 << UInt64(channelCount) - 1)

    package let rawValue: UInt64
    /// The channels of these bits. Those above bit 36 are reserved for future use, and ignored: iPhones set some.
    package init(rawValue: UInt64) { self.rawValue = rawValue & (1 << UInt64(Self.channelCount) - 1) }

    /// How many channels it has.
    package var count: Int { rawValue.nonzeroBitCount }

    /// Whether a connection can use it: it has at least two channels.
    package var isValid: Bool { count >= Self.minimumCount }

    /// Whether it has a channel, from 0 to 36.
    package func contains(channel: Int) -> Bool {
        (0..<Self.channelCount).contains(channel) && rawValue >> UInt64(channel) & 1 == 1
    }

    /// Its channels, the lowest first.
    package var channels: [Int] { (0..<Self.channelCount).filter { contains(channel: $0) } }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let low = try reader.readLittleEndian(field, as: UInt32.self)
        let high = try reader.readUInt8(field)
        self.init(rawValue: UInt64(low) | UInt64(high) << 32)
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(UInt32(truncatingIfNeeded: rawValue))
        buffer.append(UInt8(truncatingIfNeeded: rawValue >> 32))
    }
}
