import ByteCoding

/// A value that no log, error, assertion or debugger may show: it prints as `<redacted>`, whatever asks.
public protocol Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, Unreflected {}

extension Secret {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
}

/// A secret of 128 bits.
///
/// Keys are numbers, so that no code has to remember which end comes first: the Core defines its functions on
/// numbers written most significant octet first and sends every key least significant octet first.
package protocol SecretKey: Secret {
    /// The key as a number.
    var value: UInt128 { get }
    /// Any number is a key.
    init(_ value: UInt128)
}

extension SecretKey {
    /// The size of a key on the wire and in a store, in octets.
    package static var size: Int { 16 }

    /// Reads 16 octets, least significant first.
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        self.init(try reader.readLittleEndian(field))
    }

    /// Appends 16 octets, least significant first.
    package func encode(to buffer: inout [UInt8]) { buffer.appendLittleEndian(value) }
}

/// What encrypts a link (LTK), or during LE legacy pairing stands in for it (STK).
package struct LongTermKey: SecretKey {
    package let value: UInt128
    package init(_ value: UInt128) { self.value = value }

    /// The key with all but its `size` least significant octets cleared.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.3.4.
    func masked(to size: EncryptionKeySize) -> LongTermKey {
        LongTermKey(value & (UInt128.max >> UInt128((Self.size - size.octets) * 8)))
    }
}

/// What turns a device's resolvable private addresses back into its identity (IRK).
public struct IdentityResolvingKey: SecretKey {
    public let value: UInt128
    public init(_ value: UInt128) { self.value = value }
}

/// What a device signs data with (CSRK).
package struct ConnectionSignatureResolvingKey: SecretKey {
    package let value: UInt128
    package init(_ value: UInt128) { self.value = value }
}

/// What LE legacy pairing starts from (TK): zero, the passkey, or 128 bits handed over out of band.
package struct TemporaryKey: SecretKey {
    package let value: UInt128
    package init(_ value: UInt128) { self.value = value }

    /// Just Works: no secret at all.
    static let justWorks = TemporaryKey(0)
}

/// What both sides of LE Secure Connections check each other's knowledge with, before they trust the LTK (MacKey).
struct MacKey: SecretKey {
    let value: UInt128
    init(_ value: UInt128) { self.value = value }
}

/// How much of a key counts: 7 to 16 octets.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.4.
public struct EncryptionKeySize: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 7...16.
    public let octets: Int

    /// The smallest size that the Core allows: 56 bits.
    package static let minimum = EncryptionKeySize(unchecked: 7)
    /// The largest size, which is the whole key: 128 bits.
    package static let maximum = EncryptionKeySize(unchecked: 16)

    /// Nil unless the size is 7...16.
    package init?(octets: Int) {
        guard (7...16).contains(octets) else { return nil }
        self.octets = octets
    }

    private init(unchecked octets: Int) { self.octets = octets }

    public static func < (left: EncryptionKeySize, right: EncryptionKeySize) -> Bool { left.octets < right.octets }

    public var description: String { "\(octets) octets" }
}
