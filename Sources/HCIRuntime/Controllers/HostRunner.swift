import BluetoothHCI
import BluetoothHost
import ByteCoding
import Faults
import LinuxBluetooth
import Logging

/// A host that the loop can run to its end: it tells what happened, and can be asked to stop.
public protocol LoopHost: HCIHost {
    associatedtype Event
    /// Takes the oldest event that has not been taken yet.
    mutating func nextEvent() -> Event?
    /// Hands on what a host has to say, by `takeEvent` and `tell`. One that says much does it in its own module, where the compiler knows
    /// what an event is.
    /// - Returns: whether there were any events.
    static func handOnEvents(of runner: HostRunner<Self>, at now: Duration) -> Bool
    /// The controller is out of reach until the host is started again.
    mutating func controllerLost(at now: Duration)
    /// Begins to take leave: stops advertising and scanning, and disconnects every peer.
    mutating func beginShutdown(at now: Duration)
    /// Whether no peer is connected any more.
    var isShutDown: Bool { get }
    /// Why the controller cannot be used; nil while it can, or while that is not known.
    var failure: String? { get }
    /// Whether the controller can be used.
    var isReady: Bool { get }
    /// How many ACL packets the controller has and has not completed.
    var outstandingPacketCount: Int { get }
    /// Whether a host that has no packets and no events has nothing to do either until something comes or its deadline: the loop leaves
    /// it alone then. A host that cannot tell says no.
    mutating func isAtRest() -> Bool
}

extension LoopHost {
    public mutating func isAtRest() -> Bool { false }
    public static func handOnEvents(of runner: HostRunner<Self>, at now: Duration) -> Bool {
        var wereThere = false
        while let event = runner.takeEvent() {
            wereThere = true
            runner.tell(event, at: now)
        }
        return wereThere
    }
    public var failure: String? { nil }
    public var isReady: Bool { failure == nil }
    public var outstandingPacketCount: Int { 0 }
    public mutating func controllerLost(at now: Duration) {}
}

/// Any host, with what the loop adds to it: its packets are captured and traced, and its events handed on.
public protocol HostRunning: AnyObject {
    /// Begins the conversation with a controller.
    func start(at now: Duration)
    /// The controller is out of reach until the host is started again.
    func controllerLost(at now: Duration)
    /// Takes note of a packet from the controller, which it hands to the host only after those that came with it.
    func arrived(_ packet: ArraySlice<UInt8>, at now: Duration)
    /// Hands a packet from the controller, which has been noted, to the host.
    func receive(_ packet: ArraySlice<UInt8>, at now: Duration)
    /// Lets time pass.
    func advance(to now: Duration)
    /// When `advance` has something to do next.
    var nextDeadline: Duration? { get }
    /// Takes the next packet for the controller.
    func nextPacket(into buffer: inout [UInt8], at now: Duration) -> Bool
    /// Begins to take leave.
    func beginShutdown(at now: Duration)
    /// Whether no peer is connected any more.
    var isShutDown: Bool { get }
    /// Why the controller cannot be used.
    var failure: String? { get }
    /// Whether it can.
    var isReady: Bool { get }
    /// How many ACL packets it has and has not completed.
    var outstandingPacketCount: Int { get }
}

/// Runs one kind of host.
public final class HostRunner<Host: LoopHost>: HostRunning {
    public private(set) var host: Host
    /// Whether the host is at rest, and nothing has happened to it since. Then it need not be asked for packets, and time that brings
    /// nothing need not pass for it: both would cost as much as a packet, with each turn of the loop.
    private var isQuiet = false
    /// When a host at rest has something to do next.
    private var quietDeadline: Duration?
    private var unsent: [UInt8] = []
    private let capture: PacketCapture?
    /// A capture that was begun while the host runs; nil for none.
    package var laterCapture: PacketCapture? { didSet { noteOnlookers() } }
    /// Is given every packet with its direction and time; nil for nothing.
    package var packetListener: ((ArraySlice<UInt8>, Btsnoop.Direction, Duration) -> Void)? {
        didSet { noteOnlookers() }
    }
    /// Whether there is a capture or a listener. Mostly there is none, and each packet asks.
    private var hasOnlookers = false
    /// Its level may change while the host runs: nothing is formatted unless packets are traced.
    private let log: Logger
    private var transcript = PacketTranscript()
    private var handleEvent: (Host.Event, Duration) -> Void
    /// What stands between the controller and the host on purpose; nil while nothing does.
    private var faultLine: HCIFaultLine? { didSet { hasFaults = faultLine != nil } }
    /// Whether there is a fault line. It is kept, since each packet asks, and this is cheaper to read than the line.
    private var hasFaults = false
    /// Is told what the faults there have done.
    package var handleFiring: (FaultFiring, Duration) -> Void = { _, _ in }
    /// Does what those faults want of others.
    package var handleFaultAction: (HCIFaultLine.Action, Duration) -> Void = { _, _ in }

    /// - Parameters:
    ///   - host: a host that has not been started.
    ///   - capture: where the host's packets are recorded, if anywhere.
    ///   - log: shows every packet at level `trace`.
    ///   - handleEvent: is given every event, in order, with the time at which the host was left to say it.
    public init(
        _ host: Host,
        capture: PacketCapture? = nil,
        log: Logger,
        handleEvent: @escaping (Host.Event, Duration) -> Void
    ) {
        self.host = host
        self.capture = capture
        self.log = log
        self.handleEvent = handleEvent
        noteOnlookers()
    }

    private func noteOnlookers() { hasOnlookers = capture != nil || laterCapture != nil || packetListener != nil }

    public func start(at now: Duration) {
        isQuiet = false
        // What was meant for a controller that is gone means nothing to the next one.
        while host.nextPacket(into: &unsent) {}
        faultLine?.controllerLost()
        host.start(at: now)
        handOnEvents(at: now)
    }

    public func controllerLost(at now: Duration) {
        isQuiet = false
        faultLine?.controllerLost()
        host.controllerLost(at: now)
        handOnEvents(at: now)
    }

    public func arrived(_ packet: ArraySlice<UInt8>, at now: Duration) {
        note(packet, .received, at: now)
    }

    private func note(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at now: Duration) {
        if log.logLevel <= .trace {
            let text = transcript.text(of: packet, isFromHost: direction == .sent)
            log.trace("\(direction == .sent ? ">" : "<") \(text)")
        }
        guard hasOnlookers else { return }
        capture?.record(packet, direction, at: now)
        laterCapture?.record(packet, direction, at: now)
        packetListener?(packet, direction, now)
    }

    public func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        // A packet that brings the process down is the one that is looked for in the capture.
        if hasOnlookers {
            capture?.flush()
            laterCapture?.flush()
        }
        isQuiet = false
        if hasFaults { receiveThroughFaults(packet, at: now) } else { host.receive(packet, at: now) }
        handOnEvents(at: now)
    }

    public func advance(to now: Duration) {
        if isQuiet, quietDeadline.map({ now < $0 }) ?? true { return }
        isQuiet = false
        if hasFaults { advanceFaults(to: now) }
        host.advance(to: now)
        handOnEvents(at: now)
    }

    /// Does something to the host that is neither a packet nor the time, such as what a person wants of it.
    ///
    /// Call it from a member of the loop that stands behind the host's controller, so that the host's time does not go
    /// back; the packets that it leads to leave in the same turn.
    public func update<Result, Failure>(
        at now: Duration,
        _ change: (inout Host) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        isQuiet = false
        defer { handOnEvents(at: now) }
        return try change(&host)
    }

    public var nextDeadline: Duration? {
        if isQuiet { return quietDeadline }
        let deadline = look { $0.nextDeadline }
        guard hasFaults, let faults = faultLine?.nextDeadline else { return deadline }
        return min(deadline ?? faults, faults)
    }

    public func nextPacket(into buffer: inout [UInt8], at now: Duration) -> Bool {
        guard !isQuiet else { return false }
        while !(hasFaults ? nextPacketThroughFaults(into: &buffer, at: now) : host.nextPacket(into: &buffer)) {
            // What was sent may have made events, and what is done about them packets.
            guard handOnEvents(at: now) else {
                isQuiet = !hasFaults && host.isAtRest()
                quietDeadline = isQuiet ? look { $0.nextDeadline } : nil
                return false
            }
        }
        note(buffer[...], .sent, at: now)
        return true
    }

    public func beginShutdown(at now: Duration) {
        isQuiet = false
        host.beginShutdown(at: now)
        handOnEvents(at: now)
    }

    public var isShutDown: Bool { look { $0.isShutDown } }

    public var failure: String? { look { $0.failure } }

    public var isReady: Bool { look { $0.isReady } }

    public var outstandingPacketCount: Int { look { $0.outstandingPacketCount } }

    /// Looks at the host where it stands: as a property that is read, all of it would be copied first, each turn of the loop. What changes
    /// its packets, events or deadlines is done by `update`.
    package func look<Result>(_ body: (inout Host) -> Result) -> Result { body(&host) }

    // MARK: Faults

    /// The faults between the controller and the host.
    package var runningFaults: [RunningFault] { faultLine?.running ?? [] }

    /// Adds a fault between the controller and the host.
    /// - Parameter basis: what the line has to know of the host, if it is not there yet.
    package func add(
        _ fault: Fault,
        as id: FaultID,
        basis: (inout Host) -> HCIFaultLine.Basis,
        at now: Duration
    ) throws(FaultError) {
        isQuiet = false
        var line = faultLine ?? HCIFaultLine(look(basis))
        try line.add(fault, as: id, at: now)
        faultLine = line
        drainFaults(at: now)
    }

    /// Takes a fault between the controller and the host away, or all of them.
    /// - Returns: whether it was there.
    package func clearFault(_ id: FaultID?, at now: Duration) -> Bool {
        let wasThere = faultLine?.clear(id, at: now) ?? false
        drainFaults(at: now)
        return wasThere
    }

    /// Takes the host's oldest event.
    public func takeEvent() -> Host.Event? { host.nextEvent() }

    /// Hands on an event: one that was taken, or one that is none of the host's, as if it were.
    public func tell(_ event: Host.Event, at now: Duration) { handleEvent(event, now) }

    /// Tells nobody any more, and lets go of who was told: they often know the runner, so that neither would ever be freed.
    package func forgetListeners() {
        handleEvent = { _, _ in }
        handleFiring = { _, _ in }
        handleFaultAction = { _, _ in }
        packetListener = nil
    }

    /// Notes in the captures what a fault has done, as a packet that no controller has sent.
    package func note(_ firing: FaultFiring, at now: Duration) { note(firing.packet[...], .received, at: now) }

    private func receiveThroughFaults(_ packet: ArraySlice<UInt8>, at now: Duration) {
        faultLine?.fromController(packet, at: now)
        drainFaults(at: now)
    }

    private func advanceFaults(to now: Duration) {
        faultLine?.advance(to: now)
        drainFaults(at: now)
    }

    /// The host says all that it has to say; what the faults leave of it goes to the controller.
    private func nextPacketThroughFaults(into buffer: inout [UInt8], at now: Duration) -> Bool {
        while faultLine?.nextForController(into: &buffer) == false {
            guard host.nextPacket(into: &unsent) else { return false }
            faultLine?.fromHost(unsent[...], at: now)
            drainFaults(at: now)
            // The line has gone, with the packet that it was asked for.
            if faultLine == nil { return host.nextPacket(into: &buffer) }
        }
        drainFaults(at: now)
        return true
    }

    private func drainFaults(at now: Duration) {
        while faultLine?.nextForHost(into: &unsent) == true { host.receive(unsent[...], at: now) }
        while let firing = faultLine?.nextFiring() { handleFiring(firing, now) }
        while let action = faultLine?.nextAction() { handleFaultAction(action, now) }
        if faultLine?.isIdle == true { faultLine = nil }
        handOnEvents(at: now)
    }

    /// - Returns: whether there were any.
    @discardableResult
    private func handOnEvents(at now: Duration) -> Bool { Host.handOnEvents(of: self, at: now) }
}
