import BluetoothHCI

/// One pairing, from the moment that both devices know what they agree on until the last key is given.
///
/// Source: Core 5.4, Vol 3, Part H, 2.1.
struct Pairing: Sendable {
    /// Where it is.
    enum Phase: Sendable {
        /// Between phases 1 and 2: the responder's user has not consented yet, and nothing was answered.
        case awaitingConsent
        /// Phase 2 of LE Secure Connections.
        case secureConnections(SecureConnectionsPairing)
        /// Phase 2 of LE legacy pairing.
        case legacy(LegacyPairing)
        /// Both devices have the key; the link has to be encrypted with it.
        case encrypting(LongTermKey)
        /// Phase 3.
        case distributingKeys(LongTermKey, KeyDistribution)
    }

    /// What phases 2 and 3 need of this device, beyond what was agreed on.
    struct Materials: Sendable {
        /// What computes confirm values, check values and keys.
        let toolbox: CryptoToolbox
        /// For LE Secure Connections.
        var keyPair: P256KeyPair?
        /// For LE Secure Connections with out of band data.
        var outOfBand = SecureConnectionsPairing.OutOfBandKnowledge()
        /// For LE legacy pairing with out of band data.
        var temporaryKey: TemporaryKey?
        /// Whether a peer may use the debug key.
        var allowsDebugKey = false
        /// Who this device is.
        var localIdentity: LocalIdentity?
    }

    /// What a pairing comes to.
    struct Result: Sendable {
        let longTermKey: LongTermKey
        let peerKeys: KeyDistribution.PeerKeys
        let ownLongTermKey: LegacyLongTermKey?
        let distributedKeys: DistributedKeys
    }

    /// Who said that both devices show the same number.
    enum Comparer: Sendable {
        /// Somebody who looked at both.
        case person
        /// This device, which has no eyes.
        case device
    }

    let context: PairingContext
    private let materials: Materials
    private var comparer = Comparer.person
    private(set) var phase = Phase.awaitingConsent

    init(_ context: PairingContext, _ materials: Materials) {
        self.context = context
        self.materials = materials
    }

    /// The key to encrypt the link with, while that is what is being waited for.
    var pendingKey: LongTermKey? {
        if case .encrypting(let key) = phase { key } else { nil }
    }

    /// Whether the key protects against a man in the middle. A comparison that no person made does not.
    var isAuthenticated: Bool {
        switch (context.terms.model, comparer) {
        case (.numericComparison, .device): false
        case (.numericComparison, .person), (.justWorks, _), (.passkeyEntry, _), (.outOfBand, _):
            context.terms.isAuthenticated
        }
    }

    /// How much the key protects.
    var strength: BondStrength { BondStrength(context.terms, isAuthenticated: isAuthenticated) }

    /// What the pairing came to, once it is over.
    var result: Result? {
        guard case .distributingKeys(let key, let distribution) = phase, distribution.isComplete else { return nil }
        return Result(
            longTermKey: key,
            peerKeys: distribution.peerKeys,
            ownLongTermKey: distribution.ownLongTermKey,
            distributedKeys: distribution.distributedKeys
        )
    }

    /// What the peer is told when this device's user does not want to go on.
    var rejectionReason: PairingFailedReason {
        switch (phase, context.terms.model) {
        case (.awaitingConsent, _): .pairingNotSupported
        case (.secureConnections, .numericComparison): .numericComparisonFailed
        case (.secureConnections, .passkeyEntry), (.legacy, .passkeyEntry): .passkeyEntryFailed
        default: .unspecifiedReason
        }
    }

    // MARK: Steps

    /// Begins phase 2; the responder answers the Pairing Request first.
    mutating func begin(
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        if context.role == .responder { output.pdus.append(.pairingResponse(context.terms.response)) }
        guard context.terms.usesSecureConnections else {
            let pairing = try LegacyPairing(
                context,
                materials.toolbox,
                outOfBandKey: materials.temporaryKey,
                &randomness,
                &output
            )
            phase = .legacy(pairing)
            return
        }
        guard let keyPair = materials.keyPair else { throw .unspecifiedReason }
        var pairing = SecureConnectionsPairing(
            context: context,
            toolbox: materials.toolbox,
            keyPair: keyPair,
            outOfBand: materials.outOfBand,
            allowsDebugKey: materials.allowsDebugKey
        )
        pairing.begin(&randomness, &output)
        phase = .secureConnections(pairing)
    }

    /// Takes a command of the peer.
    mutating func receive(
        _ pdu: SMPPDU,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        switch phase {
        case .awaitingConsent, .encrypting:
            throw .unspecifiedReason
        case .secureConnections(var pairing):
            try pairing.receive(pdu, &randomness, &output)
            advance(to: .secureConnections(pairing), output)
        case .legacy(var pairing):
            try pairing.receive(pdu, &output)
            advance(to: .legacy(pairing), output)
        case .distributingKeys(let key, var distribution):
            try distribution.receive(pdu, &randomness, &output)
            phase = .distributingKeys(key, distribution)
        }
    }

    /// The user typed the passkey.
    mutating func enter(
        _ passkey: Passkey,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        switch phase {
        case .secureConnections(var pairing):
            try pairing.enter(passkey, &randomness, &output)
            phase = .secureConnections(pairing)
        case .legacy(var pairing):
            try pairing.enter(passkey, &output)
            phase = .legacy(pairing)
        case .awaitingConsent, .encrypting, .distributingKeys:
            break
        }
    }

    /// The user says that both devices show the same number; or this device goes on without knowing.
    mutating func confirmComparison(by comparer: Comparer, _ output: inout PairingOutput) {
        guard case .secureConnections(var pairing) = phase else { return }
        self.comparer = comparer
        pairing.confirmComparison(&output)
        advance(to: .secureConnections(pairing), output)
    }

    /// The link is encrypted with the pairing's key: begins phase 3.
    mutating func encrypted(_ randomness: inout RandomSource, _ output: inout PairingOutput) {
        guard case .encrypting(let key) = phase else { return }
        var distribution = KeyDistribution(
            role: context.role,
            terms: context.terms,
            localIdentity: materials.localIdentity
        )
        distribution.begin(&randomness, &output)
        phase = .distributingKeys(key, distribution)
    }

    private mutating func advance(to next: Phase, _ output: PairingOutput) {
        if let key = output.newKey { phase = .encrypting(key) } else { phase = next }
    }
}
