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
/// storage of the bytes it was made from, so reading allocates nothing.
@frozen
public struct ByteReader: Sendable {
    /// What has not been read yet.
    public private(set) var remaining: ArraySlice<UInt8>

    /// Starts at the first byte of a slice.
    public init(_ bytes: ArraySlice<UInt8>) { remaining = bytes }

    /// Starts at the first byte of an array.
    public init(_ bytes: [UInt8]) { remaining = bytes[...] }

    /// How many bytes are left.
    public var count: Int { remaining.count }

    /// Whether everything has been read.
    public var isEmpty: Bool { remaining.isEmpty }

    /// Takes exactly `count` bytes; `field` names them in the error.
    public mutating func readBytes(_ count: Int, _ field: String) throws(ByteDecodingError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remaining.count else {
            throw ByteDecodingError(field, .truncated(needed: count, available: remaining.count))
        }
        let taken = remaining.prefix(count)
        remaining = remaining.dropFirst(count)
        return taken
    }

    /// Takes everything that is left.
    public mutating func readRemaining() -> ArraySlice<UInt8> {
        let taken = remaining
        remaining = remaining.suffix(0)
        return taken
    }

    /// Takes one byte.
    public mutating func readUInt8(_ field: String) throws(ByteDecodingError) -> UInt8 {
        guard let byte = remaining.popFirst() else {
            throw ByteDecodingError(field, .truncated(needed: 1, available: 0))
        }
        return byte
    }

    /// Takes one byte as a two's complement number.
    public mutating func readInt8(_ field: String) throws(ByteDecodingError) -> Int8 {
        Int8(bitPattern: try readUInt8(field))
    }

    /// Takes an integer of the type's own width, least significant byte first.
    @inlinable
    public mutating func readLittleEndian<Value: FixedWidthInteger>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let bytes = try readBytes(Value.bitWidth / 8, field)
        var value: Value = 0
        for byte in bytes.reversed() { value = (value << 8) | Value(truncatingIfNeeded: byte) }
        return value
    }

    /// Takes an integer of the type's own width, most significant byte first.
    @inlinable
    public mutating func readBigEndian<Value: FixedWidthInteger>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let bytes = try readBytes(Value.bitWidth / 8, field)
        var value: Value = 0
        for byte in bytes { value = (value << 8) | Value(truncatingIfNeeded: byte) }
        return value
    }

    /// Fails if anything is left: for formats that end with their last field.
    public func expectEnd(_ field: String) throws(ByteDecodingError) {
        guard remaining.isEmpty else { throw ByteDecodingError(field, .trailingBytes(remaining.count)) }
    }
}
