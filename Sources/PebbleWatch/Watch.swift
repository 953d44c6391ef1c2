import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import PebbleProtocol

/// A Pebble: everything between a Bluetooth controller and a watchapp, as one value that bytes and time flow through.
///
/// HCI packets go to the LE host; what the host reports moves the watch's parts (its presence on the air, its phones, their
/// connections), whose byte streams feed the system (sessions, services, the running app). Answers take the same way back. Nothing
/// here does I/O or reads a clock.
public struct Watch: HCIHost, Sendable {
    /// The host, the system, the phones that are known, and what waits for the owner and the store.
    var core: WatchCore
    /// The phones that are connected.
    var links = SmallTable<ConnectionHandle, PhoneConnection>()
    /// Advertising, addresses, and places for phones.
    var presence: Presence
    /// What phones find when they connect: the watch's GATT services.
    var profiles: ServiceRouter<WatchProfiles>
    /// What phones know of these.
    var database: PublishedDatabase
    /// The links that have ended.
    var history = LinkHistory()
    /// Buttons, sensors and tools.
    var controls: WatchControls
    /// Starts and restarts.
    var life: WatchLife
    /// Whether a phone without a bond was last said to be welcome.
    var wasPairable = false
    /// Whether a Pebble app had a session when that was last looked at.
    var hadSystemSession = false
    /// When a part of the watch besides the host has something to do.
    private(set) var ownDeadline: Duration?

    /// A watch that has not been started.
    /// - Parameters:
    ///   - memory: what its store remembers; without one, as fresh from the factory.
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys and nonces come from.
    /// - Throws: `GATTDatabaseError` when the identity does not make a legal database.
    public init(
        _ configuration: WatchConfiguration,
        memory: WatchMemory = WatchMemory(),
        cryptography: LECryptography,
        randomness: RandomSource
    ) throws(GATTDatabaseError) {
        try self.init(
            configuration,
            memory: memory,
            isRecovery: false,
            cryptography: cryptography,
            randomness: randomness
        )
    }

    /// - Parameter isRecovery: whether recovery firmware is to run.
    init(
        _ original: WatchConfiguration,
        memory: WatchMemory,
        isRecovery: Bool,
        cryptography: LECryptography,
        randomness: RandomSource
    ) throws(GATTDatabaseError) {
        var configuration = original
        var memory = memory
        var randomness = randomness
        let boot = memory.services.boot(on: configuration.identity.hardware)
        configuration.identity.take(firmwareOf: memory.services)
        configuration.offersBattery = configuration.offersBattery && configuration.identity.firmware.hasBatteryService
        var profiles = ServiceRouter(WatchProfiles(configuration))
        let attributes = try GATTDatabase(profiles.declarations, serviceOrder: WatchProfiles.serviceOrder)
        profiles.bind(to: attributes)
        let identity =
            memory.identity
            ?? LocalIdentity(
                address: configuration.identity.address,
                identityResolvingKey: IdentityResolvingKey(UInt128.random(in: 1...UInt128.max, using: &randomness))
            )
        let security = configuration.isBondable ? configuration.pairing.securityConfiguration(identity: identity) : nil
        var hostConfiguration = LEHost.Configuration(
            ownAddress: configuration.identity.address,
            gatt: GATTLayer.Configuration(maximumMTU: configuration.personality.maximumMTU, ownerAnswers: .atOnce),
            security: security
        )
        hostConfiguration.handsOutFirstSPSMs = configuration.hidesIdentity
        let host = LEHost(
            configuration: hostConfiguration,
            database: attributes,
            bonds: configuration.isBondable ? memory.phones.map(\.bond) : [],
            cryptography: cryptography,
            randomness: randomness
        )
        presence = Presence(configuration, randomness)
        let system = WatchSystem(
            identity: configuration.identity,
            clock: WatchClock(seconds: configuration.startTime, at: .zero),
            apps: AppManager(configuration),
            memory: memory.services,
            isRecovery: isRecovery,
            randomness: randomness
        )
        core = WatchCore(
            configuration: configuration,
            host: host,
            handles: profiles.services.handles,
            system: system,
            phones: PhoneBook(configuration, memory.phones)
        )
        core.store.append(contentsOf: boot.changes.map(MemoryChange.service))
        for refusal in boot.refusals { core.emit(.service(.updateFailed(reason: refusal))) }
        // Also of a watch that does not bond: its name follows from its address, and phones list it under that.
        if memory.identity == nil { core.store.append(.identity(identity)) }
        controls = WatchControls(configuration)
        life = WatchLife(configuration: original, identity: identity)
        database = PublishedDatabase(configuration)
        self.profiles = profiles
        // Before any phone can have looked.
        for stream in WatchStream.allCases where configuration.streams.contains(stream) {
            publish(stream, true, at: .zero)
        }
        database.updateHash(&core, &self.profiles, at: .zero)
        ownDeadline = searchedDeadline
    }

    /// What was decided about the watch, with the firmware that runs now.
    public var configuration: WatchConfiguration { core.configuration }

    /// The next thing that happened.
    public mutating func nextEvent() -> WatchEvent? { core.outbox.next() }

    /// What is on the air now, why, and for how long.
    public var onAir: OnAir { presence.advertiser.onAir }

    /// Whether the controller has been started.
    public var isReady: Bool { presence.advertiser.policy.isControllerReady }

    /// The phones that are bonded, by identity address.
    public var bondedPhones: [LEAddress] { core.phones.identities }

    /// The app that runs; there always is one.
    public var runningApp: PebbleUUID { core.system.apps.runningUUID }

    /// What the screen shows.
    public var frame: FrameBuffer { core.system.apps.frame }

    /// Whether an app can be launched.
    public func isAppInstalled(_ uuid: PebbleUUID) -> Bool { core.system.apps.isInstalled(uuid) }

    /// Ends every connection, as a watch does that is being switched off. What is on the air stays as it is, and nothing is
    /// added.
    public mutating func disconnectAll(at now: Duration) {
        core.host.advance(to: now)
        presence.isSwitchedOff = true
        for handle in links.keys {
            links[handle]?.end(because: .switchedOff, reason: .remoteDevicePowerOff, &core.host, at: now)
        }
        settle(at: now)
    }
}

// MARK: - HCIHost

extension Watch {
    public mutating func start(at now: Duration) {
        presence.changePrivateAddress(&core)
        presence.receive(.controllerLost, at: now)
        updatePairability(at: now)
        core.host.start(at: now)
        if !life.hasStarted { core.system.start(at: now) }
        life.hasStarted = true
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        let unknownEvents = core.host.counters.unknownEvents
        core.host.receive(packet, at: now)
        // An event that the host does not know has moved nothing.
        if core.host.counters.unknownEvents == unknownEvents { settle(at: now) }
    }

    /// The controller is out of reach, and every link with it. `start(at:)` begins again.
    public mutating func controllerLost(at now: Duration) {
        core.host.controllerLost(at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        core.host.advance(to: now)
        core.system.advance(to: now)
        presence.advance(to: now)
        for handle in links.keys { links[handle]?.advance(to: now, &core) }
        for change in controls.buttons.advance(to: now) { take(change, at: now) }
        controls.developers.advance(to: now)
        profiles.advance(to: now, &core.host)
        indicateDatabaseChanges(at: now)
        if let end = core.phones.windowEnd, end <= now { updatePairability(at: now) }
        presence.advanceAddress(to: now, &core)
        settle(at: now)
    }

    public var nextDeadline: Duration? { core.host.nextDeadline.earlier(ownDeadline) }

    /// When a part of the watch besides the host has something to do. It is looked for when something has changed, and kept: the
    /// deadline is asked for much more often.
    var searchedDeadline: Duration? {
        var next = core.system.nextDeadline
        next.lower(to: presence.nextDeadline)
        for handle in links.keys { next.lower(to: links[handle]?.nextDeadline) }
        next.lower(to: profiles.nextDeadline)
        next.lower(to: database.changes.nextDeadline)
        next.lower(to: core.phones.windowEnd)
        next.lower(to: life.nextDeadline)
        next.lower(to: controls.nextDeadline)
        return next
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { core.host.nextPacket(into: &buffer) }

    /// Lets everything that one part said reach the part it is for, until all are quiet.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = core.host.nextEvent() { handle(event, at: now) }
            while let event = core.system.nextEvent() {
                noteNeed(for: event, at: now)
                core.emit(event)
            }
        } while pump(at: now)
        noteSystemSession(at: now)
        presence.supervise(&core, at: now) { links[$0]?.end(because: .tenure($1), &$2.host, at: now) }
        if let cause = core.system.takeRestart() { beginRestart(cause, at: now) }
        while let problem = profiles.nextProblem() {
            if let connection = problem.connection {
                core.log(.info, .gatt, "\(connection): \(problem.value) was not sent: \(problem.error)")
            } else {
                core.log(.error, .gatt, "\(problem.value) was not set: \(problem.error)")
            }
        }
        if life.restart != nil { finishRestart(at: now) } else { presence.update(&core, at: now) }
        let isChurning = presence.advertiser.policy.isChurning
        if history.hasNews(isChurning: isChurning) { history.report(remedy, isChurning: isChurning, &core) }
        ownDeadline = searchedDeadline
    }

    /// Lets a connection work. A session that it opens may take the place of one on another link, whose transport ends then.
    mutating func withLink<Result>(
        _ handle: ConnectionHandle,
        at now: Duration,
        _ work: (inout PhoneConnection, inout WatchCore) -> Result
    ) -> Result? {
        let lastSession = core.system.sessions.lastNumber
        let result = links[handle]?.work(with: &core, work)
        guard core.system.sessions.lastNumber != lastSession else { return result }
        for other in links.keys where other != handle { links[other]?.abandonReplacedTransports(&core, at: now) }
        return result
    }

    /// Moves what can be moved between phones and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    private mutating func pump(at now: Duration) -> Bool {
        var moved = false
        for handle in links.keys {
            moved = withLink(handle, at: now) { $0.pump(&$1, at: now) } == true || moved
        }
        if moved { return true }
        while let request = core.system.nextPhoneRequest() {
            moved = true
            switch request {
            case .act(let action, let source):
                links[source.connection]?.clients.notifications.perform(action, of: source.uid)
            case .music(let command, let connection): links[connection]?.clients.media.send(command)
            }
        }
        if moved { return true }
        for handle in links.keys { moved = links[handle]?.pumpPolicy(&core, at: now) == true || moved }
        return moved || pumpWaitingMessage(at: now)
    }

    /// The running app's message waits only for a companion that can come: because its phone is still there, or can be made
    /// to start its app.
    /// - Returns: whether anything changed, so that there may be more to do.
    private mutating func pumpWaitingMessage(at now: Duration) -> Bool {
        guard core.system.isWaitingForCompanion else { return false }
        guard links.keys.contains(where: { links[$0]?.companions.canCome(core.system) == true }) else {
            core.system.stopWaiting(at: now)
            return true
        }
        guard core.system.push.takeWakingWanted() else { return false }
        wakeAll(because: .message, at: now)
        return true
    }

    /// Whether the last session of a Pebble app has just ended: on every link it is woken.
    private mutating func noteSystemSession(at now: Duration) {
        let hasSystemSession = core.system.hasSystemSession
        defer { hadSystemSession = hasSystemSession }
        if hadSystemSession, !hasSystemSession { wakeAll(because: .sessionEnded, at: now) }
    }

    private mutating func wakeAll(because reason: WakingReason, at now: Duration) {
        for handle in links.keys { links[handle]?.wake(because: reason, &core, at: now) }
    }

    /// What goes over a session decides how fast its link has to be.
    private mutating func noteNeed(for event: WatchEvent, at now: Duration) {
        guard case .message(let session, _, let message) = event, let consumer = SpeedConsumer(message.endpoint),
            let handle = links.keys.first(where: { links[$0]?.has(session) ?? false })
        else { return }
        links[handle]?.policy.need(consumer, at: now)
    }

    /// What the watch does about links that have ended.
    private var remedy: Disconnection.Remedy {
        if life.restart != nil || presence.isSwitchedOff { return .none }
        guard isReady else { return .awaitsController }
        guard links.isEmpty, let entry = onAir.connectable else { return .keepsOtherLinks }
        return .advertises(entry.role, every: entry.interval)
    }
}
