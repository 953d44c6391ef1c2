/// What can be done with a characteristic (Core 5.4, Vol 3, Part G, 3.3.1.1 and 3.3.3.1).
///
/// The low byte is the properties field of the characteristic declaration; the bits above it are those of the
/// extended properties descriptor, which is declared by itself when one of them is set.
public struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The value can be broadcast as the server characteristic configuration says. This layer does not broadcast.
    package static let broadcast = CharacteristicProperties(rawValue: 0x0001)
    /// The value can be read.
    public static let read = CharacteristicProperties(rawValue: 0x0002)
    /// The value can be written with a Write Command, which gets no answer.
    public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x0004)
    /// The value can be written with a Write Request, or in parts with prepared writes.
    public static let write = CharacteristicProperties(rawValue: 0x0008)
    /// The value can be sent without confirmation to a client that has subscribed to `Subscription.notifications`.
    public static let notify = CharacteristicProperties(rawValue: 0x0010)
    /// The value can be sent and confirmed, with a client that has subscribed to `Subscription.indications`.
    public static let indicate = CharacteristicProperties(rawValue: 0x0020)
    /// The value can be written with a Signed Write Command. This layer ignores every one.
    package static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x0040)
    /// The extended properties descriptor is there. With the two below, the layer sets this bit itself.
    package static let extendedProperties = CharacteristicProperties(rawValue: 0x0080)
    /// Several values can be written in one reliable write.
    public static let reliableWrite = CharacteristicProperties(rawValue: 0x0100)
    /// The user description descriptor can be written.
    package static let writableAuxiliaries = CharacteristicProperties(rawValue: 0x0200)

    /// The properties field of the declaration.
    var declared: UInt8 {
        UInt8(truncatingIfNeeded: extended == nil ? rawValue : union(.extendedProperties).rawValue)
    }

    /// The value of the extended properties descriptor, which is there when one of its bits is set or it was asked
    /// for; nil when there is none.
    var extended: UInt16? { rawValue >> 8 == 0 && !contains(.extendedProperties) ? nil : rawValue >> 8 }

    /// What clients may do with the value: each procedure has its own property
    /// (Core 5.4, Vol 3, Part G, 3.3.1.1, table 3.5).
    var operations: AttributeOperations {
        var operations: AttributeOperations = []
        if contains(.read) { operations.insert(.read) }
        if contains(.write) { operations.insert(.write) }
        if contains(.writeWithoutResponse) { operations.insert(.writeWithoutResponse) }
        if contains(.authenticatedSignedWrites) { operations.insert(.signedWrite) }
        return operations
    }

    /// What a client can subscribe to.
    var subscriptions: Subscription {
        var subscriptions: Subscription = []
        if contains(.notify) { subscriptions.insert(.notifications) }
        if contains(.indicate) { subscriptions.insert(.indications) }
        return subscriptions
    }
}

/// What a client asked to be sent of a characteristic: the bits of its client characteristic configuration
/// (Core 5.4, Vol 3, Part G, 3.3.3.3).
public struct Subscription: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Values are to be sent as notifications, which the client does not confirm.
    public static let notifications = Subscription(rawValue: 0x0001)
    /// Values are to be sent as indications, each of which the client confirms before the next is sent.
    public static let indications = Subscription(rawValue: 0x0002)
    /// The bits that the specification gives a meaning to.
    static let known: Subscription = [.notifications, .indications]
}
