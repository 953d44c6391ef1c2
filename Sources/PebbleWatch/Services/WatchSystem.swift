import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// Everything above the transports: sessions, the services that companions call, and the app that runs.
///
/// A transport opens a session, feeds it bytes, and takes bytes from it; the system does not know which kind of
/// transport it is.
struct WatchSystem: Sendable {
    /// The firmware's limit on its event queue; beyond it the oldest are lost.
    private static let eventLimit = 1024

    let identity: WatchIdentity
    let capabilities: Capabilities
    var clock: WatchClock
    private var sessions: [SessionID: Session] = [:]
    /// Sessions in the order in which they were opened.
    private var order: [SessionID] = []
    private var lastSession: UInt64 = 0
    private var apps: AppManager
    private(set) var services: WatchServices
    private(set) var randomness: any RandomNumberGenerator & Sendable
    private var events: Deque<WatchEvent> = []
    private var changes: Deque<ServiceContext.Change> = []
    /// Set when the watch is to restart.
    private var restart: RestartCause?

    /// - Parameter randomness: where names of uploads come from; nothing secret does.
    init(
        identity: WatchIdentity,
        clock: WatchClock,
        app: any WatchApp,
        memory: ServiceMemory,
        randomness: any RandomNumberGenerator & Sendable
    ) {
        self.identity = identity
        self.clock = clock
        self.randomness = randomness
        capabilities = [
            .appRunState, .appMessage8K, .smoothFirmwareInstallProgress, .firmwareUpdateAcrossDisconnection,
        ]
        apps = AppManager(starting: app)
        services = WatchServices(memory: memory)
    }

    /// Starts the first app.
    mutating func start(at now: Duration) {
        handle(at: now) { system, context in system.apps.launch(in: &context) }
    }
}

// MARK: - Sessions

extension WatchSystem {
    /// A transport has opened: asks the phone who it is, as every Pebble does on every session.
    ///
    /// A new system or hybrid session replaces an older one, which the transport learns from `isOpen`.
    mutating func openSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        at now: Duration
    ) -> SessionID {
        let kind = destination.kind
        if kind != .app, let older = order.first(where: { sessions[$0]?.kind != .app }) {
            closeSession(older, reason: "a newer session replaced it", at: now)
        }
        lastSession += 1
        let id = SessionID(number: lastSession)
        sessions[id] = Session(id: id, kind: kind, transport: transport, application: destination.application)
        order.append(id)
        handle(at: now) { _, context in
            context.events.append(.sessionOpened(id, kind, transport))
            context.reply(PhoneVersionMessage.request, on: id)
        }
        return id
    }

    /// The transport is gone: whatever was half received or not yet sent is dropped.
    mutating func closeSession(_ id: SessionID, reason: String, at now: Duration) {
        guard sessions.removeValue(forKey: id) != nil else { return }
        order.removeAll { $0 == id }
        emit(.sessionClosed(id, reason: reason))
        handle(at: now) { system, context in system.services.sessionClosed(id, in: &context) }
    }

    /// Whether a session still exists.
    func isOpen(_ id: SessionID) -> Bool { sessions[id] != nil }

    /// Takes bytes that a transport received.
    mutating func receive(_ bytes: ArraySlice<UInt8>, on id: SessionID, at now: Duration) {
        var rest = bytes
        while let item = nextItem(from: &rest, on: id) {
            switch item {
            case .message(let message): handle(message, on: id, at: now)
            case .skipped(let header): refuse(header, on: id, at: now)
            }
        }
    }

    /// Bytes that a session has for its transport, at most `limit` of them.
    mutating func takeOutbound(of id: SessionID, atMost limit: Int, at now: Duration) -> ArraySlice<UInt8> {
        guard let bytes = sessions[id]?.takeOutbound(atMost: limit) else { return [] }
        while let transaction = sessions[id]?.nextConsumedMessage() {
            handle(at: now) { system, context in system.apps.consumed(transaction, in: &context) }
        }
        return bytes
    }

    /// How many bytes wait for a session's transport.
    func outboundByteCount(of id: SessionID) -> Int { sessions[id]?.outboundByteCount ?? 0 }

    private mutating func nextItem(from bytes: inout ArraySlice<UInt8>, on id: SessionID) -> MessageDeframer.Item? {
        guard let kind = sessions[id]?.kind else { return nil }
        return sessions[id]?.deframer.next(from: &bytes) { header in
            header.endpoint.admission(on: kind, inRecoveryFirmware: false) == .allowed
        }
    }

    private mutating func refuse(_ header: MessageDeframer.Header, on id: SessionID, at now: Duration) {
        guard let kind = sessions[id]?.kind else { return }
        handle(at: now) { _, context in
            context.log(.warning, "session", "\(header.endpoint) refused on a \(kind) session")
            switch header.endpoint.admission(on: kind, inRecoveryFirmware: false) {
            case .allowed: break
            case .unhandled: context.reply(MetaMessage.unhandled(header.endpoint), on: id)
            case .disallowed: context.reply(MetaMessage.disallowed(header.endpoint), on: id)
            }
        }
    }
}

// MARK: - Time and events

extension WatchSystem {
    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? { [apps.nextDeadline, services.nextDeadline].compactMap(\.self).min() }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        handle(at: now) { system, context in
            system.apps.advance(in: &context)
            system.services.advance(in: &context)
        }
    }

    /// The next change for the store.
    mutating func nextChange() -> ServiceContext.Change? { changes.popFirst() }

    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, at now: Duration) {
        handle(at: now) { system, context in system.services.changeFinished(for: owner, failure: failure, in: &context)
        }
    }

    /// Whether the watch is to restart, and why; asking takes it back.
    mutating func takeRestart() -> RestartCause? {
        defer { restart = nil }
        return restart
    }

    /// The next thing that happened.
    mutating func nextEvent() -> WatchEvent? { events.popFirst() }

    private mutating func emit(_ event: WatchEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }
}

// MARK: - Messages

extension WatchSystem {
    private mutating func handle(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        emit(.message(id, .fromPhone, message))
        handle(at: now) { system, context in
            do throws(ByteDecodingError) {
                try system.route(message, on: id, in: &context)
            } catch {
                context.log(.warning, "session", "\(message.endpoint): \(error); the message is dropped")
            }
        }
    }

    /// Gives a message to whoever answers its endpoint.
    private mutating func route(
        _ message: PebbleMessage,
        on id: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch message.endpoint {
        case .phoneVersion:
            let phone = try PhoneVersionService.receive(message, on: id, in: &context)
            guard let phone else { return }
            sessions[id]?.phoneCapabilities = phone.capabilities
            apps.phoneAnnounced(phone.capabilities)
        case .appRunState: try AppRunStateService.receive(message, on: id, apps: &apps, in: &context)
        case .appMessage: apps.receive(try AppMessage(payload: message.payload), on: id, in: &context)
        default: try services.receive(message, on: id, in: &context)
        }
    }

    /// Runs one step, then sends what it left behind: replies first, then what the app wants to say.
    private mutating func handle(
        at now: Duration,
        _ step: (inout WatchSystem, inout ServiceContext) -> Void
    ) {
        var context = ServiceContext(
            now: now,
            identity: identity,
            capabilities: capabilities,
            systemSession: order.last { sessions[$0]?.kind != .app },
            clock: clock,
            randomness: randomness
        )
        step(&self, &context)
        clock = context.clock
        randomness = context.randomness
        restart = context.restart ?? restart
        changes.append(contentsOf: context.changes)
        for event in context.events { emit(event) }
        for reply in context.replies { send(reply) }
        for item in apps.takeOutgoing() { send(item, at: now) }
    }

    private mutating func send(_ reply: ServiceContext.Reply) {
        guard sessions[reply.session]?.send(reply.message) == true else {
            emit(
                .diagnostic(
                    Diagnostic(
                        severity: .warning,
                        layer: "session",
                        message: "\(reply.session): no room for \(reply.message.endpoint); the message is dropped"
                    )
                )
            )
            return
        }
        emit(.message(reply.session, .toPhone, reply.message))
    }

    private mutating func send(_ item: AppMailbox.Outgoing, at now: Duration) {
        let push = AppMessagePush(
            transaction: item.transactionID,
            application: apps.runningUUID,
            dictionary: item.message
        )
        let message = PebbleMessage(AppMessage.push(push))
        guard let session = currentAppSession,
            sessions[session]?.send(message, marking: item.transactionID) == true
        else {
            apps.notConnected(item.transactionID, at: now)
            return
        }
        emit(.message(session, .toPhone, message))
    }

    /// The session that AppMessages of the running app go to: its companion's own, else one that serves every app.
    private var currentAppSession: SessionID? {
        let newestFirst = order.reversed()
        return newestFirst.first { sessions[$0]?.application == apps.runningUUID }
            ?? newestFirst.first { sessions[$0]?.kind != .app }
    }
}
