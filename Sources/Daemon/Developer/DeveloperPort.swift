import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch

/// The emulator's port: a TCP port of this machine alone, where `pebble --qemu` and pypkjs find what they take for QEMU.
///
/// One tool at a time has the place. The others wait in their order until it leaves, or until it has been idle for
/// `idleLimit`: no byte either way.
final class DeveloperPort: LoopMember {
    /// When so many bytes wait for the tool, it gets no more until it has read some.
    static let outboundLimit = 64 * 1024
    /// How long a tool may be idle while another one waits.
    static let idleLimit: Duration = .seconds(5)
    /// How many tools may wait.
    static let queueLimit = 8

    private struct Client {
        let stream: ByteStream
        let id: DeveloperConnectionID
        /// When a byte last went either way.
        var lastByte: Duration
    }

    /// A tool that has begun to speak, and waits to be heard.
    private final class Waiting {
        let stream: ByteStream
        var token: PollSet.Token?

        init(_ stream: ByteStream) { self.stream = stream }
    }

    /// Its number.
    let number: UInt16
    private var gate: PortGate?
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var client: Client?
    private var queue: [Waiting] = []
    private var clientToken: PollSet.Token?

    /// Listens from now on.
    init(port: UInt16, users: PortUsers, watch: HostRunner<WatchHost>, log: Logger) throws(ProgramError) {
        do {
            let gate = try PortGate(port: port, speaks: .emulator, users: users, name: "the emulator's port", log: log)
            log.notice("the emulator's port is tcp:127.0.0.1:\(gate.port): pebble ping --qemu localhost:\(gate.port)")
            number = gate.port
            self.gate = gate
        } catch {
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
        self.watch = watch
        self.log = log
    }

    func start(at now: Duration) {}

    func addPollRequests(to set: inout PollSet) {
        clientToken = client.map {
            set.add($0.stream.descriptor, reading: true, writing: $0.stream.wantsToWrite)
        }
        for waiting in queue { waiting.token = set.addHangUp(of: waiting.stream.descriptor) }
        gate?.addPollRequests(to: &set)
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        if let token = clientToken, set.isReadable(token) { receive(at: now) }
        dropThoseWhoLeft(set)
        gate?.takeInput(set, at: now) { take($0) }
        giveNextThePlace(at: now)
    }

    func moveOutput(at now: Duration) -> Bool {
        guard let client else { return false }
        do {
            if try client.stream.send(of: client.id, watch, at: now) { self.client?.lastByte = now }
        } catch {
            end(because: "\(error)", at: now)
            return false
        }
        if !watch.host.watch.isDeveloperConnectionOpen(client.id) {
            end(because: "a phone has its place", at: now)
        }
        return false
    }

    func advance(to now: Duration) {
        gate?.advance(to: now)
        giveNextThePlace(at: now)
    }

    var nextDeadline: Duration? {
        guard let gateDeadline = gate?.nextDeadline else { return placeDeadline }
        return min(gateDeadline, placeDeadline ?? gateDeadline)
    }

    func beginStop(at now: Duration) {
        gate = nil
        queue = []
        if client != nil { end(because: "the watch ends", at: now) }
    }

    var isStopped: Bool { true }

    /// When the tool that has the place loses it to the next one, unless a byte goes either way before.
    private var placeDeadline: Duration? {
        guard !queue.isEmpty else { return nil }
        return client.map { $0.lastByte + Self.idleLimit } ?? .zero
    }

    private func receive(at now: Duration) {
        guard let client else { return }
        do {
            try client.stream.receive { bytes in
                self.client?.lastByte = now
                watch.receive(bytes, from: client.id, at: now)
            }
        } catch {
            end(because: "\(error)", at: now)
        }
    }

    private func dropThoseWhoLeft(_ set: borrowing PollSet) {
        var stayed: [Waiting] = []
        for waiting in queue {
            if let token = waiting.token, set.isHungUp(token) { continue }
            stayed.append(waiting)
        }
        queue = stayed
    }

    /// Puts a tool that has begun to speak at the end of the queue.
    private func take(_ socket: consuming FileDescriptor) {
        // A free place counts as taken by the first one that waits.
        guard queue.count < Self.queueLimit + (client == nil ? 1 : 0) else {
            return log.warning("a tool is turned away from the emulator's port: \(Self.queueLimit) wait already")
        }
        try? ByteStream.prepare(tcp: socket)
        queue.append(Waiting(ByteStream(owning: socket, kind: .tcpSocket, outboundLimit: Self.outboundLimit)))
        if client != nil { log.info("a tool waits for the emulator's port") }
    }

    private func giveNextThePlace(at now: Duration) {
        guard !queue.isEmpty else { return }
        if let client {
            guard client.lastByte + Self.idleLimit <= now else { return }
            end(because: "it was idle for \(Self.idleLimit), and another one waits", at: now)
        }
        let stream = queue.removeFirst().stream
        guard let id = watch.connectTool(.qemu, at: now) else { return }
        client = Client(stream: stream, id: id, lastByte: now)
        log.info("a tool is connected to the emulator's port")
        receive(at: now)
    }

    private func end(because reason: String, at now: Duration) {
        guard let client else { return }
        self.client = nil
        watch.toolLeft(client.id, reason: reason, at: now)
        log.info("the tool has left the emulator's port: \(reason)")
    }
}

extension ByteStream {
    /// Gives a tool what the watch has for it, as far as there is room.
    /// - Returns: whether the kernel took some of it.
    @discardableResult
    func send(
        of id: DeveloperConnectionID,
        _ watch: HostRunner<WatchHost>,
        at now: Duration
    ) throws(ConnectionLoss) -> Bool {
        let waitedBefore = waitingBytes
        var given = 0
        while hasRoom {
            let bytes = watch.nextBytes(for: id, at: now)
            guard !bytes.isEmpty else { break }
            send(bytes)
            given += bytes.count
        }
        try flush()
        return waitingBytes < waitedBefore + given
    }
}
