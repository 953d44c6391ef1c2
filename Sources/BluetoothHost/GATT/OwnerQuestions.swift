/// What the owner was asked about a client's request or command.
struct OwnerQuestion: Sendable {
    enum Kind: Sendable {
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

    init(id: GATTRequestID, handle: AttributeHandle, kind: Kind) {
        self.id = id
        self.handle = handle
        self.kind = kind
    }

    /// A question about a subscription, at its configuration's handle.
    init(_ change: SubscriptionChange, at handle: AttributeHandle, _ kind: Kind) {
        self.init(id: change.id, handle: handle, kind: kind)
    }
}

/// The questions about one client that wait for the owner's answer: one about the request under way, and those about
/// subscriptions that came in Write Commands, to which nothing is sent in answer.
struct OwnerQuestions: Sendable {
    private struct CommandQuestion: Sendable {
        let question: OwnerQuestion
        let deadline: Duration
    }

    /// The question about the request under way.
    private var request: OwnerQuestion?
    /// When the request under way is refused if the owner is still being asked. It counts from the request's arrival, however
    /// many questions it takes.
    private var requestDeadline: Duration?
    /// In the order of their deadlines.
    private var commands: [CommandQuestion] = []
    private let answerLimit: Duration

    /// - Parameter answerLimit: how long the owner may take to answer.
    init(answerLimit: Duration) { self.answerLimit = answerLimit }

    // MARK: Asking

    /// The owner is asked about the request under way.
    mutating func ask(_ question: OwnerQuestion, at now: Duration) {
        request = question
        requestDeadline = requestDeadline ?? now + answerLimit
    }

    /// The owner is asked about a subscription that came in a Write Command.
    /// - Returns: false when too many such questions wait.
    mutating func askAboutCommand(_ question: OwnerQuestion, at now: Duration) -> Bool {
        guard commands.count < GATTLimits.waitingRequests else { return false }
        commands.append(CommandQuestion(question: question, deadline: now + answerLimit))
        return true
    }

    // MARK: Answers

    /// Takes the question about the request under way, if it is this one. The request keeps its deadline, because another
    /// question about it may follow.
    mutating func takeRequest(_ id: GATTRequestID) -> OwnerQuestion? {
        guard let question = request, question.id == id else { return nil }
        request = nil
        return question
    }

    /// Takes a question about a Write Command.
    mutating func takeCommand(_ id: GATTRequestID) -> OwnerQuestion? {
        guard let index = commands.firstIndex(where: { $0.question.id == id }) else { return nil }
        return commands.remove(at: index).question
    }

    /// The request under way has its response.
    mutating func requestEnded() { requestDeadline = nil }

    /// Nothing is asked any more.
    mutating func removeAll() {
        request = nil
        requestDeadline = nil
        commands.removeAll()
    }

    // MARK: Time

    /// When the owner's answer to one of the questions is overdue.
    var nextDeadline: Duration? {
        guard !commands.isEmpty else { return requestDeadline }
        var deadline = requestDeadline
        deadline.lower(to: commands.first?.deadline)
        return deadline
    }

    /// The questions that the owner should have answered by now.
    func overdue(at now: Duration) -> [GATTRequestID] {
        var overdue: [GATTRequestID] = []
        if let request, let requestDeadline, requestDeadline <= now { overdue.append(request.id) }
        for command in commands where command.deadline <= now { overdue.append(command.question.id) }
        return overdue
    }

    /// All questions that wait.
    var all: [GATTRequestID] { (request.map { [$0.id] } ?? []) + commands.map { $0.question.id } }
}
