import BluetoothHCI

/// Why this side's own call could not be carried out. Nothing was sent.
public enum GATTError: Error, Hashable, Sendable {
    /// There is no such connection, or its bearer was given up after a time-out.
    case notConnected(ConnectionHandle)
    /// The database has no such attribute.
    case unknownAttribute(AttributeHandle)
    /// The database has no service of that name.
    case unknownService(AttributeName)
    /// The attribute's value is not kept in the database, or is not one that can be set.
    case valueNotStored(AttributeHandle)
    /// The value's length does not fit the attribute or, for a command, the MTU.
    case invalidValueLength(AttributeHandle, Int)
    /// The client did not subscribe to what was to be sent, or the characteristic has no client characteristic
    /// configuration.
    case notSubscribed(AttributeHandle)
    /// The link does not meet what sending the value requires.
    case insufficientSecurity(AttributeHandle, ATTError)
    /// The client caches the database and does not know of a change to it yet.
    case clientOutOfSync(AttributeHandle)
    /// The client did not say that it takes several values in one notification.
    case multipleNotificationsNotSupported
    /// The connection's queue is full. After `notify` and `writeWithoutResponse`, `GATTEvent.roomToSend` says when there is
    /// room again. After `indicate` and `start` it does not: their queues get room when an indication is confirmed
    /// (`GATTEvent.indicationConfirmed`), and when a procedure ends (`GATTEvent.procedureEnded`).
    case queueFull
    /// The MTU of this connection has been exchanged, or is being exchanged.
    case mtuAlreadyExchanged
}

extension GATTError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notConnected(let connection): "connection \(connection) has no ATT bearer"
        case .unknownAttribute(let handle): "no attribute has handle \(handle)"
        case .unknownService(let name): "no service is named \"\(name)\""
        case .valueNotStored(let handle): "the value of attribute \(handle) is not kept in the database"
        case .invalidValueLength(let handle, let length): "attribute \(handle) cannot have a value of \(length) bytes"
        case .notSubscribed(let handle): "the client did not subscribe to attribute \(handle)"
        case .insufficientSecurity(let handle, let error): "attribute \(handle) may not be sent: \(error)"
        case .clientOutOfSync(let handle):
            "attribute \(handle) may not be sent before the client knows that the database changed"
        case .multipleNotificationsNotSupported: "the client does not take several values in one notification"
        case .queueFull: "the connection's queue is full"
        case .mtuAlreadyExchanged: "the MTU is exchanged once a connection"
        }
    }
}
