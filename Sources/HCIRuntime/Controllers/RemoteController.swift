import BluetoothHCI
import LinuxBluetooth
import Logging

/// A controller outside this process, reached through a transport, with the host on top of it.
///
/// An adapter of this machine that was unplugged is recognised by its address, under any name of the kernel's.
public final class RemoteController: LoopMember {
    /// What happens when the controller cannot be reached or its connection is lost.
    public enum LossPolicy: String, CaseIterable, Sendable {
        /// The process ends and says why.
        case exit
        /// One that could be used is waited for. One that never could ends the process: its address may be wrong.
        case reopen
        /// It is waited for, from the start.
        case retry
    }

    /// The first wait before a new attempt; it doubles with every failure.
    public static let defaultBackOff: Duration = .milliseconds(500)
    /// The longest wait between attempts to reach a host or a port...
    package static let longestBackOff: Duration = .seconds(30)
    /// ...and to find an adapter: the kernel knows at once whether it is there.
    package static let longestAdapterBackOff: Duration = .seconds(1)
    /// A controller that was there for so long is well: its next loss is a new one.
    package static let recovery: Duration = .seconds(10)
    /// How long a controller may take to answer the reset that it is left with.
    private static let farewellPatience: Duration = .milliseconds(500)
    /// Packets that may leave the host in one turn of the loop.
    private static let packetsPerTurn = 256
    /// How many fair shares in a row may come in before time passes all the same. In less, everything has been read that any
    /// socket keeps.
    private static let sharesWithoutTime = 64

    private enum State {
        case connecting(TransportConnector, patienceEnds: Duration)
        case connected(any HCIConnection)
        case waiting(until: Duration)
    }

    private var address: TransportAddress
    private let runner: any HostRunning
    private let policy: LossPolicy
    private let log: Logger
    private var state: State = .waiting(until: .zero)
    private var pollToken: PollSet.Token?
    private let firstBackOff: Duration
    private var backOff: Duration
    private var buffer: [UInt8] = []
    /// Whether more has come in than a fair share; it is looked for without waiting.
    private var leftInput = false
    /// How many fair shares in a row have left some.
    private var fullShares = 0
    private var pace = InputPace()
    /// Whether something was sent since the input was read.
    private var isAnswered = false
    private var isStopping = false
    private var hasSaidFarewell = false
    private var farewellEnds: Duration?
    private var hasBeenReached = false
    /// When that was last.
    private var reachedAt: Duration = .zero
    /// Whether the host ever got on with it.
    private var wasUsed = false
    /// The adapter to switch on for the kernel's stack in the end, since it was on in the beginning.
    private var switchedOff: UInt16?
    private var lastReason: String?

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

    deinit {
        guard let switchedOff else { return }
        // The adapter is the kernel's again as soon as it is closed.
        state = .waiting(until: .zero)
        UserChannel.giveBack(switchedOff)
    }

    /// Whether a loss is waited out.
    private var isPatient: Bool {
        guard !isStopping else { return false }
        return switch policy {
        case .exit: false
        case .reopen: wasUsed
        case .retry: true
        }
    }

    public func start(at now: Duration) throws(ProgramError) { try connect(at: now) }

    public func addPollRequests(to set: inout PollSet) {
        switch state {
        case .connecting(let connector, _):
            pollToken = connector.descriptor.map {
                set.add($0, reading: connector.waitsToRead, writing: !connector.waitsToRead)
            }
        case .connected(let stream):
            if !leftInput {
                let outstanding = runner.outstandingPacketCount
                // As in `receive`: changed in place, it would be guarded wherever it is read.
                var pace = pace
                pace.decide(isAnswered: isAnswered, outstanding: outstanding)
                self.pace = pace
            }
            isAnswered = false
            // What rests is read without being asked for.
            let isResting = pace.restEnds != nil
            pollToken =
                isResting && !stream.wantsToWrite
                ? nil : set.add(stream.descriptor, reading: !isResting, writing: stream.wantsToWrite)
        case .waiting:
            pollToken = nil
        }
    }

    /// Whether the input is to be read now.
    private func isReadable(_ set: borrowing PollSet, at now: Duration) -> Bool {
        guard let restEnds = pace.restEnds else { return pollToken.map { set.isReadable($0) } ?? false }
        if restEnds <= now { return true }
        // An answer that has come in time counts: it is taken before the host gives it up.
        return runner.nextDeadline.map { $0 <= now } ?? false
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) throws(ProgramError) {
        leftInput = false
        switch state {
        case .connecting(let connector, _):
            guard let token = pollToken, connector.waitsToRead ? set.isReadable(token) : set.isWritable(token) else {
                return
            }
            try attempt(at: now) { () throws(TransportError) in try connector.proceed() }
        case .connected(let stream) where isReadable(set, at: now):
            let loss = receive(from: stream, at: now)
            if let loss { return try lost(loss, at: now) }
            leftInput = stream.hasMore
            fullShares = leftInput ? fullShares + 1 : 0
            reportGarbage(on: stream)
            try checkHost(at: now)
        default:
            break
        }
    }

    private func receive(from stream: any HCIConnection, at now: Duration) -> ConnectionLoss? {
        var wasHeard = false
        // What every packet changes is kept here: a property of an object is guarded each time.
        var pace = pace
        pace.read(at: now)
        defer { self.pace = pace }
        // Once is enough to ask that: it costs more than most packets.
        defer { if wasHeard, !wasUsed { wasUsed = runner.isReady } }
        do {
            try stream.receive { packet in
                pace.took(packet)
                if !hasSaidFarewell { runner.arrived(packet, at: now) }
            } _: { packet in
                guard !hasSaidFarewell else { return takeFarewell(packet) }
                runner.receive(packet, at: now)
                wasHeard = true
            }
            return nil
        } catch {
            return error
        }
    }

    public func moveOutput(at now: Duration) throws(ProgramError) -> Bool {
        guard case .connected(let stream) = state else { return false }
        var share = Self.packetsPerTurn
        if isStopping, runner.isShutDown {
            sayFarewell(on: stream, at: now)
        } else {
            // As in `receive`: a property is guarded each time.
            var buffer: [UInt8] = []
            swap(&buffer, &self.buffer)
            while share > 0, stream.hasRoom, runner.nextPacket(into: &buffer, at: now) {
                stream.send(buffer)
                share -= 1
            }
            self.buffer = buffer
        }
        if stream.waitingBytes > 0 { isAnswered = true }
        do {
            try stream.flush(acknowledging: !pace.isStreaming)
        } catch {
            try lost(error, at: now)
            return false
        }
        return leftInput || (share == 0 && !stream.wantsToWrite)
    }

    public func advance(to now: Duration) throws(ProgramError) {
        switch state {
        case .connecting(let connector, let patienceEnds) where patienceEnds <= now:
            // The host may have other addresses, each of which has its own time.
            state = .connecting(connector, patienceEnds: now + connector.patience)
            try attempt(at: now) { () throws(TransportError) in try connector.giveUpWaiting() }
        case .connected where leftInput && !fullShares.isMultiple(of: Self.sharesWithoutTime):
            // What a command waits for may be among it: only this process was late.
            return
        case .connected where hasSaidFarewell:
            if let farewellEnds, farewellEnds <= now { self.farewellEnds = nil }
        case .waiting(let time) where time <= now && !isStopping:
            try connect(at: now)
        default:
            break
        }
        // A watch goes on without its controller.
        guard hasBeenReached, !hasSaidFarewell else { return }
        runner.advance(to: now)
        try checkHost(at: now)
    }

    public var nextDeadline: Duration? {
        let ours: Duration? =
            switch state {
            case .connecting(_, let patienceEnds): patienceEnds
            case .connected: pace.restEnds.map { min(farewellEnds ?? $0, $0) } ?? farewellEnds
            case .waiting(let time): isStopping ? nil : time
            }
        guard hasBeenReached, !hasSaidFarewell, let hosts = runner.nextDeadline else { return ours }
        return min(ours ?? hosts, hosts)
    }

    public func beginStop(at now: Duration) {
        isStopping = true
        if case .connected = state { runner.beginShutdown(at: now) }
    }

    public var isStopped: Bool {
        guard isStopping else { return false }
        guard case .connected(let stream) = state else { return true }
        return hasSaidFarewell && farewellEnds == nil && !stream.wantsToWrite
    }

    /// A controller goes on with what it was told although no host listens any more: a reset ends its advertising. The kernel
    /// drops what has not reached the controller of an adapter that is closed, so it is closed when the answer is there.
    private func sayFarewell(on stream: any HCIConnection, at now: Duration) {
        guard !hasSaidFarewell, stream.hasRoom else { return }
        stream.send(Reset().packet)
        hasSaidFarewell = true
        if address.isAdapter { farewellEnds = now + Self.farewellPatience }
    }

    private func takeFarewell(_ packet: ArraySlice<UInt8>) {
        guard packet.first == HCIPacketType.event.rawValue,
            case .commandComplete(let answer)? = try? HCIEvent(body: packet.dropFirst()), answer.opcode == Reset.opcode
        else { return }
        farewellEnds = nil
    }

    private func connect(at now: Duration) throws(ProgramError) {
        log.debug("connecting to the controller at \(address)")
        try attempt(at: now) { () throws(TransportError) in
            let connector = try TransportConnector(to: address, reclaims: hasBeenReached)
            state = .connecting(connector, patienceEnds: now + connector.patience)
            return try connector.proceed()
        }
    }

    private func attempt(
        at now: Duration,
        _ step: () throws(TransportError) -> (any HCIConnection)?
    ) throws(ProgramError) {
        do {
            guard let stream = try step() else { return }
            if case .connecting(let connector, _) = state, let adapter = connector.openedAdapter { keep(adapter) }
            log.notice("connected to the controller at \(address)")
            state = .connected(stream)
            pace = InputPace()
            hasBeenReached = true
            reachedAt = now
            lastReason = nil
            runner.start(at: now)
        } catch {
            guard isPatient else {
                let status: ExitStatus = error.isPermission ? .notPermitted : .unavailable
                throw ProgramError(status, "\(error)", advice: error.advice)
            }
            waitToRetry("\(error) (\(error.advice))", at: now)
        }
    }

    private func checkHost(at now: Duration) throws(ProgramError) {
        guard let failure = runner.failure, case .connected = state else { return }
        let what = "cannot use the controller at \(address): \(failure)"
        guard isPatient else {
            throw ProgramError(
                .unavailable,
                what,
                advice: address.isAdapter
                    ? "unplug it and plug it in again, or restart the board; dmesg may say more"
                    : "check that an H4 controller for Bluetooth LE is there; on a serial port, check baud rate and RTS/CTS"
            )
        }
        loseController(what, at: now)
    }

    private func lost(_ loss: ConnectionLoss, at now: Duration) throws(ProgramError) {
        let what = "lost the controller at \(address): \(loss)"
        guard isPatient || isStopping || loss.isOwnFault else {
            throw ProgramError(
                .inputOutput,
                what,
                advice: "see why it went away and start again, or let Cairn wait for it: --controller-lost reopen"
            )
        }
        loseController(what, at: now)
    }

    /// The connection is of no use any more: closes it, and lets the host know.
    private func loseController(_ reason: String, at now: Duration) {
        if now - reachedAt >= Self.recovery { backOff = firstBackOff }
        waitToRetry(reason, at: now)
        runner.controllerLost(at: now)
    }

    private func waitToRetry(_ reason: String, at now: Duration) {
        state = .waiting(until: now + backOff)
        // A person who waits for something for hours need not be told every second.
        log.log(
            level: reason == lastReason ? .debug : .error,
            "\(reason)\(isStopping ? "" : "; trying again in \(backOff)")"
        )
        lastReason = reason
        backOff = min(backOff * 2, address.isAdapter ? Self.longestAdapterBackOff : Self.longestBackOff)
    }

    /// From now on it is this adapter and no other, by its address if it has one.
    private func keep(_ adapter: Adapter) {
        log.info("\(adapter.name) is \(adapter.address), \(adapter.bus)")
        if adapter.isUp { switchedOff = adapter.index }
        address = .adapter(adapter.address == .zero ? .index(adapter.index) : .address(adapter.address))
    }

    private func reportGarbage(on stream: any HCIConnection) {
        guard let garbage = stream.takeGarbage() else { return }
        log.warning("the controller at \(address): \(garbage)")
    }
}
