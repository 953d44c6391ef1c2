/// One attribute of a database: everything about it but its value.
///
/// Every watch has some seventy of them, and an air may have a thousand watches: the indices are no wider than they must be, as a
/// database has at most 65,535 attributes.
package struct Attribute: Sendable {
    /// Where an attribute's value is.
    enum Content: Sendable, Hashable {
        /// In the database, where nothing changes it: a declaration. The index is into the database's values.
        case constant(UInt16)
        /// In the database.
        case stored(UInt16)
        /// Only the owner knows it.
        case owner
        /// With each connection: a client characteristic configuration. The index is into `clientConfigurations`.
        case clientConfiguration(UInt16)
        /// With each connection: the client's supported features.
        case clientSupportedFeatures
    }

    // The type is in front: behind the handle it would lie on the next multiple of sixteen bytes.
    /// What the attribute stands for.
    package let type: BluetoothUUID
    /// What the attribute is called on the air.
    package let handle: AttributeHandle
    let content: Content
    /// What reading requires; nil when the attribute cannot be read.
    package let read: AccessRequirement?
    /// What writing requires, in whichever way; nil when the attribute cannot be written.
    package let write: AccessRequirement?
    /// What clients may do with the attribute.
    package let operations: AttributeOperations
    /// The most bytes that its value can have, up to 512.
    let maximumLength: UInt16
    let isFixedLength: Bool
    /// Whether it may be written together with others: Reliable Write is among its characteristic's extended
    /// properties.
    let allowsReliableWrite: Bool
    /// Index of the service that the attribute belongs to.
    var service: UInt16
    /// For a characteristic value with a client characteristic configuration: that one's index.
    var subscription: UInt16?

    /// The error that refuses reading over a link, or nil if it may read.
    func readRefusal(of link: LinkSecurity) -> ATTError? {
        guard let read else { return .readNotPermitted }
        return read.refusal(of: link)
    }

    /// The error that refuses one way of writing over a link, or nil if it may write.
    func refusal(of operation: AttributeOperations, over link: LinkSecurity) -> ATTError? {
        guard let write, operations.contains(operation) else { return .writeNotPermitted }
        return write.refusal(of: link)
    }
}

/// What a database knows about one client characteristic configuration; its value is with each connection.
struct ClientConfiguration: Sendable {
    /// The descriptor's handle.
    let handle: AttributeHandle
    /// The handle of the value that a client subscribes to.
    let value: AttributeHandle
    /// What clients may ask for.
    let allowed: Subscription
    /// What sending the value requires of the link.
    let requirement: AccessRequirement
    let ownerAnswers: Bool
}
