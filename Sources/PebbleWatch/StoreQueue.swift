import BluetoothHCI
import BluetoothHost
import DequeModule

/// Tells one change of the memory from every other.
public struct MemoryChangeID: Hashable, Sendable {
    let number: UInt64
}

/// The changes that wait for the store, and those that it has not reported on.
///
/// The firmware never waits for the store. A change is handed out, carried out by the owner of the store, and reported back; a bond
/// counts as stored only then, because phones are told so by Connectivity and rely on it.
struct StoreQueue: Sendable {
    /// What a change that is reported on was for.
    enum Subject: Sendable {
        /// The bond of this phone.
        case bond(LEAddress)
        /// A service's memory.
        case service(ChangeOwner)
        /// Nothing that waits for it.
        case other
    }

    private(set) var changes: Deque<MemoryChange> = []
    private var last: UInt64 = 0
    private var bonds: [MemoryChangeID: LEAddress] = [:]
    private var services: [MemoryChangeID: ChangeOwner] = [:]

    mutating func append(_ change: MemoryChange) { changes.append(change) }

    mutating func append(contentsOf more: some Sequence<MemoryChange>) { changes.append(contentsOf: more) }

    /// The next change of the watch's own, or else of its services'.
    mutating func next(from system: inout WatchSystem) -> (id: MemoryChangeID, change: MemoryChange)? {
        last += 1
        let id = MemoryChangeID(number: last)
        if let change = changes.popFirst() {
            if case .bond(let bond, _, _) = change { bonds[id] = bond.identity }
            return (id, change)
        }
        guard let change = system.nextChange() else { return nil }
        services[id] = change.owner
        return (id, .service(change.change))
    }

    /// The store has reported on a change.
    mutating func finished(_ id: MemoryChangeID) -> Subject {
        if let owner = services.removeValue(forKey: id) { return .service(owner) }
        return bonds.removeValue(forKey: id).map(Subject.bond) ?? .other
    }

    /// Goes on where the watch that ran before stopped: the store sees one watch.
    mutating func follow(_ earlier: StoreQueue, _ waiting: Deque<MemoryChange>) {
        changes = waiting + changes
        last = earlier.last
        bonds = earlier.bonds
    }
}
