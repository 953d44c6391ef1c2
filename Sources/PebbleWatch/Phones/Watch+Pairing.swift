import BluetoothHCI
import BluetoothHost

// Pairing: what the Security Manager reports, who may pair, and what becomes of those that may not.

extension Watch {
    mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            links.answer(prompt, &core, at: now)
        case .bonded(let connection, let bond):
            // A phone that asked for another key with the old one in use is the same phone.
            let isRenewal = links[connection]?.record.isRestored == true && links[connection]?.identity == bond.identity
            core.add(bond, isRenewal: isRenewal)
            links.endDistrusted(besides: connection, &core, at: now)
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

    /// The store has a phone's bond.
    mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        guard core.phones.bondStored(identity) else { return }
        presence.closePairingWindow(&core, at: now)
        core.host.security?.bondStored(identity)
        presence.updatePairability(&core, at: now)
        // What a phone subscribed to on a link that it has proved is kept from now on.
        for connection in links.keys {
            links[connection]?.rememberClient(&core, database)
            links[connection]?.rememberServices(&core)
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

extension PhoneLinks {
    /// A pairing wants an answer, now or from a person.
    mutating func answer(_ prompt: PairingPrompt, _ core: inout WatchCore, at now: Duration) {
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
            self[connection]?.policy.need(.pairing, at: now)
            core.emit(.pairingPrompt(prompt))
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
    /// A phone has a new bond: others make way, if it is one too many.
    /// - Parameter isRenewal: whether it is the phone that had the old one; any other starts as a new one.
    fileprivate mutating func add(_ bond: Bond, isRenewal: Bool) {
        phones.add(bond, isRenewal: isRenewal)
        let limit = configuration.pairing.phoneLimit
        store.append(.bond(bond, replacingOthers: limit <= 1, keepingClient: isRenewal))
        let others = (host.security?.bonds ?? []).map(\.identity).filter { $0 != bond.identity }
        for other in others.prefix(max(0, others.count + 1 - limit)) {
            if limit > 1 { store.append(.forget(other)) }
            removeBond(other)
            emit(.forgotten(other))
        }
    }

    /// A phone said something over a link that its key encrypts: it has the key.
    /// - Returns: whether that is news.
    mutating func heard(on connection: ConnectionHandle) -> Bool {
        guard let phone = host.security?.provenIdentity(on: connection) else { return false }
        return phones.heard(phone)
    }

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

    /// Makes secrets for a phone that pairs out of band.
    /// - Parameter privateAddress: the watch's private address, if it uses any.
    mutating func makeOutOfBandData(
        for privateAddress: DeviceAddress?
    ) throws(WatchCommandError) -> WatchCommandResult {
        try checkPairing()
        guard let data = host.security?.makeOutOfBandData() else { throw .noSecrets }
        let device = privateAddress.map(LEAddress.random) ?? configuration.identity.address
        return .outOfBandData(OutOfBandBlock(device: device, data: PeerOutOfBandData(secureConnections: data)))
    }

    func checkPairing() throws(WatchCommandError) {
        guard configuration.isBondable else { throw .notBondable }
        guard configuration.pairing.mode != .reject else { throw .pairingIsRefused }
    }
}
