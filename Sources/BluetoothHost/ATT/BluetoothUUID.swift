import ByteCoding

/// A UUID as Bluetooth uses it: 16 bits where the Bluetooth SIG assigned the number, 128 bits elsewhere.
///
/// A 16-bit UUID is an abbreviation of a 128-bit one (Core 5.4, Vol 3, Part B, 2.5.1), so the two forms of one
/// UUID are equal and hash alike. On the air both are sent least significant byte first.
public enum BluetoothUUID: Sendable {
    /// A number assigned by the Bluetooth SIG.
    case uuid16(UInt16)
    /// The whole UUID as a number: the first byte of its text is the most significant.
    case uuid128(UInt128)

    /// `00000000-0000-1000-8000-00805F9B34FB`, which 16- and 32-bit UUIDs abbreviate.
    package static let base: UInt128 = 0x0000_0000_0000_1000_8000_0080_5F9B_34FB

    /// Reads `180A`, `0000180A` or `0000180A-0000-1000-8000-00805F9B34FB`, in either case; nil for other text.
    public init?(_ text: some StringProtocol) {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.allSatisfy({ group in group.allSatisfy({ $0.isHexDigit }) }) else { return nil }
        switch groups.map({ $0.count }) {
        case [4]:
            guard let value = UInt16(text, radix: 16) else { return nil }
            self = .uuid16(value)
        case [8]:
            guard let value = UInt32(text, radix: 16) else { return nil }
            self = .uuid128(Self.base | UInt128(value) << 96)
        case [8, 4, 4, 4, 12]:
            guard let value = UInt128(groups.joined(), radix: 16) else { return nil }
            self = .uuid128(value)
        default:
            return nil
        }
    }

    /// The whole UUID, with the base filled in.
    package var as128Bits: UInt128 {
        switch self {
        case .uuid16(let value): Self.base | UInt128(value) << 96
        case .uuid128(let value): value
        }
    }

    /// The shortest form: a 128-bit UUID that lies on the base becomes a 16-bit one.
    package var shortened: BluetoothUUID {
        guard case .uuid128(let value) = self, value & ~(UInt128(UInt16.max) << 96) == Self.base else { return self }
        return .uuid16(UInt16(truncatingIfNeeded: value >> 96))
    }

    /// How many bytes this form takes on the air: 2 or 16.
    package var byteCount: Int {
        switch self {
        case .uuid16: 2
        case .uuid128: 16
        }
    }

    /// Reads a UUID that fills the reader: 2 or 16 bytes, least significant first.
    init(readingAllOf reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        switch reader.count {
        case 2: self = .uuid16(try reader.readLittleEndian(field))
        case 16: self = .uuid128(try reader.readLittleEndian(field))
        case let count: throw ByteDecodingError(field, .invalidLength(count))
        }
    }
}

extension BluetoothUUID: Hashable {
    public static func == (left: BluetoothUUID, right: BluetoothUUID) -> Bool {
        if case (.uuid16(let left), .uuid16(let right)) = (left, right) { return left == right }
        return left.as128Bits == right.as128Bits
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(as128Bits) }
}

extension BluetoothUUID: CustomStringConvertible {
    /// `180A`, or the 36 characters of a whole UUID, in upper case.
    public var description: String {
        switch self {
        case .uuid16(let value):
            return Self.digits(of: value)
        case .uuid128(let value):
            let parts = [
                Self.digits(of: UInt32(truncatingIfNeeded: value >> 96)),
                Self.digits(of: UInt16(truncatingIfNeeded: value >> 80)),
                Self.digits(of: UInt16(truncatingIfNeeded: value >> 64)),
                Self.digits(of: UInt16(truncatingIfNeeded: value >> 48)),
                Self.digits(of: UInt16(truncatingIfNeeded: value >> 32))
                    + Self.digits(of: UInt32(truncatingIfNeeded: value)),
            ]
            return parts.joined(separator: "-")
        }
    }

    private static func digits(of value: some FixedWidthInteger) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: value.bitWidth / 4 - text.count) + text
    }
}

extension [UInt8] {
    /// Appends the UUID in its own form, 2 or 16 bytes, least significant first.
    package mutating func append(_ uuid: BluetoothUUID) {
        switch uuid {
        case .uuid16(let value): appendLittleEndian(value)
        case .uuid128(let value): appendLittleEndian(value)
        }
    }
}
