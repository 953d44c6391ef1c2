import BluetoothHCI
import ByteCoding
import DequeModule

/// Bluetooth LE controllers and the air between them, in virtual time.
///
/// Any number of controllers speak HCI with their hosts: packets with the packet type byte first go in through
/// `receive(_:from:at:)` and come out of `nextPacket(into:)`. In between, their link layers advertise, scan, connect and
/// exchange packets with the timing of real radios, to the microsecond. The same seed and the same inputs give the same
/// bytes at the same times.
///
/// The caller determines the time: a simulation jumps from `nextDeadline` to `nextDeadline`, and a daemon calls
/// `advance(to:)` in step with the clock.
public struct Air: Sendable {
    /// Who is behind a deadline.
    enum Actor: Sendable {
        case nobody
        case link(Int)
        case advertiser(controller: Int, AdvertisingHandle)
        /// The timers of a controller's scanner.
        case scanner(Int)
        /// The inquiry and the page of a controller's BR/EDR side.
        case brEDR(Int)
    }

    /// A connection and where its ends are.
    struct Link: Sendable {
        /// Tells it from every other connection that there ever was.
        let number: UInt64
        var machine: LinkLayerConnection
        /// The places of the central and of the peripheral; nil for one that is not, or no longer, part of it.
        var ends: PerRole<Int?>
        let actor: DeadlineActor
        /// False once both ends have left.
        var isInUse = true
    }

    /// A packet on a primary advertising channel.
    struct PrimaryPacket: Sendable {
        var sender: Int
        var channel: Int
        var start: Microseconds
        var end: Microseconds
    }

    /// How many events may wait to be asked for; then the oldest are forgotten.
    static let eventLimit = 256

    private(set) var seed: UInt64
    var now = Microseconds.zero
    /// The controllers by their places; a place whose controller has been removed is used again.
    var controllers = ControllerTable()
    /// Connections by their places; a place whose connection is over is used again.
    var links: [Link] = []
    /// The places that are to be used again.
    var vacantLinks = PlaceSet()
    var linkCount: UInt64 = 0
    var advertisingCount: UInt64 = 0
    var deadlines = DeadlineQueue<Microseconds>()
    private var actors: [Actor] = []
    /// What is, or was a moment ago, on the primary channels; oldest first, but for packets that wait for a connection.
    var primaryPackets: Deque<PrimaryPacket> = []
    /// What has become of advertising so far.
    package internal(set) var traffic = AdvertisingTraffic()
    let defaultQuality: LinkQuality
    var pairs: [PairKey: Pair] = [:]
    private var events: Deque<AirEvent> = []
    var recordsPackets = false
    var records: Deque<AirPacket> = []

    /// An empty air.
    /// - Parameters:
    ///   - seed: Determines everything that is left to chance.
    ///   - quality: What controllers are to each other unless `setLinkQuality` says otherwise.
    public init(seed: UInt64, quality: LinkQuality = .perfect) {
        self.seed = seed
        defaultQuality = quality
    }

    // MARK: Controllers

    /// Puts a controller on the air. It is in the state after a reset.
    public mutating func addController(_ configuration: ControllerConfiguration = .modern) -> ControllerID {
        let slot = controllers.vacant.next(from: 0) ?? controllers.count
        let generation = controllers.indices.contains(slot) ? controllers[slot].id.generation + 1 : 0
        let id = ControllerID(slot: slot, generation: generation)
        let controller = SimulatedController(
            id: id,
            configuration: configuration,
            random: SeededRandom(seed: seed, .controller, UInt64(slot), UInt64(generation)),
            scannerActor: makeActor(.scanner(slot)),
            brEDRActor: makeActor(.brEDR(slot))
        )
        if slot == controllers.count { controllers.append(controller) } else { controllers[slot] = controller }
        return id
    }

    /// Takes a controller off the air, as if it lost its power: peers notice by hearing nothing.
    public mutating func removeController(_ id: ControllerID) {
        guard let slot = slot(of: id) else { return }
        abandonEverything(slot)
        removeActor(controllers[slot].scannerActor)
        removeActor(controllers[slot].brEDRActor)
        controllers[slot].isAttached = false
        forgetQuality(of: slot)
        replanAdvertisers()
    }

    /// The public address of a controller; nil if there is no such controller.
    public func publicAddress(of id: ControllerID) -> DeviceAddress? {
        slot(of: id).map { controllers[$0].publicAddress }
    }

    /// How long a controller's radio has been on up to now.
    public mutating func radioUsage(of id: ControllerID) -> RadioUsage {
        slot(of: id).map { radioUsage($0) } ?? RadioUsage()
    }

    /// How many connection events a controller's newest connection has had up to now; nil without one.
    public mutating func connectionEventCount(of id: ControllerID) -> Int64? {
        guard let slot = slot(of: id), let link = controllers[slot].connections.last?.link else { return nil }
        links[link].machine.synchronize(to: now)
        return links[link].machine.eventCounter
    }

    func slot(of id: ControllerID) -> Int? {
        guard controllers.indices.contains(id.slot), controllers[id.slot].isAttached else { return nil }
        return controllers[id.slot].id == id ? id.slot : nil
    }

    /// Starts the random numbers again: all later random decisions follow from this seed, as if the air had begun
    /// with it. So a simulation that has been brought to a point once can be copied and go on in many ways.
    public mutating func reseed(_ new: UInt64) {
        seed = new
        for slot in controllers.indices {
            let generation = UInt64(controllers[slot].id.generation)
            controllers[slot].random = SeededRandom(seed: seed, .controller, UInt64(slot), generation)
            for index in controllers[slot].advertisers.indices {
                let place = AdvertiserPlace(slot: slot, index: index)
                passUnheardEvents(place)
                advertisingCount += 1
                let random = SeededRandom(seed: seed, .advertising, advertisingCount)
                self[place].timeline?.reseed(random)
            }
        }
        for key in pairs.keys {
            let random = pairRandom(key)
            pairs[key]?.loss.reseed(random)
        }
        for index in links.indices where links[index].isInUse {
            links[index].machine.reseed(SeededRandom(seed: seed, .link, links[index].number), at: now)
        }
        replanAdvertisers()
    }

    // MARK: Time and packets

    /// Takes one whole packet from the host of a controller, packet type byte first.
    public mutating func receive(_ packet: ArraySlice<UInt8>, from id: ControllerID, at time: Duration) {
        advance(to: time)
        guard let slot = slot(of: id) else { return }
        let body = packet.dropFirst()
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .command: receiveCommand(body, slot)
        case .acl: receiveData(body, slot)
        case .some(let type): drop("a simulated controller takes no \(type) packets", slot)
        case nil: drop("packet type \(packet.first.map(String.init) ?? "missing")", slot)
        }
    }

    /// Lets time pass: everything that is due up to and including `time` happens.
    public mutating func advance(to time: Duration) {
        let target = Microseconds(time)
        while let (actor, deadline) = deadlines.popActor(dueBy: target) {
            now = max(now, deadline)
            switch actors[actor.number] {
            case .link(let link): stepLink(link)
            case .advertiser(let controller, let handle): stepAdvertiser(controller, handle)
            case .scanner(let slot): stepScanner(slot)
            case .brEDR(let slot): stepBREDR(slot)
            case .nobody: break
            }
        }
        now = max(now, target)
    }

    /// When there is something to do next; nil if only a packet can change anything.
    public var nextDeadline: Duration? { deadlines.next?.duration }

    /// Takes the next packet for a host into `buffer`, replacing its content.
    /// - Returns: Whose it is; nil when nothing is waiting.
    public mutating func nextPacket(into buffer: inout [UInt8]) -> ControllerID? {
        guard let slot = controllers.withPackets.next(from: 0), takePacket(slot, into: &buffer) else { return nil }
        return controllers[slot].id
    }

    /// The places of the controllers that have a packet for their host.
    var waitingSlots: PlaceSet { controllers.withPackets }

    /// Takes the next packet for the host of one controller into `buffer`, replacing its content. What is not taken
    /// waits, and after a while holds up those who send to this controller, as a slow host does.
    /// - Returns: false when nothing is waiting.
    public mutating func nextPacket(from id: ControllerID, into buffer: inout [UInt8]) -> Bool {
        guard let slot = slot(of: id) else { return false }
        return takePacket(slot, into: &buffer)
    }

    /// Takes the next event; nil when there is none.
    public mutating func nextEvent() -> AirEvent? { events.popFirst() }

    private mutating func takePacket(_ slot: Int, into buffer: inout [UInt8]) -> Bool {
        guard controllers[slot].isAttached, controllers[slot].nextPacket(into: &buffer) else { return false }
        updateAcceptance(slot)
        return true
    }

    /// A place in the queue of deadlines.
    mutating func makeActor(_ actor: Actor) -> DeadlineActor {
        let place = deadlines.makeActor()
        while actors.count <= place.number { actors.append(.nobody) }
        actors[place.number] = actor
        return place
    }

    mutating func removeActor(_ place: DeadlineActor) {
        deadlines.remove(place)
        actors[place.number] = .nobody
    }

    /// Notes that a host's packet was dropped.
    mutating func drop(_ reason: String, _ slot: Int) {
        emit(.packetDropped(controllers[slot].id, reason: reason))
    }

    /// Notes that a host takes a random address. The holders of the same address are reported once, not each time that one
    /// repeats it.
    mutating func noteUse(of address: DeviceAddress, _ slot: Int) {
        guard !controllers[slot].hasTaken(address) else { return }
        for other in controllers.indices where other != slot {
            guard controllers[other].isAttached, controllers[other].hasTaken(address) else { continue }
            emit(.addressTakenTwice(address, by: controllers[slot].id, and: controllers[other].id))
        }
    }

    private mutating func emit(_ event: AirEvent) {
        if events.count == Self.eventLimit { events.removeFirst() }
        events.append(event)
    }
}
