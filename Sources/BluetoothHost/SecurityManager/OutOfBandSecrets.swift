import BluetoothHCI

/// What was exchanged out of band for pairings that are still to come: what peers told this device, and what this device
/// tells peers.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.4 and 2.3.5.6.4.
struct OutOfBandSecrets: Sendable {
    /// How many peers there can be data of.
    static let maximumPeers = 8

    private var peers: [LEAddress: PeerOutOfBandData] = [:]
    private var own: (keyPair: P256KeyPair, data: OutOfBandData)?

    /// Nothing was exchanged.
    init() {}

    /// Keeps what was learned about a peer, unless that is one peer too many; nil forgets it.
    mutating func set(_ data: PeerOutOfBandData?, of peer: LEAddress) {
        guard data == nil || peers[peer] != nil || peers.count < Self.maximumPeers else { return }
        peers[peer] = data
    }

    /// Makes what this device can tell a peer, in place of what it made before.
    /// - Returns: nil if the source of randomness is broken, or the cryptographic library.
    mutating func makeOwn(_ randomness: inout RandomSource, _ toolbox: CryptoToolbox) -> OutOfBandData? {
        guard let keyPair = P256KeyPair(from: &randomness, toolbox) else { return nil }
        let random = UInt128.random(in: 0...UInt128.max, using: &randomness)
        let x = keyPair.publicKey.x
        guard let confirm = try? toolbox.f4(x, x, random, 0) else { return nil }
        let data = OutOfBandData(confirm: confirm, random: random)
        own = (keyPair, data)
        return data
    }

    /// Whether something is known about a peer that one kind of pairing can use.
    func knows(_ peer: LEAddress, secureConnections: Bool) -> Bool {
        guard let data = peers[peer] else { return false }
        return secureConnections ? data.secureConnections != nil : data.temporaryKey != nil
    }

    /// Adds what a pairing by the model Out of Band needs.
    ///
    /// For LE Secure Connections what the flags of both devices say has to be true: a model by which no user could check
    /// anything must not pass for an authenticated one.
    func add(
        to materials: inout Pairing.Materials,
        _ terms: PairingTerms,
        on link: SecurityLink
    ) throws(PairingFailedReason) {
        let peer = peers[link.peerAddress]
        guard terms.usesSecureConnections else {
            guard let key = peer?.temporaryKey else { throw .outOfBandNotAvailable }
            materials.temporaryKey = key
            return
        }
        if terms.features(of: link.role).hasOutOfBandData {
            guard let data = peer?.secureConnections else { throw .outOfBandNotAvailable }
            materials.outOfBand.peer = data
        }
        if terms.features(of: link.role.other).hasOutOfBandData {
            guard let own else { throw .outOfBandNotAvailable }
            materials.keyPair = own.keyPair
            materials.outOfBand.ownRandom = own.data.random
        }
    }

    /// A pairing completed: what it used is forgotten.
    mutating func used(in terms: PairingTerms, on link: SecurityLink) {
        guard terms.model == .outOfBand else { return }
        peers[link.peerAddress] = nil
        if terms.features(of: link.role.other).hasOutOfBandData { own = nil }
    }
}
