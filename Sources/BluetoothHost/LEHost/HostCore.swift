import BluetoothHCI
import ByteCoding
import DequeModule

/// What the parts of a host share: the time, the way to the controller and what is known of it, the way to the owner, and the
/// GATT layer, whose events are told in one row with the others. A part gets it for as long as it works.
struct HostCore: Sendable {
    /// Where the controller stands.
    enum State: Sendable {
        case off
        case starting(StartUp)
        /// It failed again soon after it was started, and is left alone for a while.
        case resting(until: Duration)
        case ready
        case failed
    }

    let configuration: LEHost.Configuration
    /// The Generic Attribute Profile on all connections.
    var gatt: GATTLayer
    private var time = LatestTime()
    var state = State.off
    var commands = CommandQueue()
    /// What the controller said about itself when it was started last.
    var capabilities = ControllerCapabilities()
    /// The address that the host is known by; certain when the controller is ready.
    var ownAddress: LEAddress
    /// The random address that the controller has, outside of advertising sets.
    var controllerRandomAddress: DeviceAddress?
    /// How often something went wrong.
    var counters = LEHostCounters()
    private var events = Deque<LEHostEvent>()

    /// How many events may wait before reports and notices are dropped.
    static let eventLimit = 1024

    init(_ configuration: LEHost.Configuration, _ gatt: GATTLayer) {
        self.configuration = configuration
        self.gatt = gatt
        ownAddress = configuration.ownAddress
    }

    /// Whether the controller has been started.
    var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// A time was handed in; one that is earlier than another before counts as that one.
    mutating func tell(_ now: Duration) { time.tell(now) }

    /// The latest time that was handed in.
    var now: Duration { time.now }
}

// MARK: - To the controller

extension HostCore {
    /// Queues a command.
    mutating func send(
        _ command: some HCICommand,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        send(OutgoingCommand(command), for: purpose, in: sequence)
    }

    /// Queues a command.
    mutating func send(
        _ command: OutgoingCommand,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        guard !commands.append(command, for: purpose, in: sequence) else { return }
        report(.commandNotSent(command.opcode))
    }

    /// Gives a legacy controller, whose one random address advertising may have changed, the host's own again.
    mutating func useOwnAddress(in sequence: CommandQueue.Sequence? = nil) {
        guard !capabilities.usesExtendedCommands, ownAddress.type == .random,
            ownAddress.address != controllerRandomAddress
        else { return }
        controllerRandomAddress = ownAddress.address
        send(LESetRandomAddress(address: ownAddress.address), for: .other, in: sequence)
    }
}

// MARK: - To the owner

extension HostCore {
    /// Queues an event behind all that happened before it. An event is large: it is moved there, not copied.
    mutating func emit(_ event: consuming LEHostEvent) {
        while let earlier = gatt.takeEvent() { events.append(.gatt(earlier)) }
        guard !event.mayBeLost || events.count < Self.eventLimit else {
            counters.lostEvents += 1
            return
        }
        events.append(event)
    }

    /// Queues something for the log.
    mutating func report(_ what: HostNews) { emit(.notice(HostNotice(what))) }

    /// Queues for the log that the controller refused a command.
    mutating func reportFailure(of command: CommandQueue.Answered, _ status: HCIStatus) {
        report(.commandFailed(command.opcode, status))
    }

    /// Whether an event waits for the owner.
    var hasEvents: Bool { !events.isEmpty || gatt.hasEvents }

    /// Takes the oldest event. Inlined, because an event is large, and passing it on would copy it.
    @inline(__always)
    mutating func nextEvent() -> LEHostEvent? {
        let event = events.popFirst() ?? gatt.takeEvent().map(LEHostEvent.gatt)
        if case .gatt(let event)? = event { gatt.handOut(event) }
        return event
    }
}
