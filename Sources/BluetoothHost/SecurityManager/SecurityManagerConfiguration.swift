extension SecurityManager {
    /// What this device can do, wants, and insists on.
    public struct Configuration: Sendable {
        /// How this device can show and take secrets.
        public var ioCapability = IOCapability.noInputNoOutput
        /// How much it wants protection against a man in the middle.
        public var manInTheMiddleProtection = ManInTheMiddleProtection.notRequested
        /// Which kinds of pairing it takes part in. Keys that came from another kind do not count.
        public var pairingMethods = PairingMethods.secureConnections
        /// Whether it keeps keys.
        public var isBondable = true
        /// The shortest key that it accepts.
        package var minimumKeySize = EncryptionKeySize.maximum
        /// The longest key that it can use.
        package var maximumKeySize = EncryptionKeySize.maximum
        /// Which keys it gives. The identity key only goes out if `identity` is set; it has no signature key.
        package var distributedKeys: DistributedKeys = [.encryptionKey, .identityKey]
        /// Which keys it takes.
        package var acceptedKeys: DistributedKeys = [.encryptionKey, .identityKey]
        /// Whether the responder's user is asked before a pairing in which no user checks anything.
        public var confirmsJustWorks = true
        /// What to think of the key pair that everyone knows.
        package var debugKeys = DebugKeys.refused
        /// Who this device is; nil if it has one address and nothing to add.
        public var identity: LocalIdentity?
        /// How many bonds there can be. When there are as many, only devices that have one can pair.
        package var maximumBondCount = 16
        /// How long a peer whose pairings fail has to wait. Read once, at the start.
        package var repeatedAttempts = RepeatedAttemptLimits()

        /// A device that can neither show nor take a number: it pairs by LE Secure Connections and Just Works. It asks
        /// its user before, and keeps up to 16 bonds with keys of 16 octets.
        public init() {}
    }

    /// Which kinds of pairing a device takes part in.
    public enum PairingMethods: Hashable, Sendable {
        /// LE Secure Connections alone.
        case secureConnections
        /// LE Secure Connections, or LE legacy pairing where a peer cannot do better.
        case secureConnectionsOrLegacy
        /// LE legacy pairing alone, as devices did before Core 4.2: an eavesdropper on the pairing has the keys.
        case legacy
    }

    /// How much a device wants protection against a man in the middle.
    public enum ManInTheMiddleProtection: Hashable, Sendable {
        /// Not at all, unless the peer does.
        case notRequested
        /// As far as both devices are able.
        case requested
        /// Or there is no pairing: the model must not be Just Works.
        case required
        /// The same, and the peer has to ask for it too.
        case requiredOfBoth
    }

    /// What to think of the key pair of Core 5.4, Vol 3, Part H, 2.3.5.6.1, which lets a sniffer follow.
    package enum DebugKeys: Hashable, Sendable {
        /// A peer that uses it is refused.
        case refused
        /// A peer may use it.
        case accepted
        /// This device uses it itself. For debugging alone: everyone in radio range can read every link.
        case used
    }
}

extension SecurityManager.PairingMethods {
    /// Whether one of them is LE Secure Connections.
    var includeSecureConnections: Bool { self != .legacy }

    /// Whether one of them is LE legacy pairing.
    var includeLegacy: Bool { self != .secureConnections }
}

extension SecurityManager.ManInTheMiddleProtection {
    /// Whether this device asks for it.
    var isRequested: Bool { self != .notRequested }

    /// Whether a pairing without it is refused.
    var isRequired: Bool { self == .required || self == .requiredOfBoth }
}

extension SecurityManager.Configuration {
    /// AuthReq of this device.
    var authenticationRequirements: AuthenticationRequirements {
        var requirements: AuthenticationRequirements = []
        if pairingMethods.includeSecureConnections { requirements.insert(.secureConnections) }
        if isBondable { requirements.insert(.bonding) }
        if manInTheMiddleProtection.isRequested { requirements.insert(.mitm) }
        return requirements
    }

    /// The keys that this device can give; LinkKey would be for BR/EDR, and there is no signature key.
    private var givableKeys: DistributedKeys {
        let keys = distributedKeys.intersection([.encryptionKey, .identityKey])
        return identity == nil ? keys.subtracting(.identityKey) : keys
    }

    /// The keys that this device can use.
    private var usableKeys: DistributedKeys {
        acceptedKeys.intersection([.encryptionKey, .identityKey, .signatureKey])
    }

    /// The Pairing Request of this device.
    func pairingRequest(hasOutOfBandData: Bool) -> PairingFeatures {
        PairingFeatures(
            ioCapability: ioCapability,
            hasOutOfBandData: hasOutOfBandData,
            authentication: authenticationRequirements,
            maximumKeySize: maximumKeySize,
            initiatorKeys: isBondable ? givableKeys : [],
            responderKeys: isBondable ? usableKeys : []
        )
    }

    /// The Pairing Response of this device: no keys that were not asked for, none at all if they would not be kept.
    func pairingResponse(to request: PairingFeatures, hasOutOfBandData: Bool) -> PairingFeatures {
        let isBonding = isBondable && request.authentication.asksForBonding
        return PairingFeatures(
            ioCapability: ioCapability,
            hasOutOfBandData: hasOutOfBandData,
            authentication: authenticationRequirements,
            maximumKeySize: maximumKeySize,
            initiatorKeys: isBonding ? request.initiatorKeys.intersection(usableKeys) : [],
            responderKeys: isBonding ? request.responderKeys.intersection(givableKeys) : []
        )
    }

    /// Checks what follows from the features of both devices against what this device insists on.
    func check(_ terms: PairingTerms, as role: PairingRole) throws(PairingFailedReason) {
        if !terms.usesSecureConnections && !pairingMethods.includeLegacy { throw .authenticationRequirements }
        if terms.keySize < minimumKeySize { throw .encryptionKeySize }
        if manInTheMiddleProtection.isRequired && !terms.isAuthenticated { throw .authenticationRequirements }
        let peer = terms.features(of: role.other)
        if manInTheMiddleProtection == .requiredOfBoth && !peer.authentication.contains(.mitm) {
            throw .authenticationRequirements
        }
    }

    /// Checks a pairing once it is known whether a person has compared the numbers.
    func check(_ pairing: Pairing) throws(PairingFailedReason) {
        if manInTheMiddleProtection.isRequired && !pairing.isAuthenticated { throw .authenticationRequirements }
    }

    /// Whether the keys of a bond are as good as those of a new pairing would have to be.
    func isSatisfied(by bond: Bond) -> Bool {
        (bond.usesSecureConnections ? pairingMethods.includeSecureConnections : pairingMethods.includeLegacy)
            && bond.keySize >= minimumKeySize
            && (bond.isAuthenticated || !manInTheMiddleProtection.isRequired)
    }
}
