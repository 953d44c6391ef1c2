import LinuxBluetooth
import Logging
import PebbleWatch

/// The emulator's port: a TCP port of this machine alone, where `pebble --qemu` and pypkjs find what they take for QEMU.
///
/// One tool at a time, as with QEMU: the next one waits until the first has gone.
final class DeveloperPort: LoopMember {
    /// When so many bytes wait for the tool, it gets no more until it has read some.
    static let outboundLimit = 64 * 1024
    /// How long nobody is let in after that failed.
    private static let acceptPause: Duration = .seconds(1)

    private struct Client {
        let stream: ByteStream
        let id: DeveloperConnectionID
    }

    private var listener: StreamListener?
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var client: Client?
    private var listenerToken: PollSet.Token?
    private var clientToken: PollSet.Token?
    private var acceptPauseEnds: Duration?

    /// Listens from now on.
    init(port: UInt16, watch: HostRunner<WatchHost>, log: Logger) throws(DaemonError) {
        do {
            let listener = try StreamListener(loopbackPort: port)
            log.notice(
                "the emulator's port is tcp:127.0.0.1:\(listener.port): pebble ping --qemu localhost:\(listener.port)"
            )
            self.listener = consume listener
        } catch {
            throw DaemonError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
        self.watch = watch
        self.log = log
    }

    func start(at now: Duration) {}

    func addPollRequests(to set: inout PollSet) {
        listenerToken = nil
        clientToken = client.map {
            set.add($0.stream.descriptor, reading: true, writing: $0.stream.wantsToWrite)
        }
        guard client == nil, acceptPauseEnds == nil else { return }
        switch listener {
        case .some(let listener): listenerToken = set.add(listener.descriptor, reading: true, writing: false)
        case nil: break
        }
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        if let client, let token = clientToken, set.isReadable(token) {
            do {
                try client.stream.receive { bytes in
                    watch.withFirmware(at: now) { $0.receive(bytes, from: client.id, at: now) }
                }
            } catch {
                end(client, because: "\(error)", at: now)
            }
        }
        if let token = listenerToken, set.isReadable(token) { accept(at: now) }
    }

    func moveOutput(at now: Duration) -> Bool {
        guard let client else { return false }
        do {
            try client.stream.send(of: client.id, watch, at: now)
        } catch {
            end(client, because: "\(error)", at: now)
            return false
        }
        if !watch.host.firmware.isDeveloperConnectionOpen(client.id) {
            end(client, because: "a phone's session replaced it", at: now)
        }
        return false
    }

    func advance(to now: Duration) {
        if let end = acceptPauseEnds, end <= now { acceptPauseEnds = nil }
    }

    var nextDeadline: Duration? { acceptPauseEnds }

    func beginStop(at now: Duration) {
        listener = nil
        if let client { end(client, because: "the watch ends", at: now) }
    }

    var isStopped: Bool { true }

    private func accept(at now: Duration) {
        do {
            guard let socket = try acceptSocket() else { return }
            try ByteStream.prepare(tcp: socket)
            let stream = ByteStream(owning: socket, kind: .tcpSocket, outboundLimit: Self.outboundLimit)
            let id = watch.withFirmware(at: now) { $0.openDeveloperConnection(.qemu, at: now) }
            client = Client(stream: stream, id: id)
            log.info("a tool is connected to the emulator's port")
        } catch {
            log.error("cannot let a tool in: \(error); the next attempt is in \(Self.acceptPause)")
            acceptPauseEnds = now + Self.acceptPause
        }
    }

    private func acceptSocket() throws(SystemError) -> FileDescriptor? {
        switch listener {
        case .some(let listener): try listener.accept()
        case nil: nil
        }
    }

    private func end(_ client: Client, because reason: String, at now: Duration) {
        self.client = nil
        watch.withFirmware(at: now) { $0.closeDeveloperConnection(client.id, reason: reason, at: now) }
        log.info("the tool has left the emulator's port: \(reason)")
    }
}

extension ByteStream {
    /// Gives a tool what the watch has for it, as far as there is room.
    func send(
        of id: DeveloperConnectionID,
        _ watch: HostRunner<WatchHost>,
        at now: Duration
    ) throws(ConnectionLoss) {
        while hasRoom {
            let bytes = watch.withFirmware(at: now) { $0.nextBytes(for: id, at: now) }
            guard !bytes.isEmpty else { break }
            send(bytes)
        }
        try flush()
    }
}
