import BluetoothHCI
import ByteCoding
import DequeModule

/// The client's side of one bearer: one procedure runs, with one request under way. On the fixed channel, others wait.
struct GATTClientSession: Sendable {
    /// A procedure and its name.
    struct Waiting: Sendable {
        let id: GATTProcedureID
        let procedure: GATTProcedure
    }

    private struct Running: Sendable {
        let id: GATTProcedureID
        /// Whether no other procedure may run beside it, on whichever bearer.
        let runsAlone: Bool
        var procedure: RunningProcedure
        /// The opcode of the request under way.
        var opcode: ATTOpcode
        /// The MTU that the request was written for.
        var mtu: Int
        /// When the response is due.
        var deadline: Duration
    }

    private var running: Running? { didSet { deadline = running?.deadline } }
    private var waiting = Deque<Waiting>()
    /// Whether procedures run on other bearers of the connection.
    var othersRun = false
    /// The host's own procedure, whose end is not reported.
    private var ownID: GATTProcedureID?
    /// How the host's own procedure ended.
    private var ownResult: Result<GATTResponse, GATTProcedureError>?
    /// The MTU is exchanged once a connection: Core 5.4, Vol 3, Part F, 3.4.2.1.
    private var mtuExchangeWasStarted = false
    /// Whether the confirmation of an indication has not left yet.
    private var confirmationWaits = false

    /// When the response under way is due. It is kept apart, since it is asked for after every change of the connection.
    private(set) var deadline: Duration?
}

// MARK: - Procedures

extension GATTClientSession {
    /// Starts a procedure, or lets it wait for those in front of it.
    mutating func start(
        _ procedure: GATTProcedure,
        _ id: GATTProcedureID,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) throws(GATTError) {
        guard bearer.isOpen else { throw .notConnected(bearer.connection) }
        guard waiting.count < GATTLimits.waitingProcedures else { throw .queueFull }
        if procedure == .exchangeMTU {
            guard !mtuExchangeWasStarted else { throw .mtuAlreadyExchanged }
            mtuExchangeWasStarted = true
        }
        waiting.append(Waiting(id: id, procedure: procedure))
        startNext(over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    /// Ends every procedure with an error.
    mutating func fail(_ error: GATTProcedureError, over bearer: ATTBearer, _ events: inout Deque<GATTEvent>) {
        let ids = (running.map { [$0.id] } ?? []) + waiting.map { $0.id }
        running = nil
        waiting.removeAll()
        for id in ids { report(id, .failure(error), over: bearer, &events) }
    }

    /// The request has left: its 30 seconds begin.
    mutating func requestLeft(at now: Duration) { running?.deadline = now + ATT.transactionTimeout }

    mutating func receiveResponse(
        _ pdu: ArraySlice<UInt8>,
        _ opcode: ATTOpcode,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        guard running != nil else {
            events.append(.pduIgnored(bearer.connection, .unexpectedResponse(opcode: opcode.rawValue)))
            return
        }
        do throws(GATTProcedureError) {
            switch try step(pdu, opcode, bearer) {
            case .request:
                try sendRequest(over: &bearer, at: now)
            case .end(.mtu(let serverMTU)):
                let hasChanged = bearer.agreeOnMTU(ownMTU, serverMTU)
                end(.success(.mtu(bearer.mtu)), over: bearer, &events)
                if hasChanged { events.append(.mtuChanged(bearer.connection, mtu: bearer.mtu)) }
            case .end(let response):
                end(.success(response), over: bearer, &events)
            }
        } catch {
            end(.failure(error), over: bearer, &events)
        }
        startNext(over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    private mutating func step(
        _ pdu: ArraySlice<UInt8>,
        _ opcode: ATTOpcode,
        _ bearer: ATTBearer
    ) throws(GATTProcedureError) -> ClientStep {
        guard let request = running?.opcode, let mtu = running?.mtu else {
            throw .unexpectedResponse(opcode: opcode.rawValue)
        }
        // Every response's opcode is its request's plus one (Core 5.4, Vol 3, Part F, 3.4.8).
        guard opcode == .errorResponse || opcode.rawValue == request.rawValue | 1 else {
            throw .unexpectedResponse(opcode: opcode.rawValue)
        }
        let response: ATTResponse
        do throws(ByteDecodingError) {
            guard pdu.count <= bearer.mtu else { throw ByteDecodingError("pdu", .invalidLength(pdu.count)) }
            var reader = ByteReader(pdu.dropFirst())
            response = try ATTResponse(opcode, reading: &reader)
        } catch {
            throw .malformedResponse(error)
        }
        let step: ClientStep?
        if case .error(let error) = response {
            guard error.requestOpcode == request.rawValue else {
                throw .unexpectedResponse(opcode: opcode.rawValue)
            }
            step = try running?.procedure.receive(error)
        } else {
            step = try running?.procedure.receive(response, mtu: mtu)
        }
        guard let step else { throw .unexpectedResponse(opcode: opcode.rawValue) }
        return step
    }

    /// Starts the next procedure if it may run now.
    mutating func startNext(
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        while running == nil, let next = waiting.first, !othersRun || !next.procedure.runsAlone {
            waiting.removeFirst()
            running = Running(
                id: next.id,
                runsAlone: next.procedure.runsAlone,
                procedure: RunningProcedure(next.procedure, ownMTU: ownMTU),
                opcode: .errorResponse,
                mtu: bearer.mtu,
                deadline: now + ATT.transactionTimeout
            )
            do throws(GATTProcedureError) {
                try sendRequest(over: &bearer, at: now)
            } catch {
                end(.failure(error), over: bearer, &events)
            }
        }
    }

    private mutating func sendRequest(over bearer: inout ATTBearer, at now: Duration) throws(GATTProcedureError) {
        let mtu = bearer.mtu
        var opcode: ATTOpcode?
        try bearer.send { buffer throws(GATTProcedureError) in
            try running?.procedure.appendRequest(to: &buffer, mtu: mtu)
            opcode = buffer.first.flatMap(ATTOpcode.init(rawValue:))
        }
        if let opcode { running?.opcode = opcode }
        running?.mtu = mtu
        running?.deadline = now + ATT.transactionTimeout
    }

    private mutating func end(
        _ result: Result<GATTResponse, GATTProcedureError>,
        over bearer: ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        guard let id = running?.id else { return }
        running = nil
        report(id, result, over: bearer, &events)
    }

    private mutating func report(
        _ id: GATTProcedureID,
        _ result: Result<GATTResponse, GATTProcedureError>,
        over bearer: ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        guard id != ownID else {
            ownID = nil
            ownResult = result
            return
        }
        let ended = GATTProcedureResult(connection: bearer.connection, id: id, result: result)
        events.append(.procedureEnded(ended))
    }
}

// MARK: - Several bearers

extension GATTClientSession {
    /// Whether a procedure runs.
    var isRunning: Bool { running != nil }

    /// Takes the procedure that waits longest, if it may run on another bearer beside the one that runs here.
    mutating func takeForAnotherBearer() -> Waiting? {
        guard let running, !running.runsAlone, let next = waiting.first, !next.procedure.runsAlone, next.id != ownID
        else { return nil }
        return waiting.popFirst()
    }

    /// Runs a procedure that waited elsewhere.
    mutating func run(
        _ next: Waiting,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        waiting.append(next)
        startNext(over: &bearer, &events, ownMTU: ownMTU, at: now)
    }

    /// A procedure whose bearer is gone has the first turn.
    mutating func putBack(_ interrupted: Waiting) { waiting.prepend(interrupted) }

    /// The host starts a procedure for itself, whose end is in `takeOwnResult`; nil if it could not.
    mutating func expectOwn(_ id: GATTProcedureID?) { ownID = id }

    /// Takes the end of the host's own procedure.
    mutating func takeOwnResult() -> Result<GATTResponse, GATTProcedureError>? {
        guard let result = ownResult else { return nil }
        ownResult = nil
        return result
    }
}

extension GATTProcedure {
    /// Whether it may change something at the server, so that its place in the order of procedures matters: procedures on
    /// several bearers have no order (Core 5.4, Vol 3, Part F, 3.3.2).
    fileprivate var runsAlone: Bool {
        switch self {
        case .exchangeMTU, .write, .writeLong, .writeReliably, .subscribe: true
        case .discoverAllPrimaryServices, .discoverPrimaryServices, .discoverSecondaryServices, .findIncludedServices,
            .discoverCharacteristics, .discoverDescriptors, .read, .readLong, .readByUUID, .readOneByUUID,
            .readMultiple, .readMultipleVariable:
            false
        }
    }
}

// MARK: - Values that the server sends by itself

extension GATTClientSession {
    mutating func receiveNotification(
        _ pdu: ArraySlice<UInt8>,
        _ opcode: ATTOpcode,
        over bearer: ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        var reader = ByteReader(pdu.dropFirst())
        do throws(ByteDecodingError) {
            if opcode == .multipleHandleValueNotification {
                var trial = reader
                while !trial.isEmpty { _ = try HandleValue(readingTupleFrom: &trial) }
                while !reader.isEmpty {
                    report(try HandleValue(readingTupleFrom: &reader), isIndication: false, over: bearer, &events)
                }
            } else {
                report(try HandleValue(readingAllOf: &reader), isIndication: false, over: bearer, &events)
            }
        } catch {
            events.append(.pduIgnored(bearer.connection, .malformed(opcode: opcode.rawValue, error)))
        }
    }

    /// Takes an indication, and confirms it.
    mutating func receiveIndication(
        _ pdu: ArraySlice<UInt8>,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        var reader = ByteReader(pdu.dropFirst())
        do throws(ByteDecodingError) {
            let value = try HandleValue(readingAllOf: &reader)
            guard !confirmationWaits else {
                events.append(.pduIgnored(bearer.connection, .indicationOutOfTurn(value.handle)))
                return
            }
            confirmationWaits = true
            bearer.send(.handleValueConfirmation)
            report(value, isIndication: true, over: bearer, &events)
        } catch {
            let opcode = ATTOpcode.handleValueIndication.rawValue
            events.append(.pduIgnored(bearer.connection, .malformed(opcode: opcode, error)))
        }
    }

    /// The confirmation has left: the server may indicate again.
    mutating func confirmationLeft() { confirmationWaits = false }

    private func report(
        _ value: HandleValue,
        isIndication: Bool,
        over bearer: ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        let received = ReceivedValue(
            connection: bearer.connection,
            handle: value.handle,
            value: value.value,
            isIndication: isIndication
        )
        events.append(.valueReceived(received))
    }
}

extension HandleValue {
    /// Reads a handle, and everything behind it as the value.
    fileprivate init(readingAllOf reader: inout ByteReader) throws(ByteDecodingError) {
        self.init(try AttributeHandle(reading: &reader), reader.readRemaining())
    }

    /// Reads a handle, a length, and a value of that length.
    init(readingTupleFrom reader: inout ByteReader) throws(ByteDecodingError) {
        let handle = try AttributeHandle(reading: &reader)
        let length: UInt16 = try reader.readLittleEndian("value_length")
        self.init(handle, try reader.readBytes(Int(length), "value"))
    }
}

extension GATTProcedureError {
    /// The error for a response that a procedure cannot use.
    static func unexpectedResponse(_ response: ATTResponse) -> GATTProcedureError {
        .unexpectedResponse(opcode: response.opcode.rawValue)
    }
}
