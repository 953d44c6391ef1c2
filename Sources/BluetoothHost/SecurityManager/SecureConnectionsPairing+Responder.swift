/// The responder's steps through phase 2 of LE Secure Connections pairing.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.6 and appendix C.2.2.
extension SecureConnectionsPairing {
    mutating func receiveAsResponder(
        _ pdu: SMPPDU,
        _ randomness: inout RandomSource,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        switch (state, pdu) {
        case (.awaitingPublicKey, .pairingPublicKey(let peerKey)):
            let keys = try makeKeyExchange(peerKey)
            output.pdus.append(.pairingPublicKey(keys.own))
            switch context.terms.model {
            case .justWorks, .numericComparison:
                let round = makeRound(0, &randomness)
                output.pdus.append(.pairingConfirm(try keys.ownConfirm(round.nonce, round.z, toolbox)))
                state = .awaitingRandom(keys, round, peerConfirm: nil)
            case .passkeyEntry:
                state =
                    passkey == nil
                    ? .awaitingPasskey(keys, peerConfirm: nil) : .awaitingConfirm(keys, makeRound(0, &randomness))
            case .outOfBand:
                try checkOutOfBand(keys)
                state = .awaitingRandom(keys, makeRound(0, &randomness), peerConfirm: nil)
            }

        case (.awaitingPasskey(let keys, peerConfirm: nil), .pairingConfirm(let peerConfirm)):
            // The other user was faster.
            state = .awaitingPasskey(keys, peerConfirm: peerConfirm)

        case (.awaitingConfirm(let keys, let round), .pairingConfirm(let peerConfirm)):
            try answer(peerConfirm, in: round, keys, &output)

        case (.awaitingRandom(let keys, let round, let peerConfirm), .pairingRandom(let peerNonce)):
            if let peerConfirm, try keys.peerConfirm(peerNonce, round.z, toolbox) != peerConfirm {
                throw .confirmValueFailed
            }
            output.pdus.append(.pairingRandom(round.nonce))
            guard isLast(round) else {
                state = .awaitingConfirm(keys, makeRound(round.number + 1, &randomness))
                return
            }
            let outcome = try makeOutcome(keys, ownNonce: round.nonce, peerNonce: peerNonce)
            if context.terms.model == .numericComparison {
                let value = try comparisonValue(keys, ownNonce: round.nonce, peerNonce: peerNonce)
                output.prompt = .numericComparison(value)
                state = .awaitingComparison(outcome, peerCheck: nil)
            } else {
                state = .awaitingCheck(outcome)
            }

        case (.awaitingComparison(let outcome, peerCheck: nil), .pairingDHKeyCheck(let value)):
            // The other user was faster. A wrong value need not wait for ours.
            guard value == outcome.peerCheck else { throw .dhKeyCheckFailed }
            state = .awaitingComparison(outcome, peerCheck: value)

        case (.awaitingCheck(let outcome), .pairingDHKeyCheck(let value)):
            guard value == outcome.peerCheck else { throw .dhKeyCheckFailed }
            finishAsResponder(outcome, &output)

        default:
            throw .unspecifiedReason
        }
    }

    /// Answers the peer's commitment to a bit of the passkey with this device's.
    mutating func answer(
        _ peerConfirm: UInt128,
        in round: Round,
        _ keys: KeyExchange,
        _ output: inout PairingOutput
    ) throws(PairingFailedReason) {
        output.pdus.append(.pairingConfirm(try keys.ownConfirm(round.nonce, round.z, toolbox)))
        state = .awaitingRandom(keys, round, peerConfirm: peerConfirm)
    }

    /// The peer knows the key: proves that this device does too.
    mutating func finishAsResponder(_ outcome: Outcome, _ output: inout PairingOutput) {
        output.pdus.append(.pairingDHKeyCheck(outcome.ownCheck))
        output.newKey = outcome.longTermKey
        state = .finished
    }
}
