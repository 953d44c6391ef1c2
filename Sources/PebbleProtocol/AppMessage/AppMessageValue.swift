import ByteCoding

/// One entry of an AppMessage dictionary.
///
/// Layout: key (UInt32), type (UInt8), length (UInt16), value; integers little-endian.
public struct AppMessageTuple: Hashable, Sendable {
    /// What the entry is filed under; not unique.
    public var key: UInt32
    /// What it says.
    public var value: AppMessageValue

    /// Key, type and length.
    package static let headerLength = 7

    /// An entry.
    public init(key: UInt32, value: AppMessageValue) {
        self.key = key
        self.value = value
    }

    /// Reads an entry. One whose type or width the format does not know is ``AppMessageValue/unrecognized(type:_:)``.
    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        key = try reader.readLittleEndian("tuple.key")
        let type = try reader.readUInt8("tuple.type")
        let length: UInt16 = try reader.readLittleEndian("tuple.length")
        value = AppMessageValue(type: type, bytes: try reader.readBytes(Int(length), "tuple.value"))
    }
}

/// What a tuple holds, in the width in which it travels.
///
/// Widths are not canonical: senders write the same number in any of them and with either sign, so read integers
/// through ``integer``. Bytes and strings share the storage of the message they were read from.
public enum AppMessageValue: Hashable, Sendable {
    /// Type 0: bytes, 0 to 65535 of them.
    case bytes(ArraySlice<UInt8>)
    /// Type 1: text with its terminating NUL.
    case string(AppMessageString)
    /// Type 2, one byte.
    case uint8(UInt8)
    /// Type 2, two bytes.
    case uint16(UInt16)
    /// Type 2, four bytes.
    case uint32(UInt32)
    /// Type 3, one byte.
    case int8(Int8)
    /// Type 3, two bytes.
    case int16(Int16)
    /// Type 3, four bytes.
    case int32(Int32)
    /// A type that does not exist, or an integer of a width that does not exist. The watch keeps such tuples.
    case unrecognized(type: UInt8, ArraySlice<UInt8>)

    /// The type numbers of the format.
    enum TypeCode {
        static let bytes: UInt8 = 0
        static let string: UInt8 = 1
        static let unsigned: UInt8 = 2
        static let signed: UInt8 = 3
    }

    /// Text, with a NUL added.
    public static func string(_ text: String) -> AppMessageValue { .string(AppMessageString(text)) }

    /// Bytes.
    public static func bytes(_ bytes: [UInt8]) -> AppMessageValue { .bytes(bytes[...]) }

    init(type: UInt8, bytes: ArraySlice<UInt8>) {
        switch (type, bytes.count) {
        case (TypeCode.bytes, _): self = .bytes(bytes)
        case (TypeCode.string, _): self = .string(AppMessageString(terminatedBytes: bytes))
        case (TypeCode.unsigned, 1): self = .uint8(Self.littleEndian(bytes))
        case (TypeCode.unsigned, 2): self = .uint16(Self.littleEndian(bytes))
        case (TypeCode.unsigned, 4): self = .uint32(Self.littleEndian(bytes))
        case (TypeCode.signed, 1): self = .int8(Self.littleEndian(bytes))
        case (TypeCode.signed, 2): self = .int16(Self.littleEndian(bytes))
        case (TypeCode.signed, 4): self = .int32(Self.littleEndian(bytes))
        default: self = .unrecognized(type: type, bytes)
        }
    }

    private static func littleEndian<Value: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Value {
        bytes.reversed().reduce(0) { ($0 << 8) | Value(truncatingIfNeeded: $1) }
    }

    /// The type's number on the wire.
    package var type: UInt8 {
        switch self {
        case .bytes: TypeCode.bytes
        case .string: TypeCode.string
        case .uint8, .uint16, .uint32: TypeCode.unsigned
        case .int8, .int16, .int32: TypeCode.signed
        case .unrecognized(let type, _): type
        }
    }

    /// How many bytes the value takes, without the tuple's header.
    package var encodedLength: Int {
        switch self {
        case .bytes(let bytes), .unrecognized(_, let bytes): bytes.count
        case .string(let string): string.terminatedBytes.count
        case .uint8, .int8: 1
        case .uint16, .int16: 2
        case .uint32, .int32: 4
        }
    }

    /// The number, whatever its width and sign; nil if this is none.
    public var integer: Int64? {
        switch self {
        case .uint8(let value): Int64(value)
        case .uint16(let value): Int64(value)
        case .uint32(let value): Int64(value)
        case .int8(let value): Int64(value)
        case .int16(let value): Int64(value)
        case .int32(let value): Int64(value)
        case .bytes, .string, .unrecognized: nil
        }
    }

    /// The text; nil if this is none.
    public var text: String? {
        if case .string(let string) = self { string.text } else { nil }
    }

    /// Appends the value, without the tuple's header.
    func encode(to bytes: inout [UInt8]) {
        switch self {
        case .bytes(let value), .unrecognized(_, let value): bytes += value
        case .string(let string): bytes += string.terminatedBytes
        case .uint8(let value): bytes.append(value)
        case .uint16(let value): bytes.appendLittleEndian(value)
        case .uint32(let value): bytes.appendLittleEndian(value)
        case .int8(let value): bytes.append(UInt8(bitPattern: value))
        case .int16(let value): bytes.appendLittleEndian(value)
        case .int32(let value): bytes.appendLittleEndian(value)
        }
    }
}

/// Text in an AppMessage dictionary: the bytes as they travel, which need not be good UTF-8 nor end with a NUL.
public struct AppMessageString: Hashable, Sendable, ExpressibleByStringLiteral {
    /// What travels, the terminating NUL included. The C API writes a null pointer as no bytes at all.
    public let terminatedBytes: ArraySlice<UInt8>

    /// Bytes as they were received.
    public init(terminatedBytes: ArraySlice<UInt8>) { self.terminatedBytes = terminatedBytes }

    /// Text, with a NUL added.
    public init(_ text: String) {
        var bytes = Array(text.utf8)
        bytes.append(0)
        terminatedBytes = bytes[...]
    }

    public init(stringLiteral value: String) { self.init(value) }

    /// Everything up to the first NUL; what is not UTF-8 becomes replacement characters.
    public var text: String { String(decoding: terminatedBytes.prefix { $0 != 0 }, as: UTF8.self) }
}
