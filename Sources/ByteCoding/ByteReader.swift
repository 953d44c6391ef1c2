/// Why some bytes could not be read as the value they were supposed to hold.
///
/// Every decoder in Cairn throws this one error, naming the field in the words of its specification, so that a
/// log line such as `le_connection_complete.handle: 2 bytes needed, 1 left` says what was wrong and where.
public struct ByteDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was wrong with the field.
    public enum Reason: Equatable, Sendable {
        /// Fewer bytes were left than the field needs.
        case truncated(needed: Int, available: Int)
        /// The bytes were there, but their value is not one that the specification allows.
        case invalidValue(UInt64)
        /// The field's declared length contradicts the bytes around it.
        case invalidLength(Int)
        /// Bytes follow the last field where the format leaves no room for any.
        case trailingBytes(Int)
    }

    /// The field's name, as in the specification that defines it.
    public let field: String
    /// What was wrong with it.
    public let reason: Reason

    /// Names a field and what was wrong with it.
    public init(_ field: String, _ reason: Reason) {
        self.field = field
        self.reason = reason
    }

    public var description: String {
        switch reason {
        case .truncated(let needed, let available): "\(field): \(needed) bytes needed, \(available) left"
        case .invalidValue(let value): "\(field): value 0x\(String(value, radix: 16)) is not allowed"
        case .invalidLength(let length): "\(field): length \(length) is not allowed"
        case .trailingBytes(let count): "\(field): \(count) unexpected bytes follow"
        }
    }
}

/// Reads typed values off the front of some bytes, and checks every length before it does.
///
/// This is the only way that bytes from outside become values: no decoder indexes an array. A reader shares the
/// storage of the bytes it was made from, so reading allocates nothing. It moves a position through them instead of
/// cutting them shorter: that costs no counting of references, which is most of what reading a number could cost.
@frozen
public struct ByteReader: Sendable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    /// The index of the first byte that has not been read; never outside of the slice.
    @usableFromInline var position: Int

    /// Starts at the first byte of a slice.
    @inlinable
    public init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Starts at the first byte of an array.
    @inlinable
    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// What has not been read yet.
    @inlinable
    public var remaining: ArraySlice<UInt8> { bytes[position...] }

    /// How many bytes are left.
    @inlinable
    public var count: Int { bytes.endIndex - position }

    /// Whether everything has been read.
    @inlinable
    public var isEmpty: Bool { position == bytes.endIndex }

    /// Takes exactly `count` bytes; `field` names them in the error.
    @inlinable
    public mutating func readBytes(_ count: Int, _ field: String) throws(ByteDecodingError) -> ArraySlice<UInt8> {
        try require(count, field)
        let start = position
        position += count
        return bytes[start..<position]
    }

    /// Takes everything that is left.
    @inlinable
    public mutating func readRemaining() -> ArraySlice<UInt8> {
        let start = position
        position = bytes.endIndex
        return bytes[start...]
    }

    /// Takes one byte.
    @inlinable
    public mutating func readUInt8(_ field: String) throws(ByteDecodingError) -> UInt8 {
        try require(1, field)
        defer { position += 1 }
        return bytes[position]
    }

    /// Takes one byte as a two's complement number.
    @inlinable
    public mutating func readInt8(_ field: String) throws(ByteDecodingError) -> Int8 {
        Int8(bitPattern: try readUInt8(field))
    }

    /// Takes an integer of the type's own width, least significant byte first.
    @inlinable @inline(__always)
    public mutating func readLittleEndian<Value: FixedWidthInteger>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let size = Value.bitWidth / 8
        try require(size, field)
        let value = bytes.span.littleEndian(at: position - bytes.startIndex, as: type)
        position += size
        return value
    }

    /// Takes an integer of the type's own width, most significant byte first.
    @inlinable
    public mutating func readBigEndian<Value: FixedWidthInteger>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let size = Value.bitWidth / 8
        try require(size, field)
        let value = bytes.span.bigEndian(at: position - bytes.startIndex, as: type)
        position += size
        return value
    }

    /// Fails if anything is left: for formats that end with their last field.
    @inlinable
    public func expectEnd(_ field: String) throws(ByteDecodingError) {
        guard isEmpty else { throw ByteDecodingError(field, .trailingBytes(count)) }
    }

    /// Fails if fewer than `needed` bytes are left.
    @inlinable
    func require(_ needed: Int, _ field: String) throws(ByteDecodingError) {
        guard needed >= 0, needed <= count else {
            throw ByteDecodingError(field, .truncated(needed: needed, available: count))
        }
    }
}

extension ArraySlice<UInt8> {
    /// The integer at an offset from the first byte, least significant byte first; nil if it is not all there.
    ///
    /// A `ByteReader` holds the bytes that it reads from, which costs a count of references. This looks at the few fields by
    /// which every packet is told apart.
    @inlinable @inline(__always)
    public func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type = Value.self) -> Value? {
        let bytes = span
        guard offset >= 0, offset <= bytes.count - Value.bitWidth / 8 else { return nil }
        return bytes.littleEndian(at: offset, as: type)
    }
}

/// Integers whose bytes are there. Their bytes are a span of their own, of a length that the compiler knows: so it looks once whether they
/// are there, and loads them at once. Of a slice it would look at each byte, and load each.
extension Span<UInt8> {
    /// The integer at an offset, least significant byte first.
    @inlinable @inline(__always)
    func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        let size = Value.bitWidth / 8
        let bytes = extracting(offset..<(offset &+ size))
        var value: Value = 0
        for place in 0..<size { value = value &<< 8 | Value(truncatingIfNeeded: bytes[size &- 1 &- place]) }
        return value
    }

    /// The integer at an offset, most significant byte first.
    @inlinable @inline(__always)
    func bigEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        let size = Value.bitWidth / 8
        let bytes = extracting(offset..<(offset &+ size))
        var value: Value = 0
        for place in 0..<size { value = value &<< 8 | Value(truncatingIfNeeded: bytes[place]) }
        return value
    }
}
