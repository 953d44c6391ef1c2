import ByteCoding

/// How a client gets on with the database: when it last sent a request that it had not sent before.
///
/// Of each kind of request, one counts that begins at a higher handle than all before it on the link; so does the first MTU
/// exchange. Discovery, and reading or writing one attribute after the other, are progress. The same request again is not, so a
/// client makes progress a bounded number of times.
struct ClientProgress: Sendable {
    /// The highest handle of each kind of request, by half its opcode, which is even.
    private var highest = [UInt16](repeating: 0, count: Int(ATTOpcode.readMultipleVariableRequest.rawValue) / 2 + 1)
    /// When the client last made progress; nil if it has not.
    private(set) var last: Duration?

    /// Takes a PDU that the client has sent.
    mutating func note(_ pdu: ArraySlice<UInt8>, at now: Duration) {
        var reader = ByteReader(pdu)
        guard let opcode = ATTOpcode(rawValue: (try? reader.readUInt8("opcode")) ?? 0), opcode.role == .request else {
            return
        }
        let place = Int(opcode.rawValue) / 2
        guard highest.indices.contains(place), let handle = Self.handle(of: opcode, reading: &reader),
            handle > highest[place]
        else { return }
        highest[place] = handle
        last = now
    }

    /// Where a request begins; 1 for one that names no handle first, nil for one without its handle.
    private static func handle(of opcode: ATTOpcode, reading reader: inout ByteReader) -> UInt16? {
        switch opcode {
        case .exchangeMTURequest, .executeWriteRequest: 1
        case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest, .readBlobRequest,
            .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .readMultipleVariableRequest:
            try? reader.readLittleEndian("attribute_handle", as: UInt16.self)
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse, .writeCommand,
            .signedWriteCommand, .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication,
            .handleValueConfirmation:
            nil
        }
    }
}
