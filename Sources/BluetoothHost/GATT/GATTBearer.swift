import BluetoothHCI
import ByteCoding
import DequeModule

/// Both roles on one bearer, which tell their PDUs apart by the opcode.
struct GATTBearer: Sendable {
    var bearer: ATTBearer
    var server: GATTServerSession
    var client = GATTClientSession()
    /// How the peer gets on as a client.
    private(set) var progress = ClientProgress()
    /// When time brings something to do: kept by each call that may change it, not worked out when it is asked for.
    private(set) var deadline: Duration?

    init(bearer: ATTBearer, server: GATTServerSession) {
        self.bearer = bearer
        self.server = server
    }

    /// When the first of the transactions under way times out.
    private var transactionDeadline: Duration? {
        var deadline = server.indications.deadline
        deadline.lower(to: client.deadline)
        return deadline
    }

    mutating func keepDeadline() {
        deadline = transactionDeadline
        deadline.lower(to: server.nextAnswerDeadline)
    }

    mutating func receive(
        _ pdu: ArraySlice<UInt8>,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        guard bearer.isOpen else { return }
        guard let rawOpcode = pdu.first else {
            events.append(.pduIgnored(bearer.connection, .empty))
            return
        }
        defer { keepDeadline() }
        let opcode = ATTOpcode(rawValue: rawOpcode)
        switch opcode?.role ?? (rawOpcode & ATTOpcode.commandFlag == 0 ? .request : .command) {
        case .request:
            progress.note(pdu, at: now)
            server.receiveRequest(pdu, over: &bearer, &database, &events, ownMTU: ownMTU, at: now)
        case .response:
            guard let opcode else { return }
            client.receiveResponse(pdu, opcode, over: &bearer, &events, ownMTU: ownMTU, at: now)
        case .command where pdu.count <= bearer.mtu:
            receiveCommand(pdu, opcode, &database, &events, at: now)
        case .notification where pdu.count <= bearer.mtu:
            guard let opcode else { return }
            client.receiveNotification(pdu, opcode, over: bearer, &events)
        case .indication where pdu.count <= bearer.mtu:
            client.receiveIndication(pdu, over: &bearer, &events)
        case .confirmation where pdu.count <= bearer.mtu:
            server.receiveConfirmation(pdu, over: &bearer, &events, at: now)
        case .command, .notification, .indication, .confirmation:
            let ignored = IgnoredPDU.tooLong(opcode: rawOpcode, length: pdu.count)
            events.append(.pduIgnored(bearer.connection, ignored))
        }
    }

    private mutating func receiveCommand(
        _ pdu: ArraySlice<UInt8>,
        _ opcode: ATTOpcode?,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration
    ) {
        // No signature can be verified here: the counters that keep a signature from being used twice are not stored. A signed
        // write whose signature is not verified is ignored (Core 5.4, Vol 3, Part F, 3.4.5.4).
        guard opcode == .writeCommand else {
            let ignored = IgnoredPDU.unsupportedCommand(opcode: pdu.first ?? 0)
            events.append(.pduIgnored(bearer.connection, ignored))
            return
        }
        var reader = ByteReader(pdu.dropFirst())
        do throws(ByteDecodingError) {
            let handle = try AttributeHandle(reading: &reader)
            let link = GATTServerSession.Link(bearer)
            server.writeCommand(reader.readRemaining(), to: handle, link, &database, &events, at: now)
        } catch {
            let ignored = IgnoredPDU.malformed(opcode: ATTOpcode.writeCommand.rawValue, error)
            events.append(.pduIgnored(bearer.connection, ignored))
        }
    }

    /// Takes the next PDU for the peer into `buffer`; what waited for it to leave goes on.
    mutating func nextPDU(
        into buffer: inout [UInt8],
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) -> Bool {
        while let departure = bearer.nextPDU(into: &buffer) {
            switch departure {
            case .request:
                client.requestLeft(at: now)
                keepDeadline()
            case .response:
                server.responseLeaves(&buffer, over: bearer, &events)
                server.responseLeft(over: &bearer, &database, &events, ownMTU: ownMTU, at: now)
                keepDeadline()
            case .confirmation:
                client.confirmationLeft()
            case .indication:
                let mayLeave = server.indicationMayLeave(over: &bearer, database, &events, at: now)
                keepDeadline()
                guard mayLeave else { continue }
            case .unanswered(let kind):
                if bearer.takeRoomNotice() { events.append(.roomToSend(bearer.connection)) }
                guard server.mayLeave(kind, &buffer, over: bearer, database, &events) else { continue }
            }
            return true
        }
        return false
    }

    /// - Returns: the questions that the owner did not answer in time.
    mutating func advance(to now: Duration, _ events: inout Deque<GATTEvent>) -> [GATTRequestID] {
        guard let deadline, deadline <= now else { return [] }
        guard let transactionDeadline, transactionDeadline <= now else { return server.questions.overdue(at: now) }
        defer { keepDeadline() }
        bearer.close()
        client.fail(.timedOut, over: bearer, &events)
        // What an enhanced bearer has not told the client is told on the fixed channel.
        guard !bearer.isEnhanced else { return [] }
        server.giveUp()
        events.append(.transactionTimedOut(bearer.connection))
        return []
    }
}

/// The owner's calls, passed to the role that they are about together with the bearer.
extension GATTBearer {
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
        defer { keepDeadline() }
        try server.indicate(value, of: handle, over: &bearer, database, at: now)
    }

    mutating func resume(
        _ id: GATTRequestID,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration,
        _ resume: GATTServerSession.Resumption
    ) -> Bool {
        defer { keepDeadline() }
        return server.resume(id, over: &bearer, &database, &events, at: now, resume)
    }

    mutating func start(
        _ procedure: GATTProcedure,
        _ id: GATTProcedureID,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) throws(GATTError) {
        defer { keepDeadline() }
        try client.start(procedure, id, over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    /// Runs a procedure that waited elsewhere.
    mutating func run(
        _ next: GATTClientSession.Waiting,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        defer { keepDeadline() }
        client.run(next, over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    mutating func writeWithoutResponse(_ value: ArraySlice<UInt8>, to handle: AttributeHandle) throws(GATTError) {
        guard value.count <= bearer.mtu - 3 else { throw .invalidValueLength(handle, value.count) }
        try bearer.sendUnanswered(.command) { buffer in
            buffer.append(handle)
            buffer.append(contentsOf: value)
        }
    }

    /// Gives a bonded client back what it had.
    mutating func restore(
        _ state: GATTClientState,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) {
        server.restore(state, bearer.connection, database, &events)
    }

    /// The connection has gone: its procedures end.
    mutating func closed(_ events: inout Deque<GATTEvent>) { client.fail(.disconnected, over: bearer, &events) }
}
