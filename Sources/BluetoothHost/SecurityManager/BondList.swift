import BluetoothHCI

/// The bonds that this device has, in the order in which they came.
struct BondList: Sendable {
    private struct Entry {
        var bond: Bond
        /// Whether the owner said that it is in the store.
        var isStored: Bool
    }

    private var entries: [Entry] = []

    /// Bonds that come from the store. If two have one identity, the later one counts.
    init(stored bonds: [Bond]) {
        for bond in bonds { insert(bond, isStored: true) }
    }

    /// How many there are.
    var count: Int { entries.count }

    /// All of them.
    var bonds: some Sequence<Bond> { entries.lazy.map { $0.bond } }

    /// What resolves private addresses.
    var identityResolvingKeys: [(identity: LEAddress, key: IdentityResolvingKey)] {
        entries.compactMap { entry in
            entry.bond.peerIdentityResolvingKey.map { (entry.bond.identity, $0) }
        }
    }

    /// The bond with an identity.
    subscript(identity: LEAddress) -> Bond? { entries.first { $0.bond.identity == identity }?.bond }

    /// Whether there is a bond with an identity.
    func contains(_ identity: LEAddress) -> Bool { self[identity] != nil }

    /// Whether there is one, and it is in the store.
    func isStored(_ identity: LEAddress) -> Bool {
        entries.contains { $0.bond.identity == identity && $0.isStored }
    }

    /// Adds a bond, in place of the one with the same identity.
    mutating func insert(_ bond: Bond, isStored: Bool) {
        remove(bond.identity)
        entries.append(Entry(bond: bond, isStored: isStored))
    }

    /// Notes that a bond is in the store.
    mutating func markStored(_ identity: LEAddress) {
        update(identity) { $0.isStored = true }
    }

    /// Changes what the owner keeps with a bond.
    mutating func setMetadata(_ metadata: Bond.Metadata, of identity: LEAddress) {
        update(identity) { $0.bond.metadata = metadata }
    }

    /// Removes a bond.
    mutating func remove(_ identity: LEAddress) { entries.removeAll { $0.bond.identity == identity } }

    private mutating func update(_ identity: LEAddress, _ change: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.bond.identity == identity }) else { return }
        change(&entries[index])
    }
}
