import BluetoothHCI
import BluetoothHost
import ByteCoding
import LinuxBluetooth
import Logging

/// A host that the loop can run to its end: it tells what happened, and can be asked to stop.
public protocol LoopHost: HCIHost {
    associatedtype Event
    /// Takes the oldest event that has not been taken yet.
    mutating func nextEvent() -> Event?
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
}

extension LoopHost {
    public var failure: String? { nil }
    public var isReady: Bool { failure == nil }
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
}

/// Runs one kind of host.
public final class HostRunner<Host: LoopHost>: HostRunning {
    public private(set) var host: Host
    private var unsent: [UInt8] = []
    private let capture: PacketCapture?
    /// A capture that was begun while the host runs; nil for none.
    package var laterCapture: PacketCapture?
    /// Is given every packet with its direction and time; nil for nothing.
    package var packetListener: ((ArraySlice<UInt8>, Btsnoop.Direction, Duration) -> Void)?
    /// Its level may change while the host runs: nothing is formatted unless packets are traced.
    private let log: Logger
    private var transcript = PacketTranscript()
    private let handleEvent: (Host.Event, Duration) -> Void

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
    }

    public func start(at now: Duration) {
        // What was meant for a controller that is gone means nothing to the next one.
        while host.nextPacket(into: &unsent) {}
        host.start(at: now)
        handOnEvents(at: now)
    }

    public func controllerLost(at now: Duration) {
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
        capture?.record(packet, direction, at: now)
        laterCapture?.record(packet, direction, at: now)
        packetListener?(packet, direction, now)
    }

    public func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        // A packet that brings the process down is the one that is looked for in the capture.
        capture?.flush()
        laterCapture?.flush()
        host.receive(packet, at: now)
        handOnEvents(at: now)
    }

    public func advance(to now: Duration) {
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
        defer { handOnEvents(at: now) }
        return try change(&host)
    }

    public var nextDeadline: Duration? { look { $0.nextDeadline } }

    public func nextPacket(into buffer: inout [UInt8], at now: Duration) -> Bool {
        guard host.nextPacket(into: &buffer) else { return false }
        note(buffer[...], .sent, at: now)
        return true
    }

    public func beginShutdown(at now: Duration) {
        host.beginShutdown(at: now)
        handOnEvents(at: now)
    }

    public var isShutDown: Bool { look { $0.isShutDown } }

    public var failure: String? { look { $0.failure } }

    public var isReady: Bool { look { $0.isReady } }

    /// Looks at the host where it stands: as a property that is read, all of it would be copied first, each turn of the loop.
    package func look<Result>(_ body: (inout Host) -> Result) -> Result { body(&host) }

    private func handOnEvents(at now: Duration) {
        while let event = host.nextEvent() { handleEvent(event, now) }
    }
}
