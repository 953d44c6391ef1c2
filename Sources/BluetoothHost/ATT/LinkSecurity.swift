/// What is known about the security of one link: everything that an attribute's permissions are checked against.
public struct LinkSecurity: Hashable, Sendable {
    /// Whether the link is encrypted now.
    public var isEncrypted: Bool
    /// Whether the key in use came from a pairing that protects against a man in the middle.
    public var isAuthenticated: Bool
    /// Whether a key for this peer exists, so that an unencrypted link could be encrypted without a new pairing.
    public var isBonded: Bool
    /// Whether the user, or a policy, has authorized this peer.
    public var isAuthorized: Bool
    /// Length in bytes of the key in use, 7 to 16; 0 while the link is not encrypted.
    public var keySize: Int

    /// A fresh link to a stranger, unless told otherwise. `keySize` is in bytes: 7 to 16, or 0 without encryption.
    package init(
        isEncrypted: Bool = false,
        isAuthenticated: Bool = false,
        isBonded: Bool = false,
        isAuthorized: Bool = false,
        keySize: Int = 0
    ) {
        self.isEncrypted = isEncrypted
        self.isAuthenticated = isAuthenticated
        self.isBonded = isBonded
        self.isAuthorized = isAuthorized
        self.keySize = keySize
    }

    /// A fresh link to a stranger.
    package static let none = LinkSecurity()
}
