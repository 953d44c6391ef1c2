import BluetoothHost
import ByteCoding
import PebbleProtocol

/// Everything above the transports: sessions, the services that companions call, and the app that runs.
///
/// A transport opens a session, feeds it bytes, and takes bytes from it; the system does not know which kind of
/// transport it is.
struct WatchSystem: Sendable {
    private(set) var identity: WatchIdentity
    let capabilities: Capabilities
    /// Whether recovery firmware runs, which knows fewer endpoints.
    let isRecovery: Bool
    /// Whether the services here answer companions, and the apps here talk to them. It is kept: a getter would be called on a copy of the
    /// system, for every message.
    let answersItself: Bool
    var clock: WatchClock
    /// The sessions that are open.
    var sessions = SessionTable()
    /// Where the running app's last message went, or what it waits for.
    var push = PushDelivery()
    var services: WatchServices
    private(set) var randomness: RandomSource
    /// What the system has for the owner, the store and phones.
    var outbox = SystemOutbox()
    /// What is done to messages on purpose; nil while nothing is.
    var faults: MessageFaultLine?
    /// The way to the firmware that is this system's brain; nil if the services here are.
    var bridge = Rare<EmulatorBridge>()
    /// Whether that firmware has crashed, and the owner does not know yet.
    var firmwareFell = false
    /// The comparison with the firmware in this system's shadow; nil if there is none.
    var mirror = Rare<FirmwareMirror>()
    /// Whether the services are at work on what a phone's own services have brought.
    private var isHearingPhone = false
    /// The context of the last step, for the next one; none before the first, and during one. An array, out of which and into which a
    /// context is moved: an optional would copy it more often.
    private var restingContexts: [ServiceContext] = []
    /// What notes what this system is asked, and answers nothing; nil if somebody answers.
    var recorder: BrainRecorder?

    /// - Parameter randomness: where names of uploads come from; nothing secret does.
    init(
        identity: WatchIdentity,
        clock: WatchClock,
        apps: AppManager,
        memory: ServiceMemory,
        isRecovery: Bool = false,
        brain: WatchBrain = .builtIn,
        randomness: RandomSource
    ) {
        self.identity = identity
        self.clock = clock
        self.randomness = randomness
        self.isRecovery = isRecovery
        capabilities = [
            .appRunState, .infiniteLogDump, .extendedMusic, .extendedNotifications, .appMessage8K, .unreadCoreDump,
            .smoothFirmwareInstallProgress, .firmwareUpdateAcrossDisconnection, .blobDBVersion,
        ]
        services = WatchServices(memory: memory, apps: apps)
        switch brain {
        case .builtIn:
            answersItself = true
        case .emulator:
            answersItself = false
            bridge = Rare(EmulatorBridge(identity: identity))
        case .mirrored:
            answersItself = true
            mirror = Rare(FirmwareMirror(identity: identity))
        case .recorder:
            answersItself = false
            recorder = BrainRecorder()
        }
    }

    /// The running app and those that can run.
    var apps: AppManager {
        _read { yield services.apps }
        _modify { yield &services.apps }
    }

    /// The app that runs.
    var runningApp: WatchStatus.RunningApp {
        WatchStatus.RunningApp(uuid: apps.runningUUID, name: apps.runningApp.name)
    }

    /// Takes over who the watch is.
    mutating func take(_ identity: WatchIdentity) {
        self.identity = identity
        restingContexts = []
        bridge.part?.identity = identity
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

// MARK: - Time and events

extension WatchSystem {
    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? {
        var next = services.nextDeadline
        if faults != nil { next.lower(to: faults?.nextDeadline) }
        if bridge.isThere { next.lower(to: bridge.part?.nextDeadline) }
        if mirror.isThere { next.lower(to: mirror.part?.nextDeadline) }
        return next
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        if faults != nil { advanceFaults(to: now) }
        if bridge.isThere { advanceBridge(to: now) }
        if mirror.isThere { advanceMirror(to: now) }
        guard let deadline = nextDeadline, deadline <= now else { return }
        handle(at: now) { system, context in system.services.advance(in: &context) }
    }

    /// The next change for the store.
    mutating func nextChange() -> ServiceContext.Change? { outbox.nextChange() }

    /// The next thing to be done on a phone.
    mutating func nextPhoneRequest() -> PhoneRequest? { outbox.nextPhoneRequest() }

    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, at now: Duration) {
        handle(at: now) { system, context in
            system.services.changeFinished(for: owner, failure: failure, in: &context)
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

    /// Takes what a phone's own services bring, which an emulated firmware is told as well.
    mutating func hearPhone(at now: Duration, _ body: (inout WatchServices, inout ServiceContext) -> Void) {
        isHearingPhone = true
        handle(at: now) { system, context in body(&system.services, &context) }
        isHearingPhone = false
        settleMirror(at: now)
    }

    /// The log of the watch that ran before is that of an earlier boot.
    mutating func continueLog(of old: WatchSystem) {
        services.continueLog(of: old.services)
    }

    /// Whether the watch is to restart, and why; asking takes it back.
    mutating func takeRestart() -> RestartCause? { outbox.takeRestart() }

    /// The next thing that happened.
    mutating func nextEvent() -> WatchEvent? { outbox.nextEvent() }
}

// MARK: - Steps

extension WatchSystem {
    /// Runs one step and then, unless more is about to come, the running app, and sends what they left behind: what services
    /// answer, then what the app says and answers, in the order in which it does.
    mutating func handle(
        at now: Duration,
        runningApp: Bool = true,
        _ step: (inout WatchSystem, inout ServiceContext) -> Void
    ) {
        if faults != nil { faults?.note(now) }
        if mirror.isThere { mirror.part?.time = now }
        if restingContexts.isEmpty { restingContexts.append(newContext()) }
        var context = restingContexts.removeLast()
        begin(&context, at: now)
        services.lendStore(to: &context)
        step(&self, &context)
        if context.clock != clock {
            clock = context.clock
            apps.clockChanged()
        }
        services.settle(in: &context)
        if runningApp { apps.run(phone: currentPhoneCapabilities, in: &context) }
        var isEverythingSent = deliver(&context)
        while runningApp {
            isEverythingSent = sendOutgoing() && isEverythingSent
            if isEverythingSent { break }
            // The app hears that no phone is connected, and may try again.
            apps.run(phone: currentPhoneCapabilities, in: &context)
            isEverythingSent = deliver(&context)
        }
        services.takeStoreBack(from: &context)
        for session in sessions.open.keys { pumpTransfers(on: session) }
        services.noteDeadline()
        restingContexts.append(consume context)
    }

    private func newContext() -> ServiceContext {
        ServiceContext(
            identity: identity,
            capabilities: capabilities,
            isRecovery: isRecovery,
            clock: clock,
            randomness: randomness
        )
    }

    private mutating func begin(_ context: inout ServiceContext, at now: Duration) {
        let systemSession = sessions.newestOfSystem
        context.begin(
            at: now,
            systemSession: systemSession,
            phoneCapabilities: systemSession.flatMap { sessions.open[$0]?.phoneCapabilities } ?? [],
            knownApps: services.apps.knownApps,
            clock: clock,
            randomness: randomness
        )
    }

    /// Sends what services and apps left behind, and takes what they left for the watch itself.
    /// - Returns: false if something of the running app could not be sent, which it has been told.
    private mutating func deliver(_ context: inout ServiceContext) -> Bool {
        for event in context.events {
            if case .appLogged(let record) = event { services.appLog.log(record, in: &context) }
            if let line = LogLine(event, seconds: context.clock.seconds(at: context.now)) {
                context.store.log.append(line)
            }
            outbox.emit(event)
            if bridge.isThere || isHearingPhone && mirror.isThere { tellFirmware(of: event) }
        }
        var isEverythingSent = true
        for item in context.outgoing {
            switch item {
            case .reply(let reply): send(reply)
            case .appMessage(let message, let app):
                // An app that has ended meanwhile says nothing more.
                if app == apps.runningUUID { isEverythingSent = send(message) && isEverythingSent }
            }
        }
        for state in context.runStates { announce(state) }
        randomness = context.randomness
        outbox.take(from: &context)
        context.events.removeAll(keepingCapacity: true)
        context.outgoing.removeAll(keepingCapacity: true)
        context.runStates.removeAll(keepingCapacity: true)
        return isEverythingSent
    }
}
