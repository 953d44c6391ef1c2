import BluetoothHCI
import ByteCoding

/// What names a key of LE legacy pairing in a request to encrypt: EDIV and Rand.
///
/// Both are zero for a key that needs no name: one of LE Secure Connections, or an STK.
/// Source: Core 5.4, Vol 3, Part H, 2.4.2.3.
package struct LongTermKeyName: Hashable, Sendable {
    /// EDIV.
    package var encryptedDiversifier: UInt16
    /// Rand.
    package var randomNumber: UInt64

    /// A name as a peer sends it: EDIV of 2 octets and Rand of 8.
    package init(encryptedDiversifier: UInt16, randomNumber: UInt64) {
        self.encryptedDiversifier = encryptedDiversifier
        self.randomNumber = randomNumber
    }

    /// The name of a key that needs none.
    package static let none = LongTermKeyName(encryptedDiversifier: 0, randomNumber: 0)

    /// Reads EDIV, then Rand: 10 octets.
    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        encryptedDiversifier = try reader.readLittleEndian("\(field).ediv")
        randomNumber = try reader.readLittleEndian("\(field).rand")
    }

    /// Appends EDIV, then Rand.
    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(encryptedDiversifier)
        buffer.appendLittleEndian(randomNumber)
    }
}

/// A key of LE legacy pairing, and what names it.
package struct LegacyLongTermKey: Hashable, Sendable {
    /// The key.
    package var key: LongTermKey
    /// Its name.
    package var name: LongTermKeyName

    /// A key, and the name by which a central refers to it when it starts encryption.
    package init(key: LongTermKey, name: LongTermKeyName) {
        self.key = key
        self.name = name
    }
}

/// What two devices remember of each other after a pairing, so that they can encrypt every later link.
///
/// A value to be stored whole: `encode(to:)` and `init(reading:)` are its stable form. It holds secrets, which
/// neither its description nor that of any of its parts shows, but its encoding does.
public struct Bond: Hashable, Sendable {
    /// The keys that encrypt a link.
    package enum Keys: Hashable, Sendable {
        /// From LE Secure Connections: one key, whichever device is central.
        case secureConnections(LongTermKey)
        /// From LE legacy pairing: each device gave one, to be used when it is the peripheral.
        case legacy(own: LegacyLongTermKey?, peer: LegacyLongTermKey?)
    }

    /// What the owner of the bond keeps with it. The Security Manager only carries it along, also into the bond that
    /// replaces this one when the same device pairs again.
    package struct Metadata: Hashable, Sendable {
        /// The peer's name, to show to people.
        package var name: String
        /// Bits that mean something to the owner.
        package var flags: OwnerFlags

        /// No name and no flags, unless told otherwise. Of a name, at most `maximumNameSize` octets of UTF-8 are
        /// stored.
        package init(name: String = "", flags: OwnerFlags = []) {
            self.name = name
            self.flags = flags
        }
    }

    /// Bits that mean something to the owner of a bond alone, who gives them names in an extension.
    package struct OwnerFlags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
    }

    /// Who the peer is: its public or static random address.
    public let identity: LEAddress
    /// The keys that encrypt a link.
    package var keys: Keys
    /// How much of the keys counts.
    public var keySize: EncryptionKeySize
    /// Whether the pairing protected against a man in the middle.
    public var isAuthenticated: Bool
    /// What resolves the peer's private addresses; nil if it has none.
    package var peerIdentityResolvingKey: IdentityResolvingKey?
    /// What the peer signs data with; nil if it does not.
    package var peerSignatureKey: ConnectionSignatureResolvingKey?
    /// Which keys of this device the peer was given.
    package var distributedKeys: DistributedKeys
    /// What the owner keeps with the bond.
    package var metadata: Metadata

    /// A bond, whose `identity` must be a public or static random address: with another one, `init(reading:)` refuses
    /// what `encode(to:)` makes of it. That the controller resolved the address is not kept.
    package init(
        identity: LEAddress,
        keys: Keys,
        keySize: EncryptionKeySize = .maximum,
        isAuthenticated: Bool,
        peerIdentityResolvingKey: IdentityResolvingKey? = nil,
        peerSignatureKey: ConnectionSignatureResolvingKey? = nil,
        distributedKeys: DistributedKeys = [],
        metadata: Metadata = Metadata()
    ) {
        self.identity = identity.withoutIdentityType
        self.keys = keys
        self.keySize = keySize
        self.isAuthenticated = isAuthenticated
        self.peerIdentityResolvingKey = peerIdentityResolvingKey
        self.peerSignatureKey = peerSignatureKey
        self.distributedKeys = distributedKeys
        self.metadata = metadata
    }

    /// Whether the keys came from LE Secure Connections.
    package var usesSecureConnections: Bool {
        switch keys {
        case .secureConnections: true
        case .legacy: false
        }
    }

    /// The key, and its name, with which the device in this role takes part in encryption; nil if it was not given.
    func longTermKey(as role: PairingRole) -> LegacyLongTermKey? {
        switch (keys, role) {
        case (.secureConnections(let key), _): LegacyLongTermKey(key: key, name: .none)
        case (.legacy(let own, _), .responder): own
        case (.legacy(_, let peer), .initiator): peer
        }
    }
}

// MARK: - The stored form

extension Bond {
    /// The number at the head of the stored form.
    private static let formatVersion: UInt8 = 1

    /// The longest name that is stored, in octets of UTF-8: that of a Device Name (Core 5.4, Vol 3, Part C, 12.1).
    package static let maximumNameSize = 248

    private struct StoredFlags: OptionSet {
        let rawValue: UInt8
        static let isAuthenticated = StoredFlags(rawValue: 1 << 0)
        static let usesSecureConnections = StoredFlags(rawValue: 1 << 1)
        static let hasOwnKey = StoredFlags(rawValue: 1 << 2)
        static let hasPeerKey = StoredFlags(rawValue: 1 << 3)
        static let hasIdentityResolvingKey = StoredFlags(rawValue: 1 << 4)
        static let hasSignatureKey = StoredFlags(rawValue: 1 << 5)
    }

    /// Appends the stored form, secrets and all.
    ///
    /// Version (1 octet, now 1), identity (type 1, address 6), flags (1), key size (1), distributed keys (1), owner's
    /// flags (4), the LTK or the legacy keys that the flags announce (16, or each 16 and EDIV 2 and Rand 8), IRK (16),
    /// CSRK (16), name (length 1, UTF-8). All numbers least significant octet first.
    public func encode(to buffer: inout [UInt8]) {
        var flags: StoredFlags = []
        if isAuthenticated { flags.insert(.isAuthenticated) }
        if peerIdentityResolvingKey != nil { flags.insert(.hasIdentityResolvingKey) }
        if peerSignatureKey != nil { flags.insert(.hasSignatureKey) }
        var stored: [UInt8] = []
        switch keys {
        case .secureConnections(let key):
            flags.insert(.usesSecureConnections)
            key.encode(to: &stored)
        case .legacy(let own, let peer):
            if let own {
                flags.insert(.hasOwnKey)
                own.encode(to: &stored)
            }
            if let peer {
                flags.insert(.hasPeerKey)
                peer.encode(to: &stored)
            }
        }
        buffer.append(Self.formatVersion)
        identity.encode(to: &buffer)
        buffer.append(flags.rawValue)
        buffer.append(UInt8(keySize.octets))
        buffer.append(distributedKeys.rawValue)
        buffer.appendLittleEndian(metadata.flags.rawValue)
        buffer.append(contentsOf: stored)
        peerIdentityResolvingKey?.encode(to: &buffer)
        peerSignatureKey?.encode(to: &buffer)
        let name = metadata.name.prefixFitting(Self.maximumNameSize).utf8
        buffer.append(UInt8(clamping: name.count))
        buffer.append(contentsOf: name)
    }

    /// Reads one stored form.
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let version = try reader.readUInt8("bond.version")
        guard version == Self.formatVersion else {
            throw ByteDecodingError("bond.version", .invalidValue(UInt64(version)))
        }
        identity = try LEAddress(reading: &reader, "bond.identity")
        guard identity.isIdentity else {
            throw ByteDecodingError("bond.identity", .invalidValue(identity.address.value))
        }
        let flags = StoredFlags(rawValue: try reader.readUInt8("bond.flags"))
        isAuthenticated = flags.contains(.isAuthenticated)
        let size = try reader.readUInt8("bond.key_size")
        guard let keySize = EncryptionKeySize(octets: Int(size)) else {
            throw ByteDecodingError("bond.key_size", .invalidValue(UInt64(size)))
        }
        self.keySize = keySize
        distributedKeys = DistributedKeys(rawValue: try reader.readUInt8("bond.distributed_keys"))
        let ownerFlags = OwnerFlags(rawValue: try reader.readLittleEndian("bond.owner_flags"))
        if flags.contains(.usesSecureConnections) {
            keys = .secureConnections(try LongTermKey(reading: &reader, "bond.long_term_key"))
        } else {
            keys = .legacy(
                own: flags.contains(.hasOwnKey) ? try LegacyLongTermKey(reading: &reader, "bond.own_key") : nil,
                peer: flags.contains(.hasPeerKey) ? try LegacyLongTermKey(reading: &reader, "bond.peer_key") : nil
            )
        }
        peerIdentityResolvingKey =
            flags.contains(.hasIdentityResolvingKey)
            ? try IdentityResolvingKey(reading: &reader, "bond.identity_resolving_key") : nil
        peerSignatureKey =
            flags.contains(.hasSignatureKey)
            ? try ConnectionSignatureResolvingKey(reading: &reader, "bond.signature_key") : nil
        let nameSize = try reader.readUInt8("bond.name_size")
        let name = try reader.readBytes(Int(nameSize), "bond.name")
        metadata = Metadata(name: String(decoding: name, as: UTF8.self), flags: ownerFlags)
    }
}

extension LegacyLongTermKey {
    fileprivate init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        key = try LongTermKey(reading: &reader, field)
        name = try LongTermKeyName(reading: &reader, field)
    }

    fileprivate func encode(to buffer: inout [UInt8]) {
        key.encode(to: &buffer)
        name.encode(to: &buffer)
    }
}

extension String {
    /// As many whole characters as fit into a number of octets of UTF-8.
    fileprivate func prefixFitting(_ limit: Int) -> String {
        var text = self
        while text.utf8.count > limit { text.removeLast() }
        return text
    }
}
