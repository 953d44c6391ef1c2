import ByteCoding

/// A Bluetooth device address (BD_ADDR): 48 bits, sent least significant octet first and printed most significant first.
///
/// Source: Core 5.4, Vol 6, Part B, 1.3.
public struct DeviceAddress: Hashable, Sendable {
    /// The address as a number: the octet that is printed first is the most significant one.
    public let value: UInt64

    /// The size of an address on the wire, in octets.
    package static let size = 6

    /// All zeros, which several commands use for "no address".
    public static let zero = DeviceAddress(0)

    /// Takes the low 48 bits of a number.
    public init(_ value: UInt64) { self.value = value & 0xFFFF_FFFF_FFFF }

    /// Reads `C0:11:22:33:44:55` (hexadecimal of either case, most significant octet first); nil if it is anything else.
    public init?(_ text: some StringProtocol) {
        let octets = text.split(separator: ":", omittingEmptySubsequences: false)
        guard octets.count == Self.size else { return nil }
        var value: UInt64 = 0
        for octet in octets {
            guard octet.utf8.count == 2, octet.allSatisfy(\.isHexDigit), let byte = UInt8(octet, radix: 16) else {
                return nil
            }
            value = value << 8 | UInt64(byte)
        }
        self.value = value
    }

    /// A static random address from 46 random bits, with the two most significant bits set as the Core requires.
    ///
    /// A number whose 46 random bits are all zeros or all ones, which the Core forbids, has its lowest bit flipped.
    public init(staticRandomFrom random: UInt64) {
        let mask: UInt64 = 0x3FFF_FFFF_FFFF
        let part = random & mask
        self.init(0xC000_0000_0000 | (part == 0 || part == mask ? part ^ 1 : part))
    }

    /// Reads six octets, least significant first.
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        var value: UInt64 = 0
        for byte in try reader.readBytes(Self.size, field).reversed() { value = value << 8 | UInt64(byte) }
        self.value = value
    }

    /// Appends six octets, least significant first.
    package func encode(to buffer: inout [UInt8]) {
        for shift in stride(from: 0, to: 48, by: 8) { buffer.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    /// Whether this is a static address, provided that it is a random one.
    public var isStaticRandom: Bool { value >> 46 == 0b11 }

    /// Whether this is a resolvable private address, provided that it is a random one.
    package var isResolvablePrivate: Bool { value >> 46 == 0b01 }

    /// Whether this is a non-resolvable private address, provided that it is a random one.
    package var isNonResolvablePrivate: Bool { value >> 46 == 0b00 }

    /// The octet at an index as sent, so 0 is the least significant; zero past the end.
    package func octet(_ index: Int) -> UInt8 {
        (0..<Self.size).contains(index) ? UInt8(truncatingIfNeeded: value >> UInt64(index * 8)) : 0
    }
}

extension DeviceAddress: CustomStringConvertible {
    public var description: String {
        (0..<Self.size).reversed()
            .map { index in
                let digits = String(octet(index), radix: 16, uppercase: true)
                return digits.count == 1 ? "0" + digits : digits
            }
            .joined(separator: ":")
    }
}

/// What kind of address a device address is (the Address_Type parameters of HCI).
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.
public enum AddressType: UInt8, Hashable, Sendable, CaseIterable {
    /// A public device address.
    case `public` = 0
    /// A random device address: static or private.
    case random = 1
    /// A public identity address, which the controller resolved from a private one.
    case publicIdentity = 2
    /// A random static identity address, which the controller resolved from a private one.
    case randomIdentity = 3
    /// A resolvable private address that the controller could not resolve; only in the direct address of reports.
    case unresolvedRandom = 0xFE

    /// The kind of the address itself, whether or not the controller resolved it.
    package var withoutIdentity: AddressType {
        switch self {
        case .public, .publicIdentity: .public
        case .random, .randomIdentity, .unresolvedRandom: .random
        }
    }
}

extension AddressType: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    public var description: String {
        switch self {
        case .public: "public"
        case .random: "random"
        case .publicIdentity: "publicIdentity"
        case .randomIdentity: "randomIdentity"
        case .unresolvedRandom: "unresolvedRandom"
        }
    }
}

/// A device address together with its kind; two devices may share the same 48 bits with different kinds.
public struct LEAddress: Hashable, Sendable {
    /// What kind of address it is.
    public var type: AddressType
    /// The 48 bits.
    public var address: DeviceAddress

    /// Pairs an address with its kind.
    public init(type: AddressType, address: DeviceAddress) {
        self.type = type
        self.address = address
    }

    /// A public address.
    public static func `public`(_ address: DeviceAddress) -> LEAddress { LEAddress(type: .public, address: address) }

    /// A random address.
    public static func random(_ address: DeviceAddress) -> LEAddress { LEAddress(type: .random, address: address) }

    /// Reads the type octet, then the address: the order of every HCI parameter that has both.
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        type = try AddressType(reading: &reader, field)
        address = try DeviceAddress(reading: &reader, field)
    }

    /// Appends the type octet, then the address.
    package func encode(to buffer: inout [UInt8]) {
        buffer.append(type.rawValue)
        address.encode(to: &buffer)
    }
}

extension LEAddress: CustomStringConvertible {
    public var description: String { "\(address) (\(type))" }
}
