import ByteCoding

/// What a client procedure wants after a response.
enum ClientStep {
    /// To send its next request.
    case request
    /// To end.
    case end(GATTResponse)
}

/// A client procedure under way: it writes a request, takes the response, and says how to go on.
protocol ClientProcedure: Sendable {
    /// Writes the next request into an empty buffer, its opcode first.
    mutating func appendRequest(to buffer: inout [UInt8], mtu: Int) throws(GATTProcedureError)
    /// Takes the response that was due. `mtu` is that which was in force when the request was written.
    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep
    /// Takes an error response.
    mutating func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep
}

extension ClientProcedure {
    func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        throw .refused(error)
    }
}

/// The procedures that are one request and one response.
enum SingleRequest: ClientProcedure {
    case exchangeMTU(Int)
    case read(AttributeHandle)
    case readMultiple([AttributeHandle])
    case readMultipleVariable([AttributeHandle])
    case write(HandleValue)
    case subscribe(AttributeHandle, Subscription)

    func appendRequest(to buffer: inout [UInt8], mtu: Int) throws(GATTProcedureError) {
        switch self {
        case .exchangeMTU(let ownMTU):
            buffer.append(ATTOpcode.exchangeMTURequest)
            buffer.appendLittleEndian(UInt16(clamping: ownMTU))
        case .read(let handle):
            buffer.append(ATTOpcode.readRequest)
            buffer.append(handle)
        case .readMultiple(let handles):
            buffer.append(ATTOpcode.readMultipleRequest)
            for handle in handles { buffer.append(handle) }
        case .readMultipleVariable(let handles):
            buffer.append(ATTOpcode.readMultipleVariableRequest)
            for handle in handles { buffer.append(handle) }
        case .write(let write):
            buffer.append(ATTOpcode.writeRequest)
            buffer.append(write.handle)
            buffer.append(contentsOf: write.value)
        case .subscribe(let handle, let subscription):
            buffer.append(ATTOpcode.writeRequest)
            buffer.append(handle)
            buffer.appendLittleEndian(subscription.rawValue)
        }
        guard buffer.count <= mtu else { throw .valueExceedsMTU }
    }

    func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch (self, response) {
        case (.exchangeMTU, .exchangeMTU(let serverMTU)):
            return .end(.mtu(serverMTU))
        case (.read, .read(let value)), (.readMultiple, .readMultiple(let value)):
            return .end(.value(value))
        case (.readMultipleVariable(let handles), .readMultipleVariable(let values)):
            guard values.count <= handles.count else { throw .tooManyResults }
            return .end(.values(zip(handles, values).map { HandleValue($0, $1) }))
        case (.write, .write), (.subscribe, .write):
            return .end(.written)
        case (.exchangeMTU, _), (.read, _), (.readMultiple, _), (.readMultipleVariable, _), (.write, _),
            (.subscribe, _):
            throw .unexpectedResponse(response)
        }
    }
}

/// Reads a value part by part (Core 5.4, Vol 3, Part G, 4.8.3).
struct LongRead: ClientProcedure {
    private let handle: AttributeHandle
    private var value: [UInt8] = []
    private var isContinued = false

    init(_ handle: AttributeHandle) { self.handle = handle }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) throws(GATTProcedureError) {
        buffer.append(isContinued ? ATTOpcode.readBlobRequest : ATTOpcode.readRequest)
        buffer.append(handle)
        if isContinued { buffer.appendLittleEndian(UInt16(clamping: value.count)) }
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch response {
        case .read(let part), .readBlob(let part):
            value.append(contentsOf: part)
            guard value.count <= ATT.maximumValueLength else { throw .valueTooLong }
            isContinued = true
            // A part that does not fill its PDU is the last.
            let isComplete = part.count < mtu - 1 || value.count == ATT.maximumValueLength
            return isComplete ? .end(.value(value[...])) : .request
        case .error, .exchangeMTU, .findInformation, .findByTypeValue, .readByType, .readMultiple,
            .readMultipleVariable, .readByGroupType, .write, .prepareWrite, .executeWrite:
            throw .unexpectedResponse(response)
        }
    }

    func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        // A server may say so when there was nothing behind the first part.
        guard isContinued, error.error == .attributeNotLong || error.error == .invalidOffset else {
            throw .refused(error)
        }
        return .end(.value(value[...]))
    }
}

/// Prepares writes part by part, checks that the server repeats each faithfully, and has them executed together
/// (Core 5.4, Vol 3, Part G, 4.9.4 and 4.9.5).
struct QueuedWrite: ClientProcedure {
    private enum Phase {
        case preparing
        case executing
        /// The server's queue is being emptied because of an error.
        case cancelling(GATTProcedureError)
    }

    private let writes: [HandleValue]
    private var index = 0
    private var offset = 0
    private var partLength = 0
    private var phase = Phase.preparing

    init(_ writes: [HandleValue]) {
        self.writes = writes
        if writes.isEmpty { phase = .executing }
    }

    private var current: HandleValue? { writes.indices.contains(index) ? writes[index] : nil }

    mutating func appendRequest(to buffer: inout [UInt8], mtu: Int) throws(GATTProcedureError) {
        switch phase {
        case .preparing:
            guard let current else { return }
            guard current.value.count <= ATT.maximumValueLength else { throw .valueTooLong }
            let part = current.value.dropFirst(offset).prefix(mtu - 5)
            partLength = part.count
            buffer.append(ATTOpcode.prepareWriteRequest)
            buffer.append(current.handle)
            buffer.appendLittleEndian(UInt16(clamping: offset))
            buffer.append(contentsOf: part)
        case .executing:
            buffer.append(ATTOpcode.executeWriteRequest)
            buffer.append(0x01)
        case .cancelling:
            buffer.append(ATTOpcode.executeWriteRequest)
            buffer.append(0x00)
        }
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch (phase, response) {
        case (.preparing, .prepareWrite(let handle, let echoedOffset, let echo)):
            guard let current else { throw .unexpectedResponse(response) }
            let part = current.value.dropFirst(offset).prefix(partLength)
            guard handle == current.handle, echoedOffset == offset, echo == part else {
                phase = .cancelling(.writeNotEchoed(current.handle))
                return .request
            }
            offset += partLength
            if offset >= current.value.count {
                offset = 0
                index += 1
                if index == writes.count { phase = .executing }
            }
            return .request
        case (.executing, .executeWrite):
            return .end(.written)
        case (.cancelling(let error), .executeWrite):
            throw error
        default:
            throw .unexpectedResponse(response)
        }
    }

    mutating func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        switch phase {
        case .preparing:
            // What was prepared before stays in the server's queue until it is cancelled.
            phase = .cancelling(.refused(error))
            return .request
        case .executing: throw .refused(error)
        case .cancelling(let first): throw first
        }
    }
}
