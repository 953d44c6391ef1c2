import BluetoothHCI

/// The two devices of a pairing, and what they agreed on.
struct PairingContext: Sendable {
    /// This device's part.
    let role: PairingRole
    /// The initiator's address, as it was on the air when the link came to be.
    let initiator: LEAddress
    /// The responder's address, as it was on the air when the link came to be.
    let responder: LEAddress
    /// What they agreed on.
    let terms: PairingTerms
}

/// What a step of a pairing leads to.
struct PairingOutput: Sendable {
    /// Commands to send, in this order.
    var pdus: [SMPPDU] = []
    /// What to ask or show the user.
    var prompt: PairingPrompt.Kind?
    /// The key that the link is to be encrypted with next: phase 2 is over.
    var newKey: LongTermKey?
}

/// Phase 2 of LE Secure Connections pairing: key agreement, making sure of each other, and the LTK.
///
/// This file has what both roles share, the two extensions what each does when a command arrives.
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.6.
struct SecureConnectionsPairing: Sendable {
    /// What is being waited for.
    enum State: Sendable {
        /// The peer's public key.
        case awaitingPublicKey
        /// The user, to type the passkey; the peer's first commitment may already be here.
        case awaitingPasskey(KeyExchange, peerConfirm: UInt128?)
        /// The peer's commitment to its nonce.
        case awaitingConfirm(KeyExchange, Round)
        /// The peer's nonce, which has to fit its commitment if there is one.
        case awaitingRandom(KeyExchange, Round, peerConfirm: UInt128?)
        /// The user, to say whether the numbers are the same; the peer's check value may already be here.
        case awaitingComparison(Outcome, peerCheck: UInt128?)
        /// The peer's check value.
        case awaitingCheck(Outcome)
        /// Nothing more.
        case finished
    }

    /// Both public keys, and what the devices share by them.
    struct KeyExchange: Sendable {
        let own: P256PublicKey
        let peer: P256PublicKey
        let shared: DHKey

        /// This device's commitment to a nonce.
        func ownConfirm(
            _ nonce: UInt128,
            _ z: UInt8,
            _ toolbox: CryptoToolbox
        ) throws(PairingFailedReason) -> UInt128 {
            try toolbox.f4(own.x, peer.x, nonce, z)
        }

        /// The peer's commitment to a nonce.
        func peerConfirm(
            _ nonce: UInt128,
            _ z: UInt8,
            _ toolbox: CryptoToolbox
        ) throws(PairingFailedReason) -> UInt128 {
            try toolbox.f4(peer.x, own.x, nonce, z)
        }
    }

    /// One exchange of nonces. Passkey Entry has twenty, all other models have one.
    struct Round: Sendable {
        /// Counted from zero.
        let number: Int
        /// This device's nonce.
        let nonce: UInt128
        /// What both commit to besides the nonce: a bit of the passkey, or nothing.
        let z: UInt8
    }

    /// What the pairing comes to if both check values are right.
    struct Outcome: Sendable {
        let longTermKey: LongTermKey
        /// The value that this device proves its knowledge with.
        let ownCheck: UInt128
        /// The value that the peer has to prove its knowledge with.
        let peerCheck: UInt128
    }

    let context: PairingContext
    let toolbox: CryptoToolbox
    let keyPair: P256KeyPair
    /// What out of band data says; nothing in other models.
    let outOfBand: OutOfBandKnowledge
    /// Whether the debug key is a key like any other.
    let allowsDebugKey: Bool
    /// Shown by this device, or typed in by its user.
    var passkey: Passkey?
    var state = State.awaitingPublicKey

    /// The out of band secrets of both devices that take part in this pairing.
    struct OutOfBandKnowledge: Sendable {
        /// The random value that the peer got from this device; zero if it says that it got none.
        var ownRandom: UInt128 = 0
        /// What this device got from the peer.
        var peer: OutOfBandData?
    }

    // MARK: Steps

    /// Phase 2 begins: the initiator sends its key, and the device that is to show a passkey shows it.
    mutating func begin(_ randomness: inout RandomSource, _ output: inout PairingOutput) {
        if case .passkeyEntry(let display) = context.terms.model {
            if display == context.role {
                let passkey = Passkey(from: &randomness)
                self.passkey = passkey
                output.prompt = .displayPasskey(passkey)
            } else {
                output.prompt = .requestPasskey
            }
        }
        if context.role == .initiator { output.pdus.append(.pairingPublicKey(keyPair.publicKey)) }
    }

    /// Takes a command of the peer.
    mutating func receive(
        _ pdu: SMPPDU,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        switch context.role {
        case .initiator: try receiveAsInitiator(pdu, &randomness, &output)
        case .responder: try receiveAsResponder(pdu, &randomness, &output)
        }
    }

    /// The user typed the passkey.
    mutating func enter(
        _ passkey: Passkey,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        self.passkey = passkey
        guard case .awaitingPasskey(let keys, let peerConfirm) = state else { return }
        switch context.role {
        case .initiator:
            try beginRoundAsInitiator(0, keys, &randomness, &output)
        case .responder:
            let round = makeRound(0, &randomness)
            state = .awaitingConfirm(keys, round)
            if let peerConfirm { try answer(peerConfirm, in: round, keys, &output) }
        }
    }

    /// The user says that both devices show the same number.
    mutating func confirmComparison(_ output: inout PairingOutput) {
        guard case .awaitingComparison(let outcome, let peerCheck) = state else { return }
        switch context.role {
        case .initiator: sendCheckAsInitiator(outcome, &output)
        case .responder:
            if peerCheck == nil { state = .awaitingCheck(outcome) } else { finishAsResponder(outcome, &output) }
        }
    }

    // MARK: What both roles do

    /// Checks the peer's public key, and computes what both share by it.
    func makeKeyExchange(_ peer: P256PublicKey) throws(PairingFailedReason) -> KeyExchange {
        if peer.x == P256KeyPair.debugPublicKeyX {
            guard allowsDebugKey else { throw .invalidParameters }
        } else if peer.x == keyPair.publicKey.x {
            // Our own key, reflected: the peer that sent it knows no private key at all.
            throw .dhKeyCheckFailed
        }
        guard let shared = keyPair.sharedKey(with: peer, toolbox) else { throw .dhKeyCheckFailed }
        return KeyExchange(own: keyPair.publicKey, peer: peer, shared: shared)
    }

    /// Checks the peer's public key against what it told out of band.
    func checkOutOfBand(_ keys: KeyExchange) throws(PairingFailedReason) {
        guard let data = outOfBand.peer else { return }
        guard try data.confirm == toolbox.f4(keys.peer.x, keys.peer.x, data.random, 0) else {
            throw .confirmValueFailed
        }
    }

    /// A round with a fresh nonce.
    func makeRound(_ number: Int, _ randomness: inout RandomSource) -> Round {
        let nonce = UInt128.random(in: 0...UInt128.max, using: &randomness)
        return Round(number: number, nonce: nonce, z: passkey?.commitment(round: number) ?? 0)
    }

    /// Whether another round follows one.
    func isLast(_ round: Round) -> Bool {
        if case .passkeyEntry = context.terms.model { return round.number + 1 >= Passkey.bitCount }
        return true
    }

    /// The nonces are exchanged: computes the LTK and the values that prove that both know it.
    func makeOutcome(
        _ keys: KeyExchange,
        ownNonce: UInt128,
        peerNonce: UInt128
    ) throws(PairingFailedReason) -> Outcome {
        let isInitiator = context.role == .initiator
        let derived = try toolbox.f5(
            keys.shared,
            isInitiator ? ownNonce : peerNonce,
            isInitiator ? peerNonce : ownNonce,
            initiator: context.initiator,
            responder: context.responder
        )
        let own = isInitiator ? context.initiator : context.responder
        let peer = isInitiator ? context.responder : context.initiator
        let ownRandom: UInt128
        let peerRandom: UInt128
        switch context.terms.model {
        case .passkeyEntry:
            ownRandom = UInt128(passkey?.number ?? 0)
            peerRandom = ownRandom
        case .outOfBand:
            ownRandom = outOfBand.ownRandom
            peerRandom = outOfBand.peer?.random ?? 0
        case .justWorks, .numericComparison:
            ownRandom = 0
            peerRandom = 0
        }
        return Outcome(
            longTermKey: derived.longTermKey.masked(to: context.terms.keySize),
            ownCheck: try toolbox.f6(
                derived.macKey,
                ownNonce,
                peerNonce,
                peerRandom,
                features: context.terms.features(of: context.role).checkValueInput,
                sender: own,
                receiver: peer
            ),
            peerCheck: try toolbox.f6(
                derived.macKey,
                peerNonce,
                ownNonce,
                ownRandom,
                features: context.terms.features(of: context.role.other).checkValueInput,
                sender: peer,
                receiver: own
            )
        )
    }

    /// The number that both users compare.
    func comparisonValue(
        _ keys: KeyExchange,
        ownNonce: UInt128,
        peerNonce: UInt128
    ) throws(PairingFailedReason) -> NumericComparisonValue {
        switch context.role {
        case .initiator:
            NumericComparisonValue(g2: try toolbox.g2(keys.own.x, keys.peer.x, ownNonce, peerNonce))
        case .responder:
            NumericComparisonValue(g2: try toolbox.g2(keys.peer.x, keys.own.x, peerNonce, ownNonce))
        }
    }
}
