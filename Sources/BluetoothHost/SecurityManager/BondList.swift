import BluetoothHCI

/// The bonds that this device has, in the order in which they came, and what they say about addresses, keys and pairings.
struct BondList: Sendable {
    private struct Entry {
        var bond: Bond
        /// Whether the owner said that it is in the store.
        var isStored: Bool
    }

    private var entries: [Entry] = []
    /// Knows the identity resolving keys of all bonds.
    private var resolver = IdentityResolver()

    /// Bonds that come from the store. If two have one identity, the later one counts.
    init(stored bonds: [Bond]) {
        for bond in bonds { insert(bond, isStored: true) }
    }

    /// How many there are.
    var count: Int { entries.count }

    /// All of them.
    var bonds: some Sequence<Bond> { entries.lazy.map { $0.bond } }

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
        entries.removeAll { $0.bond.identity == bond.identity }
        entries.append(Entry(bond: bond, isStored: isStored))
        setResolvingKeys()
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
    mutating func remove(_ identity: LEAddress) {
        entries.removeAll { $0.bond.identity == identity }
        setResolvingKeys()
    }

    /// Who the bonded device is that uses a private address; nil if no key explains the address.
    mutating func identity(of address: DeviceAddress, _ toolbox: CryptoToolbox) -> LEAddress? {
        resolver.identity(of: address, toolbox)
    }

    private mutating func setResolvingKeys() {
        resolver.setKeys(
            entries.compactMap { entry in entry.bond.peerIdentityResolvingKey.map { (entry.bond.identity, $0) } }
        )
    }

    private mutating func update(_ identity: LEAddress, _ change: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.bond.identity == identity }) else { return }
        change(&entries[index])
    }
}

// MARK: - Links

extension BondList {
    /// The bond with the peer of a link, if its keys are as good as this device insists on.
    func usable(on link: SecurityLink, _ configuration: SecurityManager.Configuration) -> Bond? {
        guard let bond = link.identity.flatMap({ self[$0] }), configuration.isSatisfied(by: bond) else { return nil }
        return bond
    }

    /// Whether a link's peer has a bond that is in the store and may be used. On an encrypted link that is so only if the
    /// bond's key encrypts it; before, it is what the peer's address says.
    func isBonded(_ link: SecurityLink, isEncrypted: Bool, _ configuration: SecurityManager.Configuration) -> Bool {
        guard let bond = usable(on: link, configuration), isStored(bond.identity) else { return false }
        return !isEncrypted || link.provenIdentity == bond.identity
    }

    /// The bond whose key the central of a link means.
    func bond(
        whoseKeyIs name: LongTermKeyName,
        on link: SecurityLink,
        _ configuration: SecurityManager.Configuration
    ) -> Bond? {
        if let bond = usable(on: link, configuration), bond.longTermKey(as: .responder)?.name == name { return bond }
        // A key of LE legacy pairing says by its name whose it is, even if the address does not.
        guard name != .none else { return nil }
        return bonds.first { configuration.isSatisfied(by: $0) && $0.longTermKey(as: .responder)?.name == name }
    }
}

// MARK: - Pairings

extension BondList {
    /// Refuses a pairing that would replace a link's bond by a weaker one, no matter which side asks or agrees: otherwise a
    /// man in the middle would only have to wait for the next pairing.
    func check(_ strength: BondStrength, on link: SecurityLink) throws(PairingFailedReason) {
        guard let bond = link.identity.flatMap({ self[$0] }) else { return }
        guard strength.isAtLeast(BondStrength(bond)) else { throw .authenticationRequirements }
    }

    /// What a pairing leaves behind; nil if nothing is to be kept, or nothing could be found again.
    /// - Parameter limit: how many bonds there can be.
    func bond(
        from result: Pairing.Result,
        of pairing: Pairing,
        on link: SecurityLink,
        limit: Int
    ) throws(PairingFailedReason) -> Bond? {
        let terms = pairing.context.terms
        guard terms.isBonding else { return nil }
        // A private address that nothing resolves is a name that its owner will not use again.
        guard let identity = result.peerKeys.identity ?? (link.peerAddress.isIdentity ? link.peerAddress : nil) else {
            return nil
        }
        let keys: Bond.Keys
        if terms.usesSecureConnections {
            keys = .secureConnections(result.longTermKey)
        } else {
            guard result.ownLongTermKey != nil || result.peerKeys.longTermKey != nil else { return nil }
            keys = .legacy(own: result.ownLongTermKey, peer: result.peerKeys.longTermKey)
        }
        // A link is one device's: what its peer was trusted with must not pass to another identity.
        if let proven = link.provenIdentity, proven != identity { throw .keyRejected }
        if let old = self[identity] {
            guard pairing.strength.isAtLeast(BondStrength(old)) else { throw .keyRejected }
        } else {
            guard count < limit else { throw .keyRejected }
        }
        return Bond(
            identity: identity,
            keys: keys,
            keySize: terms.keySize,
            isAuthenticated: pairing.isAuthenticated,
            peerIdentityResolvingKey: result.peerKeys.identityResolvingKey,
            peerSignatureKey: result.peerKeys.signatureKey,
            distributedKeys: result.distributedKeys,
            metadata: self[identity]?.metadata ?? Bond.Metadata()
        )
    }
}
