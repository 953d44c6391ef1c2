import BluetoothHCI

/// Runs hosts on an air in virtual time.
///
/// Hosts are added with a controller each; `run(until:)` then carries packets between them and lets time jump from one
/// deadline to the next. The order in which hosts are served is the order in which they were added, so that a run is a
/// function of its seeds.
public struct Simulation {
    /// A host in a simulation, with its type.
    public struct HostID<Host: HCIHost>: Hashable, Sendable {
        fileprivate let index: Int
        /// The host's controller in `Simulation.air`.
        public let controller: ControllerID
    }

    /// A packet that crossed the HCI boundary.
    public struct Packet {
        /// When.
        public var time: Duration
        /// Between which controller and its host.
        public var controller: ControllerID
        /// Whether the host sent it.
        public var isFromHost: Bool
        /// The packet, packet type byte first.
        public var bytes: ArraySlice<UInt8>
    }

    /// Why a run ended.
    public enum Outcome: Hashable, Sendable {
        /// The condition was met.
        case conditionMet
        /// Time was up.
        case timeIsUp
        /// Hosts and controllers kept exchanging packets without any time passing: one of them has a defect.
        case livelock
    }

    /// How many packets may cross the HCI boundary at one moment before that counts as a livelock.
    public static let packetsPerMomentLimit = 100_000

    /// The controllers and the air between them.
    public var air: Air
    /// The time.
    public private(set) var now: Duration = .zero
    /// Sees every packet that crosses the HCI boundary.
    public var observer: ((Packet) -> Void)?

    private var hosts = HostTable()
    private var buffer: [UInt8] = []
    private var packetsAtThisMoment = 0

    /// A simulation without hosts.
    /// - Parameters:
    ///   - seed: Determines everything that the air leaves to chance.
    ///   - quality: What controllers are to each other unless `air.setLinkQuality` says otherwise.
    public init(seed: UInt64, quality: LinkQuality = .perfect) { air = Air(seed: seed, quality: quality) }

    /// Adds a host with a controller of its own; it starts when the simulation runs next.
    public mutating func add<Host: HCIHost>(
        _ host: Host,
        _ configuration: ControllerConfiguration = .modern
    ) -> HostID<Host> {
        let controller = air.addController(configuration)
        return HostID(index: hosts.add(host, controller), controller: controller)
    }

    /// Uses a host in place; what it wants to send, and when it is due next, is looked at when the simulation goes on.
    public mutating func withHost<Host, Result>(
        _ id: HostID<Host>,
        _ body: (inout Host) throws -> Result
    ) rethrows -> Result? {
        try hosts.use(id.index, body)
    }

    /// Runs until a time.
    @discardableResult
    public mutating func run(until end: Duration) -> Outcome { run(until: end) { _ in false } }

    /// Runs for a while.
    @discardableResult
    public mutating func run(for span: Duration) -> Outcome { run(until: now + span) }

    /// Runs until a condition is met, which is looked at whenever all is quiet at a moment, or until a time.
    public mutating func run(
        until end: Duration,
        condition: (inout Simulation) -> Bool
    ) -> Outcome {
        while true {
            guard settle() else { return .livelock }
            if condition(&self) { return .conditionMet }
            // The condition may have used a host, which then has something to send.
            guard settle() else { return .livelock }
            guard let next = nextDeadline, next <= end else {
                moveTime(to: end)
                air.advance(to: now)
                return .timeIsUp
            }
            moveTime(to: next)
        }
    }

    /// When something is due next.
    public var nextDeadline: Duration? {
        guard let hosts = hosts.nextDeadline else { return air.nextDeadline }
        return air.nextDeadline.map { min($0, hosts) } ?? hosts
    }

    private mutating func moveTime(to time: Duration) {
        guard time > now else { return }
        now = time
        packetsAtThisMoment = 0
    }

    /// Does everything that is due now, until nothing is left to do.
    /// - Returns: false if that does not end.
    private mutating func settle() -> Bool {
        var isQuiet = false
        while !isQuiet {
            guard packetsAtThisMoment < Self.packetsPerMomentLimit else { return false }
            isQuiet = true
            for index in hosts.takeDue(at: now) where serve(index) { isQuiet = false }
            air.advance(to: now)
            for index in hosts.hosts(at: air.waitingSlots) {
                let controller = hosts.controller(of: index)
                while air.nextPacket(from: controller, into: &buffer) {
                    isQuiet = false
                    note(controller, isFromHost: false)
                    hosts.receive(buffer[...], by: index, at: now)
                }
            }
        }
        return true
    }

    /// Has a host do what is due, and carries its packets to its controller.
    /// - Returns: whether there was anything.
    private mutating func serve(_ index: Int) -> Bool {
        var hasActed = hosts.wake(index, at: now)
        if hasActed { packetsAtThisMoment += 1 }
        let controller = hosts.controller(of: index)
        while packetsAtThisMoment < Self.packetsPerMomentLimit, hosts.nextPacket(from: index, into: &buffer) {
            hasActed = true
            note(controller, isFromHost: true)
            air.receive(buffer[...], from: controller, at: now)
        }
        hosts.rest(index, hasActed: hasActed)
        return hasActed
    }

    private mutating func note(_ controller: ControllerID, isFromHost: Bool) {
        packetsAtThisMoment += 1
        guard let observer else { return }
        observer(Packet(time: now, controller: controller, isFromHost: isFromHost, bytes: buffer[...]))
    }
}
