import BluetoothHCI
import LinuxBluetooth
import Logging

/// A controller outside this process, reached through a transport, with the host on top of it.
public final class RemoteController: LoopMember {
    /// What happens when the controller cannot be reached or its connection is lost.
    public enum LossPolicy: String, CaseIterable, Sendable {
        /// The process ends and says why.
        case exit
        /// The host starts again as soon as the controller can be reached.
        case retry
    }

    /// The first wait before a new attempt; it doubles with every failure.
    public static let defaultBackOff: Duration = .milliseconds(500)
    /// The longest wait between attempts.
    static let longestBackOff: Duration = .seconds(30)
    /// Packets that may leave the host in one turn of the loop.
    private static let packetsPerTurn = 256

    private enum State {
        case connecting(TransportConnector, patienceEnds: Duration)
        case connected(any HCIConnection)
        case waiting(until: Duration)
    }

    private let address: TransportAddress
    private let runner: any HostRunning
    private let policy: LossPolicy
    private let log: Logger
    private var state: State = .waiting(until: .zero)
    private var pollToken: PollSet.Token?
    private let firstBackOff: Duration
    private var backOff: Duration
    private var buffer: [UInt8] = []
    private var isStopping = false
    private var hasSaidFarewell = false

    /// Reaches the controller at `address`, which is not `.virtual`, when the loop starts.
    public init(
        _ address: TransportAddress,
        runner: any HostRunning,
        whenLost policy: LossPolicy,
        backOff: Duration = defaultBackOff,
        log: Logger
    ) {
        firstBackOff = backOff
        self.backOff = backOff
        self.address = address
        self.runner = runner
        self.policy = policy
        self.log = log
    }

    public func start(at now: Duration) throws(DaemonError) { try connect(at: now) }

    public func addPollRequests(to set: inout PollSet) {
        switch state {
        case .connecting(let connector, _):
            pollToken = connector.descriptor.map { set.add($0, reading: false, writing: true) }
        case .connected(let stream):
            pollToken = set.add(stream.descriptor, reading: true, writing: stream.wantsToWrite)
        case .waiting:
            pollToken = nil
        }
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) throws(DaemonError) {
        guard let token = pollToken else { return }
        switch state {
        case .connecting(let connector, _) where set.isWritable(token):
            try attempt(at: now) { () throws(TransportError) in try connector.proceed() }
        case .connected(let stream) where set.isReadable(token):
            do {
                try stream.receive { runner.receive($0, at: now) }
                reportGarbage(on: stream)
                // What answers is a controller: the next loss is a new one.
                backOff = firstBackOff
            } catch {
                return try lost(error, at: now)
            }
            try checkHost(at: now)
        default:
            break
        }
    }

    public func moveOutput(at now: Duration) throws(DaemonError) -> Bool {
        guard case .connected(let stream) = state else { return false }
        var share = Self.packetsPerTurn
        if isStopping, runner.isShutDown {
            sayFarewell(on: stream)
        } else {
            while share > 0, stream.hasRoom, runner.nextPacket(into: &buffer, at: now) {
                stream.send(buffer)
                share -= 1
            }
        }
        do {
            try stream.flush()
        } catch {
            try lost(error, at: now)
            return false
        }
        return share == 0 && !stream.wantsToWrite
    }

    public func advance(to now: Duration) throws(DaemonError) {
        switch state {
        case .connecting(let connector, let patienceEnds) where patienceEnds <= now:
            // The host may have other addresses, each of which has its own time.
            state = .connecting(connector, patienceEnds: now + TransportConnector.patience)
            try attempt(at: now) { () throws(TransportError) in try connector.giveUpWaiting() }
        case .connected:
            runner.advance(to: now)
            try checkHost(at: now)
        case .waiting(let time) where time <= now && !isStopping:
            try connect(at: now)
        default:
            break
        }
    }

    public var nextDeadline: Duration? {
        switch state {
        case .connecting(_, let patienceEnds): patienceEnds
        case .connected: runner.nextDeadline
        case .waiting(let time): isStopping ? nil : time
        }
    }

    public func beginStop(at now: Duration) {
        isStopping = true
        if case .connected = state { runner.beginShutdown(at: now) }
    }

    public var isStopped: Bool {
        guard isStopping else { return false }
        guard case .connected(let stream) = state else { return true }
        return hasSaidFarewell && !stream.wantsToWrite
    }

    /// A controller goes on with what it was told although nobody listens any more: a reset ends its advertising.
    private func sayFarewell(on stream: any HCIConnection) {
        guard !hasSaidFarewell, stream.hasRoom else { return }
        stream.send(Reset().packet)
        hasSaidFarewell = true
    }

    private func connect(at now: Duration) throws(DaemonError) {
        log.debug("connecting to the controller at \(address)")
        try attempt(at: now) { () throws(TransportError) in
            let connector = try TransportConnector(to: address)
            state = .connecting(connector, patienceEnds: now + TransportConnector.patience)
            return try connector.proceed()
        }
    }

    private func attempt(
        at now: Duration,
        _ step: () throws(TransportError) -> (any HCIConnection)?
    ) throws(DaemonError) {
        do {
            guard let stream = try step() else { return }
            log.notice("connected to the controller at \(address)")
            state = .connected(stream)
            runner.start(at: now)
        } catch {
            guard policy == .retry, !isStopping else {
                let status: ExitStatus = error.isPermission ? .notPermitted : .unavailable
                throw DaemonError(status, "\(error)", advice: error.advice)
            }
            waitToRetry("\(error) (\(error.advice))", at: now)
        }
    }

    private func checkHost(at now: Duration) throws(DaemonError) {
        guard let failure = runner.failure, case .connected = state else { return }
        let what = "cannot use the controller at \(address): \(failure)"
        guard policy == .retry, !isStopping else {
            throw DaemonError(
                .unavailable,
                what,
                advice:
                    "check that an H4 controller for Bluetooth LE is there; on a serial port, check baud rate and RTS/CTS"
            )
        }
        waitToRetry(what, at: now)
    }

    private func lost(_ loss: ConnectionLoss, at now: Duration) throws(DaemonError) {
        let what = "lost the controller at \(address): \(loss)"
        guard policy == .retry || isStopping else {
            throw DaemonError(
                .inputOutput,
                what,
                advice: "see why it went away and start again, or let Cairn wait for it: --controller-lost retry"
            )
        }
        waitToRetry(what, at: now)
    }

    private func waitToRetry(_ reason: String, at now: Duration) {
        state = .waiting(until: now + backOff)
        log.error("\(reason)\(isStopping ? "" : "; trying again in \(backOff)")")
        backOff = min(backOff * 2, Self.longestBackOff)
    }

    private func reportGarbage(on stream: any HCIConnection) {
        guard let garbage = stream.takeGarbage() else { return }
        log.warning("the controller at \(address): \(garbage)")
    }
}
