/// How pairings go on and fail on one link.
extension SecurityLink {
    /// Refuses a pairing, or a request for one, that would come too soon or in the middle of another procedure.
    func checkMayPair(_ attempts: RepeatedAttempts, at now: Duration) throws(SecurityRefusal) {
        if hasTimedOut { throw .timedOut }
        if isPairing || keySource != nil { throw .busy }
        if let end = attempts.waitingTime(of: peer, at: now) { throw .tooSoon(until: end) }
    }

    /// Carries out what a step of the pairing leads to.
    mutating func perform(_ step: PairingOutput, _ output: inout SecurityOutput, at now: Duration) {
        for pdu in step.pdus { send(pdu, at: now) }
        if let kind = step.prompt { prompt = output.ask(kind, on: handle) }
        if let key = step.newKey, role == .initiator {
            keySource = .pairing
            output.request(.enableEncryption(handle, .none, key))
        }
    }

    /// Stops what is going on, and tells the peer why.
    mutating func refuse(
        _ reason: PairingFailedReason,
        _ attempts: inout RepeatedAttempts,
        _ output: inout SecurityOutput,
        at now: Duration
    ) {
        send(.pairingFailed(reason), at: now)
        fail(.refused(reason), &attempts, &output, at: now)
    }

    /// Ends the procedure that is going on, if there is one, and reports its failure. The failure of a pairing makes the peer
    /// wait before the next one.
    mutating func fail(
        _ failure: PairingFailure,
        _ attempts: inout RepeatedAttempts,
        _ output: inout SecurityOutput,
        at now: Duration
    ) {
        guard procedure != nil else { return }
        if pairing != nil { attempts.failed(peer, at: now) }
        endProcedure()
        output.report(.pairingFailed(handle, failure))
    }
}
