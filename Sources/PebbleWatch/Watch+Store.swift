import BluetoothHost

// How what is remembered reaches the store. The firmware never waits for it: see ``StoreQueue``.

extension Watch {
    /// Whether a change waits for the store. It changes nothing: it is mutating so that it works in place.
    public mutating func hasMemoryChange() -> Bool { !core.store.changes.isEmpty || core.system.outbox.hasChanges }

    /// The next change for the store. Report how it went with `memoryChangeFinished(_:failure:at:)`.
    public mutating func nextMemoryChange() -> (id: MemoryChangeID, change: MemoryChange)? {
        while let next = core.store.next(from: &core.system) {
            guard faults != nil, let failure = faults?.refusal(of: next.change), let now = faults?.now else {
                return next
            }
            finish(next.id, failure: failure, at: now)
        }
        return nil
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
        if faults != nil {
            faults?.note(now)
            if faults?.holds(id, failure) == true { return settle(at: now) }
        }
        finish(id, failure: failure, at: now)
    }

    /// The same, whatever faults say.
    mutating func finish(_ id: MemoryChangeID, failure: WatchStoreError?, at now: Duration) {
        core.host.advance(to: now)
        let subject = core.store.finished(id)
        switch subject {
        case .service(let owner):
            if let failure { core.log(.error, .store, "\(failure); what the phone wanted kept is refused") }
            core.system.changeFinished(for: owner, failure: failure, at: now)
        case .bond, .other:
            if let failure {
                core.log(.error, .store, "\(failure); what changed is remembered only until the watch stops")
            }
            if case .bond(let identity) = subject { bondStored(identity, at: now) }
        }
        settle(at: now)
    }

    /// Everything that a restart finds again.
    var memory: WatchMemory {
        // In the order in which they paired, which says who goes when there is one too many.
        let order = (core.host.security?.bonds ?? []).map(\.identity)
        return WatchMemory(
            identity: life.identity,
            phones: order.compactMap { core.phones[$0] },
            services: core.system.services.memory
        )
    }
}
