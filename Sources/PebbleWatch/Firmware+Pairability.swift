import BluetoothHCI
import BluetoothHost

// Who may pair now, what becomes of those that may not, and who is asked.

// MARK: - Who may

extension Firmware {
    /// Who the phone on a link is to the pairing policy.
    private func applicant(on connection: ConnectionHandle) -> PairingPolicy.Applicant {
        if host.security?.provenIdentity(on: connection) != nil { return .withKey }
        if knowsNoPhone { return .first }
        return host.security?.identity(on: connection) == nil ? .stranger : .withoutKey
    }

    private var isWindowOpen: Bool { pairingWindowEnd != nil }

    /// Whether the watch waits for its first phone: also as long as the one that paired may not know that it has, since the
    /// link was lost at that moment.
    private var knowsNoPhone: Bool { phones.keys.allSatisfy(unheardPhones.contains) }

    /// A phone said something over a link that its key encrypts: it has the key.
    mutating func heard(on connection: ConnectionHandle, at now: Duration) {
        guard !unheardPhones.isEmpty, let phone = host.security?.provenIdentity(on: connection),
            unheardPhones.remove(phone) != nil
        else { return }
        updatePairability(at: now)
    }

    /// Whether a phone may pair now that has not proved who it is: whatever name it gives itself, the answer is the same.
    var isPairable: Bool {
        guard configuration.isBondable else { return false }
        let applicant: PairingPolicy.Applicant = knowsNoPhone ? .first : .stranger
        return configuration.pairing.answer(to: applicant, isWindowOpen: isWindowOpen) != .no
    }

    mutating func closePairingWindow(at now: Duration) {
        guard pairingWindowEnd != nil else { return }
        pairingWindowEnd = nil
        advertiser.receive(.pairingWindow(isOpen: false), at: now)
    }

    /// Tells the Security Manager and the advertising policy who may come.
    mutating func updatePairability(at now: Duration) {
        if let end = pairingWindowEnd, end <= now { closePairingWindow(at: now) }
        let isPairable = isPairable
        host.security?.isPairable = isPairable
        if isReady {
            if isPairable != wasPairable { emit(.pairable(isPairable)) }
            wasPairable = isPairable
        }
        advertiser.receive(.bonds(count: phones.count), at: now)
    }
}

// MARK: - Who is asked

extension Firmware {
    mutating func handle(_ prompt: PairingPrompt, at now: Duration) {
        let connection = prompt.id.connection
        let applicant = applicant(on: connection)
        switch (configuration.pairing.answer(to: applicant, isWindowOpen: isWindowOpen), prompt.kind) {
        case (.no, _):
            // It was closed while the phone paired.
            answer(prompt, with: .reject, at: now)
        case (.yes, .confirmPairing), (.yes, .numericComparison):
            answer(prompt, with: .acceptUnseen, at: now)
        case (.yes, .displayPasskey), (.yes, .requestPasskey), (.ask, _):
            // Showing a number needs no answer; taking one, or a button, needs a person.
            pairingPrompts[connection] = prompt
            links[connection]?.policy.need(.pairing, at: now)
            emit(.pairingPrompt(prompt))
        }
    }

    mutating func answer(_ prompt: PairingPrompt, with answer: PairingAnswer, at now: Duration) {
        pairingPrompts[prompt.id.connection] = nil
        _ = host.answer(prompt.id, with: answer, at: now)
    }
}

// MARK: - Who may not

extension Firmware {
    /// A pairing failed. The phone reads why in Connectivity.
    mutating func pairingFailed(on connection: ConnectionHandle, _ failure: PairingFailure, at now: Duration) {
        pairingPrompts[connection] = nil
        links[connection]?.policy.release(.pairing, at: now)
        links[connection]?.lastPairingResult = failure.reason.rawValue
        if let reason = refusalReason(for: failure, on: connection) {
            refusePairing(on: connection, for: reason, at: now)
        } else {
            emit(.pairingFailed(connection, failure))
        }
        notifyConnectivity(on: connection, evenIfNotSubscribed: false, at: now)
        // Its key was not taken, but encrypts the link: that is worth no more than the key.
        let isEncrypted = host.connection(connection)?.security.isEncrypted == true
        if failure == .refused(.keyRejected), isEncrypted, host.security?.provenIdentity(on: connection) == nil {
            end(connection, because: .keyRejected, at: now)
        }
    }

    /// A phone asks for what begins with a pairing, and may not pair: it is told as if it had tried.
    mutating func pairingIsClosed(on connection: ConnectionHandle, at now: Duration) {
        pairingFailed(on: connection, .notPairable, at: now)
    }

    /// Why the owner of the watch should hear of a failed pairing; nil if there is nothing that he could do.
    private func refusalReason(
        for failure: PairingFailure,
        on connection: ConnectionHandle
    ) -> RefusedPairing.Reason? {
        let isKnown = host.security?.identity(on: connection) != nil
        switch failure {
        case .notPairable:
            return configuration.pairing.mode == .reject ? .rejected : isKnown ? .keyLost : .closed
        case .refused(.authenticationRequirements) where isKnown, .refused(.keyRejected) where isKnown:
            return .weaker
        case .refused, .refusedByPeer, .timedOut, .disconnected, .encryptionFailed:
            return nil
        }
    }

    /// Tells the owner, once for a link and reason: a phone may ask as often as it likes.
    private mutating func refusePairing(
        on connection: ConnectionHandle,
        for reason: RefusedPairing.Reason,
        at now: Duration
    ) {
        guard let link = links[connection] else { return }
        let refused = RefusedPairing(phone: link.identity, reason: reason, time: now)
        refusedPairing = refused
        guard link.refusedFor != reason else { return }
        links[connection]?.refusedFor = reason
        emit(.pairingRefused(connection, refused))
    }
}
