/// Collects the declarations written between braces, with `if`, `switch` and `for` where they help.
@resultBuilder
public enum DeclarationBuilder<Element> {
    /// One declaration on a line of its own.
    @inlinable
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// All that stands between the braces, in its order.
    @inlinable
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// All that the rounds of a `for` loop declare, in their order.
    @inlinable
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
    /// What an `if` without `else` declares; nil, and so nothing, when its condition does not hold.
    @inlinable
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// What an `if` with `else` or a `switch` declares, from one of its branches.
    @inlinable
    public static func buildEither(first part: [Element]) -> [Element] { part }
    /// What an `if` with `else` or a `switch` declares, from another of its branches.
    @inlinable
    public static func buildEither(second part: [Element]) -> [Element] { part }
}

extension DeclarationBuilder where Element == ServiceMember {
    /// One include on a line of its own.
    public static func buildExpression(_ include: Include) -> [ServiceMember] { [.include(include)] }
    /// One characteristic on a line of its own.
    public static func buildExpression(_ characteristic: Characteristic) -> [ServiceMember] {
        [.characteristic(characteristic)]
    }
}

/// Why a list of declarations is not a database.
public enum GATTDatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A service with a 16-bit UUID stands behind one with a 128-bit UUID, in a database that must not have that:
    /// `GATTDatabase.ServiceOrder.shortUUIDsFirst`.
    case serviceOutOfOrder(BluetoothUUID)
    /// The handle asked for is that of another attribute, or lies in front of one that belongs in front of it, or in
    /// another service's range.
    case handleTaken(AttributeHandle, BluetoothUUID)
    /// A service has an attribute behind the range that was asked for it.
    case rangeTooShort(AttributeHandle, BluetoothUUID)
    /// There are more attributes than handles.
    case tooManyAttributes
    /// Two declarations have the same name.
    case nameTaken(AttributeName)
    /// An included service is not declared.
    case unknownService(AttributeName)
    /// A value is longer than it may be, or may be longer than 512 bytes.
    case valueTooLong(BluetoothUUID)
    /// A descriptor whose value the layer knows was declared with a value: see `Descriptor`.
    case automaticDescriptor(BluetoothUUID)
    /// A characteristic has two client characteristic configurations, or extended properties twice.
    case descriptorTwice(BluetoothUUID)

    public var description: String {
        switch self {
        case .serviceOutOfOrder(let uuid):
            "service \(uuid): services with 16-bit UUIDs must stand in front of those with 128-bit UUIDs"
        case .handleTaken(let handle, let uuid):
            "attribute \(uuid): handle \(handle) is taken, or is not behind the attributes in front of it"
        case .rangeTooShort(let end, let uuid):
            "service \(uuid): its range ends at \(end), in front of its last attribute"
        case .tooManyAttributes: "the database has more than 65535 attributes"
        case .nameTaken(let name): "the name \"\(name)\" is declared twice"
        case .unknownService(let name): "the included service \"\(name)\" is not declared"
        case .valueTooLong(let uuid): "attribute \(uuid): the value is too long"
        case .automaticDescriptor(let uuid):
            "descriptor \(uuid) is declared with a value that follows from the properties"
        case .descriptorTwice(let uuid): "descriptor \(uuid) is declared twice in one characteristic"
        }
    }
}
