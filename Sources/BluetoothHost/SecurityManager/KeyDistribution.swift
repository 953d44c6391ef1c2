import BluetoothHCI

/// Who this device is, for those who bond with it.
public struct LocalIdentity: Hashable, Sendable {
    /// Its public or static random address.
    public var address: LEAddress
    /// What makes its private addresses, and is given to peers so that they can resolve them.
    public var identityResolvingKey: IdentityResolvingKey

    /// An identity. That the controller resolved its address is not kept.
    public init(address: LEAddress, identityResolvingKey: IdentityResolvingKey) {
        self.address = address.withoutIdentityType
        self.identityResolvingKey = identityResolvingKey
    }
}

/// Phase 3 of a pairing: over the link that is now encrypted, first the responder gives its keys, then the initiator.
///
/// Source: Core 5.4, Vol 3, Part H, 2.4.3 and 3.6.1.
struct KeyDistribution: Sendable {
    /// The keys that the peer gave.
    struct PeerKeys: Hashable, Sendable {
        var longTermKey: LegacyLongTermKey?
        var identityResolvingKey: IdentityResolvingKey?
        var identity: LEAddress?
        var signatureKey: ConnectionSignatureResolvingKey?
    }

    /// What the peer gave so far.
    private(set) var peerKeys = PeerKeys()
    /// The key that this device gave, for links on which it is the peripheral (LE legacy pairing only).
    private(set) var ownLongTermKey: LegacyLongTermKey?
    /// Which keys this device gave.
    let distributedKeys: DistributedKeys

    private let role: PairingRole
    private let keySize: EncryptionKeySize
    private let localIdentity: LocalIdentity?
    /// What the peer still has to send, in this order.
    private var expected: ArraySlice<SMPCode>
    /// Encryption Information, until Central Identification says what the key is called.
    private var unnamedKey: LongTermKey?
    private var hasSent = false

    init(role: PairingRole, terms: PairingTerms, localIdentity: LocalIdentity?) {
        self.role = role
        self.localIdentity = localIdentity
        keySize = terms.keySize
        distributedKeys = terms.keys(from: role)
        expected = Self.commands(for: terms.keys(from: role.other))[...]
    }

    /// Whether everything went both ways.
    var isComplete: Bool { hasSent && expected.isEmpty }

    /// The link is encrypted: gives this device's keys, unless the peer is first.
    mutating func begin(_ randomness: inout RandomSource, _ output: inout PairingOutput) {
        if role == .responder || expected.isEmpty { send(&randomness, &output) }
    }

    /// Takes one of the peer's keys.
    mutating func receive(
        _ pdu: SMPPDU,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        guard pdu.code == expected.first else { throw .unspecifiedReason }
        switch pdu {
        case .encryptionInformation(let key):
            // A key with more octets than agreed on is one that was not made as agreed.
            guard key == key.masked(to: keySize) else { throw .invalidParameters }
            unnamedKey = key
        case .centralIdentification(let name):
            if let unnamedKey { peerKeys.longTermKey = LegacyLongTermKey(key: unnamedKey, name: name) }
        case .identityInformation(let key):
            // All zeros says that the peer has no private addresses.
            if key.value != 0 { peerKeys.identityResolvingKey = key }
        case .identityAddressInformation(let identity):
            // All zeros says that the peer has nothing to add to the address that it is connected with.
            if identity.address != .zero { peerKeys.identity = identity }
        case .signingInformation(let key):
            peerKeys.signatureKey = key
        case .pairingRequest, .pairingResponse, .pairingConfirm, .pairingRandom, .pairingFailed, .securityRequest,
            .pairingPublicKey, .pairingDHKeyCheck, .keypressNotification:
            throw .unspecifiedReason
        }
        expected = expected.dropFirst()
        if expected.isEmpty && !hasSent { send(&randomness, &output) }
    }

    private mutating func send(
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) {
        hasSent = true
        if distributedKeys.contains(.encryptionKey) {
            let key = LegacyLongTermKey(
                key: LongTermKey(.random(in: 0...UInt128.max, using: &randomness)).masked(to: keySize),
                name: LongTermKeyName(
                    encryptedDiversifier: .random(in: 0...UInt16.max, using: &randomness),
                    // Not zero, so that the name cannot be that of a key without one.
                    randomNumber: .random(in: 1...UInt64.max, using: &randomness)
                )
            )
            ownLongTermKey = key
            output.pdus.append(.encryptionInformation(key.key))
            output.pdus.append(.centralIdentification(key.name))
        }
        if distributedKeys.contains(.identityKey), let localIdentity {
            output.pdus.append(.identityInformation(localIdentity.identityResolvingKey))
            output.pdus.append(.identityAddressInformation(localIdentity.address))
        }
    }

    /// The commands that carry some keys, in the order of Core 5.4, Vol 3, Part H, 3.6.1.
    private static func commands(for keys: DistributedKeys) -> [SMPCode] {
        var commands: [SMPCode] = []
        if keys.contains(.encryptionKey) { commands += [.encryptionInformation, .centralIdentification] }
        if keys.contains(.identityKey) { commands += [.identityInformation, .identityAddressInformation] }
        if keys.contains(.signatureKey) { commands.append(.signingInformation) }
        return commands
    }
}
