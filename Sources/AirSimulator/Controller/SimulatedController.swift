import BluetoothHCI
import ByteCoding

/// One controller: what its host has set, and what it has for its host.
///
/// It holds state; `Air` runs it, since all that a controller does involves others.
struct SimulatedController: Sendable {
    /// A connection as this controller knows it.
    struct Connection: Sendable {
        let handle: ConnectionHandle
        /// Where the air keeps the link, and which end of it this controller is.
        let link: Int
        let role: LinkRole
        let peer: LEAddress
        /// How many of the controller's buffers hold data for it.
        var usedBuffers = 0
        /// How many data packets for the host have not been given back yet.
        var unreturnedPackets = 0
    }

    /// Legacy and extended advertising commands may not be mixed: the first one after a reset decides.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 3.1.1.
    enum CommandFamily: Sendable {
        case legacy
        case extended
    }

    /// How many packets for the host may wait at all; beyond that, events are lost.
    static let outboxCapacity = 4096
    /// How many may wait before new commands are ignored.
    static let outboxLimit = 1024
    /// How many may wait before peers' data is no longer acknowledged, and advertising reports are dropped.
    static let relaxedOutboxLimit = 64

    let id: ControllerID
    let configuration: ControllerConfiguration
    let publicAddress: DeviceAddress
    let scannerActor: DeadlineActor
    let brEDRActor: DeadlineActor
    /// False once it has been taken off the air.
    var isAttached = true
    var random: SeededRandom
    private(set) var outbox = PacketQueue()
    private(set) var commandFamily: CommandFamily?

    // What the host has set.
    var eventMask = EventMask.initial
    var eventMaskPage2: EventMaskPage2 = []
    var leEventMask = LEEventMask.initial
    var randomAddress: DeviceAddress?
    var acceptList: [LEAddress] = []
    var resolvingList = ResolvingList()
    var suggestedDataLength = DataLength.minimum
    var defaultPHYs: PHYPair
    /// What the host can do, of the features that peers see.
    var hostFeatures: LEFeatures = []
    var defaultSubrating = SubrateParameters.initial
    /// The channels that the host has not called bad.
    var goodChannels = DataChannelMap.all
    var brEDR = BREDRState()
    /// How many data packets the host has room for; nil if it does not say.
    var hostBuffers: (total: Int, isInUse: Bool) = (0, false)

    /// Whether its host has taken a random address, for itself or for an advertising set.
    func hasTaken(_ address: DeviceAddress) -> Bool {
        randomAddress == address || advertisers.contains { $0.randomAddress == address }
    }

    /// By how many parts per million the clock is fast that it wakes up by for its connections.
    var clockError: Int64 = 0

    // What it is doing.
    var advertisers: [Advertiser] = []
    var scanner = Scanner()
    var initiator: Initiator?
    /// Whether the host has cancelled a connection and has not been told of its end.
    var hasCancelledInitiator = false
    var connections: [Connection] = []
    private var nextHandle: UInt16
    /// Until when its radio is taken by an advertising event.
    var advertisesUntil = Microseconds.zero
    /// Radio use of advertising, and of scanning and connections that are over.
    var radio = RadioUsage()

    /// Controllers begin with different handles, so that a mix-up between two of them shows.
    private var firstHandle: UInt16 { 0x0040 + UInt16(id.slot % 16) * 0x10 }

    init(
        id: ControllerID,
        configuration: ControllerConfiguration,
        random: SeededRandom,
        scannerActor: DeadlineActor,
        brEDRActor: DeadlineActor
    ) {
        self.id = id
        self.scannerActor = scannerActor
        self.brEDRActor = brEDRActor
        self.configuration = configuration
        self.random = random
        // A made-up address has the lower half at random, so that controllers in one air differ.
        let madeUp = DeviceAddress(0x00A1_B200_0000 | self.random.next(below: 1 << 24))
        publicAddress = configuration.publicAddress ?? madeUp
        defaultPHYs = PHYPair(transmit: configuration.phys, receive: configuration.phys)
        nextHandle = 0
        nextHandle = firstHandle
    }

    /// The state after a reset: everything that the host has set is gone; what waits for the host, and the radio's use,
    /// stay.
    mutating func reset() {
        var known = configuration
        known.publicAddress = publicAddress
        var fresh = SimulatedController(
            id: id,
            configuration: known,
            random: random,
            scannerActor: scannerActor,
            brEDRActor: brEDRActor
        )
        fresh.outbox = outbox
        fresh.radio = radio
        fresh.nextHandle = nextHandle
        self = fresh
    }

    /// What its link layer can do, and what its host can do of that.
    var features: LEFeatures { configuration.features.union(hostFeatures) }

    /// What its end of a new connection is like.
    var linkCapabilities: LinkCapabilities {
        LinkCapabilities(
            features: features,
            version: LinkVersion(
                version: configuration.version,
                company: configuration.company,
                subversion: configuration.subversion
            ),
            dataLength: DataLengthLimits(
                transmit: suggestedDataLength,
                receive: configuration.maximumDataLength
            ),
            phys: defaultPHYs,
            eventLimits: configuration.eventLimits,
            negotiatesParametersAsCentral: configuration.negotiatesParametersAsCentral,
            acceptableSubrating: defaultSubrating,
            goodChannels: goodChannels
        )
    }

    // MARK: Connections

    /// A handle that no connection has.
    mutating func makeHandle() -> ConnectionHandle? {
        for _ in 0...connections.count {
            let number = nextHandle
            nextHandle = number == ConnectionHandle.maximum ? firstHandle : number + 1
            if let handle = ConnectionHandle(rawValue: number), connection(handle) == nil { return handle }
        }
        return nil
    }

    func connection(_ handle: ConnectionHandle) -> Connection? { connections.first { $0.handle == handle } }

    /// Where in `connections` the end of a link is.
    func connectionIndex(link: Int, role: LinkRole) -> Int? {
        connections.firstIndex { $0.link == link && $0.role == role }
    }

    /// How many of the controller's buffers are free.
    var freeBuffers: Int { connections.reduce(Int(configuration.dataBuffers.count)) { $0 - $1.usedBuffers } }

    /// Whether the host keeps up with its events and data.
    var hasRoomForEvents: Bool { outbox.count < Self.outboxLimit }

    /// Whether the host would take another data packet.
    var acceptsData: Bool {
        guard outbox.count < Self.relaxedOutboxLimit else { return false }
        guard hostBuffers.isInUse else { return true }
        return connections.reduce(0) { $0 + $1.unreturnedPackets } < hostBuffers.total
    }

    /// Whether a command of a family may be used; the first one decides.
    mutating func mayUse(_ family: CommandFamily) -> Bool {
        if commandFamily == nil { commandFamily = family }
        return commandFamily == family
    }

    // MARK: Listening

    /// Whether it scans or initiates.
    var listens: Bool { scanner.isEnabled || initiator != nil }

    /// A primary advertising channel to begin with.
    mutating func randomChannel() -> Int { 37 + Int(random.next(below: 3)) }

    mutating func stopScanning(at now: Microseconds) {
        guard scanner.isEnabled else { return }
        radio.scanning += scanner.usage(until: now)
        scanner.isEnabled = false
    }

    mutating func stopInitiating(at now: Microseconds) {
        guard let stopped = initiator else { return }
        radio.scanning += stopped.usage(until: now)
        initiator = nil
    }

    mutating func endScanRequest(success: Bool) { scanner.requestEnded(success: success, random: &random) }

    mutating func makeResolvableAddress(towards peer: LEAddress, at now: Microseconds) -> DeviceAddress? {
        resolvingList.localAddress(towards: peer, at: now, random: &random)
    }

    // MARK: Packets for the host

    /// Takes the oldest packet for the host.
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { outbox.popFirst(into: &buffer) }

    /// Sends an event that no mask can hide.
    mutating func send(unmasked event: some HCIEventParameters) {
        guard outbox.count < Self.outboxCapacity else { return }
        outbox.append { event.encodePacket(to: &$0) }
    }

    /// Sends an event that no type of its own stands for, if the host wants it.
    mutating func send(_ code: HCIEventCode, _ parameters: [UInt8], if bit: EventMask) {
        guard eventMask.contains(bit), outbox.count < Self.outboxCapacity else { return }
        outbox.append { HCIEvent.unknown(code, parameters: parameters[...]).encodePacket(to: &$0) }
    }

    /// Sends an event if the host wants it.
    mutating func send(_ event: some HCIEventParameters, if bit: EventMask) {
        if eventMask.contains(bit) { send(unmasked: event) }
    }

    /// Whether the host wants an LE event.
    func wants<Event: LEEventParameters>(_ event: Event.Type) -> Bool {
        eventMask.contains(.leMeta) && leEventMask.contains(LEEventMask(Event.subevent))
    }

    /// Sends an LE event if the host wants it.
    mutating func send<Event: LEEventParameters>(_ event: Event) {
        if wants(Event.self) { send(unmasked: event) }
    }

    /// Sends an advertising report, which is dropped if the host does not keep up.
    mutating func report(_ event: some LEEventParameters) {
        if outbox.count < Self.relaxedOutboxLimit { send(event) }
    }

    /// Passes a peer's data on to the host.
    mutating func send(data: ArraySlice<UInt8>, isStart: Bool, of handle: ConnectionHandle) {
        outbox.append { buffer in
            ACLPacket(handle: handle, boundary: isStart ? .firstFlushable : .continuing, data: data)
                .encodePacket(to: &buffer)
        }
    }
}
