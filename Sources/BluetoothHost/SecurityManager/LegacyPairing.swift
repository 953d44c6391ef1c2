/// Phase 2 of LE legacy pairing: both devices prove that they know the temporary key, and make the STK of it.
///
/// An eavesdropper can work out the temporary key afterwards, unless it came out of band. That is why a profile has to
/// ask for this kind of pairing.
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.5.
struct LegacyPairing: Sendable {
    private enum State: Sendable {
        /// The user, to type the passkey; the peer's commitment may already be here.
        case awaitingPasskey(peerConfirm: UInt128?)
        /// The peer's commitment to its random number; the initiator has sent its own.
        case awaitingConfirm(ownConfirm: UInt128?)
        /// The peer's random number, which has to fit its commitment.
        case awaitingRandom(peerConfirm: UInt128)
        /// Nothing more.
        case finished
    }

    private let context: PairingContext
    private let toolbox: CryptoToolbox
    private let random: UInt128
    private var temporaryKey: TemporaryKey
    private var state: State

    /// Phase 2 begins: the device that is to show a passkey shows it, and an initiator that knows the temporary key commits.
    /// - Parameter outOfBandKey: what both share; only for the model Out of Band.
    init(
        _ context: PairingContext,
        _ toolbox: CryptoToolbox,
        outOfBandKey: TemporaryKey?,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        self.context = context
        self.toolbox = toolbox
        random = UInt128.random(in: 0...UInt128.max, using: &randomness)
        temporaryKey = .justWorks
        state = .awaitingConfirm(ownConfirm: nil)
        switch context.terms.model {
        case .justWorks, .numericComparison:
            break
        case .outOfBand:
            temporaryKey = outOfBandKey ?? .justWorks
        case .passkeyEntry(let display):
            guard display == context.role else {
                output.prompt = .requestPasskey
                state = .awaitingPasskey(peerConfirm: nil)
                return
            }
            let passkey = Passkey(from: &randomness)
            temporaryKey = TemporaryKey(UInt128(passkey.number))
            output.prompt = .displayPasskey(passkey)
        }
        if context.role == .initiator { try sendConfirm(&output) }
    }

    /// The user typed the passkey.
    mutating func enter(_ passkey: Passkey, _ output: inout PairingOutput) throws(PairingFailedReason) {
        guard case .awaitingPasskey(let peerConfirm) = state else { return }
        temporaryKey = TemporaryKey(UInt128(passkey.number))
        state = .awaitingConfirm(ownConfirm: nil)
        switch context.role {
        case .initiator: try sendConfirm(&output)
        case .responder: if let peerConfirm { try answer(peerConfirm, &output) }
        }
    }

    /// Takes a command of the peer.
    mutating func receive(_ pdu: SMPPDU, _ output: inout PairingOutput) throws(PairingFailedReason) {
        switch (state, pdu) {
        case (.awaitingPasskey(peerConfirm: nil), .pairingConfirm(let peerConfirm))
        where context.role == .responder:
            // The other user was faster.
            state = .awaitingPasskey(peerConfirm: peerConfirm)

        case (.awaitingConfirm(let ownConfirm), .pairingConfirm(let peerConfirm)):
            switch context.role {
            case .initiator:
                // Our own value, reflected, would fit the random number that we are about to send.
                guard peerConfirm != ownConfirm else { throw .confirmValueFailed }
                output.pdus.append(.pairingRandom(random))
                state = .awaitingRandom(peerConfirm: peerConfirm)
            case .responder:
                try answer(peerConfirm, &output)
            }

        case (.awaitingRandom(let peerConfirm), .pairingRandom(let peerRandom)):
            guard try confirm(peerRandom) == peerConfirm else { throw .confirmValueFailed }
            let isInitiator = context.role == .initiator
            if !isInitiator { output.pdus.append(.pairingRandom(random)) }
            let key = try toolbox.s1(
                temporaryKey,
                responderRandom: isInitiator ? peerRandom : random,
                initiatorRandom: isInitiator ? random : peerRandom
            )
            output.newKey = key.masked(to: context.terms.keySize)
            state = .finished

        default:
            throw .unspecifiedReason
        }
    }

    private mutating func sendConfirm(_ output: inout PairingOutput) throws(PairingFailedReason) {
        let ownConfirm = try confirm(random)
        output.pdus.append(.pairingConfirm(ownConfirm))
        state = .awaitingConfirm(ownConfirm: ownConfirm)
    }

    private mutating func answer(
        _ peerConfirm: UInt128,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        output.pdus.append(.pairingConfirm(try confirm(random)))
        state = .awaitingRandom(peerConfirm: peerConfirm)
    }

    /// The commitment to a random number, this device's or the peer's: both are computed alike.
    private func confirm(_ random: UInt128) throws(PairingFailedReason) -> UInt128 {
        try toolbox.c1(
            temporaryKey,
            random: random,
            request: SMPPDU.pairingRequest(context.terms.request).confirmValueInput,
            response: SMPPDU.pairingResponse(context.terms.response).confirmValueInput,
            initiator: context.initiator,
            responder: context.responder
        )
    }
}
