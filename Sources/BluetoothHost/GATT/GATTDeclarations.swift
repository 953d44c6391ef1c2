/// A name that the firmware gives to a declared service, characteristic or descriptor, to find its handle later.
/// Names never leave the process.
public struct AttributeName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let description: String

    public init(_ text: String) { description = text }
    public init(stringLiteral text: String) { description = text }
}

/// A service to be put into a `GATTDatabase`.
public struct Service: Sendable {
    /// The service's UUID.
    public var uuid: BluetoothUUID
    /// The name that finds the service declaration's handle.
    public var name: AttributeName?
    /// Whether the service is primary; secondary ones only make sense when included by another.
    public var isPrimary: Bool
    /// The handle of the service declaration; nil for the next free one.
    public var handle: AttributeHandle?
    /// Whether clients see the service from the start. Its handles are reserved either way.
    public var isPublished: Bool
    var members: [ServiceMember]

    public init(
        _ uuid: BluetoothUUID,
        name: AttributeName? = nil,
        isPrimary: Bool = true,
        at handle: AttributeHandle? = nil,
        isPublished: Bool = true,
        @DeclarationBuilder<ServiceMember> members: () -> [ServiceMember] = { [] }
    ) {
        self.uuid = uuid
        self.name = name
        self.isPrimary = isPrimary
        self.handle = handle
        self.isPublished = isPublished
        self.members = members()
    }
}

/// What a service can be made of.
public enum ServiceMember: Sendable {
    case include(Include)
    case characteristic(Characteristic)
}

/// A reference from one service to another, which must have a name.
public struct Include: Sendable {
    /// The included service's name.
    public var service: AttributeName

    public init(_ service: AttributeName) { self.service = service }
}

/// A characteristic: its declaration, its value, and the descriptors that belong to it.
///
/// The client characteristic configuration and the extended properties follow from the properties and are
/// declared by themselves, in front of any other descriptor.
public struct Characteristic: Sendable {
    /// The characteristic's UUID.
    public var uuid: BluetoothUUID
    /// What can be done with the value.
    public var properties: CharacteristicProperties
    /// The name that finds the value's handle.
    public var name: AttributeName?
    /// What each use requires of the link.
    public var permissions: AttributePermissions
    /// The value, or who knows it.
    public var value: AttributeValue
    /// Whether a client's subscription is answered by the owner and not at once, so that the owner can send a
    /// first notification in front of the answer or refuse.
    public var ownerAnswersSubscriptions: Bool
    var descriptors: [Descriptor]

    public init(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        name: AttributeName? = nil,
        permissions: AttributePermissions = .open,
        value: AttributeValue = [],
        ownerAnswersSubscriptions: Bool = false,
        @DeclarationBuilder<Descriptor> descriptors: () -> [Descriptor] = { [] }
    ) {
        self.uuid = uuid
        self.properties = properties
        self.name = name
        self.permissions = permissions
        self.value = value
        self.ownerAnswersSubscriptions = ownerAnswersSubscriptions
        self.descriptors = descriptors()
    }
}

/// A characteristic descriptor other than those that follow from the properties.
public struct Descriptor: Sendable {
    /// The descriptor's UUID.
    public var uuid: BluetoothUUID
    /// The name that finds the descriptor's handle.
    public var name: AttributeName?
    /// What reading requires; nil when the descriptor cannot be read.
    public var read: AccessRequirement?
    /// What writing requires; nil when the descriptor cannot be written.
    public var write: AccessRequirement?
    /// The value, or who knows it.
    public var value: AttributeValue

    public init(
        _ uuid: BluetoothUUID,
        name: AttributeName? = nil,
        read: AccessRequirement? = .open,
        write: AccessRequirement? = nil,
        value: AttributeValue
    ) {
        self.uuid = uuid
        self.name = name
        self.read = read
        self.write = write
        self.value = value
    }
}

/// An attribute's value in a declaration: bytes that the database keeps, or word that the owner is to be asked.
public struct AttributeValue: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case stored([UInt8])
        case owner
        case clientSupportedFeatures
    }

    var source: Source
    /// The most bytes that the value may have.
    public var maximumLength: Int
    /// Whether the value always has its first length: shorter writes then change only the bytes that they bring
    /// (Core 5.4, Vol 3, Part F, 3.4.5.1).
    public var isFixedLength: Bool

    private init(_ source: Source, maximumLength: Int, isFixedLength: Bool) {
        self.source = source
        self.maximumLength = maximumLength
        self.isFixedLength = isFixedLength
    }

    /// Bytes that the database keeps, and that can grow to `maximumLength`.
    public static func bytes(_ bytes: [UInt8], maximumLength: Int = ATT.maximumValueLength) -> AttributeValue {
        AttributeValue(.stored(bytes), maximumLength: maximumLength, isFixedLength: false)
    }

    /// Bytes that the database keeps, and that never change in number.
    public static func fixedLength(_ bytes: [UInt8]) -> AttributeValue {
        AttributeValue(.stored(bytes), maximumLength: bytes.count, isFixedLength: true)
    }

    /// Text that the database keeps as UTF-8.
    public static func text(_ text: String) -> AttributeValue { bytes(Array(text.utf8)) }

    /// The owner answers every read and takes every write, of at most `maximumLength` bytes.
    public static func askOwner(maximumLength: Int) -> AttributeValue {
        AttributeValue(.owner, maximumLength: maximumLength, isFixedLength: false)
    }

    /// The owner answers every read and takes every write.
    public static let askOwner = askOwner(maximumLength: ATT.maximumValueLength)

    /// The value of the Client Supported Features characteristic, which each client has for itself
    /// (Core 5.4, Vol 3, Part G, 7.2). Its first byte has all the bits that there are.
    public static let clientSupportedFeatures = AttributeValue(
        .clientSupportedFeatures,
        maximumLength: ATT.maximumValueLength,
        isFixedLength: false
    )
}

extension AttributeValue: ExpressibleByArrayLiteral, ExpressibleByStringLiteral {
    public init(arrayLiteral bytes: UInt8...) { self = .bytes(bytes) }
    public init(stringLiteral text: String) { self = .text(text) }
}
