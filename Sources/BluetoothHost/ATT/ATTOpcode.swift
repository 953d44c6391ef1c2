/// The first byte of every ATT PDU (Core 5.4, Vol 3, Part F, 3.3.1 and 3.4.8).
///
/// Each layout below is what follows the opcode, with sizes in octets. Numbers are least significant octet first.
package enum ATTOpcode: UInt8, Sendable {
    /// A server refuses a request (Core 5.4, Vol 3, Part F, 3.4.1.1).
    /// Layout: the request's opcode (1), handle (2), error code (1).
    case errorResponse = 0x01
    /// A client says how long a PDU it can receive (Core 5.4, Vol 3, Part F, 3.4.2.1).
    /// Layout: its receive MTU (2).
    case exchangeMTURequest = 0x02
    /// A server says how long a PDU it can receive (Core 5.4, Vol 3, Part F, 3.4.2.2).
    /// Layout: its receive MTU (2).
    case exchangeMTUResponse = 0x03
    /// A client asks for the handles and types of all attributes in a range (Core 5.4, Vol 3, Part F, 3.4.3.1).
    /// Layout: first handle (2), last handle (2).
    case findInformationRequest = 0x04
    /// Attributes in the order of their handles (Core 5.4, Vol 3, Part F, 3.4.3.2).
    /// Layout: format (1), and for each attribute handle (2), UUID (2 if the format is 1, 16 if it is 2).
    case findInformationResponse = 0x05
    /// A client asks for the attributes of a type that have a certain value (Core 5.4, Vol 3, Part F, 3.4.3.3).
    /// Layout: first handle (2), last handle (2), 16-bit UUID of the type (2), the value.
    case findByTypeValueRequest = 0x06
    /// Attributes that have the value (Core 5.4, Vol 3, Part F, 3.4.3.4).
    /// Layout: for each of them handle (2), last handle of its group (2).
    case findByTypeValueResponse = 0x07
    /// A client asks for the values of the attributes of a type (Core 5.4, Vol 3, Part F, 3.4.4.1).
    /// Layout: first handle (2), last handle (2), UUID of the type (2 or 16).
    case readByTypeRequest = 0x08
    /// Attributes whose values are equally long (Core 5.4, Vol 3, Part F, 3.4.4.2).
    /// Layout: size of each element (1), and for each attribute handle (2), value (the size less 2).
    case readByTypeResponse = 0x09
    /// A client asks for a value from its beginning (Core 5.4, Vol 3, Part F, 3.4.4.3).
    /// Layout: handle (2).
    case readRequest = 0x0A
    /// A value, cut off at the MTU less 1 (Core 5.4, Vol 3, Part F, 3.4.4.4).
    /// Layout: the value.
    case readResponse = 0x0B
    /// A client asks for a value from an offset on (Core 5.4, Vol 3, Part F, 3.4.4.5).
    /// Layout: handle (2), offset (2).
    case readBlobRequest = 0x0C
    /// A value from the offset on, cut off at the MTU less 1 (Core 5.4, Vol 3, Part F, 3.4.4.6).
    /// Layout: that part of the value.
    case readBlobResponse = 0x0D
    /// A client asks for several values whose lengths it knows (Core 5.4, Vol 3, Part F, 3.4.4.7).
    /// Layout: two handles or more (2 each).
    case readMultipleRequest = 0x0E
    /// The values, cut off at the MTU less 1 (Core 5.4, Vol 3, Part F, 3.4.4.8).
    /// Layout: one value behind the other, without their lengths.
    case readMultipleResponse = 0x0F
    /// A client asks for the groups that attributes of a type open: services (Core 5.4, Vol 3, Part F, 3.4.4.9).
    /// Layout: first handle (2), last handle (2), UUID of the type (2 or 16).
    case readByGroupTypeRequest = 0x10
    /// Groups whose values are equally long (Core 5.4, Vol 3, Part F, 3.4.4.10).
    /// Layout: size of each element (1), and for each group handle (2), last handle (2), value (the size less 4).
    case readByGroupTypeResponse = 0x11
    /// A client writes a value and waits for the result (Core 5.4, Vol 3, Part F, 3.4.5.1).
    /// Layout: handle (2), the value.
    case writeRequest = 0x12
    /// The value is written (Core 5.4, Vol 3, Part F, 3.4.5.2).
    /// Layout: nothing.
    case writeResponse = 0x13
    /// A client queues a part of a value at the server (Core 5.4, Vol 3, Part F, 3.4.6.1).
    /// Layout: handle (2), offset (2), the part.
    case prepareWriteRequest = 0x16
    /// The part is queued (Core 5.4, Vol 3, Part F, 3.4.6.2).
    /// Layout: all of the request again, so that the client can compare.
    case prepareWriteResponse = 0x17
    /// A client ends its queue of parts (Core 5.4, Vol 3, Part F, 3.4.6.3).
    /// Layout: flags (1), 0x00 to forget the parts, 0x01 to write them.
    case executeWriteRequest = 0x18
    /// The queue is empty: its parts are written or forgotten (Core 5.4, Vol 3, Part F, 3.4.6.4).
    /// Layout: nothing.
    case executeWriteResponse = 0x19
    /// A server sends a value by itself, and gets no answer (Core 5.4, Vol 3, Part F, 3.4.7.1).
    /// Layout: handle (2), the value.
    case handleValueNotification = 0x1B
    /// A server sends a value by itself, and waits for the confirmation (Core 5.4, Vol 3, Part F, 3.4.7.2).
    /// Layout: handle (2), the value.
    case handleValueIndication = 0x1D
    /// A client has received an indication (Core 5.4, Vol 3, Part F, 3.4.7.3).
    /// Layout: nothing.
    case handleValueConfirmation = 0x1E
    /// A client asks for several values whose lengths it need not know (Core 5.4, Vol 3, Part F, 3.4.4.11).
    /// Layout: two handles or more (2 each).
    case readMultipleVariableRequest = 0x20
    /// The values, of which the MTU may cut off the last (Core 5.4, Vol 3, Part F, 3.4.4.12).
    /// Layout: for each value its length (2), the value.
    case readMultipleVariableResponse = 0x21
    /// A server sends several values by itself, and gets no answer (Core 5.4, Vol 3, Part F, 3.4.7.4).
    /// Layout: for each value handle (2), length (2), the value.
    case multipleHandleValueNotification = 0x23
    /// A client writes a value and gets no answer, not even an error (Core 5.4, Vol 3, Part F, 3.4.5.3).
    /// Layout: handle (2), the value.
    case writeCommand = 0x52
    /// A client writes a value over a link that is not encrypted, and signs it (Core 5.4, Vol 3, Part F, 3.4.5.4).
    /// Layout: handle (2), the value, signature (12). `GATTLayer` ignores the command.
    case signedWriteCommand = 0xD2

    /// Set in the opcode of a command: a server ignores those that it does not know.
    static let commandFlag: UInt8 = 0x40

    /// What the sender of a PDU expects to happen next.
    package enum Role {
        /// Sent by a client, answered by exactly one response.
        case request
        /// Sent by a client, answered by nothing.
        case command
        /// Sent by a server in answer to a request.
        case response
        /// Sent by a server, answered by nothing.
        case notification
        /// Sent by a server, answered by a confirmation.
        case indication
        /// Sent by a client in answer to an indication.
        case confirmation
    }

    package var role: Role {
        switch self {
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest:
            .request
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse:
            .response
        case .writeCommand, .signedWriteCommand: .command
        case .handleValueNotification, .multipleHandleValueNotification: .notification
        case .handleValueIndication: .indication
        case .handleValueConfirmation: .confirmation
        }
    }
}

extension ATTOpcode: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    package var description: String {
        switch self {
        case .errorResponse: "errorResponse"
        case .exchangeMTURequest: "exchangeMTURequest"
        case .exchangeMTUResponse: "exchangeMTUResponse"
        case .findInformationRequest: "findInformationRequest"
        case .findInformationResponse: "findInformationResponse"
        case .findByTypeValueRequest: "findByTypeValueRequest"
        case .findByTypeValueResponse: "findByTypeValueResponse"
        case .readByTypeRequest: "readByTypeRequest"
        case .readByTypeResponse: "readByTypeResponse"
        case .readRequest: "readRequest"
        case .readResponse: "readResponse"
        case .readBlobRequest: "readBlobRequest"
        case .readBlobResponse: "readBlobResponse"
        case .readMultipleRequest: "readMultipleRequest"
        case .readMultipleResponse: "readMultipleResponse"
        case .readByGroupTypeRequest: "readByGroupTypeRequest"
        case .readByGroupTypeResponse: "readByGroupTypeResponse"
        case .writeRequest: "writeRequest"
        case .writeResponse: "writeResponse"
        case .prepareWriteRequest: "prepareWriteRequest"
        case .prepareWriteResponse: "prepareWriteResponse"
        case .executeWriteRequest: "executeWriteRequest"
        case .executeWriteResponse: "executeWriteResponse"
        case .handleValueNotification: "handleValueNotification"
        case .handleValueIndication: "handleValueIndication"
        case .handleValueConfirmation: "handleValueConfirmation"
        case .readMultipleVariableRequest: "readMultipleVariableRequest"
        case .readMultipleVariableResponse: "readMultipleVariableResponse"
        case .multipleHandleValueNotification: "multipleHandleValueNotification"
        case .writeCommand: "writeCommand"
        case .signedWriteCommand: "signedWriteCommand"
        }
    }
}
