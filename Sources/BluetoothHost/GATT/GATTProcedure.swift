import BluetoothHCI
import ByteCoding

/// Something to do to the server at the other end of a connection: a procedure of Core 5.4, Vol 3, Part G, 4.
///
/// Each ends with one `GATTEvent.procedureEnded`. Procedures of one connection run one after the other.
public enum GATTProcedure: Hashable, Sendable {
    /// Agrees on the MTU, once a connection. Result: `.mtu`.
    case exchangeMTU
    /// Result: `.services`.
    case discoverAllPrimaryServices
    /// Result: `.services`.
    case discoverPrimaryServices(BluetoothUUID)
    /// Services that only make sense as included ones. Result: `.services`.
    case discoverSecondaryServices
    /// Services that those in the range include. Result: `.includedServices`.
    case findIncludedServices(in: AttributeHandleRange)
    /// Characteristics of a service, of all kinds or of one. Result: `.characteristics`.
    case discoverCharacteristics(in: AttributeHandleRange, uuid: BluetoothUUID? = nil)
    /// Every attribute in a range, which are descriptors if the range is that behind a characteristic value.
    /// Result: `.descriptors`.
    case discoverDescriptors(in: AttributeHandleRange)
    /// Reads a value, or its beginning if it does not fit into the MTU. Result: `.value`.
    case read(AttributeHandle)
    /// Reads a value of any length. Result: `.value`.
    case readLong(AttributeHandle)
    /// Reads the values of every attribute of a type. Result: `.values`.
    case readByUUID(BluetoothUUID, in: AttributeHandleRange = .all)
    /// Reads the value of an attribute of a type, and of more if they fit into the same response: one request, for where
    /// there is one attribute at most. Result: `.values`.
    case readOneByUUID(BluetoothUUID, in: AttributeHandleRange = .all)
    /// Reads two values or more, whose lengths the caller knows. Result: `.value`, all of them joined.
    case readMultiple([AttributeHandle])
    /// Reads two values or more. Result: `.values`, of which the last may be cut off.
    case readMultipleVariable([AttributeHandle])
    /// Writes a value that fits into the MTU. Result: `.written`.
    case write(AttributeHandle, ArraySlice<UInt8>)
    /// Writes a value of any length, in parts that take effect together. Result: `.written`.
    case writeLong(AttributeHandle, ArraySlice<UInt8>)
    /// Writes several values that take effect together, each checked for having arrived unharmed.
    /// Result: `.written`.
    case writeReliably([HandleValue])
    /// Writes a client characteristic configuration. Result: `.written`.
    case subscribe(clientConfiguration: AttributeHandle, Subscription)
}

/// A value and the handle of the attribute that has it, or is to have it.
public struct HandleValue: Hashable, Sendable {
    /// The attribute's handle in the server's database.
    public let handle: AttributeHandle
    /// The attribute's value. A value that was read is only its beginning if the response had no room for more.
    public let value: ArraySlice<UInt8>

    /// A value of the attribute with this handle.
    public init(_ handle: AttributeHandle, _ value: ArraySlice<UInt8>) {
        self.handle = handle
        self.value = value
    }
}

/// Tells one started procedure from every other, on all connections.
public struct GATTProcedureID: Hashable, Sendable {
    let rawValue: UInt64
}

/// How a procedure ended.
public struct GATTProcedureResult: Sendable {
    /// The connection to the server.
    public let connection: ConnectionHandle
    /// Which procedure it was: what `GATTLayer.start` returned.
    public let id: GATTProcedureID
    /// What the procedure found out or did, or why it did not reach its end.
    public let result: Result<GATTResponse, GATTProcedureError>
}

/// What a procedure found out or did.
public enum GATTResponse: Hashable, Sendable {
    /// The MTU in force now.
    case mtu(Int)
    /// Services in the order of their handles; empty if there are none.
    case services([DiscoveredService])
    /// Includes in the order of their declarations' handles; empty if there are none.
    case includedServices([DiscoveredInclude])
    /// Characteristics in the order of their declarations' handles; empty if there are none.
    case characteristics([DiscoveredCharacteristic])
    /// Attributes in the order of their handles; empty if there are none.
    case descriptors([DiscoveredDescriptor])
    /// A value, in the storage of the PDU that brought it where it was one.
    case value(ArraySlice<UInt8>)
    /// Values with their handles, in the order of the handles or, of `readMultipleVariable`, in the order asked for. There may
    /// be fewer than were asked for.
    case values([HandleValue])
    /// The server has taken what was written.
    case written
}

/// A service of the other side.
public struct DiscoveredService: Hashable, Sendable {
    /// The service's UUID, which says what kind of service it is.
    public let uuid: BluetoothUUID
    /// The handles of the service declaration and of everything that belongs to it.
    public let range: AttributeHandleRange

    /// A service whose handles are those of `range`.
    package init(uuid: BluetoothUUID, range: AttributeHandleRange) {
        self.uuid = uuid
        self.range = range
    }
}

/// An inclusion of one service in another.
public struct DiscoveredInclude: Hashable, Sendable {
    /// The include declaration.
    public let handle: AttributeHandle
    /// The included service.
    public let service: DiscoveredService

    /// An include declaration at `handle`, and the service that it refers to.
    package init(handle: AttributeHandle, service: DiscoveredService) {
        self.handle = handle
        self.service = service
    }
}

/// A characteristic of the other side.
public struct DiscoveredCharacteristic: Hashable, Sendable {
    /// The characteristic's UUID, which is also the type of its value.
    public let uuid: BluetoothUUID
    /// What can be done with the value, as the declaration says. The bits of the extended properties are not among it.
    public let properties: CharacteristicProperties
    /// The characteristic declaration.
    public let declaration: AttributeHandle
    /// The characteristic value.
    public let value: AttributeHandle

    /// A characteristic whose `value` handle lies behind that of its `declaration`.
    package init(
        uuid: BluetoothUUID,
        properties: CharacteristicProperties,
        declaration: AttributeHandle,
        value: AttributeHandle
    ) {
        self.uuid = uuid
        self.properties = properties
        self.declaration = declaration
        self.value = value
    }
}

/// An attribute of the other side, of which no more is known than its type.
public struct DiscoveredDescriptor: Hashable, Sendable {
    /// The attribute's type, as a UUID.
    public let uuid: BluetoothUUID
    /// The attribute's handle in the server's database.
    public let handle: AttributeHandle

    /// An attribute of type `uuid` at `handle`.
    package init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// Why a procedure did not reach its end.
public enum GATTProcedureError: Error, Equatable, Sendable {
    /// The server refused it.
    case refused(ATTErrorResponse)
    /// The server did not answer for 30 s. The bearer that it was asked on is dead.
    case timedOut
    /// The connection was closed first.
    case disconnected
    /// The server answered with another response than the one that was due.
    case unexpectedResponse(opcode: UInt8)
    /// The server's response cannot be read.
    case malformedResponse(ByteDecodingError)
    /// The server's response lies outside what was asked for, or repeats what was answered before.
    case handleOutOfRange(AttributeHandle)
    /// The server goes on and on.
    case tooManyResults
    /// The server's value is longer than any value can be.
    case valueTooLong
    /// The value does not fit into the MTU: it needs `writeLong`.
    case valueExceedsMTU
    /// The server repeated a prepared write differently; nothing was written.
    case writeNotEchoed(AttributeHandle)
}

extension GATTProcedureError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let error): "refused: \(error)"
        case .timedOut: "no response within \(ATT.transactionTimeout)"
        case .disconnected: "the connection was closed"
        case .unexpectedResponse(let opcode): "unexpected response 0x\([opcode].hexadecimal)"
        case .malformedResponse(let error): "malformed response: \(error)"
        case .handleOutOfRange(let handle): "the response holds handle \(handle), which was not due"
        case .tooManyResults: "more than \(GATTLimits.collectedItems) results"
        case .valueTooLong: "a value of more than \(ATT.maximumValueLength) bytes"
        case .valueExceedsMTU: "the value does not fit into the MTU"
        case .writeNotEchoed(let handle): "a prepared write of \(handle) was not repeated faithfully"
        }
    }
}
