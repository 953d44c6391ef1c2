import BluetoothHCI
import ByteCoding
import DequeModule

/// The owner's calls, passed to the role that they are about together with the bearer.
extension GATTConnection {
    mutating func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        evenIfNotSubscribed: Bool,
        _ database: GATTDatabase
    ) throws(GATTError) {
        try server.notify(
            value,
            of: handle,
            evenIfNotSubscribed: evenIfNotSubscribed,
            over: &bearer,
            database
        )
    }

    mutating func notify(_ values: [HandleValue], _ database: GATTDatabase) throws(GATTError) {
        try server.notify(values, over: &bearer, database)
    }

    mutating func indicate(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        _ database: GATTDatabase,
        at now: Duration
    ) throws(GATTError) {
        try server.indicate(value, of: handle, over: &bearer, database, at: now)
    }

    mutating func resume(
        _ id: GATTRequestID,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration,
        _ resume: GATTServerSession.Resumption
    ) -> Bool {
        server.resume(id, over: &bearer, &database, &events, at: now, resume)
    }

    mutating func start(
        _ procedure: GATTProcedure,
        _ id: GATTProcedureID,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) throws(GATTError) {
        try client.start(procedure, id, over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    mutating func writeWithoutResponse(_ value: ArraySlice<UInt8>, to handle: AttributeHandle) throws(GATTError) {
        guard value.count <= bearer.mtu - 3 else { throw .invalidValueLength(handle, value.count) }
        try bearer.sendUnanswered(.command) { buffer in
            buffer.append(handle)
            buffer.append(contentsOf: value)
        }
    }
}
