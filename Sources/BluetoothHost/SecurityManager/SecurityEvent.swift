import BluetoothHCI

/// A question to the user, or something to show, in the middle of a pairing.
///
/// It stands until it is answered, or until the pairing completes or fails.
public struct PairingPrompt: Hashable, Sendable {
    /// Tells one prompt from all others, so that no answer goes to a question that was never shown.
    public struct ID: Hashable, Sendable {
        /// The link that is being paired.
        public let connection: ConnectionHandle
        let serial: UInt32
    }

    /// What is asked or shown.
    public enum Kind: Hashable, Sendable {
        /// Is the peer to be paired with at all? There is nothing to compare.
        case confirmPairing
        /// Does the peer show the same number?
        case numericComparison(NumericComparisonValue)
        /// To be typed into the peer. Needs no answer, but can be rejected.
        case displayPasskey(Passkey)
        /// What does the peer show, or did the user type there?
        case requestPasskey
    }

    /// Which prompt it is.
    public let id: ID
    /// What is asked or shown.
    public let kind: Kind
}

/// The answer to a prompt.
public enum PairingAnswer: Hashable, Sendable {
    /// A person's yes: to `confirmPairing` and `numericComparison`.
    case accept
    /// The device's own yes to the same, with no person to look: the key then does not protect against a man in the middle.
    case acceptUnseen
    /// What was typed: to `requestPasskey`.
    case passkey(Passkey)
    /// No, or enough of this: to any prompt.
    case reject
}

/// How a completed pairing was made.
public struct PairingSummary: Hashable, Sendable {
    /// How the devices made sure of each other.
    public let model: AssociationModel
    /// Whether it was LE Secure Connections.
    public let usesSecureConnections: Bool
    /// Whether the key protects against a man in the middle.
    public let isAuthenticated: Bool
    /// How much of the key counts.
    public let keySize: EncryptionKeySize
    /// Who the peer says it is, if the keys are kept: a `bonded` event follows.
    public let bondedIdentity: LEAddress?
    /// Whether that device had another key before, which counts no more.
    public let replacesKey: Bool
    /// Whether the peer gave keys of its own over the link that the new key encrypts. One that gave none may not know that
    /// it has paired, if the link is lost before it is heard again.
    public let isAcknowledged: Bool
}

/// What the Security Manager has to say.
public enum SecurityEvent: Hashable, Sendable {
    /// A pairing needs the user.
    case prompt(PairingPrompt)
    /// The peripheral asks for security that no stored key gives: `pair`, or `rejectSecurityRequest`.
    case securityRequested(ConnectionHandle, AuthenticationRequirements)
    /// A pairing is over, and the link is encrypted.
    case pairingCompleted(ConnectionHandle, PairingSummary)
    /// A pairing, or a request for one, failed. There is no new bond, and old ones are as they were.
    case pairingFailed(ConnectionHandle, PairingFailure)
    /// A bond is new, or replaces the one with the same identity: store it, then call `bondStored`.
    indirect case bonded(ConnectionHandle, Bond)
    /// The link could not be encrypted with a stored key; `pinOrKeyMissing` says that the peer has lost it.
    case encryptionFailed(ConnectionHandle, HCIStatus)
    /// What is known about the security of a link changed.
    case securityChanged(ConnectionHandle, LinkSecurity)
}

/// What the Security Manager wants of the controller.
package enum SecurityAction: Hashable, Sendable {
    /// LE Enable Encryption.
    case enableEncryption(ConnectionHandle, LongTermKeyName, LongTermKey)
    /// LE Long Term Key Request Reply.
    case replyLongTermKey(ConnectionHandle, LongTermKey)
    /// LE Long Term Key Request Negative Reply.
    case rejectLongTermKeyRequest(ConnectionHandle)
}

/// Why a call was refused.
public enum SecurityRefusal: Error, Hashable, Sendable {
    /// There is no such link.
    case unknownConnection
    /// Only the other role can do that: centrals pair and encrypt, peripherals ask for it.
    case wrongRole
    /// A pairing, a request for one, or an encryption is going on.
    case busy
    /// A pairing on this link timed out: the link has to be made again first.
    case timedOut
    /// The last pairing with this peer failed: not before this time.
    case tooSoon(until: Duration)
    /// This device may not be paired with now.
    case notPairable
    /// There is no key for this peer that is good enough.
    case noKey
}
