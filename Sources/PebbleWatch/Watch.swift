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
    var links = PhoneLinks()
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
    /// What is done to the watch itself on purpose; nil while nothing is.
    var faults: WatchFaults?
    /// When a part of the watch besides the host has something to do.
    private(set) var ownDeadline: Duration?

    /// A watch that has not been started.
    /// - Parameters:
    ///   - configuration: everything that is decided about the watch before it starts.
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
        hostConfiguration.gatt.enhancedBearers = configuration.offeredBearers
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
            brain: configuration.brain,
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
            database.publish(stream, true, &self.profiles, &core, at: .zero)
        }
        database.updateHash(&core, &self.profiles, at: .zero)
        keepDeadline()
    }

    /// What was decided about the watch, with the firmware that runs now.
    public var configuration: WatchConfiguration { core.configuration }

    /// The next thing that happened.
    public mutating func nextEvent() -> WatchEvent? { core.outbox.next() }

    /// What is on the air now, why, and for how long.
    public var onAir: OnAir { presence.advertiser.onAir }

    /// Whether the controller has been started.
    public var isReady: Bool { presence.advertiser.policy.isControllerReady }

    /// How many ACL packets the controller has and has not completed.
    public var outstandingPacketCount: Int { core.host.outstandingPacketCount }

    /// The phones that are bonded, by identity address.
    public var bondedPhones: [LEAddress] { core.phones.identities }

    /// The app that runs; there always is one.
    public var runningApp: PebbleUUID { core.system.apps.runningUUID }

    /// What the screen shows.
    public var frame: FrameBuffer { core.system.frame }

    /// Whether an app can be launched.
    public func isAppInstalled(_ uuid: PebbleUUID) -> Bool { core.system.apps.isInstalled(uuid) }

    /// Ends every connection, as a watch does that is being switched off. What is on the air stays as it is, and nothing is
    /// added.
    public mutating func disconnectAll(at now: Duration) {
        core.host.advance(to: now)
        presence.isSwitchedOff = true
        links.endAll(because: .switchedOff, reason: .remoteDevicePowerOff, &core.host, at: now)
        settle(at: now)
    }
}

// MARK: - HCIHost

extension Watch {
    public mutating func start(at now: Duration) {
        presence.changePrivateAddress(&core)
        presence.receive(.controllerLost, at: now)
        presence.updatePairability(&core, at: now)
        core.host.start(at: now)
        if !life.hasStarted { core.system.start(at: now) }
        life.hasStarted = true
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        let unknownEvents = core.host.countUnknownEvents()
        core.host.receive(packet, at: now)
        // An event that the host does not know has moved nothing.
        guard core.host.countUnknownEvents() == unknownEvents else { return }
        // Nor has one that only makes room, if nobody waits for it: such a one follows each packet that is sent.
        if NumberOfCompletedPackets.isIn(packet), !hasFaults, !core.host.hasEvents(), !links.areWaitingForRoom() {
            return
        }
        settle(at: now)
    }

    /// The controller is out of reach, and every link with it. `start(at:)` begins again.
    public mutating func controllerLost(at now: Duration) {
        core.host.controllerLost(at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        let isDue = nextDeadline.map { $0 <= now } ?? false
        core.host.advance(to: now)
        // How long the advertiser goes on is asked for at any time.
        presence.advance(to: now)
        // Every turn of every loop comes by here, and mostly nothing is due. Faults have turns of their own.
        guard isDue || hasFaults || core.host.hasEvents() else { return }
        core.system.advance(to: now)
        links.advance(to: now, &core)
        for change in controls.buttons.advance(to: now) { take(change, at: now) }
        controls.developers.advance(to: now)
        profiles.advance(to: now, &core.host)
        database.indicateChanges(to: &links, &core, at: now)
        if let end = core.phones.windowEnd, end <= now { presence.updatePairability(&core, at: now) }
        presence.advanceAddress(to: now, &core)
        if hasFaults { advanceFaults(to: now) }
        settle(at: now)
    }

    /// Whether there is nothing to do before the deadline unless something comes in. A packet that has left may have led to something, and
    /// how long the advertiser goes on may be asked for at any time. It is mutating so that it works in place.
    public mutating func isAtRest() -> Bool {
        !hasFaults && !core.host.hasEvents() && presence.advertiser.policy.nextDeadline == nil
    }

    public var nextDeadline: Duration? { core.host.nextDeadline.earlier(ownDeadline) }

    /// Keeps the deadline of the watch's own parts, when something has changed: it is asked for much more often.
    mutating func keepDeadline() { ownDeadline = findDeadline() }

    /// When a part of the watch besides the host has something to do. It changes nothing but looks at parts where they stand.
    mutating func findDeadline() -> Duration? {
        var next = core.system.nextDeadline
        next.lower(to: presence.nextDeadline)
        next.lower(to: links.findDeadline())
        next.lower(to: profiles.nextDeadline)
        next.lower(to: database.changes.nextDeadline)
        next.lower(to: core.phones.windowEnd)
        next.lower(to: life.nextDeadline)
        next.lower(to: controls.nextDeadline)
        if hasFaults { next.lower(to: faultDeadline) }
        return next
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { core.host.nextPacket(into: &buffer) }

    /// Lets everything that one part said reach the part it is for, until all are quiet.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = core.host.nextEvent() { handle(event, at: now) }
            while let event = core.system.nextEvent() {
                links.noteNeed(for: event, at: now)
                core.emit(event)
            }
        } while links.pump(&core, at: now) || hasFaults && settleFaults(at: now)
        if core.system.sessions.systemSessionsHaveEnded() { links.wake(because: .sessionEnded, &core, at: now) }
        endLinksOfFallenFirmware(at: now)
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
        keepDeadline()
    }

    /// What the watch does about links that have ended.
    private var remedy: Disconnection.Remedy {
        if life.restart != nil || presence.isSwitchedOff { return .none }
        guard isReady else { return .awaitsController }
        guard links.isEmpty, let entry = onAir.connectable else { return .keepsOtherLinks }
        return .advertises(entry.role, every: entry.interval)
    }
}
