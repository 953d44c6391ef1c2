/// The initiator's steps through phase 2 of LE Secure Connections pairing.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.6 and appendix C.2.2.
extension SecureConnectionsPairing {
    mutating func receiveAsInitiator(
        _ pdu: SMPPDU,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        switch (state, pdu) {
        case (.awaitingPublicKey, .pairingPublicKey(let peerKey)):
            let keys = try makeKeyExchange(peerKey)
            switch context.terms.model {
            case .justWorks, .numericComparison:
                state = .awaitingConfirm(keys, makeRound(0, &randomness))
            case .passkeyEntry:
                if passkey == nil {
                    state = .awaitingPasskey(keys, peerConfirm: nil)
                } else {
                    try beginRoundAsInitiator(0, keys, &randomness, &output)
                }
            case .outOfBand:
                try checkOutOfBand(keys)
                let round = makeRound(0, &randomness)
                output.pdus.append(.pairingRandom(round.nonce))
                state = .awaitingRandom(keys, round, peerConfirm: nil)
            }

        case (.awaitingConfirm(let keys, let round), .pairingConfirm(let peerConfirm)):
            output.pdus.append(.pairingRandom(round.nonce))
            state = .awaitingRandom(keys, round, peerConfirm: peerConfirm)

        case (.awaitingRandom(let keys, let round, let peerConfirm), .pairingRandom(let peerNonce)):
            if let peerConfirm, try keys.peerConfirm(peerNonce, round.z, toolbox) != peerConfirm {
                throw .confirmValueFailed
            }
            guard isLast(round) else {
                try beginRoundAsInitiator(round.number + 1, keys, &randomness, &output)
                return
            }
            let outcome = try makeOutcome(keys, ownNonce: round.nonce, peerNonce: peerNonce)
            if context.terms.model == .numericComparison {
                let value = try comparisonValue(keys, ownNonce: round.nonce, peerNonce: peerNonce)
                output.prompt = .numericComparison(value)
                state = .awaitingComparison(outcome, peerCheck: nil)
            } else {
                sendCheckAsInitiator(outcome, &output)
            }

        case (.awaitingCheck(let outcome), .pairingDHKeyCheck(let value)):
            guard value == outcome.peerCheck else { throw .dhKeyCheckFailed }
            output.newKey = outcome.longTermKey
            state = .finished

        default:
            throw .unspecifiedReason
        }
    }

    /// Commits to the next bit of the passkey.
    mutating func beginRoundAsInitiator(
        _ number: Int,
        _ keys: KeyExchange,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        let round = makeRound(number, &randomness)
        output.pdus.append(.pairingConfirm(try keys.ownConfirm(round.nonce, round.z, toolbox)))
        state = .awaitingConfirm(keys, round)
    }

    /// The user, where one was asked, agrees: proves that this device knows the key.
    mutating func sendCheckAsInitiator(_ outcome: Outcome, _ output: inout PairingOutput) {
        output.pdus.append(.pairingDHKeyCheck(outcome.ownCheck))
        state = .awaitingCheck(outcome)
    }
}
