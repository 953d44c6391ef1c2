import BluetoothHCI
import BluetoothHost

// Pairing: what the Security Manager reports, who may pair, and what becomes of those that may not.

extension Watch {
    mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            handle(prompt, at: now)
        case .bonded(let connection, let bond):
            bonded(bond, on: connection, at: now)
        case .pairingCompleted(let connection, let summary):
            core.phones.prompts[connection] = nil
            links[connection]?.policy.release(.pairing, at: now)
            links[connection]?.record.lastPairingResult = 0
            core.phones.refused = nil
            if let phone = summary.bondedIdentity, !summary.isAcknowledged, configuration.pairing.mode == .auto {
                core.phones.mayNotKnow(phone)
            }
            core.emit(.paired(connection, summary))
            if summary.replacesKey, let phone = summary.bondedIdentity { core.emit(.keyReplaced(connection, phone)) }
        case .pairingFailed(let connection, let failure):
            pairingFailed(on: connection, failure, at: now)
        case .encryptionFailed(let connection, let status):
            core.log(.warning, .smp, "\(connection): the link could not be encrypted: \(status)")
        case .securityRequested, .securityChanged:
            // Only a central is asked for security; changes reach the firmware from the host itself.
            break
        }
    }

    // MARK: Bonds

    private mutating func bonded(_ bond: Bond, on connection: ConnectionHandle, at now: Duration) {
        // A phone that asked for another key with the old one in use is the same phone.
        let isRenewal = links[connection]?.record.isRestored == true && links[connection]?.identity == bond.identity
        core.phones.add(bond, isRenewal: isRenewal)
        let limit = configuration.pairing.phoneLimit
        core.store.append(.bond(bond, replacingOthers: limit <= 1, keepingClient: isRenewal))
        let others = (core.host.security?.bonds ?? []).map(\.identity).filter { $0 != bond.identity }
        for other in others.prefix(max(0, others.count + 1 - limit)) {
            if limit > 1 { core.store.append(.forget(other)) }
            core.removeBond(other)
            core.emit(.forgotten(other))
        }
        endDistrustedLinks(besides: connection, at: now)
    }

    /// A phone is bonded: links end whose trust came from a key that counts no more, or from the time before there was an
    /// owner.
    private mutating func endDistrustedLinks(besides connection: ConnectionHandle, at now: Duration) {
        let bonded = core.host.security?.identity(on: connection)
        let isClosedNow = configuration.pairing.answer(to: .stranger, isWindowOpen: false) == .no
        for other in links.keys.sorted() where other != connection {
            // The first phone was let in, or the one that the window was for: not the first two.
            if isClosedNow { core.host.security?.cancelPairing(other, at: now) }
            guard core.host.connection(other)?.security.isEncrypted == true else { continue }
            let proven = core.host.security?.provenIdentity(on: other)
            if proven == nil || proven == bonded { links[other]?.end(because: .replaced, &core.host, at: now) }
        }
    }

    /// The store has a phone's bond.
    mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        guard core.phones.bondStored(identity) else { return }
        closePairingWindow(at: now)
        core.host.security?.bondStored(identity)
        updatePairability(at: now)
        // What a phone subscribed to on a link that it has proved is kept from now on.
        for connection in links.keys {
            links[connection]?.rememberClient(&core, database)
            links[connection]?.rememberServices(&core)
        }
    }

    // MARK: Who may pair

    /// A phone said something over a link that its key encrypts: it has the key.
    mutating func heard(on connection: ConnectionHandle, at now: Duration) {
        guard let phone = core.host.security?.provenIdentity(on: connection), core.phones.heard(phone) else { return }
        updatePairability(at: now)
    }

    mutating func closePairingWindow(at now: Duration) {
        guard core.phones.isWindowOpen else { return }
        core.phones.windowEnd = nil
        presence.receive(.pairingWindow(isOpen: false), at: now)
    }

    /// Tells the Security Manager and the advertising policy who may come.
    mutating func updatePairability(at now: Duration) {
        if let end = core.phones.windowEnd, end <= now { closePairingWindow(at: now) }
        let isPairable = core.phones.isPairable
        core.host.security?.isPairable = isPairable
        if isReady {
            if isPairable != wasPairable { core.emit(.pairable(isPairable)) }
            wasPairable = isPairable
        }
        presence.receive(.bonds(count: core.phones.all.count), at: now)
    }

    private mutating func handle(_ prompt: PairingPrompt, at now: Duration) {
        let connection = prompt.id.connection
        let answer = core.phones.answer(
            isProven: core.host.security?.provenIdentity(on: connection) != nil,
            isKnown: core.host.security?.identity(on: connection) != nil
        )
        switch (answer, prompt.kind) {
        case (.no, _):
            // It was closed while the phone paired.
            core.answer(prompt, with: .reject, at: now)
        case (.yes, .confirmPairing), (.yes, .numericComparison):
            core.answer(prompt, with: .acceptUnseen, at: now)
        case (.yes, .displayPasskey), (.yes, .requestPasskey), (.ask, _):
            // Showing a number needs no answer; taking one, or a button, needs a person.
            core.phones.prompts[connection] = prompt
            links[connection]?.policy.need(.pairing, at: now)
            core.emit(.pairingPrompt(prompt))
        }
    }

    // MARK: Who may not

    /// A pairing failed, or was not begun since the phone may not pair. The phone reads why in Connectivity.
    mutating func pairingFailed(on connection: ConnectionHandle, _ failure: PairingFailure, at now: Duration) {
        core.phones.prompts[connection] = nil
        links[connection]?.policy.release(.pairing, at: now)
        links[connection]?.record.lastPairingResult = failure.reason.rawValue
        let isKnown = core.host.security?.identity(on: connection) != nil
        if let reason = core.phones.refusalReason(for: failure, isKnown: isKnown) {
            links[connection]?.refusePairing(for: reason, &core, at: now)
        } else {
            core.emit(.pairingFailed(connection, failure))
        }
        tell(.connectivity, on: connection, at: now)
        // Its key was not taken, but encrypts the link: that is worth no more than the key.
        let isEncrypted = core.host.connection(connection)?.security.isEncrypted == true
        if failure == .refused(.keyRejected), isEncrypted, core.host.security?.provenIdentity(on: connection) == nil {
            links[connection]?.end(because: .keyRejected, &core.host, at: now)
        }
    }
}

extension PhoneConnection {
    /// Tells the owner, once for a link and reason: a phone may ask as often as it likes.
    mutating func refusePairing(
        for reason: RefusedPairing.Reason,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        let refused = RefusedPairing(phone: identity, reason: reason, time: now)
        core.phones.refused = refused
        guard record.refusedFor != reason else { return }
        record.refusedFor = reason
        core.emit(.pairingRefused(handle, refused))
    }
}

extension WatchCore {
    mutating func removeBond(_ identity: LEAddress) {
        phones.remove(identity)
        host.security?.deleteBond(identity)
    }

    /// Answers a pairing that waits for a person.
    mutating func answer(_ prompt: PairingPrompt, with answer: PairingAnswer, at now: Duration) {
        phones.prompts[prompt.id.connection] = nil
        _ = host.security?.answer(prompt.id, with: answer, at: now)
    }

    mutating func confirmPairing(at now: Duration) throws(WatchCommandError) {
        let questions = phones.waitingPrompts.filter(\.kind.isQuestion)
        guard !questions.isEmpty else { throw phones.whyNothingToConfirm }
        for prompt in questions { answer(prompt, with: .accept, at: now) }
    }

    mutating func refusePairing(at now: Duration) throws(WatchCommandError) {
        let waiting = phones.waitingPrompts
        guard !waiting.isEmpty else { throw .nothingWaits }
        for prompt in waiting { answer(prompt, with: .reject, at: now) }
    }

    mutating func enter(_ passkey: Passkey, at now: Duration) throws(WatchCommandError) {
        let waiting = phones.waitingPrompts.filter { $0.kind == .requestPasskey }
        guard !waiting.isEmpty else { throw .noPasskeyIsAsked }
        for prompt in waiting { answer(prompt, with: .passkey(passkey), at: now) }
    }

    func checkPairing() throws(WatchCommandError) {
        guard configuration.isBondable else { throw .notBondable }
        guard configuration.pairing.mode != .reject else { throw .pairingIsRefused }
    }
}
