import BluetoothHCI

extension Adapter {
    /// What keeps a watch from running on it now; nil if nothing does.
    public var problem: AdapterProblem? { AdapterChoice.problem(with: self) }
}

/// Which adapter to take, and what is in the way of it.
enum AdapterChoice {
    /// Chooses among all adapters.
    ///
    /// One that is named is taken or refused. Where any will do, the first is taken that nothing stands in the way of; if there
    /// is none, the first one's problem is what is said.
    static func choose(
        _ reference: AdapterReference,
        among adapters: [Adapter],
        reclaims: Bool = false
    ) throws(AdapterProblem) -> Adapter {
        let candidates = adapters.filter(reference.means)
        guard let first = candidates.first else {
            switch reference {
            case .index where !adapters.isEmpty, .address where !adapters.isEmpty:
                throw .noSuchAdapter(reference, present: adapters.map { "\($0.name) (\($0.address))" })
            default: throw .noAdapter(reference)
            }
        }
        if let usable = candidates.first(where: { problem(with: $0, reclaims: reclaims) == nil }) { return usable }
        throw problem(with: first, reclaims: reclaims) ?? .noAdapter(reference)
    }

    /// What is in the way of an adapter; nil if it can be opened, perhaps after it has been switched off and its radio on.
    static func problem(with adapter: Adapter, reclaims: Bool = false) -> AdapterProblem? {
        switch adapter.use {
        case .exclusive(let users): return .heldExclusively(name: adapter.name, users)
        case .kernel(let users):
            if !reclaims, let daemon = users.first(where: \.isBluetoothDaemon) {
                return .heldByDaemon(name: adapter.name, daemon)
            }
        case .free: break
        }
        if adapter.radioSwitch?.isHardBlocked == true { return .radioOff(name: adapter.name, isHard: true) }
        // A controller that the kernel could not set up, such as one without an address, has told it nothing yet.
        if adapter.abilities != nil, !adapter.hasLE { return .noLE(name: adapter.name) }
        return nil
    }
}
