import AirSimulator
import BluetoothHCI
import Faults
import LinuxBluetooth
import Logging

/// The virtual radio in step with the clock, with any number of hosts on it: those of this process, guests that
/// attach to a loopback port and see an ordinary controller there, and this machine's kernel, to which it can be adapters.
public final class VirtualAir: LoopMember {
    /// How many guests may be attached at once.
    public static let guestLimit = 16
    /// Packets that may be moved between the hosts of this process and their controllers in one go.
    private static let packetsPerTurn = 4096
    /// Deadlines that one turn of the loop catches up with.
    private static let deadlinesPerTurn = 4096

    /// How long no guest is accepted after that failed: the reason, such as too many open files, will still be there.
    private static let acceptPause: Duration = .seconds(1)

    private struct Station {
        let controller: ControllerID
        let runner: any HostRunning
    }

    private final class Guest {
        let controller: ControllerID
        let stream: any HCIConnection
        var name: String
        var pollToken: PollSet.Token?

        init(name: String, controller: ControllerID, stream: any HCIConnection) {
            self.name = name
            self.controller = controller
            self.stream = stream
        }
    }

    private var air: Air
    /// Up to where everything that was due has happened.
    private var time = Duration.zero
    private var stations: [Station] = []
    private var guests: [Guest] = []
    private var guestCount = 0
    private var gate: PortGate?
    private var socket: PrivateSocket?
    private var socketToken: PollSet.Token?
    /// Until when no guest is accepted at the socket.
    private var acceptPauseEnds: Duration?
    private var buffer: [UInt8] = []
    private let log: Logger
    /// What is done to the air around the first host of this process on purpose; nil while nothing is.
    private var faults: RadioFaults?
    /// Is told what faults of the radio have done.
    package var handleFiring: (FaultFiring, Duration) -> Void = { _, _ in }
    /// Is told which adapters this air has become.
    public var adapterIsReady: (_ name: String, DeviceAddress) -> Void = { _, _ in }

    /// What hosts at the Unix socket get.
    public var socketController = ControllerConfiguration.modern

    /// An air without controllers.
    public init(_ air: Air, log: Logger) {
        self.air = air
        self.log = log
    }

    /// Puts a controller on the air and a host of this process on it.
    public func attach(_ runner: any HostRunning, to configuration: ControllerConfiguration) {
        stations.append(Station(controller: air.addController(configuration), runner: runner))
    }

    /// Offers controllers on a loopback port, to this user's programs that speak H4; 0 lets the kernel choose one.
    /// - Returns: the port.
    public func listen(on port: UInt16) throws(ProgramError) -> UInt16 {
        do {
            let gate = try PortGate(port: port, speaks: .h4, users: .own(), name: "the air's port", log: log)
            self.gate = gate
            log.notice("H4 controllers for other hosts at tcp:127.0.0.1:\(gate.port)")
            return gate.port
        } catch {
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
    }

    /// Offers controllers on a Unix socket, which only this user can open. It is gone when the air is.
    public func listen(at path: String) throws(ProgramError) {
        socket = try PrivateSocket(path: path, access: .user, for: .controllers)
        log.notice("H4 controllers for other hosts at unix:\(path)")
    }

    /// Becomes that many adapters of this machine. What has been made is given back when the air goes away.
    public func makeAdapters(
        _ count: Int,
        path: String = VirtualAdapter.devicePath
    ) throws(ProgramError) {
        do {
            for _ in 0..<count { attach(try VirtualAdapter.create(path: path)) }
        } catch {
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
    }

    /// Puts a controller on the air for an adapter.
    package func attach(_ adapter: PacketConnection) {
        guests.append(Guest(name: "an adapter", controller: air.addController(.modern), stream: adapter))
    }

    public func start(at now: Duration) {
        time = now
        for station in stations { station.runner.start(at: now) }
    }

    public func addPollRequests(to set: inout PollSet) {
        gate?.addPollRequests(to: &set)
        socketToken =
            acceptPauseEnds == nil ? socket.map { set.add($0.descriptor, reading: true, writing: false) } : nil
        for guest in guests {
            guest.pollToken = set.add(guest.stream.descriptor, reading: true, writing: guest.stream.wantsToWrite)
        }
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) {
        // What a guest sends arrives on an air where everything that was due before has happened.
        catchUp(to: now)
        for guest in guests {
            guard let token = guest.pollToken, set.isReadable(token) else { continue }
            do {
                try guest.stream.receive { packet in
                    if VirtualAdapter.isVendorPacket(packet) {
                        becomeAdapter(guest, as: packet)
                    } else {
                        air.receive(packet, from: guest.controller, at: time)
                    }
                }
                if let garbage = guest.stream.takeGarbage() { log.warning("\(guest.name): \(garbage)") }
            } catch {
                remove(guest, because: error)
            }
        }
        gate?.takeInput(set, at: now) { welcome($0, as: .tcpSocket) }
        if let token = socketToken, set.isReadable(token) { acceptGuests() }
    }

    public func moveOutput(at now: Duration) -> Bool {
        let isBusy = exchangePackets()
        for guest in guests {
            while guest.stream.hasRoom, air.nextPacket(from: guest.controller, into: &buffer) {
                guest.stream.send(buffer)
            }
            do {
                try guest.stream.flush()
            } catch {
                remove(guest, because: error)
            }
        }
        while let event = air.nextEvent() { log.warning("\(description(of: event))") }
        return isBusy
    }

    public func advance(to now: Duration) {
        catchUp(to: now)
        gate?.advance(to: now)
        if let end = acceptPauseEnds, end <= now { acceptPauseEnds = nil }
    }

    public var nextDeadline: Duration? {
        var earliest = nextRadioDeadline
        for end in [acceptPauseEnds, gate?.nextDeadline] { earliest = [earliest, end].compactMap { $0 }.min() }
        return earliest
    }

    private var nextRadioDeadline: Duration? {
        var earliest = air.nextDeadline
        if let deadline = faults?.nextDeadline { earliest = min(earliest ?? deadline, deadline) }
        for station in stations {
            if let deadline = station.runner.nextDeadline { earliest = min(earliest ?? deadline, deadline) }
        }
        return earliest
    }

    public func beginStop(at now: Duration) {
        for station in stations { station.runner.beginShutdown(at: time) }
        // The file goes with it: nothing else may end before the process does.
        socket = nil
    }

    public var isStopped: Bool {
        stations.allSatisfy { $0.runner.isShutDown } && guests.allSatisfy { !$0.stream.wantsToWrite }
    }

    /// Lets every deadline up to `now` happen in its order and at its own time, however late the loop is, so that a
    /// pause of the process looks like a pause and not like a radio that was silent.
    private func catchUp(to now: Duration) {
        var previous: Duration?
        for _ in 0..<Self.deadlinesPerTurn {
            guard let due = nextRadioDeadline, due <= now, due != previous else {
                time = max(time, now)
                return
            }
            previous = due
            time = max(time, due)
            air.advance(to: time)
            if faults != nil { applyFaults() }
            for station in stations { station.runner.advance(to: time) }
            if exchangePackets() { previous = nil }
        }
    }

    /// Moves packets between the hosts of this process and their controllers until none is left.
    /// - Returns: whether there were more than a fair share.
    private func exchangePackets() -> Bool {
        var share = Self.packetsPerTurn
        var isMoving = true
        while isMoving {
            isMoving = false
            for station in stations {
                while share > 0, station.runner.nextPacket(into: &buffer, at: time) {
                    air.receive(buffer[...], from: station.controller, at: time)
                    isMoving = true
                    share -= 1
                }
                while share > 0, air.nextPacket(from: station.controller, into: &buffer) {
                    station.runner.arrived(buffer[...], at: time)
                    station.runner.receive(buffer[...], at: time)
                    isMoving = true
                    share -= 1
                }
            }
        }
        return share == 0
    }

    // MARK: Faults

    /// The faults of the radio that are there.
    package var runningFaults: [RunningFault] { faults?.faults.running ?? [] }

    /// Adds a fault of the radio: to the air around the first host of this process.
    package func add(_ fault: Fault, as id: FaultID) throws(FaultError) {
        guard let station = stations.first else { return }
        var list = faults ?? RadioFaults(around: station.controller)
        try list.faults.add(fault, as: id, at: time)
        faults = list
        applyFaults()
    }

    /// Takes a fault of the radio away, or all of them.
    /// - Returns: whether it was there.
    package func clearFault(_ id: FaultID?) -> Bool {
        let wasThere = faults?.faults.clear(id) ?? false
        applyFaults()
        return wasThere
    }

    /// The two ends of a link of the first host of this process hear nothing of each other for a while.
    package func silence(_ handle: ConnectionHandle, for length: Duration) {
        guard let station = stations.first, let other = air.peer(of: station.controller, on: handle) else { return }
        var list = faults ?? RadioFaults(around: station.controller)
        list.silence(other, for: length, at: time)
        faults = list
        applyFaults()
    }

    private func applyFaults() {
        guard faults != nil else { return }
        let others = stations.map(\.controller) + guests.map(\.controller)
        faults?.apply(to: &air, others: others, at: time)
        while let firing = faults?.faults.nextFiring() { handleFiring(firing, time) }
        if faults?.isIdle == true { faults = nil }
    }

    private func acceptGuests() {
        do {
            while let stream = try socket?.accept() { welcome(stream, as: .unixSocket) }
        } catch {
            log.error("cannot take the next guest: \(error); the next attempt is in \(Self.acceptPause)")
            acceptPauseEnds = time + Self.acceptPause
        }
    }

    private func welcome(_ socket: consuming FileDescriptor, as kind: ByteStream.Kind) {
        guestCount += 1
        guard guests.count < Self.guestLimit else {
            return log.warning("guest \(guestCount) turned away: \(Self.guestLimit) hosts are attached already")
        }
        let stream = H4Stream(guest: socket, kind: kind)
        let configuration: ControllerConfiguration = kind == .unixSocket ? socketController : .modern
        let guest = Guest(name: "guest \(guestCount)", controller: air.addController(configuration), stream: stream)
        guests.append(guest)
        applyFaults()
        log.info("\(guest.name) attached to \(guest.controller)")
    }

    private func description(of event: AirEvent) -> String {
        switch event {
        case .packetDropped: "\(event)"
        case .addressTakenTwice(let address, let newcomer, let holder):
            "\(name(of: newcomer)) and \(name(of: holder)) both have the address \(address): nobody can tell them apart; "
                + "give each a state directory or --address of its own"
        }
    }

    /// What the log calls who is at a controller.
    private func name(of controller: ControllerID) -> String {
        if let guest = guests.first(where: { $0.controller == controller }) { return "\(guest.name) (\(controller))" }
        return "this process's own host (\(controller))"
    }

    private func becomeAdapter(_ guest: Guest, as answer: ArraySlice<UInt8>) {
        guard let index = VirtualAdapter.index(from: answer) else {
            log.warning("\(guest.name): the driver's answer makes no sense")
            return
        }
        guest.name = "hci\(index)"
        let address = air.publicAddress(of: guest.controller) ?? .zero
        log.notice("\(guest.name) is an adapter of this machine, with the address \(address)")
        adapterIsReady(guest.name, address)
    }

    private func remove(_ guest: Guest, because loss: ConnectionLoss) {
        log.info("\(guest.name) is gone: \(loss)")
        air.removeController(guest.controller)
        guests.removeAll { $0 === guest }
    }
}
