import BluetoothHCI
import ByteCoding
import DequeModule

/// The Generic Attribute Profile in both roles on every connection: values, clients' requests, and requests to servers. What
/// happens is told as `LEHostEvent.gatt`.
///
/// Each connection has a bearer on the fixed L2CAP channel, and may have enhanced bearers, each on a channel of its own. The
/// host passes on what the channels receive, and takes PDUs for them whenever there is room for one.
public struct GATTLayer: Sendable {
    /// What can be chosen about the layer.
    public struct Configuration: Sendable {
        /// The MTU that this side can take, offered in both roles; 23 to 517.
        public var maximumMTU: Int
        /// How many notifications and commands may wait on one connection.
        public var queueLimit: Int
        /// When the owner answers clients' requests.
        public var ownerAnswers: OwnerAnswers
        /// How many enhanced bearers a peer may open on an encrypted connection, and this side opens: 5 at most, and none if it
        /// is 0. The database says so itself, in Server Supported Features.
        public var enhancedBearers = 0
        /// Whether this side opens as many with a server that has the feature.
        public var opensEnhancedBearers = true

        /// The largest MTU, room for 32 notifications and commands a connection, and 10 s to answer, unless told otherwise.
        public init(
            maximumMTU: Int = ATT.maximumMTU,
            queueLimit: Int = 32,
            ownerAnswers: OwnerAnswers = .within(GATTLayer.defaultAnswerTime)
        ) {
            self.maximumMTU = maximumMTU
            self.queueLimit = queueLimit
            self.ownerAnswers = ownerAnswers
        }
    }

    /// When the owner answers the requests that are handed to it as events. What it does not answer by then is refused with
    /// Unlikely Error, and `GATTEvent.requestNotAnswered` says so: a client that gets no response within 30 s gives the
    /// bearer up (Core 5.4, Vol 3, Part F, 3.3.3).
    public enum OwnerAnswers: Hashable, Sendable {
        /// Within so long of a request's arrival.
        case within(Duration)
        /// Before it takes the next event: what is not answered by then never will be.
        case atOnce

        var limit: Duration {
            switch self {
            case .within(let limit): limit
            case .atOnce: GATTLayer.defaultAnswerTime
            }
        }
    }

    /// How long an owner may take to answer if nothing else is said: a third of a client's patience, so that the refusal
    /// arrives in time over a slow link too.
    public static let defaultAnswerTime: Duration = .seconds(10)

    /// The attributes that this side offers.
    package internal(set) var database: GATTDatabase
    let ownMTU: Int
    private let queueLimit: Int
    let ownerAnswers: OwnerAnswers
    /// How many enhanced bearers each side may open on a connection.
    let enhancedBearers: Int
    let opensEnhancedBearers: Bool
    /// What the host is to do with channels.
    var channelRequests = Deque<EnhancedBearerRequest>()
    /// The request that an owner that answers at once was given last.
    private var handedOut: (connection: ConnectionHandle, id: GATTRequestID)?
    var connections = ConnectionTable<GATTConnection>()
    var events = Deque<GATTEvent>()
    private var lastProcedureID: UInt64 = 0
    var lastSession: UInt32 = 0
    var time = LatestTime()

    /// A layer without connections. An MTU outside 23 to 517 becomes the nearest one that is inside.
    package init(database: GATTDatabase, configuration: Configuration = Configuration()) {
        self.database = database
        ownMTU = min(max(configuration.maximumMTU, ATT.defaultMTU), ATT.maximumMTU)
        queueLimit = configuration.queueLimit
        ownerAnswers = configuration.ownerAnswers
        enhancedBearers = min(max(0, configuration.enhancedBearers), CreditBasedCommand.maximumChannelCount)
        opensEnhancedBearers = enhancedBearers > 0 && configuration.opensEnhancedBearers
    }

    private func index(of connection: ConnectionHandle) -> Int? { connections.index(of: connection) }

    private func requireIndex(of connection: ConnectionHandle) throws(GATTError) -> Int {
        guard let index = index(of: connection), connections[index].bearer.isOpen else {
            throw .notConnected(connection)
        }
        return index
    }
}

// MARK: - Connections, bytes and time

extension GATTLayer {
    /// A connection has come up, and with it its bearer.
    package mutating func connectionOpened(
        _ connection: ConnectionHandle,
        security: LinkSecurity = .none,
        at now: Duration
    ) {
        connectionClosed(connection)
        time.tell(now)
        lastSession &+= 1
        connections.append(
            GATTConnection(
                GATTBearer(
                    bearer: ATTBearer(connection: connection, security: security, unansweredLimit: queueLimit),
                    server: GATTServerSession(database, number: lastSession, answerLimit: ownerAnswers.limit)
                )
            )
        )
    }

    /// A connection has gone: its procedures end, and prepared writes are forgotten.
    /// - Returns: what is to be kept if the client is bonded.
    @discardableResult
    package mutating func connectionClosed(_ connection: ConnectionHandle) -> GATTClientState? {
        guard let index = index(of: connection) else { return nil }
        let state = clientState(of: connection)
        connections[index].closed(&events)
        connections.remove(at: index)
        return state
    }

    /// The link's encryption, or what is known about the peer, has changed.
    package mutating func securityChanged(_ connection: ConnectionHandle, to security: LinkSecurity) {
        guard let index = index(of: connection) else { return }
        connections[index].securityChanged(security)
        if security.isEncrypted { openEnhancedBearers(index) }
    }

    /// Takes one whole PDU from the peer.
    package mutating func receive(_ pdu: ArraySlice<UInt8>, on connection: ConnectionHandle, at now: Duration) {
        time.tell(now)
        guard let index = index(of: connection) else { return }
        connections[index].receive(pdu, &database, &events, ownMTU: ownMTU, at: time.now)
        if opensEnhancedBearers { continueOpening(index) }
    }

    /// Takes the next PDU for the peer into `buffer`, whose storage is kept for a later one.
    /// - Returns: false, with `buffer` untouched, when none waits.
    package mutating func nextPDU(for connection: ConnectionHandle, into buffer: inout [UInt8]) -> Bool {
        guard let index = index(of: connection), connections[index].bearer.outbox.count > 0 else { return false }
        return connections[index].nextPDU(into: &buffer, &database, &events, ownMTU: ownMTU, at: time.now)
    }

    /// The connections at which something was changed.
    var stirred: StirredConnections { connections.stirred }

    /// They have been asked for what they have to send.
    mutating func settle(_ asked: StirredConnections) { connections.settle(asked) }

    /// Takes the oldest event. The owner is done with the one that it took before.
    package mutating func nextEvent() -> GATTEvent? {
        endTurn()
        guard let event = takeEvent() else { return nil }
        handOut(event)
        return event
    }

    /// When `advance(to:)` has something to do, unless a PDU comes first.
    package var nextDeadline: Duration? { connections.nextDeadline }

    /// Lets time pass: a bearer whose transaction took 30 s is given up, and what the owner did not answer is refused.
    package mutating func advance(to now: Duration) {
        time.tell(now)
        guard connections.isAnyDue(at: time.now) else { return }
        for index in connections.indices where connections.isDue(index, at: time.now) {
            let (overdue, givenUp) = connections[index].advance(to: time.now, &events)
            for question in overdue { refuseUnanswered(question, on: connections[index].bearer.connection) }
            for channel in givenUp { channelRequests.append(.close(channel)) }
            guard opensEnhancedBearers else { continue }
            continueOpening(index)
            askAgain(index)
        }
    }

    /// When a connection's client last sent a request that it had not sent before; nil if it never has.
    package func lastProgress(of connection: ConnectionHandle) -> Duration? {
        index(of: connection).flatMap { connections[$0].lastProgress }
    }

    /// The ATT_MTU in force on the fixed channel of a connection, in octets; nil when there is no such connection.
    public func mtu(of connection: ConnectionHandle) -> Int? {
        index(of: connection).map { connections[$0].bearer.mtu }
    }
}

// MARK: - Server: values

extension GATTLayer {
    /// Replaces a value that the database keeps. Clients are told by `notify` and `indicate`.
    public mutating func setValue(
        _ value: some Collection<UInt8>,
        of handle: AttributeHandle
    ) throws(GATTError) {
        try database.setValue(value, of: handle)
    }

    /// Shows a service to clients or hides it. Every client is out of sync with the database until it learns of
    /// the change, for instance by an indication of Service Changed.
    /// - Returns: the range that has changed; nil when nothing did.
    public mutating func setPublished(
        _ isPublished: Bool,
        service name: AttributeName
    ) throws(GATTError) -> AttributeHandleRange? {
        guard let range = try database.setPublished(isPublished, service: name) else { return nil }
        for index in connections.indices { connections[index].databaseChanged() }
        return range
    }

    /// Queues a notification of a characteristic value, cut off at the MTU less 3.
    ///
    /// The client must have subscribed, unless `evenIfNotSubscribed`, and the link must be as secure as subscribing
    /// requires. The characteristic must have a client characteristic configuration in any case: without one, the call
    /// throws `GATTError.notSubscribed`. `GATTError.queueFull` is followed by `GATTEvent.roomToSend`.
    public mutating func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        on connection: ConnectionHandle,
        evenIfNotSubscribed: Bool = false,
        at now: Duration
    ) throws(GATTError) {
        time.tell(now)
        let index = try requireIndex(of: connection)
        try connections[index].notify(value, of: handle, evenIfNotSubscribed: evenIfNotSubscribed, database)
    }

    /// Queues one notification of two values or more, all of which must fit into the MTU, for a client that said
    /// that it takes such.
    public mutating func notify(
        _ values: [HandleValue],
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        time.tell(now)
        let index = try requireIndex(of: connection)
        try connections[index].notify(values, database)
    }

    /// Queues an indication of a characteristic value, cut off at the MTU less 3. The client's confirmation is
    /// reported as `GATTEvent.indicationConfirmed`. `GATTError.queueFull` is not followed by `GATTEvent.roomToSend`.
    public mutating func indicate(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        let index = try requireIndex(of: connection)
        time.tell(now)
        try connections[index].indicate(value, of: handle, database, at: time.now)
    }

    /// What a client has subscribed to of a characteristic value.
    public func subscription(to handle: AttributeHandle, on connection: ConnectionHandle) -> Subscription {
        guard let slot = database.attribute(at: handle)?.subscription, let index = index(of: connection) else {
            return []
        }
        return connections[index].clientValues.subscription(in: Int(slot))
    }

    /// Whether a client has made a request whose response has not left.
    package func hasRequestUnderWay(on connection: ConnectionHandle) -> Bool {
        index(of: connection).map { connections[$0].hasRequestUnderWay } ?? false
    }

    /// The connections whose clients have subscribed to a characteristic value.
    package func subscribers(of handle: AttributeHandle) -> [ConnectionHandle] {
        connections.map { $0.bearer.connection }.filter { !subscription(to: handle, on: $0).isEmpty }
    }
}

// MARK: - Server: the owner's answers

extension GATTLayer {
    /// Answers a read with the whole value, of which the client gets what it asked for.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func respond(to request: ReadRequest, with value: ArraySlice<UInt8>, at now: Duration) -> Bool {
        time.tell(now)
        return resume(request) { session, question, link, database, _ throws(ATTRefusal) in
            try session.resume(question, with: value, link, database)
        }
    }

    /// Accepts a write, or a change of a subscription.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func respond(to request: some GATTWriteRequest, at now: Duration) -> Bool {
        time.tell(now)
        return resume(request) { session, question, link, database, events throws(ATTRefusal) in
            try session.resumeAccepted(question, link, &database, &events)
        }
    }

    /// Refuses a request.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func refuse(_ request: some GATTRequest, with error: ATTError, at now: Duration) -> Bool {
        time.tell(now)
        return resume(request) { _, question, _, _, _ throws(ATTRefusal) in
            throw ATTRefusal(error, at: question.handle)
        }
    }

    private mutating func resume(_ request: some GATTRequest, _ resume: GATTServerSession.Resumption) -> Bool {
        self.resume(request.id, on: request.connection, resume)
    }

    private mutating func resume(
        _ id: GATTRequestID,
        on connection: ConnectionHandle,
        _ resume: GATTServerSession.Resumption
    ) -> Bool {
        guard let index = try? requireIndex(of: connection) else { return false }
        return connections[index].resume(id, &database, &events, at: time.now, resume)
    }
}

// MARK: - Server: questions without an answer

extension GATTLayer {
    /// Whether an event waits for the owner.
    var hasEvents: Bool { !events.isEmpty }

    /// Takes the oldest event, which the owner does not see yet.
    mutating func takeEvent() -> GATTEvent? { events.popFirst() }

    /// The owner sees an event now.
    mutating func handOut(_ event: GATTEvent) {
        guard ownerAnswers == .atOnce else { return }
        switch event {
        case .readRequested(let request): handedOut = (request.connection, request.id)
        case .writeRequested(let request): handedOut = (request.connection, request.id)
        case .subscriptionChanged(let change) where change.cause == .requested:
            handedOut = (change.connection, change.id)
        case .subscriptionChanged, .mtuChanged, .transactionTimedOut, .roomToSend, .pduIgnored, .requestNotAnswered,
            .written, .indicationConfirmed, .valueNotSent, .requestRefused, .procedureEnded, .valueReceived,
            .enhancedBearerOpened, .enhancedBearerClosed:
            break
        }
    }

    /// The owner is done with the event that it saw last: what it did not answer is refused, if it answers at once.
    mutating func endTurn() {
        guard let request = handedOut else { return }
        handedOut = nil
        refuseUnanswered(request.id, on: request.connection)
    }

    private mutating func refuseUnanswered(_ id: GATTRequestID, on connection: ConnectionHandle) {
        var handle: AttributeHandle?
        let isRefused = resume(id, on: connection) { _, question, _, _, _ throws(ATTRefusal) in
            handle = question.handle
            throw ATTRefusal(.unlikelyError, at: question.handle)
        }
        if isRefused, let handle { events.append(.requestNotAnswered(connection, handle)) }
    }
}

// MARK: - Server: what bonds keep

/// What a server keeps about a bonded client between connections.
public struct GATTClientState: Hashable, Sendable {
    /// The client characteristic configurations that are not 0, by their descriptors' handles.
    public var subscriptions: [AttributeHandle: Subscription]
    /// The client's supported features (Core 5.4, Vol 3, Part G, 7.2).
    public var supportedFeatures: UInt8
    /// Whether the client knows the database as it is.
    public var isChangeAware: Bool

    /// The state of a client that has subscribed to nothing and knows the database, unless told otherwise.
    public init(
        subscriptions: [AttributeHandle: Subscription] = [:],
        supportedFeatures: UInt8 = 0,
        isChangeAware: Bool = true
    ) {
        self.subscriptions = subscriptions
        self.supportedFeatures = supportedFeatures
        self.isChangeAware = isChangeAware
    }
}

extension GATTLayer {
    /// What is to be kept about a connection's client if it is bonded; nil when there is no such connection.
    package func clientState(of connection: ConnectionHandle) -> GATTClientState? {
        index(of: connection).map { connections[$0].clientValues.state(database) }
    }

    /// Gives a bonded client back what `LEHostEvent.clientStateToKeep` said of it. Each subscription is reported as
    /// `GATTEvent.subscriptionChanged`; those to what the database no longer offers are dropped.
    public mutating func restore(_ state: GATTClientState, on connection: ConnectionHandle) throws(GATTError) {
        let index = try requireIndex(of: connection)
        connections[index].restore(state, database, &events)
    }
}

// MARK: - Client

extension GATTLayer {
    /// Starts a procedure with the server at the other end, behind those that were started before.
    /// `GATTError.queueFull` is not followed by `GATTEvent.roomToSend`.
    /// - Returns: what the `GATTEvent.procedureEnded` will name.
    @discardableResult
    public mutating func start(
        _ procedure: GATTProcedure,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) -> GATTProcedureID {
        let index = try requireIndex(of: connection)
        time.tell(now)
        return try start(procedure, isOwn: false, index)
    }

    /// - Parameter isOwn: whether the host starts it for itself.
    @discardableResult
    mutating func start(
        _ procedure: GATTProcedure,
        isOwn: Bool,
        _ index: Int
    ) throws(GATTError) -> GATTProcedureID {
        let id = GATTProcedureID(rawValue: lastProcedureID &+ 1)
        try connections[index].start(procedure, id, isOwn: isOwn, &events, ownMTU: ownMTU, at: time.now)
        lastProcedureID = id.rawValue
        return id
    }

    /// Queues a write command. `GATTError.queueFull` is followed by `GATTEvent.roomToSend`.
    public mutating func writeWithoutResponse(
        _ value: ArraySlice<UInt8>,
        to handle: AttributeHandle,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        time.tell(now)
        let index = try requireIndex(of: connection)
        try connections[index].writeWithoutResponse(value, to: handle)
    }
}
