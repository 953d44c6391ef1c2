/// The client procedure of a connection that is under way, whichever it is.
///
/// It is an enum because Embedded Swift has no existentials.
enum RunningProcedure: Sendable {
    case singleRequest(SingleRequest)
    case serviceDiscovery(ServiceDiscovery)
    case includeDiscovery(IncludeDiscovery)
    case characteristicDiscovery(CharacteristicDiscovery)
    case descriptorDiscovery(DescriptorDiscovery)
    case readByUUID(ReadByUUID)
    case longRead(LongRead)
    case queuedWrite(QueuedWrite)

    /// What stands here while a procedure takes a response, so that the procedure alone owns what it has collected. It then
    /// appends in place instead of copying.
    private static let placeholder = RunningProcedure.singleRequest(.readMultiple([]))

    /// Begins a procedure: it is ready to write its first request.
    init(_ procedure: GATTProcedure, ownMTU: Int) {
        self =
            switch procedure {
            case .exchangeMTU: .singleRequest(.exchangeMTU(ownMTU))
            case .discoverAllPrimaryServices: .serviceDiscovery(ServiceDiscovery(wanted: nil))
            case .discoverPrimaryServices(let uuid): .serviceDiscovery(ServiceDiscovery(wanted: uuid))
            case .discoverSecondaryServices:
                .serviceDiscovery(ServiceDiscovery(wanted: nil, type: .secondaryService))
            case .findIncludedServices(let range): .includeDiscovery(IncludeDiscovery(in: range))
            case .discoverCharacteristics(let range, let uuid):
                .characteristicDiscovery(CharacteristicDiscovery(in: range, wanted: uuid))
            case .discoverDescriptors(let range): .descriptorDiscovery(DescriptorDiscovery(in: range))
            case .read(let handle): .singleRequest(.read(handle))
            case .readLong(let handle): .longRead(LongRead(handle))
            case .readByUUID(let uuid, let range): .readByUUID(ReadByUUID(uuid, in: range, isExhaustive: true))
            case .readOneByUUID(let uuid, let range): .readByUUID(ReadByUUID(uuid, in: range, isExhaustive: false))
            case .readMultiple(let handles): .singleRequest(.readMultiple(handles))
            case .readMultipleVariable(let handles): .singleRequest(.readMultipleVariable(handles))
            case .write(let handle, let value): .singleRequest(.write(HandleValue(handle, value)))
            case .writeLong(let handle, let value): .queuedWrite(QueuedWrite([HandleValue(handle, value)]))
            case .writeReliably(let writes): .queuedWrite(QueuedWrite(writes))
            case .subscribe(let handle, let subscription): .singleRequest(.subscribe(handle, subscription))
            }
    }

    /// Writes the next request into an empty buffer, its opcode first.
    mutating func appendRequest(to buffer: inout [UInt8], mtu: Int) throws(GATTProcedureError) {
        switch self {
        case .singleRequest(let procedure): try procedure.appendRequest(to: &buffer, mtu: mtu)
        case .serviceDiscovery(let procedure): procedure.appendRequest(to: &buffer, mtu: mtu)
        case .includeDiscovery(let procedure): procedure.appendRequest(to: &buffer, mtu: mtu)
        case .characteristicDiscovery(let procedure): procedure.appendRequest(to: &buffer, mtu: mtu)
        case .descriptorDiscovery(let procedure): procedure.appendRequest(to: &buffer, mtu: mtu)
        case .readByUUID(let procedure): procedure.appendRequest(to: &buffer, mtu: mtu)
        case .longRead(let procedure): try procedure.appendRequest(to: &buffer, mtu: mtu)
        case .queuedWrite(var procedure):
            defer { self = .queuedWrite(procedure) }
            try procedure.appendRequest(to: &buffer, mtu: mtu)
        }
    }

    /// Takes the response that was due. `mtu` is that which was in force when the request was written.
    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch self {
        case .singleRequest(let procedure):
            return try procedure.receive(response, mtu: mtu)
        case .serviceDiscovery(var procedure):
            self = .placeholder
            defer { self = .serviceDiscovery(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .includeDiscovery(var procedure):
            self = .placeholder
            defer { self = .includeDiscovery(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .characteristicDiscovery(var procedure):
            self = .placeholder
            defer { self = .characteristicDiscovery(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .descriptorDiscovery(var procedure):
            self = .placeholder
            defer { self = .descriptorDiscovery(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .readByUUID(var procedure):
            self = .placeholder
            defer { self = .readByUUID(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .longRead(var procedure):
            self = .placeholder
            defer { self = .longRead(procedure) }
            return try procedure.receive(response, mtu: mtu)
        case .queuedWrite(var procedure):
            self = .placeholder
            defer { self = .queuedWrite(procedure) }
            return try procedure.receive(response, mtu: mtu)
        }
    }

    /// Takes an error response.
    mutating func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        switch self {
        case .singleRequest(let procedure): return try procedure.receive(error)
        case .serviceDiscovery(let procedure): return try procedure.receive(error)
        case .includeDiscovery(let procedure): return try procedure.receive(error)
        case .characteristicDiscovery(let procedure): return try procedure.receive(error)
        case .descriptorDiscovery(let procedure): return try procedure.receive(error)
        case .readByUUID(let procedure): return try procedure.receive(error)
        case .longRead(let procedure): return try procedure.receive(error)
        case .queuedWrite(var procedure):
            defer { self = .queuedWrite(procedure) }
            return try procedure.receive(error)
        }
    }
}
