/// What a link must offer before an attribute may be used in one way.
public struct AccessRequirement: Hashable, Sendable {
    /// What is asked of the key that encrypts the link.
    public enum Encryption: UInt8, Comparable, Sendable {
        /// Anybody may.
        case none
        /// The link must be encrypted.
        case encrypted
        /// The link must be encrypted with a key from a pairing protected against a man in the middle.
        case authenticated

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// What is asked of the link's encryption.
    public var encryption: Encryption
    /// The shortest key that is good enough, in bytes, when encryption is asked for. No key has more than 16: 255 stands for any
    /// number beyond it.
    public var minimumKeySize: Int {
        get { Int(keySize) }
        set { keySize = UInt8(clamping: newValue) }
    }
    private var keySize: UInt8
    /// Whether the peer must also have been authorized.
    public var needsAuthorization: Bool

    /// A requirement; `minimumKeySize` is in bytes, 7 to 16, and counts only when encryption is asked for.
    public init(_ encryption: Encryption = .none, minimumKeySize: Int = 7, needsAuthorization: Bool = false) {
        self.encryption = encryption
        keySize = UInt8(clamping: minimumKeySize)
        self.needsAuthorization = needsAuthorization
    }

    /// Anybody may.
    public static let open = AccessRequirement(.none)
    /// Needs an encrypted link.
    public static let encrypted = AccessRequirement(.encrypted)
    /// Needs a link encrypted with an authenticated key.
    public static let authenticated = AccessRequirement(.authenticated)

    /// The error that refuses the link, or nil if it meets the requirement.
    ///
    /// The order is that of Core 5.4, Vol 3, Part C, 10.3.1: an unencrypted link is told to pair (0x05) or, when
    /// there is a key already, to encrypt (0x0F); an encrypted one may have too short a key (0x0C) or one that
    /// was not authenticated (0x05); authorization comes last.
    package func refusal(of link: LinkSecurity) -> ATTError? {
        if encryption != .none {
            guard link.isEncrypted else {
                return link.isBonded ? .insufficientEncryption : .insufficientAuthentication
            }
            if link.keySize < minimumKeySize { return .encryptionKeySizeTooShort }
            if encryption == .authenticated, !link.isAuthenticated { return .insufficientAuthentication }
        }
        if needsAuthorization, !link.isAuthorized { return .insufficientAuthorization }
        return nil
    }
}

/// The ways in which a server lets clients use an attribute, apart from what each requires of the link.
public struct AttributeOperations: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Every request that reads the value, and Find By Type Value, which compares it.
    public static let read = AttributeOperations(rawValue: 0x01)
    /// Write Request and Prepare Write Request.
    public static let write = AttributeOperations(rawValue: 0x02)
    /// Write Command.
    public static let writeWithoutResponse = AttributeOperations(rawValue: 0x04)
    /// Signed Write Command. The layer does not verify signatures and ignores every one.
    package static let signedWrite = AttributeOperations(rawValue: 0x08)

    /// What changes the value.
    static let anyWrite: AttributeOperations = [.write, .writeWithoutResponse, .signedWrite]
}

/// What clients may do with a characteristic's value and its configuration, and what each use requires of the link.
public struct AttributePermissions: Hashable, Sendable {
    /// What reading the value requires.
    package var read: AccessRequirement
    /// What writing the value requires.
    package var write: AccessRequirement
    /// What writing the client characteristic configuration requires, and so what must hold again before a value
    /// is sent to a client that subscribed earlier (Core 5.4, Vol 3, Part C, 10.3.1.1).
    package var subscribe: AccessRequirement
    /// What clients may do with the value; nil for what the characteristic's properties say. The properties are only
    /// what clients are told (Core 5.4, Vol 3, Part G, 3.3.1.1).
    package var operations: AttributeOperations?

    /// A requirement for each use, of which none asks for anything unless told otherwise.
    public init(
        read: AccessRequirement = .open,
        write: AccessRequirement = .open,
        subscribe: AccessRequirement = .open,
        operations: AttributeOperations? = nil
    ) {
        self.read = read
        self.write = write
        self.subscribe = subscribe
        self.operations = operations
    }

    /// The same requirement for every use.
    public init(all requirement: AccessRequirement, operations: AttributeOperations? = nil) {
        self.init(read: requirement, write: requirement, subscribe: requirement, operations: operations)
    }

    /// No requirement for any use.
    public static let open = AttributePermissions(all: .open)
    /// Every use needs an encrypted link.
    public static let encrypted = AttributePermissions(all: .encrypted)
    /// Every use needs a link encrypted with an authenticated key.
    public static let authenticated = AttributePermissions(all: .authenticated)
}
