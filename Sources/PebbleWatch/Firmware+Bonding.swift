import BluetoothHCI
import BluetoothHost

// Who is bonded, what is remembered of them, and how both reach the store.
//
// The firmware never waits for the store. A change is handed out, carried out by the owner of the store, and
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
            if case .bond(let bond, _, _) = change { bondsBeingStored[id] = bond.identity }
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
            if let failure { log(.error, .store, "\(failure); what the phone wanted kept is refused") }
            system.changeFinished(for: owner, failure: failure, at: now)
        } else if let failure {
            log(.error, .store, "\(failure); what changed is remembered only until the watch stops")
        }
        if let identity = bondsBeingStored.removeValue(forKey: id) { bondStored(identity, at: now) }
        settle(at: now)
    }

    /// The phones that are bonded, by identity address.
    public var bondedPhones: [LEAddress] { phones.keys.sorted { $0.address.value < $1.address.value } }

    mutating func removeBond(_ identity: LEAddress) {
        phones[identity] = nil
        storedBonds.remove(identity)
        unheardPhones.remove(identity)
        host.deleteBond(identity)
    }
}

// MARK: - What the Security Manager reports

extension Firmware {
    mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            handle(prompt, at: now)
        case .bonded(let connection, let bond):
            bonded(bond, on: connection, at: now)
        case .pairingCompleted(let connection, let summary):
            pairingPrompts[connection] = nil
            links[connection]?.policy.release(.pairing, at: now)
            links[connection]?.lastPairingResult = 0
            refusedPairing = nil
            if let phone = summary.bondedIdentity, !summary.isAcknowledged, configuration.pairing.mode == .auto {
                unheardPhones.insert(phone)
            }
            emit(.paired(connection, summary))
            if summary.replacesKey, let phone = summary.bondedIdentity { emit(.keyReplaced(connection, phone)) }
        case .pairingFailed(let connection, let failure):
            pairingFailed(on: connection, failure, at: now)
        case .encryptionFailed(let connection, let status):
            log(.warning, .smp, "\(connection): the link could not be encrypted: \(status)")
        case .securityRequested, .securityChanged:
            // Only a central is asked for security; changes reach the firmware from the host itself.
            break
        }
    }

    private mutating func bonded(_ bond: Bond, on connection: ConnectionHandle, at now: Duration) {
        // A phone that asked for another key with the old one in use is the same phone; any other starts as a new one.
        let isRenewal = links[connection]?.isRestored == true && links[connection]?.identity == bond.identity
        let known = isRenewal ? phones[bond.identity] : nil
        phones[bond.identity] = RememberedPhone(
            bond: bond,
            client: known?.client ?? GATTClientState(),
            seenDatabaseHash: known?.seenDatabaseHash
        )
        storedBonds.remove(bond.identity)
        let replacesOthers = configuration.pairing.phoneLimit <= 1
        memoryChanges.append(.bond(bond, replacingOthers: replacesOthers, keepingClient: isRenewal))
        let others = (host.security?.bonds ?? []).map(\.identity).filter { $0 != bond.identity }
        for other in others.prefix(max(0, others.count + 1 - configuration.pairing.phoneLimit)) {
            if !replacesOthers { memoryChanges.append(.forget(other)) }
            removeBond(other)
            emit(.forgotten(other))
        }
        endDistrustedLinks(besides: connection, at: now)
    }

    /// A phone is bonded: links end whose trust came from a key that counts no more, or from the time before there was an
    /// owner.
    private mutating func endDistrustedLinks(besides connection: ConnectionHandle, at now: Duration) {
        let bonded = host.security?.identity(on: connection)
        let isClosedNow = configuration.pairing.answer(to: .stranger, isWindowOpen: false) == .no
        for other in links.keys.sorted() where other != connection {
            // The first phone was let in, or the one that the window was for: not the first two.
            if isClosedNow { host.cancelPairing(other, at: now) }
            guard host.connection(other)?.security.isEncrypted == true else { continue }
            let proven = host.security?.provenIdentity(on: other)
            if proven == nil || proven == bonded { end(other, because: .replaced, at: now) }
        }
    }

    private mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        // Forgotten or replaced while it was being stored: the next change in the queue takes it back.
        guard phones[identity] != nil else { return }
        storedBonds.insert(identity)
        closePairingWindow(at: now)
        host.bondStored(identity)
        updatePairability(at: now)
        // What a phone subscribed to on a link that it has proved is kept from now on.
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
            try host.restore(state, on: connection)
        } catch {
            log(.warning, .gatt, "\(connection): subscriptions were not restored: \(error)")
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
        // Before a phone has proved by its key who it is, nothing that it does is kept under that name.
        guard let link = links[connection], link.isRestored, var phone = phones[link.identity],
            storedBonds.contains(link.identity)
        else { return }
        let identity = link.identity
        phone.client = state
        if state.isChangeAware { phone.seenDatabaseHash = databaseHash }
        guard phone != phones[identity] else { return }
        phones[identity] = phone
        memoryChanges.append(.client(identity, phone.client, seenDatabaseHash: phone.seenDatabaseHash))
    }
}
