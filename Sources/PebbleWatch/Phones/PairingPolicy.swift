import BluetoothHost

/// Who may pair with the watch, and who says yes.
public struct PairingPolicy: Sendable, Equatable {
    /// What the watch says to phones that want to pair. The table is ``answer(to:isWindowOpen:)``.
    public enum Mode: String, Sendable, Equatable, CaseIterable {
        /// A bench: any phone, at any time, without asking. For tests, and for nothing that somebody owns.
        case open
        /// The first phone without asking; afterwards closed, until a person opens the pairing window.
        case auto
        /// Any phone may ask at any time, as on the real watch, and a person answers.
        case button
        /// No phone.
        case reject
    }

    /// The phone that wants to pair, as far as the watch can tell.
    public enum Applicant: Sendable, Equatable, CaseIterable {
        /// The watch knows no phone: this one would be its first.
        case first
        /// A phone that the watch does not know, beside one that it knows.
        case stranger
        /// It has the address of a phone that the watch knows, and has not proved to be that phone.
        case withoutKey
        /// A phone that the watch knows, on a link that its key encrypts: it wants another key.
        case withKey
    }

    /// What it is told.
    public enum Answer: Sendable, Equatable {
        /// Yes, at once. A number that both show is compared by no person then, and authenticates no peer.
        case yes
        /// A person decides.
        case ask
        /// No: Pairing Not Supported.
        case no
    }

    /// Which phones are answered yes, asked about, or answered no.
    public var mode: Mode
    /// Whether the watch keeps keys at all. If not, its database never changes and has no Service Changed.
    public var isBondable: Bool
    /// How many phones the watch remembers. One phone too many replaces the one that paired the longest time ago.
    public var phoneLimit: Int
    /// Whether older phones without LE Secure Connections may pair, in a way that can be listened to.
    public var allowsLegacyPairing: Bool
    /// What the watch says it can show and take, which decides between Just Works, a number and a passkey.
    public var ioCapability: IOCapability

    /// As a watch without buttons comes out of the box.
    public init(
        mode: Mode = .auto,
        isBondable: Bool = true,
        phoneLimit: Int = 1,
        allowsLegacyPairing: Bool = false,
        ioCapability: IOCapability = .displayYesNo
    ) {
        self.mode = mode
        self.isBondable = isBondable
        self.phoneLimit = phoneLimit
        self.allowsLegacyPairing = allowsLegacyPairing
        self.ioCapability = ioCapability
    }

    /// Who may pair: the one table, the same for every way to pair. `Docs/security.md` has it too.
    ///
    /// A passkey is always typed by a person, and secrets that went out of band were handed over by one: `yes` and `ask`
    /// are the same for both. The pairing window is open if a person has opened it.
    public func answer(to applicant: Applicant, isWindowOpen: Bool) -> Answer {
        switch (mode, applicant) {
        case (.open, _): .yes
        case (.auto, .first), (.auto, .withKey): .yes
        case (.auto, .stranger), (.auto, .withoutKey): isWindowOpen ? .yes : .no
        case (.button, _): .ask
        case (.reject, _): .no
        }
    }

    /// The same for the Security Manager, of a watch with this identity.
    func securityConfiguration(identity: LocalIdentity) -> SecurityManager.Configuration {
        var configuration = SecurityManager.Configuration()
        configuration.ioCapability = ioCapability
        configuration.manInTheMiddleProtection = .requested
        configuration.pairingMethods = allowsLegacyPairing ? .secureConnectionsOrLegacy : .secureConnections
        configuration.identity = identity
        // The new phone comes before the one goes that it replaces.
        configuration.maximumBondCount = max(1, phoneLimit) + 1
        return configuration
    }
}
