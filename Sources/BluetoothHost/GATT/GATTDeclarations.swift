/// A name that the firmware gives to a declared service, characteristic or descriptor, to find its handle later.
/// Names never leave the process.
public struct AttributeName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let description: String

    /// A name with this text. Two names are the same if their texts are.
    public init(_ text: String) { description = text }
    public init(stringLiteral text: String) { description = text }
}

/// A service to be put into a `GATTDatabase`.
public struct Service: Sendable {
    /// The service's UUID.
    public var uuid: BluetoothUUID
    /// The name that finds the service declaration's handle.
    package var name: AttributeName?
    /// Whether the service is primary; secondary ones only make sense when included by another.
    package var isPrimary: Bool
    /// The handle of the service declaration; nil for the one behind the range of the service that is declared before.
    package var handle: AttributeHandle?
    /// The last handle that is the service's own, so that attributes can be added in a later version without moving
    /// others: clients see it as the end of the service. Nil for the handle of the service's last attribute.
    package var end: AttributeHandle?
    /// Whether clients see the service from the start. Its handles are reserved either way.
    package var isPublished: Bool
    var members: [ServiceMember]

    /// A service that is primary, published, and lies behind the service that is declared before, unless told otherwise.
    /// Nothing is checked here: `GATTDatabase` throws a `GATTDatabaseError` if the service cannot be put into it.
    /// - Parameters:
    ///   - uuid: the service's UUID.
    ///   - name: the name that finds the service's handle.
    ///   - isPrimary: whether clients discover it by itself, and not only where another service includes it.
    ///   - handle: the handle of the service declaration; nil for the next one.
    ///   - end: the last handle that is the service's own; nil for that of its last attribute.
    ///   - isPublished: whether clients see the service from the start.
    ///   - members: its includes and characteristics.
    public init(
        _ uuid: BluetoothUUID,
        name: AttributeName? = nil,
        isPrimary: Bool = true,
        at handle: AttributeHandle? = nil,
        through end: AttributeHandle? = nil,
        isPublished: Bool = true,
        @DeclarationBuilder<ServiceMember> members: () -> [ServiceMember] = { [] }
    ) {
        self.uuid = uuid
        self.name = name
        self.isPrimary = isPrimary
        self.handle = handle
        self.end = end
        self.isPublished = isPublished
        self.members = members()
    }

    /// The same service with something in front of each name that is its own, its includes' too.
    package func withNames(prefixed prefix: String) -> Service {
        func prefixed(_ name: AttributeName?) -> AttributeName? { name.map { AttributeName(prefix + $0.description) } }
        var service = self
        service.name = prefixed(name)
        for index in service.members.indices {
            switch service.members[index] {
            case .include(var include):
                include.service = AttributeName(prefix + include.service.description)
                service.members[index] = .include(include)
            case .characteristic(var characteristic):
                characteristic.name = prefixed(characteristic.name)
                for place in characteristic.descriptors.indices {
                    characteristic.descriptors[place].name = prefixed(characteristic.descriptors[place].name)
                }
                service.members[index] = .characteristic(characteristic)
            }
        }
        return service
    }
}

/// What a service can be made of. Includes get their handles in front of all characteristics
/// (Core 5.4, Vol 3, Part G, 3).
public enum ServiceMember: Sendable {
    /// A reference to another service.
    case include(Include)
    /// A characteristic with its value and its descriptors.
    case characteristic(Characteristic)
}

/// A reference from one service to another, which must have a name.
public struct Include: Sendable {
    /// The included service's name.
    package var service: AttributeName
    /// The handle of the include declaration; nil for the next one in the service.
    package var handle: AttributeHandle?

    /// An include of the service of this name. `GATTDatabase` throws `unknownService` if none is declared with it.
    public init(_ service: AttributeName, at handle: AttributeHandle? = nil) {
        self.service = service
        self.handle = handle
    }
}

/// A characteristic: its declaration, its value, and the descriptors that belong to it.
///
/// The client characteristic configuration and the extended properties follow from the properties. Those that are not
/// among the descriptors are declared by themselves, in front of the others.
public struct Characteristic: Sendable {
    /// The characteristic's UUID.
    package var uuid: BluetoothUUID
    /// What clients are told that they can do with the value.
    package var properties: CharacteristicProperties
    /// The name that finds the value's handle.
    package var name: AttributeName?
    /// The handle of the characteristic declaration; nil for the next one in the service.
    package var handle: AttributeHandle?
    /// The handle of the value; nil for the one behind the declaration.
    package var valueHandle: AttributeHandle?
    /// What clients can do with the value, and what each use requires of the link.
    package var permissions: AttributePermissions
    /// The value, or who knows it.
    package var value: AttributeValue
    /// Whether a client's subscription is answered by the owner and not at once, so that the owner can send a
    /// first notification in front of the answer or refuse.
    package var ownerAnswersSubscriptions: Bool
    /// Whether the descriptors that follow from the properties are declared by themselves. Without, there are only
    /// those that are written down.
    package var addsDescriptors: Bool
    var descriptors: [Descriptor]

    /// A characteristic with an empty value that the database keeps, and that asks nothing of the link, unless told otherwise.
    /// Nothing is checked here: `GATTDatabase` throws a `GATTDatabaseError` if the characteristic cannot be put into it.
    /// - Parameters:
    ///   - uuid: the characteristic's UUID.
    ///   - properties: what clients are told that they can do with the value.
    ///   - name: the name that finds the value's handle.
    ///   - handle: the handle of the characteristic declaration; nil for the next one in the service.
    ///   - valueHandle: the handle of the value; nil for the one behind the declaration.
    ///   - permissions: what clients can do with the value, and what each use requires of the link.
    ///   - value: the value, or word that the owner is to be asked.
    ///   - ownerAnswersSubscriptions: whether the owner answers a client's subscription.
    ///   - addsDescriptors: whether the descriptors that follow from the properties are declared by themselves.
    ///   - descriptors: those that are written down, in their order.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil,
        valueAt valueHandle: AttributeHandle? = nil,
        permissions: AttributePermissions = .open,
        value: AttributeValue = [],
        ownerAnswersSubscriptions: Bool = false,
        addsDescriptors: Bool = true,
        @DeclarationBuilder<Descriptor> descriptors: () -> [Descriptor] = { [] }
    ) {
        self.uuid = uuid
        self.properties = properties
        self.name = name
        self.handle = handle
        self.valueHandle = valueHandle
        self.permissions = permissions
        self.value = value
        self.ownerAnswersSubscriptions = ownerAnswersSubscriptions
        self.addsDescriptors = addsDescriptors
        self.descriptors = descriptors()
    }
}

/// A characteristic descriptor. Descriptors get their handles in the order in which they are written.
public struct Descriptor: Sendable {
    /// What the layer does with the descriptor.
    enum Kind: Sendable, Hashable {
        /// It keeps the value, or asks the owner.
        case value
        /// Each client has its own; nil to allow what the properties say.
        case clientConfiguration(allowing: Subscription?)
        /// The value follows from the properties.
        case extendedProperties
        /// As `value`, whatever the UUID.
        case uninterpreted
    }

    /// The descriptor's UUID.
    package var uuid: BluetoothUUID
    /// The name that finds the descriptor's handle.
    package var name: AttributeName?
    /// The descriptor's handle; nil for the next one in the service.
    package var handle: AttributeHandle?
    /// What reading requires; nil when the descriptor cannot be read.
    package var read: AccessRequirement?
    /// What writing requires; nil when the descriptor cannot be written. A client characteristic configuration is
    /// written as the characteristic's `permissions.subscribe` says.
    package var write: AccessRequirement?
    /// The value, or who knows it.
    package var value: AttributeValue
    let kind: Kind

    /// A descriptor other than the two that follow from the properties.
    public init(
        _ uuid: BluetoothUUID,
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil,
        read: AccessRequirement? = .open,
        write: AccessRequirement? = nil,
        value: AttributeValue
    ) {
        self.init(.value, uuid, name: name, at: handle, read: read, write: write, value: value)
    }

    private init(
        _ kind: Kind,
        _ uuid: BluetoothUUID,
        name: AttributeName?,
        at handle: AttributeHandle?,
        read: AccessRequirement? = .open,
        write: AccessRequirement? = nil,
        value: AttributeValue = []
    ) {
        self.kind = kind
        self.uuid = uuid
        self.name = name
        self.handle = handle
        self.read = read
        self.write = write
        self.value = value
    }

    /// The client characteristic configuration, at this place among the descriptors. Each client has a value of its own.
    /// - Parameters:
    ///   - name: the name that finds the descriptor's handle.
    ///   - handle: the descriptor's handle; nil for the next one in the service.
    ///   - subscriptions: what clients may ask for; nil for what the properties say.
    public static func clientCharacteristicConfiguration(
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil,
        allowing subscriptions: Subscription? = nil
    ) -> Descriptor {
        let kind = Kind.clientConfiguration(allowing: subscriptions)
        return Descriptor(kind, BluetoothUUID.clientCharacteristicConfiguration, name: name, at: handle)
    }

    /// The extended properties, at this place among the descriptors. Their value follows from the properties.
    package static func characteristicExtendedProperties(
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil
    ) -> Descriptor {
        Descriptor(.extendedProperties, BluetoothUUID.characteristicExtendedProperties, name: name, at: handle)
    }

    /// A descriptor that the layer gives no meaning to, whatever its UUID: all clients share one value, and nothing
    /// follows from it. For copies of other devices' databases.
    package static func uninterpreted(
        _ uuid: BluetoothUUID,
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil,
        read: AccessRequirement? = .open,
        write: AccessRequirement? = nil,
        value: AttributeValue
    ) -> Descriptor {
        Descriptor(.uninterpreted, uuid, name: name, at: handle, read: read, write: write, value: value)
    }
}
