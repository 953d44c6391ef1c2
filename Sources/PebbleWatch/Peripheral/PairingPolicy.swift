import BluetoothHost

/// Who may pair with the watch, and who says yes.
public struct PairingPolicy: Sendable, Equatable {
    /// What the watch does when a phone wants to pair.
    public enum Confirmation: String, Sendable, Equatable, CaseIterable {
        /// Accepts at once, whatever number is shown.
        case auto
        /// Shows the number and waits for a button (or a command).
        case button
        /// Refuses.
        case reject
    }

    public var confirmation: Confirmation
    /// Whether the watch keeps keys at all. If not, its database never changes and has no Service Changed.
    public var isBondable: Bool
    /// How many phones the watch remembers. With one, as on the real watch, a new phone replaces the old.
    public var phoneLimit: Int
    /// Whether older phones without LE Secure Connections may pair, in a way that can be listened to.
    public var allowsLegacyPairing: Bool
    /// What the watch says it can show and take, which decides between Just Works, a number and a passkey.
    public var ioCapability: IOCapability

    /// As the real watch, but without a button to press.
    public init(
        confirmation: Confirmation = .auto,
        isBondable: Bool = true,
        phoneLimit: Int = 1,
        allowsLegacyPairing: Bool = false,
        ioCapability: IOCapability = .displayYesNo
    ) {
        self.confirmation = confirmation
        self.isBondable = isBondable
        self.phoneLimit = phoneLimit
        self.allowsLegacyPairing = allowsLegacyPairing
        self.ioCapability = ioCapability
    }

    /// The same for the Security Manager, of a watch with this identity.
    func securityConfiguration(identity: LocalIdentity) -> SecurityManager.Configuration {
        var configuration = SecurityManager.Configuration()
        configuration.ioCapability = ioCapability
        configuration.manInTheMiddleProtection = .requested
        configuration.pairingMethods = allowsLegacyPairing ? .secureConnectionsOrLegacy : .secureConnections
        configuration.identity = identity
        return configuration
    }
}
