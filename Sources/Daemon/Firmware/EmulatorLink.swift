import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch

/// The connection to the emulator that the real firmware runs in: its first serial port, as QEMU offers it on a socket.
///
/// What comes is read as soon as it is there, because a port that nobody drains stops the firmware. What goes out are whole
/// frames, and whole messages in the end. A connection that is lost, or cannot be made, is tried again for as long as the watch runs.
final class EmulatorLink: LoopMember {
    /// When this many bytes wait for the emulator, it gets no more until it has taken some.
    static let outboundLimit = 64 * 1024
    /// How many bytes the kernel may keep for an emulator that reads slowly: several messages of the longest kind.
    static let sendBuffer: Int32 = 1024 * 1024
    /// The first wait before a new attempt; it doubles with every failure...
    static let firstBackOff: Duration = .milliseconds(250)
    /// ...up to this: an emulator that is started again is on the same machine, mostly, and there in seconds.
    static let longestBackOff: Duration = .seconds(4)

    private enum State {
        case connecting(SocketConnector, patienceEnds: Duration)
        case connected(ByteStream)
        case waiting(until: Duration)
    }

    private let address: FirmwareAddress
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var state: State = .waiting(until: .zero)
    private var token: PollSet.Token?
    private var backOff = firstBackOff
    private var lastProblem: String?
    private var isStopping = false

    init(_ address: FirmwareAddress, watch: HostRunner<WatchHost>, log: Logger) {
        self.address = address
        self.watch = watch
        self.log = log
    }

    func start(at now: Duration) { connect(at: now) }

    func addPollRequests(to set: inout PollSet) {
        switch state {
        case .connecting(let connector, _):
            token = connector.descriptor.map { set.add($0, reading: false, writing: true) }
        case .connected(let stream):
            token = set.add(stream.descriptor, reading: true, writing: stream.wantsToWrite)
        case .waiting:
            token = nil
        }
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let token else { return }
        switch state {
        case .connecting(let connector, _) where set.isWritable(token): proceed(connector, at: now)
        case .connected(let stream) where set.isReadable(token):
            do {
                try stream.receive { bytes in watch.take(.bytes(bytes), at: now) }
            } catch {
                lost("\(error)", at: now)
            }
        default: break
        }
    }

    func moveOutput(at now: Duration) -> Bool {
        guard case .connected(let stream) = state else { return false }
        do {
            try stream.flush()
            // The kernel is given a message whole, if a frame holds it: a process that is killed then leaves no half message
            // behind, after which the firmware would be out of step.
            while !stream.wantsToWrite {
                let bytes = watch.nextFirmwareBytes(at: now)
                guard !bytes.isEmpty else { break }
                stream.send(bytes)
                try stream.flush()
            }
        } catch {
            lost("\(error)", at: now)
        }
        return false
    }

    func advance(to now: Duration) {
        switch state {
        case .connecting(let connector, let end) where end <= now:
            connector.giveUpWaiting()
            state = .connecting(connector, patienceEnds: now + SocketConnector.patience)
            proceed(connector, at: now)
        case .waiting(let end) where end <= now && !isStopping: connect(at: now)
        default: break
        }
    }

    var nextDeadline: Duration? {
        switch state {
        case .connecting(_, let end): end
        case .connected: nil
        case .waiting(let end): isStopping ? nil : end
        }
    }

    func beginStop(at now: Duration) { isStopping = true }

    /// A message that has begun to leave is not left half-said: the firmware would wait for the rest of it for ever.
    var isStopped: Bool {
        guard case .connected(let stream) = state else { return true }
        return !stream.wantsToWrite && !watch.isInFirmwareMessage
    }

    private func connect(at now: Duration) {
        do throws(TransportError.Cause) {
            guard let connector = try SocketConnector(to: address.socket) else { return }
            state = .connecting(connector, patienceEnds: now + SocketConnector.patience)
            proceed(connector, at: now)
        } catch {
            failed(error, at: now)
        }
    }

    private func proceed(_ connector: SocketConnector, at now: Duration) {
        do throws(TransportError.Cause) {
            guard let socket = try connector.proceed() else { return }
            let isTCP = if case .tcp = address.socket { true } else { false }
            // Without these options a conversation is slower, and it is no worse otherwise.
            if isTCP { try? ByteStream.prepare(tcp: socket) }
            try? ByteStream.enlargeSendBuffer(of: socket, to: Self.sendBuffer)
            let kind: ByteStream.Kind = isTCP ? .tcpSocket : .unixSocket
            state = .connected(ByteStream(owning: socket, kind: kind, outboundLimit: Self.outboundLimit))
            backOff = Self.firstBackOff
            lastProblem = nil
            log.notice("connected to the firmware's emulator at \(address)")
            watch.take(.connected, at: now)
        } catch {
            failed(error, at: now)
        }
    }

    private func failed(_ cause: TransportError.Cause, at now: Duration) {
        let reason =
            switch cause {
            case .unknownHost(let error): "the host is not known: \(error)"
            case .refused(let error): "\(error)"
            default: "it does not answer"
            }
        retry("cannot reach the firmware's emulator at \(address): \(reason)", at: now)
    }

    private func lost(_ reason: String, at now: Duration) {
        retry("lost the firmware's emulator at \(address): \(reason)", at: now)
        watch.take(.lost(reason: reason), at: now)
    }

    private func retry(_ problem: String, at now: Duration) {
        state = .waiting(until: now + backOff)
        // Who starts the emulator later need not be told every second.
        log.log(level: problem == lastProblem ? .debug : .error, "\(problem)\(isStopping ? "" : "; trying again")")
        lastProblem = problem
        backOff = min(backOff * 2, Self.longestBackOff)
    }
}
