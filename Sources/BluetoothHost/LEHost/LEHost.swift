import BluetoothHCI
import ByteCoding
import DequeModule

/// A Bluetooth LE host: everything between a controller and a profile.
///
/// It does no I/O. Packets from the controller and the time come in; packets for the controller, events for the owner
/// and the next deadline are asked for. Every call that may send something or start a timer takes the time; one that is
/// earlier than a time that was handed in before counts as that one.
///
/// This is the only face of the host: `GATTLayer` and `SecurityManager` are public for what can be configured of them.
/// `LEHostEvent` says which events are requests, how each is answered, and what happens to one that is not.
///
/// What is wanted on the air (advertising sets, scanning) survives a restart of the controller; connections do not.
public struct LEHost: HCIHost, Sendable {
    enum State: Sendable {
        case off
        case starting(StartUp)
        /// It failed again soon after it was started, and is left alone for a while.
        case resting(until: Duration)
        case ready
        case failed
    }

    /// What was chosen about the host.
    public let configuration: Configuration
    /// What encrypts, authenticates and agrees on keys.
    package let cryptography: LECryptography
    /// The Generic Attribute Profile on all connections. Connections, PDUs and time come from the host.
    package var gatt: GATTLayer
    /// Pairing, bonds and encryption on all connections; nil if this host does not pair. Connections, commands and the
    /// controller's events come from the host.
    package var security: SecurityManager?
    /// The credit-based channels on all connections.
    var channels: ChannelManager
    /// What the controller said about itself when it was started last.
    public internal(set) var capabilities = ControllerCapabilities()
    /// The address that the host is known by; certain from `ready` on.
    public internal(set) var ownAddress: LEAddress
    /// How often something went wrong.
    package internal(set) var counters = LEHostCounters()

    var state = State.off
    var commands = CommandQueue()
    var buffers = ACLBuffers()
    var links = ConnectionTable<LELink>()
    /// Whose turn it is to send.
    var nextLinkToServe = 0
    var advertisers: [Advertiser] = []
    var scanning = Scanning.off
    var reports = ExtendedReportAssembler()
    var initiation: Initiation?
    /// The random address that the controller has, outside of advertising sets.
    var controllerRandomAddress: DeviceAddress?
    /// A random address for a controller that has no public one.
    private let spareAddress: DeviceAddress
    /// The latest time that was handed in.
    var now = Duration.zero

    var unknownEvents = UnknownEvents()

    /// How often the controller has been started without success.
    private var startAttempts = 0
    private var pace = RestartPace()
    private var events = Deque<LEHostEvent>()

    /// How often a controller that does not answer is reset before it is given up.
    static let maximumStartAttempts = 3
    /// How many events may wait before reports and notices are dropped.
    static let eventLimit = 1024

    /// A host that has not been started.
    /// - Parameters:
    ///   - database: the attributes that it offers.
    ///   - bonds: those that the store has.
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys come from, and a random address if one has to be made up.
    public init(
        configuration: Configuration,
        database: GATTDatabase,
        bonds: [Bond] = [],
        cryptography: LECryptography,
        randomness: RandomSource
    ) {
        self.configuration = configuration
        self.cryptography = cryptography
        // Numbers that go on the air must not be among those that keys are made of.
        var randomness = randomness
        let number = randomness.next()
        spareAddress = DeviceAddress(staticRandomFrom: number)
        // An address takes 48 bits.
        channels = ChannelManager(
            random: configuration.handsOutFirstSPSMs ? 0 : UInt16(truncatingIfNeeded: number >> 48)
        )
        let keyRandomness = randomness
        gatt = GATTLayer(database: database, configuration: configuration.gatt)
        security = configuration.security.map {
            SecurityManager(configuration: $0, bonds: bonds, cryptography: cryptography, randomness: keyRandomness)
        }
        ownAddress = configuration.ownAddress
    }

    /// Whether the controller has been started.
    public var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// The connections there are, oldest first.
    public var connections: [Connection] { links.lazy.filter { $0.isAnnounced }.map { $0.connection } }

    /// A connection; nil if there is none of that handle.
    public func connection(_ handle: ConnectionHandle) -> Connection? { link(handle).map { links[$0].connection } }

    /// Whether a peer may still wait for something that was queued for it: an answer is not complete, or the controller
    /// still has packets that the peer has not acknowledged.
    public func hasUnsentData(_ handle: ConnectionHandle) -> Bool {
        guard let index = link(handle) else { return false }
        return links[index].outstandingPackets > 0 || links[index].outbound.isActive
            || gatt.hasRequestUnderWay(on: handle)
    }

    /// Where a connection is in `links`.
    func link(_ handle: ConnectionHandle) -> Int? { links.index(of: handle) }
}

// MARK: - Packets and time

extension LEHost {
    public mutating func start(at now: Duration) {
        self.now = max(self.now, now)
        closeEverything(.hardwareFailure)
        startAttempts = 0
        unknownEvents = UnknownEvents()
        reset()
    }

    /// The controller is out of reach: all connections are gone. `start(at:)` begins again once it is back.
    public mutating func controllerLost(at now: Duration) {
        self.now = max(self.now, now)
        guard case .off = state else {
            commands.removeAll()
            state = .off
            emit(.controllerLost)
            return closeEverything(.hardwareFailure)
        }
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        self.now = max(self.now, now)
        do throws(ByteDecodingError) {
            var reader = ByteReader(packet)
            let type = try HCIPacketType(reading: &reader, "h4.type")
            switch type {
            case .acl: receive(try ACLPacket(body: reader.remaining))
            case .event: receive(try HCIEvent(body: reader.remaining))
            case .command, .sco, .iso: throw ByteDecodingError("h4.type", .invalidValue(UInt64(type.rawValue)))
            }
        } catch {
            counters.malformedPackets += 1
            report(.malformedPacket(error, PacketBeginning(packet)))
        }
    }

    public mutating func advance(to now: Duration) {
        self.now = max(self.now, now)
        if let opcode = commands.expired(at: self.now) { commandTimedOut(opcode) }
        if case .resting(let end) = state, end <= self.now { reset() }
        gatt.advance(to: self.now)
        security?.advance(to: self.now)
        continueSecurity()
        if links.isAnyDue(at: self.now) { expireSignaling() }
        if channels.connections.isAnyDue(at: self.now) { expireChannels() }
    }

    private mutating func expireSignaling() {
        for index in links.indices where links.isDue(index, at: now) {
            if links[index].signaling.expire(at: now) { updateNotAnswered(index) }
        }
    }

    private mutating func expireChannels() {
        for place in channels.connections.indices where channels.connections.isDue(place, at: now) {
            let handle = channels.connections[place].handle
            if let index = link(handle) { channels.expire(handle, &links[index].signaling, at: now) }
        }
        passOnChannelEvents()
    }

    public var nextDeadline: Duration? {
        var deadline = commands.nextDeadline
        if case .resting(let end) = state { deadline.lower(to: end) }
        deadline.lower(to: gatt.nextDeadline)
        deadline.lower(to: security?.nextDeadline)
        deadline.lower(to: channels.nextDeadline)
        deadline.lower(to: links.nextDeadline)
        return deadline
    }

    /// Takes the next packet for the controller. This may cause events: a packet that leaves makes room.
    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        continueSecurity()
        return commands.nextPacket(into: &buffer, at: now) || nextACLPacket(into: &buffer)
    }

    /// Takes the oldest event. The owner is done with the one that it took before.
    public mutating func nextEvent() -> LEHostEvent? {
        gatt.endTurn()
        continueSecurity()
        let event = events.popFirst() ?? gatt.takeEvent().map(LEHostEvent.gatt)
        if case .gatt(let event)? = event { gatt.handOut(event) }
        return event
    }

    /// Queues an event behind all that happened before it.
    mutating func emit(_ event: LEHostEvent) {
        while let earlier = gatt.takeEvent() { events.append(.gatt(earlier)) }
        guard !event.mayBeLost || events.count < Self.eventLimit else {
            counters.lostEvents += 1
            return
        }
        events.append(event)
    }

    /// Queues something for the log.
    mutating func report(_ what: HostNews) { emit(.notice(HostNotice(what))) }
}

// MARK: - Starting and starting again

extension LEHost {
    /// Resets the controller and makes its acquaintance.
    private mutating func reset() {
        startAttempts += 1
        commands.removeAll()
        let startUp = StartUp(
            ownAddress: configuration.ownAddress,
            spareAddress: spareAddress,
            defaultPHY: configuration.defaultPHY,
            quirks: configuration.quirks
        )
        state = .starting(startUp)
        continueStartUp(startUp)
    }

    /// Takes the answer to a command of the start-up sequence.
    mutating func startUpAnswered(_ answer: CommandComplete) {
        guard case .starting(var startUp) = state else { return }
        do throws(StartUpFailure) {
            if let notice = try startUp.receive(answer) { report(notice) }
            state = .starting(startUp)
            continueStartUp(startUp)
        } catch {
            fail(error)
        }
    }

    private mutating func continueStartUp(_ startUp: StartUp) {
        if let command = startUp.command() {
            send(command, for: .startUp)
        } else {
            becomeReady(startUp)
        }
    }

    private mutating func becomeReady(_ startUp: StartUp) {
        startAttempts = 0
        state = .ready
        capabilities = startUp.capabilities
        ownAddress = startUp.ownAddress
        controllerRandomAddress = ownAddress.type == .random ? ownAddress.address : nil
        buffers = ACLBuffers(dataLength: capabilities.aclDataLength, total: capabilities.aclPacketCount)
        if ownAddress.type != configuration.ownAddress.type.withoutIdentity {
            report(.noPublicAddress(ownAddress))
        }
        emit(.ready(capabilities))
        for index in advertisers.indices where advertisers[index].phase == .wanted { putOnAir(index) }
        if case .wanted(let parameters) = scanning { beginScanning(parameters) }
        beginConnecting()
    }

    /// The controller is not what it was: everything starts again.
    mutating func restart(_ reason: RestartReason) {
        let rest = pace.failed(at: now)
        report(.restarting(reason, rest: rest))
        emit(.restarting(reason))
        closeEverything(.hardwareFailure)
        guard rest > .zero else { return reset() }
        commands.removeAll()
        state = .resting(until: now + rest)
    }

    private mutating func commandTimedOut(_ opcode: HCIOpcode) {
        switch state {
        case .ready: restart(.commandTimeout(opcode))
        case .starting:
            guard startAttempts < Self.maximumStartAttempts else { return fail(.notAnswering(opcode)) }
            report(.notAnsweredWhileStarting(opcode))
            reset()
        case .off, .resting, .failed: commands.removeAll()
        }
    }

    /// The controller says that it failed.
    mutating func hardwareFailed(code: UInt8) {
        switch state {
        case .ready: restart(.hardwareError(code: code))
        case .starting:
            guard startAttempts < Self.maximumStartAttempts else { return fail(.notAnswering(Reset.opcode)) }
            report(.hardwareErrorWhileStarting(code: code))
            reset()
        case .off, .resting, .failed: break
        }
    }

    private mutating func fail(_ failure: StartUpFailure) {
        commands.removeAll()
        state = .failed
        report(.startUpFailed(failure))
        emit(.failed(failure))
    }

    /// All connections are gone, and nothing is on the air; what is wanted there is remembered.
    private mutating func closeEverything(_ reason: HCIStatus) {
        while let last = links.last { close(last.connection.handle, reason) }
        if let lost = initiation, lost.isBegun {
            initiation = nil
            emit(.connectionFailed(lost.peer, reason))
        }
        for index in advertisers.indices { advertisers[index].controllerLost() }
        scanning.controllerLost()
        reports.removeAll()
        buffers = ACLBuffers()
    }
}
