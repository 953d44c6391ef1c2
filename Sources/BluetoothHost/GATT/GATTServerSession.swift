import BluetoothHCI
import ByteCoding
import DequeModule

/// Why a request is refused, and at which attribute.
struct ATTRefusal: Error {
    let error: ATTError
    let handle: AttributeHandle

    init(_ error: ATTError, at handle: AttributeHandle = .none) {
        self.error = error
        self.handle = handle
    }
}

/// The server's side of one connection.
///
/// A client has one request under way at a time. It stays so from its arrival until its response has left, which
/// may include asking the owner; the few requests that a hasty client sends meanwhile wait their turn. Every question to
/// the owner has a deadline, after which the session answers it itself: no request stays without its response.
struct GATTServerSession: Sendable {
    /// What a handler needs to know of the bearer.
    struct Link {
        let connection: ConnectionHandle
        let mtu: Int
        let security: LinkSecurity

        init(_ bearer: ATTBearer) {
            connection = bearer.connection
            mtu = bearer.mtu
            security = bearer.security
        }
    }

    /// Goes on with a request when the owner has answered.
    typealias Resumption = (
        inout GATTServerSession, Question, Link, inout GATTDatabase, inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome

    /// What a handler leaves to be done.
    enum Outcome {
        /// `response` is complete.
        case respond
        /// The owner is to be asked.
        case ask(Question, GATTEvent)
    }

    /// What the owner was asked.
    struct Question {
        enum Kind {
            case read
            case readBlob(offset: Int)
            case readByType
            case readMultiple(remaining: AttributeHandleList, isVariable: Bool)
            case write
            /// One of several values that are written together: the one at `index`.
            case executeWrite(StagedWrites, index: Int)
        }

        let id: GATTRequestID
        let handle: AttributeHandle
        let kind: Kind
        /// The subscription that is in force in advance, until the owner refuses it.
        var subscription: AnticipatedSubscription?
    }

    /// A subscription that the owner has not accepted.
    struct AnticipatedSubscription {
        /// Which of the database's client characteristic configurations it is.
        let slot: Int
        let previous: Subscription
    }

    /// A question about a subscription that came in a Write Command: nothing is sent in answer.
    private struct CommandQuestion {
        var question: Question
        let deadline: Duration
    }

    private enum Transaction {
        case none
        case asking(Question)
        /// The response waits to leave.
        case responding
    }

    private var transaction = Transaction.none
    /// When the request under way is refused if the owner is still being asked. It counts from the request's arrival, however
    /// many questions it takes.
    private var answerDeadline: Duration?
    private var commandQuestions: [CommandQuestion] = []
    private let answerLimit: Duration
    /// The opcode of the request under way, for an error response.
    private var requestOpcode: UInt8 = 0
    private var waitingRequests = Deque<ArraySlice<UInt8>>()
    private let number: UInt32
    private var lastRequest: UInt32 = 0
    /// The response under construction, without its opcode.
    var response: [UInt8] = []
    var prepared = PreparedWrites()
    /// The client characteristic configurations, in the order of the database's.
    var subscriptions: [Subscription]
    var awareness = ChangeAwareness()
    var indications = IndicationQueue()

    /// - Parameters:
    ///   - number: tells this session's requests from those of any other.
    ///   - answerLimit: how long the owner may take to answer.
    init(_ database: GATTDatabase, number: UInt32, answerLimit: Duration) {
        self.number = number
        self.answerLimit = answerLimit
        subscriptions = Array(repeating: [], count: database.clientConfigurations.count)
    }

    /// Whether the client waits for a response.
    var hasRequestUnderWay: Bool {
        if case .none = transaction { false } else { true }
    }

    mutating func makeRequestID() -> GATTRequestID {
        lastRequest &+= 1
        return GATTRequestID(session: number, number: lastRequest)
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
        guard case .none = transaction else {
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
        transaction = .none
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
        response.removeAll(keepingCapacity: true)
        requestOpcode = pdu.first ?? 0
        let link = Link(bearer)
        do throws(ATTRefusal) {
            let request = try decode(pdu, mtu: bearer.mtu)
            try awareness.receive(request)
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
            response.appendLittleEndian(UInt16(clamping: ownMTU))
            return .respond
        case .findInformation(let handles):
            return try findInformation(handles, link, database)
        case .findByTypeValue(let handles, let type, let value):
            return try findByTypeValue(handles, type, value, link, database)
        case .readByGroupType(let handles, let type):
            return try readByGroupType(handles, type, link, database)
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
            transaction = .responding
            answerDeadline = nil
            // Every response's opcode is its request's plus one (Core 5.4, Vol 3, Part F, 3.4.8).
            bearer.send { [requestOpcode] buffer in
                buffer.append(requestOpcode | 1)
                buffer.append(contentsOf: response)
            }
        case .ask(let question, let event):
            transaction = .asking(question)
            answerDeadline = answerDeadline ?? now + answerLimit
            events.append(event)
        }
    }

    private mutating func refuse(
        _ refusal: ATTRefusal,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>
    ) {
        transaction = .responding
        answerDeadline = nil
        bearer.send(.errorResponse) { [requestOpcode] buffer in
            buffer.append(requestOpcode)
            buffer.append(refusal.handle)
            buffer.append(refusal.error.rawValue)
        }
        guard refusal.error != .attributeNotFound else { return }
        let response = ATTErrorResponse(
            requestOpcode: requestOpcode,
            handle: refusal.handle,
            error: refusal.error
        )
        events.append(.requestRefused(bearer.connection, response))
    }
}

// MARK: - The owner's answers

extension GATTServerSession {
    /// When the owner's answer to one of its questions is overdue.
    var nextAnswerDeadline: Duration? {
        guard let command = commandQuestions.first?.deadline else { return answerDeadline }
        return answerDeadline.map { min($0, command) } ?? command
    }

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
        if case .asking(let question) = transaction, question.id == id {
            do throws(ATTRefusal) {
                finish(try resume(&self, question, link, &database, &events), over: &bearer, &events, at: now)
            } catch {
                takeBack(question)
                refuse(error, over: &bearer, &events)
            }
            return true
        }
        guard let index = commandQuestions.firstIndex(where: { $0.question.id == id }) else { return false }
        let question = commandQuestions.remove(at: index).question
        do throws(ATTRefusal) {
            _ = try resume(&self, question, link, &database, &events)
        } catch {
            takeBack(question)
            events.append(.pduIgnored(link.connection, .refusedCommand(error.response(to: .writeCommand))))
        }
        return true
    }

    /// Asks the owner about a subscription that came in a Write Command.
    mutating func askAboutCommand(_ question: Question, at now: Duration) throws(ATTRefusal) {
        guard commandQuestions.count < GATTLimits.waitingRequests else {
            takeBack(question)
            throw ATTRefusal(.insufficientResources, at: question.handle)
        }
        commandQuestions.append(CommandQuestion(question: question, deadline: now + answerLimit))
    }

    /// The questions that the owner should have answered by now.
    func overdueQuestions(at now: Duration) -> [GATTRequestID] {
        var overdue: [GATTRequestID] = []
        if case .asking(let question) = transaction, let answerDeadline, answerDeadline <= now {
            overdue.append(question.id)
        }
        for command in commandQuestions where command.deadline <= now { overdue.append(command.question.id) }
        return overdue
    }

    /// The client characteristic configurations without those that the owner has not accepted.
    var acceptedSubscriptions: [Subscription] {
        var questions = commandQuestions.map { $0.question }
        if case .asking(let question) = transaction { questions.append(question) }
        // Of several questions about one configuration, the first was asked with the accepted one in force.
        questions.sort { $0.id.number > $1.id.number }
        var accepted = subscriptions
        for question in questions {
            guard let anticipated = question.subscription, accepted.indices.contains(anticipated.slot) else { continue }
            accepted[anticipated.slot] = anticipated.previous
        }
        return accepted
    }

    /// The bearer is given up: nothing is asked, answered or indicated any more.
    mutating func giveUp() {
        subscriptions = acceptedSubscriptions
        commandQuestions.removeAll()
        answerDeadline = nil
        transaction = .none
        waitingRequests.removeAll()
        indications.removeAll()
    }

    /// Brings back what was in force before a question: now, or, if there is a later question about the same
    /// configuration, should that be refused too.
    private mutating func takeBack(_ question: Question) {
        guard let anticipated = question.subscription else { return }
        func isLater(_ other: Question) -> Bool {
            other.subscription?.slot == anticipated.slot && other.id.number > question.id.number
        }
        if let index = commandQuestions.firstIndex(where: { isLater($0.question) }) {
            commandQuestions[index].question.subscription = anticipated
        } else if case .asking(var later) = transaction, isLater(later) {
            later.subscription = anticipated
            transaction = .asking(later)
        } else if subscriptions.indices.contains(anticipated.slot) {
            subscriptions[anticipated.slot] = anticipated.previous
        }
    }
}

extension ATTRefusal {
    func response(to opcode: ATTOpcode) -> ATTErrorResponse {
        ATTErrorResponse(requestOpcode: opcode.rawValue, handle: handle, error: error)
    }
}
