import BluetoothHCI
import ByteCoding
import DequeModule

/// The server's side of one bearer.
///
/// A client has one request under way at a time on each bearer. It stays so from its arrival until its response has left, which
/// may include asking the owner; the few requests that a hasty client sends meanwhile wait their turn. Every question to
/// the owner has a deadline, after which the session answers it itself: no request stays without its response.
struct GATTServerSession: Sendable {
    /// What a handler needs to know of the bearer.
    struct Link {
        let connection: ConnectionHandle
        let security: LinkSecurity
        let isEnhanced: Bool

        init(_ bearer: ATTBearer) {
            connection = bearer.connection
            security = bearer.security
            isEnhanced = bearer.isEnhanced
        }
    }

    /// Goes on with a request when the owner has answered.
    typealias Resumption = (
        inout GATTServerSession, OwnerQuestion, Link, inout GATTDatabase, inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome

    /// What a handler leaves to be done.
    enum Outcome {
        /// `response` is complete.
        case respond
        /// The owner is to be asked.
        case ask(OwnerQuestion, GATTEvent)
    }

    /// Whether the client waits for a response.
    private(set) var hasRequestUnderWay = false
    /// The opcode of the request under way, for an error response.
    private(set) var requestOpcode: UInt8 = 0
    /// Whether the link was encrypted while the response was made, so that values may be in it that leave on no other link.
    private(set) var isResponseForEncryptedLink = false
    private var waitingRequests = Deque<ArraySlice<UInt8>>()
    var response = ResponseParameters()
    var requestIDs: GATTRequestIDs
    var questions: OwnerQuestions
    /// What the client has for itself on all bearers. It is here while this bearer is at work, and with the connection's first
    /// bearer otherwise: see `GATTConnection`.
    var client: ClientValues
    /// The change of the database that the client was told of on this bearer.
    private var toldChange: UInt32 = 0
    var prepared = PreparedWrites()
    var indications = IndicationQueue()

    /// - Parameters:
    ///   - database: whose client characteristic configurations the client has.
    ///   - number: tells this session's requests from those of any other.
    ///   - answerLimit: how long the owner may take to answer.
    init(_ database: GATTDatabase, number: UInt32, answerLimit: Duration) {
        self.init(ClientValues(database), number: number, answerLimit: answerLimit)
    }

    /// - Parameters:
    ///   - client: what the client has for itself.
    ///   - number: tells this session's requests from those of any other.
    ///   - answerLimit: how long the owner may take to answer.
    init(_ client: ClientValues, number: UInt32, answerLimit: Duration) {
        requestIDs = GATTRequestIDs(session: number)
        questions = OwnerQuestions(answerLimit: answerLimit)
        self.client = client
    }
}

// MARK: - Requests

extension GATTServerSession {
    /// Takes a request, or anything with an unknown opcode that is not a command.
    mutating func receiveRequest(
        _ pdu: ArraySlice<UInt8>,
        over bearer: inout ATTBearer,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        guard !hasRequestUnderWay else {
            if waitingRequests.count < GATTLimits.waitingRequests {
                waitingRequests.append(pdu)
            } else {
                let ignored = IgnoredPDU.requestOutOfTurn(opcode: pdu.first ?? 0)
                events.append(.pduIgnored(bearer.connection, ignored))
            }
            return
        }
        serve(pdu, over: &bearer, &database, &events, ownMTU: ownMTU, at: now)
    }

    /// The response has left: the next waiting request has its turn.
    mutating func responseLeft(
        over bearer: inout ATTBearer,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        hasRequestUnderWay = false
        guard let pdu = waitingRequests.popFirst() else { return }
        serve(pdu, over: &bearer, &database, &events, ownMTU: ownMTU, at: now)
    }

    private mutating func serve(
        _ pdu: ArraySlice<UInt8>,
        over bearer: inout ATTBearer,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        hasRequestUnderWay = true
        response.begin(mtu: bearer.mtu)
        requestOpcode = pdu.first ?? 0
        isResponseForEncryptedLink = bearer.security.isEncrypted
        let link = Link(bearer)
        do throws(ATTRefusal) {
            let request = try decode(pdu, mtu: bearer.mtu)
            try client.awareness.receive(request, told: &toldChange)
            let outcome = try answer(request, link, &database, &events, ownMTU: ownMTU)
            finish(outcome, over: &bearer, &events, at: now)
            // In force once the response is on its way: Core 5.4, Vol 3, Part F, 3.4.2.2.
            if case .exchangeMTU(let clientMTU) = request, bearer.agreeOnMTU(ownMTU, clientMTU) {
                events.append(.mtuChanged(bearer.connection, mtu: bearer.mtu))
            }
        } catch {
            refuse(error, over: &bearer, &events)
        }
    }

    private func decode(_ pdu: ArraySlice<UInt8>, mtu: Int) throws(ATTRefusal) -> ATTRequest {
        guard let opcode = ATTOpcode(rawValue: requestOpcode) else { throw ATTRefusal(.requestNotSupported) }
        guard pdu.count <= mtu else { throw ATTRefusal(.invalidPDU) }
        do throws(ByteDecodingError) {
            var reader = ByteReader(pdu.dropFirst())
            guard let request = try ATTRequest(opcode, reading: &reader) else {
                throw ByteDecodingError("opcode", .invalidValue(UInt64(requestOpcode)))
            }
            return request
        } catch {
            throw ATTRefusal(.invalidPDU)
        }
    }

    private mutating func answer(
        _ request: ATTRequest,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int
    ) throws(ATTRefusal) -> Outcome {
        switch request {
        case .exchangeMTU:
            // An enhanced bearer has the MTU of its channel (Core 5.4, Vol 3, Part F, 3.4.2.2).
            guard !link.isEnhanced else { throw ATTRefusal(.requestNotSupported) }
            response.bytes.appendLittleEndian(UInt16(clamping: ownMTU))
            return .respond
        case .findInformation(let handles):
            try database.findInformation(handles, &response)
            return .respond
        case .findByTypeValue(let handles, let type, let value):
            try database.findByTypeValue(handles, type, value, client, over: link.security, &response)
            return .respond
        case .readByGroupType(let handles, let type):
            try database.readByGroupType(handles, type, &response)
            return .respond
        case .readByType(let handles, let type):
            return try readByType(handles, type, link, database)
        case .read(let handle):
            return try read(handle, link, database)
        case .readBlob(let handle, let offset):
            return try readBlob(handle, offset, link, database)
        case .readMultiple(let handles):
            return try readMultiple(handles, isVariable: false, link, database)
        case .readMultipleVariable(let handles):
            return try readMultiple(handles, isVariable: true, link, database)
        case .write(let handle, let value):
            return try write(value, to: handle, link, &database, &events)
        case .prepareWrite(let handle, let offset, let value):
            return try prepareWrite(value, at: offset, to: handle, link, database)
        case .executeWrite(let isCancelled):
            return try executeWrite(isCancelled: isCancelled, link, &database, &events)
        }
    }

    private mutating func finish(
        _ outcome: Outcome,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        at now: Duration
    ) {
        switch outcome {
        case .respond:
            questions.requestEnded()
            // Every response's opcode is its request's plus one (Core 5.4, Vol 3, Part F, 3.4.8).
            bearer.send { [requestOpcode] buffer in
                buffer.append(requestOpcode | 1)
                buffer.append(contentsOf: response.bytes)
            }
        case .ask(let question, let event):
            questions.ask(question, at: now)
            events.append(event)
        }
    }

    private mutating func refuse(
        _ refusal: ATTRefusal,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        questions.requestEnded()
        bearer.send(.errorResponse) { [requestOpcode] buffer in
            buffer.append(requestOpcode)
            buffer.append(refusal.handle)
            buffer.append(refusal.error.rawValue)
        }
        guard refusal.error != .attributeNotFound else { return }
        events.append(.requestRefused(bearer.connection, refusal.response(to: requestOpcode)))
    }
}

// MARK: - The owner's answers

extension GATTServerSession {
    /// When the owner's answer to one of its questions is overdue.
    var nextAnswerDeadline: Duration? { questions.nextDeadline }

    /// Takes the owner's answer to a question: what `resume` makes of it goes out.
    /// - Returns: false when the request is not waiting for an answer.
    mutating func resume(
        _ id: GATTRequestID,
        over bearer: inout ATTBearer,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration,
        _ resume: Resumption
    ) -> Bool {
        let link = Link(bearer)
        if let question = questions.takeRequest(id) {
            response.mtu = bearer.mtu
            if bearer.security.isEncrypted { isResponseForEncryptedLink = true }
            do throws(ATTRefusal) {
                let outcome = try resume(&self, question, link, &database, &events)
                client.accepted(question.id)
                finish(outcome, over: &bearer, &events, at: now)
            } catch {
                client.takeBack(question.id)
                refuse(error, over: &bearer, &events)
            }
            return true
        }
        guard let question = questions.takeCommand(id) else { return false }
        do throws(ATTRefusal) {
            _ = try resume(&self, question, link, &database, &events)
            client.accepted(question.id)
        } catch {
            client.takeBack(question.id)
            let refused = error.response(to: ATTOpcode.writeCommand.rawValue)
            events.append(.pduIgnored(link.connection, .refusedCommand(refused)))
        }
        return true
    }

    /// The bearer is given up: nothing is asked, answered or indicated any more.
    mutating func giveUp() {
        for question in questions.all { client.takeBack(question) }
        questions.removeAll()
        hasRequestUnderWay = false
        waitingRequests.removeAll()
        indications.removeAll()
    }
}

// MARK: - What bonds keep

extension GATTServerSession {
    /// Takes back what was kept of a bonded client.
    mutating func restore(
        _ state: GATTClientState,
        _ connection: ConnectionHandle,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) {
        client.restore(state, connection, database, &requestIDs, &events)
    }
}
