/// How much the key of a bond protects: what a key that takes its place must not fall short of.
struct BondStrength: Hashable, Sendable {
    /// Whether somebody made sure that no one was in the middle.
    let isAuthenticated: Bool
    /// Whether it came from LE Secure Connections, which who listens cannot follow.
    let usesSecureConnections: Bool
    /// How much of the key counts.
    let keySize: EncryptionKeySize

    /// What a pairing on these terms comes to.
    init(_ terms: PairingTerms, isAuthenticated: Bool) {
        self.isAuthenticated = isAuthenticated
        usesSecureConnections = terms.usesSecureConnections
        keySize = terms.keySize
    }

    /// That of a bond.
    init(_ bond: Bond) {
        isAuthenticated = bond.isAuthenticated
        usesSecureConnections = bond.usesSecureConnections
        keySize = bond.keySize
    }

    /// Whether nothing that another protects against is left open.
    func isAtLeast(_ other: BondStrength) -> Bool {
        (isAuthenticated || !other.isAuthenticated) && (usesSecureConnections || !other.usesSecureConnections)
            && keySize >= other.keySize
    }
}
