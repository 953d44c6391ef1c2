import ByteCoding

/// A number of 256 bits: a coordinate of a P-256 point.
public struct UInt256: Hashable, Sendable {
    /// The more significant half.
    public var high: UInt128
    /// The less significant half.
    public var low: UInt128

    /// Puts the halves together.
    public init(high: UInt128, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// Reads 32 octets, most significant first.
    public init(bigEndian reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        high = try reader.readBigEndian(field)
        low = try reader.readBigEndian(field)
    }

    /// Reads 32 octets, least significant first.
    init(littleEndian reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        low = try reader.readLittleEndian(field)
        high = try reader.readLittleEndian(field)
    }

    /// Appends 32 octets, most significant first.
    public func appendBigEndian(to buffer: inout [UInt8]) {
        buffer.appendBigEndian(high)
        buffer.appendBigEndian(low)
    }

    /// Appends 32 octets, least significant first.
    func appendLittleEndian(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(low)
        buffer.appendLittleEndian(high)
    }
}
