import BluetoothHCI
import BluetoothHost

// Who is bonded, what is remembered of them, and how both reach the store.
//
// The firmware never waits for the store. A change is handed out, carried out by whoever owns the store, and
// reported back; a bond counts as stored only then, because phones are told so by Connectivity and rely on it.

/// Tells one change of the memory from every other.
public struct MemoryChangeID: Hashable, Sendable {
    let number: UInt64
}

extension Firmware {
    /// The next change for the store. Report how it went with `memoryChangeFinished(_:failure:at:)`.
    public mutating func nextMemoryChange() -> (id: MemoryChangeID, change: MemoryChange)? {
        lastMemoryChange += 1
        let id = MemoryChangeID(number: lastMemoryChange)
        if let change = memoryChanges.popFirst() {
            if case .bond(let bond, _) = change { bondsBeingStored[id] = bond.identity }
            return (id, change)
        }
        guard let change = system.nextChange() else { return nil }
        serviceChangesBeingStored[id] = change.owner
        return (id, .service(change.change))
    }

    /// Takes all changes as carried out: a watch without a store, which remembers only until its process ends.
    public mutating func finishMemoryChanges(at now: Duration) {
        while let (id, _) = nextMemoryChange() { memoryChangeFinished(id, failure: nil, at: now) }
    }

    /// The store has carried out a change, or could not.
    ///
    /// A store that fails costs a phone's bond nothing while the watch runs: the bond counts, and the log says that it
    /// will be forgotten. What a service could not keep, it refuses.
    public mutating func memoryChangeFinished(_ id: MemoryChangeID, failure: WatchStoreError?, at now: Duration) {
        host.advance(to: now)
        if let owner = serviceChangesBeingStored.removeValue(forKey: id) {
            if let failure { log(.error, "store", "\(failure); what the phone wanted kept is refused") }
            system.changeFinished(for: owner, failure: failure, at: now)
        } else if let failure {
            log(.error, "store", "\(failure); what changed is remembered only until the watch stops")
        }
        if let identity = bondsBeingStored.removeValue(forKey: id) { bondStored(identity, at: now) }
        settle(at: now)
    }

    /// The phones that are bonded, by identity address.
    public var bondedPhones: [LEAddress] { phones.keys.sorted { $0.address.value < $1.address.value } }

    mutating func removeBond(_ identity: LEAddress) {
        phones[identity] = nil
        storedBonds.remove(identity)
        host.security?.deleteBond(identity)
    }
}

// MARK: - What the Security Manager reports

extension Firmware {
    mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            handle(prompt, at: now)
        case .bonded(_, let bond):
            bonded(bond)
        case .pairingCompleted(let connection, let summary):
            pairingPrompts[connection] = nil
            links[connection]?.policy.release(.pairing, at: now)
            links[connection]?.lastPairingResult = 0
            emit(.paired(connection, summary))
        case .pairingFailed(let connection, let failure):
            pairingPrompts[connection] = nil
            links[connection]?.policy.release(.pairing, at: now)
            links[connection]?.lastPairingResult = failure.reason.rawValue
            emit(.pairingFailed(connection, failure))
        case .encryptionFailed(let connection, let status):
            log(.warning, "smp", "\(connection): the link could not be encrypted: \(status)")
        case .securityRequested, .securityChanged:
            // Only a central is asked for security; changes reach the firmware from the host itself.
            break
        }
    }

    private mutating func handle(_ prompt: PairingPrompt, at now: Duration) {
        switch (configuration.pairing.confirmation, prompt.kind) {
        case (.reject, _):
            answer(prompt, with: .reject, at: now)
        case (.auto, .confirmPairing), (.auto, .numericComparison):
            answer(prompt, with: .accept, at: now)
        case (.auto, .displayPasskey), (.auto, .requestPasskey), (.button, _):
            // Showing a number needs no answer; taking one, or a button, needs a person.
            pairingPrompts[prompt.id.connection] = prompt
            links[prompt.id.connection]?.policy.need(.pairing, at: now)
            emit(.pairingPrompt(prompt))
        }
    }

    mutating func answer(_ prompt: PairingPrompt, with answer: PairingAnswer, at now: Duration) {
        pairingPrompts[prompt.id.connection] = nil
        _ = host.security?.answer(prompt.id, with: answer, at: now)
    }

    private mutating func bonded(_ bond: Bond) {
        let known = phones[bond.identity]
        phones[bond.identity] = RememberedPhone(
            bond: bond,
            client: known?.client ?? GATTClientState(),
            seenDatabaseHash: known?.seenDatabaseHash
        )
        let replacesOthers = configuration.pairing.phoneLimit == 1
        memoryChanges.append(.bond(bond, replacingOthers: replacesOthers))
        if replacesOthers {
            for other in bondedPhones where other != bond.identity { removeBond(other) }
        }
    }

    private mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        // Forgotten or replaced while it was being stored: the next change in the queue takes it back.
        guard phones[identity] != nil else { return }
        storedBonds.insert(identity)
        closePairingWindow(at: now)
        host.security?.bondStored(identity)
        updatePairability(at: now)
        // What it subscribed to before it paired is kept from now on.
        for connection in links.keys {
            rememberClient(on: connection)
            rememberServices(on: connection)
        }
    }
}

// MARK: - What is remembered of a phone

extension Firmware {
    /// A bonded phone's link is encrypted: gives it back what it had, and finds out whether the database it knows is the
    /// present one.
    mutating func restorePhone(on connection: ConnectionHandle, at now: Duration) {
        guard links[connection]?.isRestored == false, let identity = links[connection]?.identity,
            let phone = phones[identity]
        else { return }
        links[connection]?.isRestored = true
        let isOutdated = phone.seenDatabaseHash.map { $0 != databaseHash } ?? false
        var state = phone.client
        state.isChangeAware = !isOutdated
        // What the phone has set on this link already is newer than what is remembered.
        if let current = host.gatt.clientState(of: connection) {
            state.subscriptions.merge(current.subscriptions) { _, new in new }
            state.supportedFeatures |= current.supportedFeatures
        }
        do {
            try host.gatt.restore(state, on: connection)
        } catch {
            log(.warning, "gatt", "\(connection): subscriptions were not restored: \(error)")
        }
        if isOutdated {
            databaseChanges.isOutdated(connection, at: now)
        } else {
            rememberClient(on: connection)
        }
    }

    /// Keeps what a bonded phone has subscribed to, if that changed; the database it knows counts as the present one
    /// unless it has not heard of a change.
    mutating func rememberClient(on connection: ConnectionHandle) {
        guard let state = host.gatt.clientState(of: connection) else { return }
        rememberClient(state, on: connection)
    }

    mutating func rememberClient(_ state: GATTClientState, on connection: ConnectionHandle) {
        guard let identity = links[connection]?.identity, var phone = phones[identity],
            storedBonds.contains(identity)
        else { return }
        phone.client = state
        if state.isChangeAware { phone.seenDatabaseHash = databaseHash }
        guard phone != phones[identity] else { return }
        phones[identity] = phone
        memoryChanges.append(.client(identity, phone.client, seenDatabaseHash: phone.seenDatabaseHash))
    }
}

// MARK: - Pairability

extension Firmware {
    /// Whether a phone without a bond may pair now: there is none yet, or somebody opened the window.
    private func isPairable(at now: Duration) -> Bool {
        guard configuration.isBondable else { return false }
        return phones.isEmpty || pairingWindowEnd.map { now < $0 } ?? false
    }

    mutating func closePairingWindow(at now: Duration) {
        guard pairingWindowEnd != nil else { return }
        pairingWindowEnd = nil
        advertiser.receive(.pairingWindow(isOpen: false), at: now)
    }

    /// Tells the Security Manager and the advertising policy who may come.
    mutating func updatePairability(at now: Duration) {
        if let end = pairingWindowEnd, end <= now { closePairingWindow(at: now) }
        let isPairable = isPairable(at: now)
        host.security?.isPairable = isPairable
        if isReady {
            if isPairable != wasPairable { emit(.pairable(isPairable)) }
            wasPairable = isPairable
        }
        advertiser.receive(.bonds(count: phones.count), at: now)
    }
}
