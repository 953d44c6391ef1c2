import PebbleProtocol

/// Knows every app that can run, runs one of them at a time, and carries its AppMessages.
///
/// Something always runs: when an app ends, the watchface comes back.
struct AppManager: Sendable {
    /// Apps that came with the watch.
    private let builtIn: [PebbleUUID: any WatchApp]
    /// Apps that were installed, as they run here.
    private var installed: [PebbleUUID: any WatchApp] = [:]
    /// The apps that can be launched.
    private(set) var knownApps: Set<PebbleUUID>
    /// Of the apps that the phone installed, those whose parts are not there.
    private var unfetched: Set<PebbleUUID> = []
    private let behaviors: [PebbleUUID: AppBehavior]
    /// What runs when nothing else does.
    private let defaultApp: any WatchApp
    private var process: AppProcess
    /// What the screen shows.
    private(set) var frame: FrameBuffer
    /// What the phones of apps could do when they were last heard of: how large messages may be does not change while
    /// the phone is away. An app whose phone has never spoken counts on a modern one.
    private var phoneCapabilities: [PebbleUUID: Capabilities] = [:]
    private var isConnected = false
    private var lastTick: WatchTime?
    private var nextTick: Duration?
    /// Messages on their way to the running app whose first bytes have arrived.
    private var unfinished: [SessionID: Bool] = [:]

    /// A watch on which nothing has been launched yet.
    init(_ configuration: WatchConfiguration) {
        defaultApp = configuration.defaultApp
        let apps = configuration.builtInApps + [configuration.defaultApp]
        builtIn = Dictionary(apps.map { ($0.uuid, $0) }) { _, new in new }
        knownApps = Set(builtIn.keys)
        behaviors = configuration.behaviors
        process = AppProcess(defaultApp, nextTicket: AppMessageTicket(number: 1))
        frame = FrameBuffer(Display(of: configuration.identity.hardware))
        for app in configuration.apps { register(app.metadata) }
    }

    /// The app that runs; there always is one.
    var runningApp: any WatchApp { process.app }
    /// Its UUID.
    var runningUUID: PebbleUUID { process.uuid }
    /// To whom its AppMessages go.
    var audience: AppAudience {
        AppAudience(app: process.uuid, allowsJavaScript: process.flags.contains(.allowsJavaScript))
    }

    /// When `run` has something to do that only time brings.
    var nextDeadline: Duration? { process.nextDeadline.earlier(nextTick) }
}

// MARK: - Which apps there are

extension AppManager {
    /// Whether an app can be launched.
    func isInstalled(_ uuid: PebbleUUID) -> Bool { app(uuid) != nil }

    /// Makes an app launchable, once its parts have been fetched. One that runs already under this UUID is stopped, as it
    /// is being replaced.
    private mutating func install(_ metadata: AppMetadata, in context: inout ServiceContext) {
        register(metadata)
        unfetched.insert(metadata.uuid)
        _ = stop(metadata.uuid, in: &context)
    }

    /// The same with everything that it needs. What is told is what an upload by a phone tells.
    private mutating func install(_ package: AppPackage, launches: Bool, in context: inout ServiceContext) {
        context.emit(.appInstalled(package.metadata))
        for (kind, bytes) in package.uploads {
            context.emit(.uploadBegan(kind.object, byteCount: bytes.count))
            context.emit(.uploaded(kind.object, byteCount: bytes.count))
        }
        install(package.metadata, in: &context)
        unfetched.remove(package.metadata.uuid)
        if launches { _ = launch(package.metadata.uuid, in: &context) }
    }

    /// Everything that an app needs is there: it starts.
    private mutating func fetched(_ uuid: PebbleUUID, in context: inout ServiceContext) {
        unfetched.remove(uuid)
        _ = launch(uuid, in: &context)
    }

    /// An app was installed before the watch started.
    mutating func restore(_ app: InstalledApps.App) {
        register(app.metadata)
        if !app.isCached { unfetched.insert(app.metadata.uuid) }
    }

    /// Removes an installed app, and stops it if it runs. Apps that came with the watch stay.
    private mutating func uninstall(_ uuid: PebbleUUID, in context: inout ServiceContext) {
        unfetched.remove(uuid)
        guard installed.removeValue(forKey: uuid) != nil else { return }
        knownApps.remove(uuid)
        if runningUUID == uuid { startDefault(in: &context) }
    }

    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        switch effect {
        case .appInstalled(let metadata):
            context.emit(.appInstalled(metadata))
            install(metadata, in: &context)
        case .packageInstalled(let package, let launches):
            install(package, launches: launches, in: &context)
        case .appRemoved(let uuid):
            context.emit(.appRemoved(uuid))
            uninstall(uuid, in: &context)
        case .appsCleared(let uuids):
            context.emit(.databaseCleared(.apps))
            for uuid in uuids { uninstall(uuid, in: &context) }
        case .appFetched(let uuid):
            fetched(uuid, in: &context)
        case .phoneAnnounced, .upload, .imageUploadWanted, .imageInstallWanted, .logsWanted, .appWanted:
            break
        }
    }

    /// Makes an app launchable, without a word to anybody: for what was installed before the watch started.
    /// - Returns: false for what can be no app's UUID, or is that of an app that came with the watch.
    @discardableResult
    mutating func register(_ metadata: AppMetadata) -> Bool {
        guard metadata.uuid.isLaunchable, builtIn[metadata.uuid] == nil else { return false }
        knownApps.insert(metadata.uuid)
        installed[metadata.uuid] = (behaviors[metadata.uuid] ?? .external).app(for: metadata)
        return true
    }

    private func app(_ uuid: PebbleUUID) -> (any WatchApp)? { installed[uuid] ?? builtIn[uuid] }
}

// MARK: - Which app runs

extension AppManager {
    /// Starts the watch's first app.
    mutating func start(in context: inout ServiceContext) {
        lastTick = context.localTime
        context.events.append(.appLaunched(runningUUID, name: process.app.name))
    }

    /// Makes another app the running one. What the old one had under way ends without a word.
    /// An app whose parts are not there is fetched first.
    /// - Returns: false, with nothing changed, when there is no such app or it runs already.
    mutating func launch(_ uuid: PebbleUUID, in context: inout ServiceContext) -> Bool {
        guard uuid != runningUUID, let app = app(uuid) else { return false }
        guard !unfetched.contains(uuid) else {
            context.effects.append(.appWanted(uuid))
            return true
        }
        replaceProcess(with: app, in: &context)
        return true
    }

    /// Stops an app: the watchface comes back.
    /// - Returns: false, with nothing changed, when it does not run, or is what runs when nothing else does.
    mutating func stop(_ uuid: PebbleUUID, in context: inout ServiceContext) -> Bool {
        guard uuid == runningUUID, uuid != defaultApp.uuid else { return false }
        startDefault(in: &context)
        return true
    }

    private mutating func startDefault(in context: inout ServiceContext) {
        replaceProcess(with: defaultApp, in: &context)
    }

    private mutating func replaceProcess(with app: any WatchApp, in context: inout ServiceContext) {
        let old = runningUUID
        process = AppProcess(app, nextTicket: process.state.nextTicket)
        process.phone = phoneCapabilities[app.uuid]
        nextTick = nil
        context.runStates += [.stopped(old), .started(app.uuid)]
        context.events.append(.appLaunched(app.uuid, name: app.name))
    }
}

// MARK: - What reaches the running app

extension AppManager {
    /// A button of the watch went down.
    mutating func press(_ button: WatchButton, in context: inout ServiceContext) {
        if button == .back, !process.app.keepsBackButton {
            _ = stop(runningUUID, in: &context)
        } else if !process.flags.contains(.watchFace) {
            process.post(.buttonPressed(button))
        }
    }

    /// A button of the watch came up.
    mutating func release(_ button: WatchButton) {
        guard !process.flags.contains(.watchFace), button != .back || process.app.keepsBackButton else { return }
        process.post(.buttonReleased(button))
    }

    /// Has the running app send a dictionary, on behalf of the person or program that controls the watch.
    mutating func send(_ message: AppMessageDictionary) { process.post(.send(message)) }

    /// What has become so far of the dictionary that the running app was last told to send.
    var delivery: AppMessageDelivery { get throws(WatchCommandError) { try process.delivery } }

    /// Whether the running app has sent a dictionary that is not answered.
    var isAwaitingAnswer: Bool { process.state.outbox.nextDeadline != nil }

    /// The Pebble app's session came or went.
    mutating func connectionChanged(isConnected: Bool) {
        guard isConnected != self.isConnected else { return }
        self.isConnected = isConnected
        process.post(.connectionChanged(isConnected: isConnected))
    }

    /// The clock was set.
    mutating func clockChanged() { nextTick = .zero }

    /// Lets the running app do what it has to do.
    /// - Parameter phone: what the phone that talks to it can do, if that is known now.
    mutating func run(phone: Capabilities?, in context: inout ServiceContext) {
        if let phone, phone != process.phone {
            process.phone = phone
            phoneCapabilities[runningUUID] = phone
        }
        tick(in: context)
        // An app that ends in its first call makes way for the default app, which comes in its turn.
        for _ in 0..<2 {
            let isOver = process.run(in: &context, environment(in: context))
            draw()
            guard isOver else { break }
            process.state.isExiting = false
            guard runningUUID != defaultApp.uuid else { break }
            startDefault(in: &context)
        }
        scheduleTick(in: context)
    }

    private mutating func draw() {
        guard process.state.isDirty else { return }
        process.state.isDirty = false
        process.app.draw(on: &frame)
    }

    private func environment(in context: ServiceContext) -> AppEnvironment {
        let phone = process.phone ?? .appMessage8K
        return AppEnvironment(
            now: context.now,
            clock: context.clock,
            display: frame.display,
            isConnected: isConnected,
            inboxSizeMaximum: AppMessageLimits.maximumInboxSize(
                phone: phone,
                sdk: process.sdk,
                allowsJavaScript: process.flags.contains(.allowsJavaScript)
            ),
            outboxSizeMaximum: AppMessageLimits.maximumOutboxSize(phone: phone, sdk: process.sdk)
        )
    }

    private mutating func tick(in context: ServiceContext) {
        guard let due = nextTick, due <= context.now else { return }
        let time = context.localTime
        let changed = TickUnits(from: lastTick ?? time, to: time).intersection(process.state.tickUnits)
        lastTick = time
        nextTick = nil
        if !changed.isEmpty { process.post(.tick(changed)) }
    }

    private mutating func scheduleTick(in context: ServiceContext) {
        let units = process.state.tickUnits
        guard !units.isEmpty else {
            nextTick = nil
            return
        }
        guard nextTick == nil else { return }
        lastTick = context.localTime
        let seconds: Int64 = units.contains(.second) ? 1 : units.contains(.minute) ? 60 : 3600
        nextTick = context.clock.nextMultiple(ofSeconds: seconds, after: context.now)
    }
}

// MARK: - AppMessage

extension AppManager: EndpointService {
    static var endpoint: Endpoint { .appMessage }
    static var takesEmptyMessages: Bool { true }

    mutating func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        if Self.isForeign(message.payload, from: context.sender) {
            refuse(message.payload, on: session, in: &context)
        } else {
            receive(message.payload, on: session, in: &context)
        }
    }

    /// Whether an AppMessage comes from the wrong companion: one speaks for its own watchapp only, and answers only what was
    /// sent to it.
    private static func isForeign(_ payload: [UInt8], from sender: ServiceContext.Sender?) -> Bool {
        guard let sender else { return false }
        let companion = sender.companion
        return switch try? AppMessage(payload: payload) {
        case .push(let push): companion.kind == .app && companion.application != push.application
        case .acknowledgement, .negativeAcknowledgement: !sender.hasLastPush
        case .request, nil: false
        }
    }

    /// The header of a message of the AppMessage endpoint has arrived, and perhaps no more yet.
    mutating func messageBegan(payloadLength: Int, on session: SessionID) {
        guard unfinished[session] == nil else { return }
        unfinished[session] = process.state.inbox.begin(payloadLength: payloadLength, from: session)
    }

    /// A whole message of the AppMessage endpoint is there. What the app's inbox does not take, the system refuses.
    mutating func receive(_ payload: [UInt8], on session: SessionID, in context: inout ServiceContext) {
        messageBegan(payloadLength: payload.count, on: session)
        let isWritten = unfinished.removeValue(forKey: session) ?? false
        if isWritten, process.state.inbox.end(payload, from: session) { return }
        guard let transaction = AppMessage.pushTransaction(of: payload) else { return }
        context.reply(AppMessage.negativeAcknowledgement(transaction), on: session)
    }

    /// A message that the running app is not to see, from a phone app that does not speak for it.
    private mutating func refuse(_ payload: [UInt8], on session: SessionID, in context: inout ServiceContext) {
        sessionClosed(session)
        guard let transaction = AppMessage.pushTransaction(of: payload) else { return }
        context.log(.warning, .session, "\(session): an AppMessage for another app than its own is refused")
        context.reply(AppMessage.negativeAcknowledgement(transaction), on: session)
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) { sessionClosed(session) }

    /// A session is gone: what it was about to say is lost.
    mutating func sessionClosed(_ session: SessionID) {
        guard unfinished.removeValue(forKey: session) != nil else { return }
        process.state.inbox.cancel(from: session)
    }

    /// The transport has taken the bytes of a message.
    mutating func consumed(_ ticket: AppMessageTicket) {
        if process.hasSent(ticket) { process.post(.outboxConsumed(ticket)) }
    }

    /// There was no session for a message, or it closed before it had taken the bytes.
    mutating func notConnected(_ ticket: AppMessageTicket) {
        if process.hasSent(ticket) { process.post(.outboxNotConnected(ticket)) }
    }

    /// A message waits for its companion.
    /// - Returns: false if it is over, or another app's.
    mutating func hold(_ ticket: AppMessageTicket) -> Bool {
        process.hasSent(ticket) && process.state.outbox.hold(ticket)
    }

    /// Whether a message waits for its companion.
    func isHolding(_ ticket: AppMessageTicket) -> Bool {
        process.hasSent(ticket) && process.state.outbox.isHolding(ticket)
    }

    /// A message that waited goes out now.
    /// - Returns: false if it is over, or another app's.
    mutating func release(_ ticket: AppMessageTicket) -> Bool {
        process.hasSent(ticket) && process.state.outbox.release(ticket)
    }

    /// Messages that the running app sent since this was last asked.
    mutating func takeOutgoing() -> [AppState.Outgoing] {
        process.state.takeOutgoing()
    }
}
