import ByteCoding

/// A response as a server sent it: its layout is right, its handles may be any
/// (Core 5.4, Vol 3, Part F, 3.4.1 to 3.4.6).
enum ATTResponse {
    /// Handles of an attribute and of the last one in the group that it opens.
    struct Group {
        let start: AttributeHandle
        let end: AttributeHandle
        /// Empty in a Find By Type Value Response.
        let value: ArraySlice<UInt8>
    }

    case error(ATTErrorResponse)
    case exchangeMTU(serverMTU: Int)
    case findInformation([DiscoveredDescriptor])
    case findByTypeValue([Group])
    case readByType([HandleValue])
    case read(ArraySlice<UInt8>)
    case readBlob(ArraySlice<UInt8>)
    case readMultiple(ArraySlice<UInt8>)
    case readMultipleVariable([ArraySlice<UInt8>])
    case readByGroupType([Group])
    case write
    case prepareWrite(AttributeHandle, offset: Int, value: ArraySlice<UInt8>)
    case executeWrite

    var opcode: ATTOpcode {
        switch self {
        case .error: .errorResponse
        case .exchangeMTU: .exchangeMTUResponse
        case .findInformation: .findInformationResponse
        case .findByTypeValue: .findByTypeValueResponse
        case .readByType: .readByTypeResponse
        case .read: .readResponse
        case .readBlob: .readBlobResponse
        case .readMultiple: .readMultipleResponse
        case .readMultipleVariable: .readMultipleVariableResponse
        case .readByGroupType: .readByGroupTypeResponse
        case .write: .writeResponse
        case .prepareWrite: .prepareWriteResponse
        case .executeWrite: .executeWriteResponse
        }
    }

    /// Reads what follows the opcode.
    init(_ opcode: ATTOpcode, reading reader: inout ByteReader) throws(ByteDecodingError) {
        switch opcode {
        case .errorResponse:
            self = .error(
                ATTErrorResponse(
                    requestOpcode: try reader.readUInt8("request_opcode_in_error"),
                    handle: try AttributeHandle(reading: &reader),
                    error: ATTError(rawValue: try reader.readUInt8("error_code"))
                )
            )
        case .exchangeMTUResponse:
            self = .exchangeMTU(serverMTU: Int(try reader.readLittleEndian("server_rx_mtu", as: UInt16.self)))
        case .findInformationResponse:
            self = .findInformation(try Self.readInformation(&reader))
        case .findByTypeValueResponse:
            self = .findByTypeValue(try Self.readGroups(&reader, valueLength: 0))
        case .readByTypeResponse:
            self = .readByType(try Self.readHandleValues(&reader))
        case .readResponse:
            self = .read(reader.readRemaining())
        case .readBlobResponse:
            self = .readBlob(reader.readRemaining())
        case .readMultipleResponse:
            self = .readMultiple(reader.readRemaining())
        case .readMultipleVariableResponse:
            self = .readMultipleVariable(Self.readVariableValues(&reader))
        case .readByGroupTypeResponse:
            let length = Int(try reader.readUInt8("length"))
            guard length >= 6 else { throw ByteDecodingError("length", .invalidLength(length)) }
            self = .readByGroupType(try Self.readGroups(&reader, valueLength: length - 4))
        case .writeResponse:
            self = .write
        case .prepareWriteResponse:
            self = .prepareWrite(
                try AttributeHandle(reading: &reader),
                offset: Int(try reader.readLittleEndian("value_offset", as: UInt16.self)),
                value: reader.readRemaining()
            )
        case .executeWriteResponse:
            self = .executeWrite
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest, .writeCommand, .signedWriteCommand,
            .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication,
            .handleValueConfirmation:
            throw ByteDecodingError("opcode", .invalidValue(UInt64(opcode.rawValue)))
        }
        try reader.expectEnd("pdu")
    }

    private static func readInformation(
        _ reader: inout ByteReader
    ) throws(ByteDecodingError) -> [DiscoveredDescriptor] {
        let format = try reader.readUInt8("format")
        guard format == 0x01 || format == 0x02 else {
            throw ByteDecodingError("format", .invalidValue(UInt64(format)))
        }
        return try readList(&reader, "information_data") { reader throws(ByteDecodingError) in
            let handle = try AttributeHandle(reading: &reader)
            let uuid: BluetoothUUID =
                format == 0x01
                ? .uuid16(try reader.readLittleEndian("uuid")) : .uuid128(try reader.readLittleEndian("uuid"))
            return DiscoveredDescriptor(uuid: uuid, handle: handle)
        }
    }

    private static func readGroups(
        _ reader: inout ByteReader,
        valueLength: Int
    ) throws(ByteDecodingError) -> [Group] {
        try readList(&reader, "attribute_data_list") { reader throws(ByteDecodingError) in
            Group(
                start: try AttributeHandle(reading: &reader),
                end: try AttributeHandle(reading: &reader),
                value: try reader.readBytes(valueLength, "attribute_value")
            )
        }
    }

    private static func readHandleValues(_ reader: inout ByteReader) throws(ByteDecodingError) -> [HandleValue] {
        let length = Int(try reader.readUInt8("length"))
        guard length >= 2 else { throw ByteDecodingError("length", .invalidLength(length)) }
        return try readList(&reader, "attribute_data_list") { reader throws(ByteDecodingError) in
            HandleValue(try AttributeHandle(reading: &reader), try reader.readBytes(length - 2, "attribute_value"))
        }
    }

    /// Reads elements until the end, of which there must be one at least.
    private static func readList<Element>(
        _ reader: inout ByteReader,
        _ field: String,
        _ read: (inout ByteReader) throws(ByteDecodingError) -> Element
    ) throws(ByteDecodingError) -> [Element] {
        guard !reader.isEmpty else { throw ByteDecodingError(field, .invalidLength(0)) }
        var elements: [Element] = []
        while !reader.isEmpty { elements.append(try read(&reader)) }
        return elements
    }

    /// Values with their lengths in front; what the end of the PDU cuts off is as short as it came
    /// (Core 5.4, Vol 3, Part F, 3.4.4.12).
    private static func readVariableValues(_ reader: inout ByteReader) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        while let length: UInt16 = try? reader.readLittleEndian("value_length") {
            values.append((try? reader.readBytes(Int(length), "attribute_value")) ?? reader.readRemaining())
        }
        _ = reader.readRemaining()
        return values
    }
}
