import ByteCoding

/// A request as a client sent it: its layout is right, its handles and offsets may name anything
/// (Core 5.4, Vol 3, Part F, 3.4.2 to 3.4.6).
enum ATTRequest {
    case exchangeMTU(clientMTU: Int)
    case findInformation(RequestedHandles)
    case findByTypeValue(RequestedHandles, type: BluetoothUUID, value: ArraySlice<UInt8>)
    case readByType(RequestedHandles, type: BluetoothUUID)
    case read(AttributeHandle)
    case readBlob(AttributeHandle, offset: Int)
    case readMultiple(AttributeHandleList)
    case readMultipleVariable(AttributeHandleList)
    case readByGroupType(RequestedHandles, type: BluetoothUUID)
    case write(AttributeHandle, value: ArraySlice<UInt8>)
    case prepareWrite(AttributeHandle, offset: Int, value: ArraySlice<UInt8>)
    case executeWrite(isCancelled: Bool)

    /// Reads what follows the opcode; nil for an opcode that is not a request's.
    init?(_ opcode: ATTOpcode, reading reader: inout ByteReader) throws(ByteDecodingError) {
        switch opcode {
        case .exchangeMTURequest:
            self = .exchangeMTU(clientMTU: Int(try reader.readLittleEndian("client_rx_mtu", as: UInt16.self)))
        case .findInformationRequest:
            self = .findInformation(try RequestedHandles(reading: &reader))
        case .findByTypeValueRequest:
            self = .findByTypeValue(
                try RequestedHandles(reading: &reader),
                type: .uuid16(try reader.readLittleEndian("attribute_type")),
                value: reader.readRemaining()
            )
        case .readByTypeRequest:
            self = .readByType(
                try RequestedHandles(reading: &reader),
                type: try BluetoothUUID(readingAllOf: &reader, "attribute_type")
            )
        case .readRequest:
            self = .read(try AttributeHandle(reading: &reader))
        case .readBlobRequest:
            self = .readBlob(
                try AttributeHandle(reading: &reader),
                offset: Int(try reader.readLittleEndian("value_offset", as: UInt16.self))
            )
        case .readMultipleRequest:
            self = .readMultiple(try AttributeHandleList(readingAllOf: &reader))
        case .readMultipleVariableRequest:
            self = .readMultipleVariable(try AttributeHandleList(readingAllOf: &reader))
        case .readByGroupTypeRequest:
            self = .readByGroupType(
                try RequestedHandles(reading: &reader),
                type: try BluetoothUUID(readingAllOf: &reader, "attribute_group_type")
            )
        case .writeRequest:
            self = .write(try AttributeHandle(reading: &reader), value: reader.readRemaining())
        case .prepareWriteRequest:
            self = .prepareWrite(
                try AttributeHandle(reading: &reader),
                offset: Int(try reader.readLittleEndian("value_offset", as: UInt16.self)),
                value: reader.readRemaining()
            )
        case .executeWriteRequest:
            let flags = try reader.readUInt8("flags")
            guard flags <= 0x01 else { throw ByteDecodingError("flags", .invalidValue(UInt64(flags))) }
            self = .executeWrite(isCancelled: flags == 0x00)
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse, .writeCommand,
            .signedWriteCommand, .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication,
            .handleValueConfirmation:
            return nil
        }
        try reader.expectEnd("pdu")
    }
}

/// The two handles with which a client says where to look; they need not be a range.
struct RequestedHandles {
    let start: AttributeHandle
    let end: AttributeHandle

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        start = AttributeHandle(rawValue: try reader.readLittleEndian("starting_handle"))
        end = AttributeHandle(rawValue: try reader.readLittleEndian("ending_handle"))
    }
}

/// Two handles or more, still as bytes.
struct AttributeHandleList {
    private var reader: ByteReader

    init(readingAllOf reader: inout ByteReader) throws(ByteDecodingError) {
        guard reader.count >= 4, reader.count.isMultiple(of: 2) else {
            throw ByteDecodingError("set_of_handles", .invalidLength(reader.count))
        }
        self.reader = ByteReader(reader.readRemaining())
    }

    /// Takes the next handle off the list; nil at its end.
    mutating func popFirst() -> AttributeHandle? { try? AttributeHandle(reading: &reader) }
}

extension AttributeHandle {
    /// Reads two bytes, which may be the reserved handle.
    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        self.init(rawValue: try reader.readLittleEndian("attribute_handle"))
    }
}

extension [UInt8] {
    /// Appends the opcode's byte.
    mutating func append(_ opcode: ATTOpcode) { append(opcode.rawValue) }

    /// Appends the handle's two bytes.
    mutating func append(_ handle: AttributeHandle) { appendLittleEndian(handle.rawValue) }
}
