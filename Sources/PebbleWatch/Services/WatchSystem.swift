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
    /// Bytes of what is handed over piece by piece that wait for the transport.
    private static let transferBacklog = 4096

    let identity: WatchIdentity
    let capabilities: Capabilities
    /// Whether recovery firmware runs, which knows fewer endpoints.
    let isRecovery: Bool
    var clock: WatchClock
    /// In the order in which they were opened.
    var sessions = SmallTable<SessionID, Session>()
    private var lastSession: UInt64 = 0
    var apps: AppManager
    /// Of the last message to a phone that knows the legacy launcher only.
    private var lastLauncherTransaction: AppMessageTransactionID = 0
    /// The running app's last message, and where it went.
    var lastPush: (session: SessionID, message: AppState.Outgoing)?
    /// The running app's message that waits for a companion without a session.
    var heldMessage: HeldMessage?
    /// Whether the companion that it waits for is still to be woken.
    var isWakingWanted = false
    private(set) var services: WatchServices
    private(set) var randomness: any RandomNumberGenerator & Sendable
    private var events: Deque<WatchEvent> = []
    private var changes: Deque<ServiceContext.Change> = []
    private var phoneRequests: Deque<PhoneRequest> = []
    /// Set when the watch is to restart.
    private var restart: RestartCause?

    /// - Parameter randomness: where names of uploads come from; nothing secret does.
    init(
        identity: WatchIdentity,
        clock: WatchClock,
        apps: AppManager,
        memory: ServiceMemory,
        isRecovery: Bool = false,
        randomness: any RandomNumberGenerator & Sendable
    ) {
        self.identity = identity
        self.clock = clock
        self.randomness = randomness
        self.isRecovery = isRecovery
        capabilities = [
            .appRunState, .infiniteLogDump, .extendedMusic, .extendedNotifications, .appMessage8K, .unreadCoreDump,
            .smoothFirmwareInstallProgress, .firmwareUpdateAcrossDisconnection, .blobDBVersion,
        ]
        self.apps = apps
        services = WatchServices(memory: memory)
        for app in services.apps.all { self.apps.restore(app) }
    }

    /// Starts the first app.
    mutating func start(at now: Duration) {
        handle(at: now) { system, context in system.apps.start(in: &context) }
    }

    /// Does something with the apps, and lets the running one follow.
    mutating func withApps<Result>(
        at now: Duration,
        _ body: (inout AppManager, inout ServiceContext) -> Result
    ) -> Result? {
        var result: Result?
        handle(at: now) { system, context in result = body(&system.apps, &context) }
        return result
    }
}

// MARK: - Sessions

extension WatchSystem {
    /// A transport has opened: asks the phone who it is, as every Pebble does on every session.
    ///
    /// The newest wins: a system or hybrid session replaces an older one, and a companion's session that of the same
    /// watchapp. The transport of the older one learns it from `isOpen`. Only a developer's tool replaces no phone's: it
    /// takes the phone's place, and gives it back when it leaves.
    mutating func openSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        at now: Duration
    ) -> SessionID {
        let kind = destination.kind
        let older = sessions.values.filter { session in
            guard kind != .app else { return session.kind == .app && session.application == destination.application }
            return session.kind != .app && (session.isTool || !transport.isTool)
        }
        for session in older { closeSession(session.id, reason: "a newer session replaced it", at: now) }
        lastSession += 1
        let id = SessionID(number: lastSession)
        sessions[id] = Session(id: id, kind: kind, transport: transport, application: destination.application)
        handle(at: now) { system, context in
            system.apps.connectionChanged(isConnected: system.hasSystemSession)
            context.events.append(.sessionOpened(id, kind, transport))
            context.reply(PhoneVersionMessage.request, on: id)
        }
        return id
    }

    /// Another transport of the same companion has opened: the session goes on over the better one.
    mutating func join(_ id: SessionID, over transport: SessionTransport) {
        sessions[id]?.join(transport)
    }

    /// A transport is gone. The session goes on over what is left; without any it is closed.
    /// - Parameter undelivered: how many of the bytes that the transport took are lost with it.
    mutating func leave(
        _ id: SessionID,
        over transport: SessionTransport,
        undelivered: Int,
        reason: String,
        at now: Duration
    ) {
        guard let before = sessions[id]?.carrier else { return }
        guard sessions[id]?.leave(transport, undelivered: undelivered) == true else {
            let lost = sessions[id]?.undeliveredMessages ?? []
            return closeSession(id, reason: reason, lost: lost, at: now)
        }
        noteCarrier(of: id, before: before)
    }

    /// Whether a session is with this companion, and can go on over another transport too.
    func session(_ id: SessionID, isFor destination: PPoGATTDestination, over transport: SessionTransport) -> Bool {
        guard let session = sessions[id] else { return false }
        return session.isFor(destination) && session.canBeJoined(by: transport)
    }

    private mutating func noteCarrier(of id: SessionID, before: SessionTransport) {
        guard let carrier = sessions[id]?.carrier, carrier != before else { return }
        emit(.sessionMoved(id, to: carrier))
    }

    /// The last transport is gone: whatever was half received is dropped, and the running app's message may wait for another
    /// session.
    /// - Parameter lost: the AppMessages that did not arrive, if the transport knows; else those that it did not take.
    mutating func closeSession(
        _ id: SessionID,
        reason: String,
        lost: [AppMessageTicket]? = nil,
        at now: Duration
    ) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        emit(.sessionClosed(id, reason: reason))
        handle(at: now) { system, context in
            // What a phone said of its music and its calls is true still when a tool leaves.
            let wasLast = session.kind != .app && (!session.isTool || !system.hasSystemSession)
            system.services.sessionClosed(id, wasSystem: wasLast, in: &context)
            system.apps.sessionClosed(id)
            for ticket in lost ?? session.unsentMessages {
                system.lost(ticket, hadBeenTaken: !session.unsentMessages.contains(ticket))
            }
            system.apps.connectionChanged(isConnected: system.hasSystemSession)
        }
    }

    /// Whether the Pebble app, or what stands for it, has a session.
    var hasSystemSession: Bool { newestSession { $0.kind != .app } != nil }

    /// Every session, in the order in which they were opened.
    var sessionIDs: [SessionID] { sessions.keys }

    /// Whose session it is; nil if it is over.
    func companion(of id: SessionID) -> PPoGATTDestination? { sessions[id]?.companion }

    /// Whether a session still exists.
    func isOpen(_ id: SessionID) -> Bool { sessions[id] != nil }

    /// The sessions that are open, oldest first.
    var openSessions: [WatchStatus.Session] {
        sessions.values.map { session in
            WatchStatus.Session(
                id: session.id,
                kind: session.kind,
                transport: session.carrier,
                application: session.application
            )
        }
    }

    /// The app that runs.
    var runningApp: WatchStatus.RunningApp {
        WatchStatus.RunningApp(uuid: apps.runningUUID, name: apps.runningApp.name)
    }

    /// Takes bytes that a transport received, the one that carries the session if none is named. The running app follows
    /// when all of them have been taken in.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        on id: SessionID,
        over transport: SessionTransport? = nil,
        at now: Duration
    ) {
        guard let transport = transport ?? sessions[id]?.carrier else { return }
        var rest = bytes
        let isRecovery = isRecovery
        while let item = sessions[id]?.nextMessage(from: &rest, over: transport, inRecoveryFirmware: isRecovery) {
            switch item {
            case .message(let message): handle(message, on: id, at: now)
            case .skipped(let header): refuse(header, on: id, at: now)
            }
        }
        if let header = sessions[id]?.unfinishedHeader(over: transport), header.endpoint == .appMessage {
            apps.messageBegan(payloadLength: header.payloadLength, on: id)
        }
        handle(at: now) { _, _ in }
    }

    /// Bytes that a session has for one of its transports, at most `limit` of them and all of one message.
    /// - Parameters:
    ///   - transport: which one asks; the one that carries the session if none is named.
    ///   - undelivered: how many of the bytes that the transport took before are still on their way.
    mutating func takeOutbound(
        of id: SessionID,
        over transport: SessionTransport? = nil,
        atMost limit: Int,
        undelivered: Int = 0,
        at now: Duration
    ) -> ArraySlice<UInt8> {
        guard let before = sessions[id]?.carrier,
            let bytes = sessions[id]?.takeOutbound(over: transport ?? before, atMost: limit, undelivered: undelivered)
        else { return [] }
        noteCarrier(of: id, before: before)
        while let ticket = sessions[id]?.nextConsumedMessage() {
            handle(at: now) { system, _ in system.apps.consumed(ticket) }
        }
        pumpTransfers(on: id)
        return bytes
    }

    /// How many bytes wait for a session's transport.
    func outboundByteCount(of id: SessionID) -> Int { sessions[id]?.outboundByteCount ?? 0 }

    private mutating func refuse(_ header: MessageDeframer.Header, on id: SessionID, at now: Duration) {
        guard let kind = sessions[id]?.kind else { return }
        let isRecovery = isRecovery
        handle(at: now, runningApp: false) { _, context in
            context.log(.warning, "session", "\(header.endpoint) refused on a \(kind) session")
            switch header.endpoint.admission(on: kind, inRecoveryFirmware: isRecovery) {
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
        handle(at: now) { system, context in system.services.advance(in: &context) }
    }

    /// The next change for the store.
    mutating func nextChange() -> ServiceContext.Change? { changes.popFirst() }

    /// The next thing to be done on a phone.
    mutating func nextPhoneRequest() -> PhoneRequest? { phoneRequests.popFirst() }

    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, at now: Duration) {
        handle(at: now) { system, context in system.services.changeFinished(for: owner, failure: failure, in: &context)
        }
    }

    /// Does something with the services.
    mutating func withServices<Result>(
        at now: Duration,
        _ body: (inout WatchServices, inout ServiceContext) -> Result
    ) -> Result? {
        var result: Result?
        handle(at: now) { system, context in result = body(&system.services, &context) }
        return result
    }

    /// The log of the watch that ran before is that of an earlier boot.
    mutating func continueLog(of old: WatchSystem) {
        services.log = old.services.log
        services.log.beginGeneration()
    }

    /// Whether the watch is to restart, and why; asking takes it back.
    mutating func takeRestart() -> RestartCause? {
        defer { restart = nil }
        return restart
    }

    /// The next thing that happened.
    mutating func nextEvent() -> WatchEvent? { events.popFirst() }

    mutating func emit(_ event: WatchEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }
}

// MARK: - Messages

extension WatchSystem {
    private mutating func handle(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        emit(.message(id, .fromPhone, message))
        handle(at: now, runningApp: false) { system, context in
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
            sessions[id]?.hasAnnouncedCapabilities = true
            services.phoneAnnounced(phone, on: id, in: &context)
        case .appRunState: try AppRunStateService.receive(message, on: id, apps: &apps, in: &context)
        case .launcher: try LauncherService.receive(message, on: id, apps: &apps, in: &context)
        case .appMessage where isForeign(message.payload, on: id): apps.refuse(message.payload, on: id, in: &context)
        case .appMessage: apps.receive(message.payload, on: id, in: &context)
        default: try services.receive(message, on: id, frame: apps.frame, in: &context)
        }
    }

    /// Whether an AppMessage comes from the wrong companion: one speaks for its own watchapp only, and answers only what was
    /// sent to it.
    private func isForeign(_ payload: [UInt8], on id: SessionID) -> Bool {
        switch try? AppMessage(payload: payload) {
        case .push(let push): sessions[id]?.kind == .app && sessions[id]?.application != push.application
        case .acknowledgement, .negativeAcknowledgement: id != lastPush?.session
        case .request, nil: false
        }
    }

    /// Runs one step and then, unless more is about to come, the running app, and sends what they left behind: replies
    /// first, then what the app wants to say.
    mutating func handle(
        at now: Duration,
        runningApp: Bool = true,
        _ step: (inout WatchSystem, inout ServiceContext) -> Void
    ) {
        let systemSession = newestSession { $0.kind != .app }
        var context = ServiceContext(
            now: now,
            identity: identity,
            capabilities: capabilities,
            isRecovery: isRecovery,
            systemSession: systemSession,
            phoneCapabilities: systemSession.flatMap { sessions[$0]?.phoneCapabilities } ?? [],
            clock: clock,
            randomness: randomness
        )
        step(&self, &context)
        if context.clock != clock {
            clock = context.clock
            apps.clockChanged()
        }
        carryOutLaunches(in: &context)
        if runningApp { apps.run(phone: currentPhoneCapabilities, in: &context) }
        deliver(&context)
        while runningApp, !sendOutgoing() {
            // The app hears that nobody is connected, and may try again.
            apps.run(phone: currentPhoneCapabilities, in: &context)
            deliver(&context)
        }
        for session in sessions.keys { pumpTransfers(on: session) }
    }

    /// What services mean for apps, and apps for services.
    private mutating func carryOutLaunches(in context: inout ServiceContext) {
        for change in context.appChanges {
            switch change {
            case .installed(let metadata): apps.install(metadata, in: &context)
            case .removed(let uuid): _ = apps.uninstall(uuid, in: &context)
            }
        }
        for uuid in context.fetchedApps { apps.fetched(uuid, in: &context) }
        for uuid in context.wantedApps { services.fetch(uuid, in: &context) }
    }

    /// Sends what services and apps left behind, and takes what they left for the watch itself.
    private mutating func deliver(_ context: inout ServiceContext) {
        for event in context.events {
            if case .appLogged(let record) = event { services.appLogged(record, in: &context) }
            if let line = LogLine(event, seconds: context.clock.seconds(at: context.now)) { services.log.append(line) }
            emit(event)
        }
        for reply in context.replies { send(reply) }
        for state in context.runStates { announce(state) }
        randomness = context.randomness
        restart = context.restart ?? restart
        changes.append(contentsOf: context.changes)
        phoneRequests.append(contentsOf: context.phoneRequests)
        context.events = []
        context.replies = []
        context.runStates = []
        context.changes = []
        context.phoneRequests = []
    }

    /// Hands over more of a screenshot and its like, as long as the transport keeps up.
    private mutating func pumpTransfers(on id: SessionID) {
        while outboundByteCount(of: id) < Self.transferBacklog, isOpen(id),
            let message = services.nextMessage(on: id)
        {
            send(ServiceContext.Reply(session: id, message: message))
        }
    }

    /// Tells the Pebble app which app started or stopped, in the words that it knows.
    private mutating func announce(_ state: ServiceContext.RunState) {
        for id in sessions.keys {
            guard let session = sessions[id], session.kind != .app else { continue }
            let message: PebbleMessage
            if session.phoneCapabilities.contains(.appRunState) {
                switch state {
                case .started(let app): message = PebbleMessage(AppRunStateMessage.start(app))
                case .stopped(let app): message = PebbleMessage(AppRunStateMessage.stop(app))
                }
            } else {
                lastLauncherTransaction = lastLauncherTransaction.next
                message = PebbleMessage(LauncherMessage(state, transaction: lastLauncherTransaction))
            }
            send(ServiceContext.Reply(session: id, message: message))
        }
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
}
