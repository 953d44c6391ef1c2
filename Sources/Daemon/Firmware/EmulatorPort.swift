import HCIRuntime
import LinuxBluetooth
import Logging

/// A connection to a serial port of an emulator, as QEMU offers it on a socket: it is made again for as long as its owner wants it.
final class EmulatorPort {
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

    /// What became of the connection.
    enum Change {
        case connected
        case lost(reason: String)
    }

    private let place: EmulatorPlace
    private let name: String
    private let log: Logger
    private var state: State = .waiting(until: .zero)
    private var token: PollSet.Token?
    private var backOff = firstBackOff
    private var lastProblem: String?
    private var isStopping = false

    /// - Parameter name: what the log calls it, such as “the firmware's emulator”.
    init(_ place: EmulatorPlace, name: String, log: Logger) {
        self.place = place
        self.name = name
        self.log = log
    }

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

    /// Goes on with what is ready.
    func takeInput(
        _ set: borrowing PollSet,
        at now: Duration,
        _ receive: (ArraySlice<UInt8>) -> Void
    ) -> Change? {
        guard let token else { return nil }
        switch state {
        case .connecting(let connector, _) where set.isWritable(token): return proceed(connector, at: now)
        case .connected(let stream) where set.isReadable(token):
            do {
                try stream.receive(receive)
                return nil
            } catch {
                return lost("\(error)", at: now)
            }
        default: return nil
        }
    }

    /// Sends what there is, as long as there is room.
    /// - Parameter next: the next frames, whole; empty if there are none.
    func send(at now: Duration, _ next: () -> [UInt8]) -> Change? {
        guard case .connected(let stream) = state else { return nil }
        do {
            try stream.flush()
            // The kernel is given a message whole, if a frame holds it: a process that is killed then leaves no half message
            // behind, after which the firmware would be out of step.
            while !stream.wantsToWrite {
                let bytes = next()
                guard !bytes.isEmpty else { break }
                stream.send(bytes)
                try stream.flush()
            }
            return nil
        } catch {
            return lost("\(error)", at: now)
        }
    }

    /// Lets time pass.
    func advance(to now: Duration) -> Change? {
        switch state {
        case .connecting(let connector, let end) where end <= now:
            connector.giveUpWaiting()
            state = .connecting(connector, patienceEnds: now + SocketConnector.patience)
            return proceed(connector, at: now)
        case .waiting(let end) where end <= now && !isStopping: return connect(at: now)
        default: return nil
        }
    }

    var nextDeadline: Duration? {
        switch state {
        case .connecting(_, let end): end
        case .connected: nil
        case .waiting(let end): isStopping ? nil : end
        }
    }

    func beginStop() { isStopping = true }

    /// Whether there is a connection.
    var isConnected: Bool { if case .connected = state { true } else { false } }

    /// Whether nothing is on its way that would be left half-sent.
    var isIdle: Bool {
        guard case .connected(let stream) = state else { return true }
        return !stream.wantsToWrite
    }

    /// Makes the first attempt, or the next.
    func connect(at now: Duration) -> Change? {
        do throws(TransportError.Cause) {
            guard let connector = try SocketConnector(to: place.socket) else { return nil }
            state = .connecting(connector, patienceEnds: now + SocketConnector.patience)
            return proceed(connector, at: now)
        } catch {
            failed(error, at: now)
            return nil
        }
    }

    private func proceed(_ connector: SocketConnector, at now: Duration) -> Change? {
        do throws(TransportError.Cause) {
            guard let socket = try connector.proceed() else { return nil }
            let isTCP = if case .tcp = place.socket { true } else { false }
            // Without these options a conversation is slower, and it is no worse otherwise.
            if isTCP { try? ByteStream.prepare(tcp: socket) }
            try? ByteStream.enlargeSendBuffer(of: socket, to: Self.sendBuffer)
            let kind: ByteStream.Kind = isTCP ? .tcpSocket : .unixSocket
            state = .connected(ByteStream(owning: socket, kind: kind, outboundLimit: Self.outboundLimit))
            backOff = Self.firstBackOff
            lastProblem = nil
            log.notice("connected to \(name) at \(place)")
            return .connected
        } catch {
            failed(error, at: now)
            return nil
        }
    }

    private func failed(_ cause: TransportError.Cause, at now: Duration) {
        let reason =
            switch cause {
            case .unknownHost(let error): "the host is not known: \(error)"
            case .refused(let error): "\(error)"
            default: "it does not answer"
            }
        retry("cannot reach \(name) at \(place): \(reason)", at: now)
    }

    private func lost(_ reason: String, at now: Duration) -> Change {
        retry("lost \(name) at \(place): \(reason)", at: now)
        return .lost(reason: reason)
    }

    private func retry(_ problem: String, at now: Duration) {
        state = .waiting(until: now + backOff)
        // Who starts the emulator later need not be told every second; what Cairn starts is told of where it is started.
        let isNews = problem != lastProblem && !place.isOwn
        log.log(level: isNews ? .error : .debug, "\(problem)\(isStopping ? "" : "; trying again")")
        lastProblem = problem
        // One that Cairn starts is about to be there, and its first word must not be missed.
        if !place.isOwn { backOff = min(backOff * 2, Self.longestBackOff) }
    }
}
