import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// A Pebble: everything between a Bluetooth controller and a watchapp, as one value that bytes and time flow through.
///
/// HCI packets go to the LE host; what the host reports moves the peripheral (advertising, the pairing service, the
/// transports), whose byte streams feed the system (sessions, services, the running app). Answers take the same way
/// back. Nothing here does I/O or reads a clock.
public struct Firmware: HCIHost, Sendable {
    /// The most events that wait to be drained; beyond it the oldest are lost.
    private static let eventLimit = 4096

    /// What was decided about the watch, with the firmware that runs now.
    public let configuration: WatchConfiguration
    /// What was decided about the watch before any update.
    let originalConfiguration: WatchConfiguration
    let localIdentity: LocalIdentity
    var host: LEHost
    let handles: WatchDatabase.Handles
    var advertiser: WatchAdvertiser
    /// What was last told of the air.
    var lastOnAir = OnAir(entries: [], silence: .controllerNotReady)
    var system: WatchSystem
    var links = SmallTable<ConnectionHandle, PhoneLink>()
    /// Whether a Pebble app had a session when that was last looked at.
    var hadSystemSession = false
    /// The streams that are published, and where.
    var spsms: [WatchStream: SPSM] = [:]
    /// What is read from channels, kept for its storage.
    var streamBuffer: [UInt8] = []
    var disconnectHistory = PPoGATTDisconnectHistory()
    var events: Deque<WatchEvent> = []
    /// A restart that has begun.
    var restart: Restart?
    /// Whether the apps have been started: the controller may be started more than once.
    private var hasStarted = false
    var isSwitchedOff = false

    // MARK: Recovery

    /// Links that have ended and of which no event has told.
    var endedLinks: [(disconnection: Disconnection, isStranger: Bool)] = []
    var lastDisconnection: Disconnection?
    var wasChurning = false
    var tenure = LinkTenure()
    /// How the last stranger's link ended, while a bonded phone was waited for.
    var lastStranger: Disconnection?

    // MARK: Bonds

    /// The bonded phones, by identity address.
    var phones: [LEAddress: RememberedPhone]
    /// Those of them whose bonds the store has.
    var storedBonds: Set<LEAddress>
    /// Those of them that were let in without a person, and may not know it: nothing was heard of them since.
    var unheardPhones: Set<LEAddress> = []
    var memoryChanges: Deque<MemoryChange> = []
    var lastMemoryChange: UInt64 = 0
    var bondsBeingStored: [MemoryChangeID: LEAddress] = [:]
    var serviceChangesBeingStored: [MemoryChangeID: ChangeOwner] = [:]
    /// Until when a phone without a bond may pair although there is one already.
    var pairingWindowEnd: Duration?
    /// Pairings that wait for a person.
    var pairingPrompts: [ConnectionHandle: PairingPrompt] = [:]
    /// The phone that was refused last; nil once one has paired.
    var refusedPairing: RefusedPairing?
    /// Whether a phone without a bond was last said to be welcome.
    var wasPairable = false
    var databaseHash: [UInt8] = []
    var databaseChanges: DatabaseChanges
    /// The private address that the watch uses now, if it uses any.
    var privateAddress: DeviceAddress?
    var addressEpochs: AddressEpochs?

    // MARK: What a person does

    var buttons = ButtonInput()
    var sensors: WatchSensors

    // MARK: Developers

    var developers = SmallTable<DeveloperConnectionID, DeveloperConnection>()
    var lastDeveloperConnection: UInt64 = 0

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
        _ configuration: WatchConfiguration,
        memory: WatchMemory,
        isRecovery: Bool,
        cryptography: LECryptography,
        randomness: RandomSource
    ) throws(GATTDatabaseError) {
        originalConfiguration = configuration
        var configuration = configuration
        var memory = memory
        let boot = memory.services.boot(on: configuration.identity.hardware)
        configuration.identity.take(firmwareOf: memory.services)
        configuration.offersBattery = configuration.offersBattery && configuration.identity.firmware.hasBatteryService
        self.configuration = configuration
        memoryChanges.append(contentsOf: boot.changes.map(MemoryChange.service))
        for refusal in boot.refusals { events.append(.service(.updateFailed(reason: refusal))) }
        var randomness = randomness
        let layout = try WatchDatabase(configuration)
        handles = layout.handles
        let identity =
            memory.identity
            ?? LocalIdentity(
                address: configuration.identity.address,
                identityResolvingKey: IdentityResolvingKey(UInt128.random(in: 1...UInt128.max, using: &randomness))
            )
        localIdentity = identity
        // Also of a watch that does not bond: its name follows from its address, and phones list it under that.
        if memory.identity == nil { memoryChanges.append(.identity(identity)) }
        phones =
            configuration.isBondable ? Dictionary(memory.phones.map { ($0.bond.identity, $0) }) { _, new in new } : [:]
        storedBonds = Set(phones.keys)
        databaseChanges = DatabaseChanges(delay: configuration.serviceChangedDelay)
        sensors = WatchSensors(batteryPercent: configuration.batteryLevel)
        var hostConfiguration = LEHost.Configuration(
            ownAddress: configuration.identity.address,
            gatt: GATTLayer.Configuration(maximumMTU: configuration.personality.maximumMTU, ownerAnswers: .atOnce),
            security: configuration.isBondable ? configuration.pairing.securityConfiguration(identity: identity) : nil
        )
        hostConfiguration.handsOutFirstSPSMs = configuration.hidesIdentity
        host = LEHost(
            configuration: hostConfiguration,
            database: layout.database,
            bonds: configuration.isBondable ? memory.phones.map(\.bond) : [],
            cryptography: cryptography,
            randomness: randomness
        )
        advertiser = WatchAdvertiser(configuration)
        if case .resolvablePrivateAddress(let lifetime) = configuration.privacy, configuration.hidesIdentity {
            addressEpochs = AddressEpochs(
                lifetime: lifetime,
                wallClock: configuration.wallClock,
                random: randomness,
                at: .zero
            )
        }
        system = WatchSystem(
            identity: configuration.identity,
            clock: WatchClock(seconds: configuration.startTime, at: .zero),
            apps: AppManager(configuration),
            memory: memory.services,
            isRecovery: isRecovery,
            randomness: randomness
        )
        publishConfiguredStreams()
        updateDatabaseHash()
    }

    /// The next thing that happened.
    public mutating func nextEvent() -> WatchEvent? { events.popFirst() }

    /// Ends every connection, as a watch does that is being switched off. What is on the air stays as it is, and nothing is
    /// added.
    public mutating func disconnectAll(at now: Duration) {
        host.advance(to: now)
        isSwitchedOff = true
        for handle in links.keys { end(handle, because: .switchedOff, reason: .remoteDevicePowerOff, at: now) }
        settle(at: now)
    }

    mutating func emit(_ event: WatchEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: Diagnostic.Layer, _ message: String) {
        emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

// MARK: - HCIHost

extension Firmware {
    public mutating func start(at now: Duration) {
        changePrivateAddress(at: now)
        advertiser.receive(.controllerLost, at: now)
        updatePairability(at: now)
        host.start(at: now)
        if !hasStarted { system.start(at: now) }
        hasStarted = true
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        let unknownEvents = host.counters.unknownEvents
        host.receive(packet, at: now)
        // An event that the host does not know has moved nothing.
        if host.counters.unknownEvents == unknownEvents { settle(at: now) }
    }

    public mutating func advance(to now: Duration) {
        host.advance(to: now)
        system.advance(to: now)
        advertiser.advance(to: now)
        advanceTransports(to: now)
        advancePhoneClients(to: now)
        advanceStreams(to: now)
        advanceLinkPolicies(to: now)
        advanceButtons(to: now)
        advanceDevelopers(to: now)
        indicateDatabaseChanges(at: now)
        if let end = pairingWindowEnd, end <= now { updatePairability(at: now) }
        advanceAddressEpochs(to: now)
        settle(at: now)
    }

    public var nextDeadline: Duration? {
        var next = host.nextDeadline
        next.lower(to: system.nextDeadline)
        next.lower(to: advertiser.nextDeadline)
        next.lower(to: nextTransportDeadline)
        next.lower(to: nextStreamDeadline)
        next.lower(to: nextLinkPolicyDeadline)
        next.lower(to: databaseChanges.nextDeadline)
        next.lower(to: pairingWindowEnd)
        next.lower(to: addressEpochs?.nextDeadline)
        next.lower(to: restart?.deadline)
        next.lower(to: nextButtonDeadline)
        next.lower(to: nextDeveloperDeadline)
        next.lower(to: nextPhoneClientDeadline)
        next.lower(to: tenure.nextDeadline)
        return next
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        host.nextPacket(into: &buffer)
    }

    /// Lets everything that one part said reach the part it is for, until all are quiet.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = host.nextEvent() { handle(event, at: now) }
            while let event = system.nextEvent() {
                noteNeed(for: event, at: now)
                emit(event)
            }
        } while pumpTransports(at: now) || pumpPhoneRequests(at: now) || pumpLinkPolicies(at: now)
            || pumpWaitingMessage(at: now)
        noteSystemSession(at: now)
        superviseLinks(at: now)
        if let cause = system.takeRestart() { beginRestart(cause, at: now) }
        if restart != nil { finishRestart(at: now) } else { updateAdvertising(at: now) }
        reportEndedLinks()
    }
}

// MARK: - What the host reports

extension Firmware {
    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities):
            controllerReady(capabilities, at: now)
            emit(.started(capabilities))
        case .restarting(let reason):
            advertiser.receive(.controllerLost, at: now)
            emit(.recovery(.controllerRestarting(reason)))
        case .controllerLost:
            advertiser.receive(.controllerLost, at: now)
            emit(.recovery(.controllerLost))
        case .advertisingStarted(let id):
            advertisingReported(.started, of: id, at: now)
        case .advertisingFailed(let id, let status):
            advertisingReported(.failed(status), of: id, at: now)
        case .advertisingEnded(let id, let end):
            advertisingReported(.ended(end), of: id, at: now)
        case .advertisingNotStopped(let id, let status):
            advertisingReported(.notStopped(status), of: id, at: now)
        case .connected(let connection):
            connected(connection, at: now)
        case .disconnected(let handle, let reason):
            disconnected(handle, reason: reason, at: now)
        case .securityChanged(let handle, let security):
            securityChanged(handle, security, at: now)
        case .security(let event):
            self.handle(event, at: now)
        case .clientStateToKeep(let handle, let state):
            if links[handle]?.isRestored == true { rememberClient(state, on: handle) }
        case .gatt(let event):
            self.handle(event, at: now)
        case .channel(let event):
            self.handle(event, at: now)
        case .remoteFeaturesRead(let handle, let features):
            links[handle]?.policy.remoteFeaturesRead(features, at: now)
        case .dataLengthUpdated(let handle):
            dataLengthUpdated(on: handle, at: now)
        case .phyUpdated(let handle, let outcome):
            links[handle]?.policy.phyChanged(outcome, at: now)
        case .parametersUpdated(let handle):
            parametersUpdated(on: handle, at: now)
        case .parametersUpdateFailed(let handle, let failure):
            links[handle]?.policy.parametersRefused(failure)
        case .diagnostic(let diagnostic):
            emit(.diagnostic(diagnostic))
        case .failed(let failure):
            emit(.failed(failure))
        case .scanningStarted, .scanningFailed, .scanningEnded, .advertisingReport, .connectionFailed, .rssi:
            // A watch neither scans nor connects, and asks for no signal strength.
            break
        }
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        guard admits(connection, at: now) else { return }
        var link = PhoneLink(
            identity: connection.peer,
            policy: linkPolicy(for: connection, at: now),
            discovery: configuration.phoneDiscovery,
            at: now
        )
        link.clients.notifications.titleLimit = configuration.personality.notificationTitleLimit
        links[connection.handle] = link
        databaseChanges.connected(connection.handle, at: now)
        holdIfNeeded(at: now)
        // What left the air is told before who came.
        reportOnAir()
        emit(.connected(connection.handle, connection.peer))
        if phones[connection.peer] == nil { noteReturn(of: connection.peer, at: now) }
        // A real watch asks an unencrypted phone for nothing; a rig that cannot pair is talked to at once.
        if configuration.linkSecurity == .insecureTestLink { findPhoneServices(on: connection.handle, at: now) }
    }

    private mutating func disconnected(_ handle: ConnectionHandle, reason: HCIStatus, at now: Duration) {
        let hadNoPlace = tenure.isStranger(handle)
        tenure.disconnected(handle, at: now)
        guard let link = links[handle] else { return releaseIfPossible(LinkEnd(reason), at: now) }
        // One that got as far as encryption, and was not let in, is still not the owner, whose return is told.
        let isStranger = hadNoPlace || tenure.rules.isOwnerAwaited && phones[link.identity] == nil
        closeTransports(of: handle, reason: "\(reason)", at: now)
        phoneServicesLost(on: handle, at: now)
        links[handle] = nil
        pairingPrompts[handle] = nil
        databaseChanges.disconnected(handle)
        updatePairability(at: now)
        releaseIfPossible(LinkEnd(reason), at: now)
        emit(.disconnected(handle, reason: reason))
        noteEnd(of: link, isStranger: isStranger, reason, at: now)
    }

    private mutating func securityChanged(_ handle: ConnectionHandle, _ security: LinkSecurity, at now: Duration) {
        guard let link = links[handle] else { return }
        if let peer = host.connection(handle)?.peer { links[handle]?.identity = peer }
        emit(.securityChanged(handle, security))
        let isNews = security.isEncrypted && !link.wasEncrypted || security.isBonded && !link.wasBonded
        notifyConnectivity(on: handle, evenIfNotSubscribed: isNews, at: now)
        links[handle]?.wasEncrypted = security.isEncrypted
        links[handle]?.wasBonded = security.isBonded
        if security.isEncrypted { earnsPlace(handle, isOwner: security.isBonded, at: now) }
        guard security.isEncrypted, security.isBonded else { return }
        if let phone = links[handle]?.identity { noteReturn(of: phone, at: now) }
        restorePhone(on: handle, at: now)
        if links[handle]?.isRestored == true { advertiser.receive(.bondedPhoneIsBack, at: now) }
        openReversed(on: handle, at: now)
        findPhoneServices(on: handle, at: now)
    }
}
