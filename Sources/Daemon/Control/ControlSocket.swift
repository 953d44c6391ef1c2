import ControlServer
import LinuxBluetooth
import Logging
import PebbleWatch

/// The control socket of a running watch: programs of this user connect, ask, and are told what happens.
///
/// It lives in the loop like everything else. A program that does not read holds up nobody but itself: what it asked for is
/// not read any further, and events that it does not take are lost.
public final class ControlSocket: LoopMember {
    /// How many programs may be connected at once.
    public static let clientLimit = 16
    /// Requests of one program that are answered in one turn of the loop, so that none keeps the radio waiting.
    private static let requestsPerTurn = 64
    /// When so many bytes wait for a program, it gets no more.
    private static let outboundLimit = 256 * 1024
    /// How long nobody is let in after that failed: the reason, such as too many open files, will still be there.
    private static let acceptPause: Duration = .seconds(1)

    private final class Client {
        let stream: ByteStream
        var conversation = ControlConversation()
        var pollToken: PollSet.Token?
        /// Whether whole requests wait to be answered: then nothing more is read.
        var isBehind = false

        init(_ stream: ByteStream) { self.stream = stream }
    }

    private let listener: ControlListener
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var clients: [Client] = []
    private var listenerToken: PollSet.Token?
    private var acceptPauseEnds: Duration?

    /// Listens from now on, so that whatever is wrong with the path shows at once.
    public init(
        path: String,
        access: ControlAccess = .user,
        watch: HostRunner<WatchHost>,
        log: Logger
    ) throws(DaemonError) {
        listener = try ControlListener(path: path, access: access)
        self.watch = watch
        self.log = log
        log.info("takes commands at \(path)")
    }

    /// Tells the programs that want to know what happened.
    func deliver(_ event: WatchEvent, text: String, at now: Duration) {
        guard clients.contains(where: \.conversation.wantsEvents),
            let event = ControlEvent(event, text: text, at: now)
        else { return }
        for client in clients {
            if let line = client.conversation.line(for: event, hasRoom: client.stream.hasRoom, at: now) {
                client.stream.send(line)
            }
        }
    }

    public func start(at now: Duration) {}

    public func addPollRequests(to set: inout PollSet) {
        listenerToken =
            acceptPauseEnds == nil ? set.add(listener.descriptor, reading: true, writing: false) : nil
        for client in clients {
            client.pollToken = set.add(
                client.stream.descriptor,
                reading: !client.isBehind,
                writing: client.stream.wantsToWrite
            )
        }
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) {
        for client in clients {
            guard let token = client.pollToken, set.isReadable(token) else { continue }
            do {
                // Of a program that is behind, only its end is of interest: it shows when its answers are written.
                guard !client.isBehind else { continue }
                try client.stream.receive { client.conversation.receive($0) }
            } catch {
                remove(client)
            }
        }
        if let token = listenerToken, set.isReadable(token) { acceptClients(at: now) }
    }

    public func moveOutput(at now: Duration) -> Bool {
        var isBusy = false
        for client in clients {
            answer(client, at: now)
            do {
                try client.stream.flush()
            } catch {
                remove(client)
                continue
            }
            // One that stopped for want of room goes on when there is some; one that used up its share, at once.
            if client.isBehind, client.stream.hasRoom { isBusy = true }
        }
        return isBusy
    }

    private func answer(_ client: Client, at now: Duration) {
        var share = Self.requestsPerTurn
        while share > 0, client.stream.hasRoom {
            guard let item = client.conversation.nextItem() else {
                client.isBehind = false
                return
            }
            client.stream.send(answer(to: item, at: now).line)
            share -= 1
        }
        client.isBehind = true
    }

    private func answer(to item: ControlConversation.Item, at now: Duration) -> ControlAnswer {
        switch item {
        case .answered(let answer): return answer
        case .status: return ControlAnswer(watch.host.firmware.status, at: now)
        case .perform(let command):
            do throws(WatchCommandError) {
                let result = try watch.withFirmware(at: now) { firmware throws(WatchCommandError) in
                    try firmware.perform(command, at: now)
                }
                return ControlAnswer(result, at: now)
            } catch {
                return ControlAnswer(error)
            }
        }
    }

    public func advance(to now: Duration) {
        if let end = acceptPauseEnds, end <= now { acceptPauseEnds = nil }
    }

    public var nextDeadline: Duration? { acceptPauseEnds }

    public func beginStop(at now: Duration) { listener.close() }

    public var isStopped: Bool { true }

    private func acceptClients(at now: Duration) {
        do {
            while let stream = try listener.accept(outboundLimit: Self.outboundLimit) {
                guard clients.count < Self.clientLimit else {
                    let refusal = "\(Self.clientLimit) programs are connected already; end one of them"
                    stream.send(ControlAnswer(failure: ControlAnswer.busyCode, refusal).line)
                    try? stream.flush()
                    continue
                }
                clients.append(Client(stream))
            }
        } catch {
            log.error("cannot take the next command: \(error); the next attempt is in \(Self.acceptPause)")
            acceptPauseEnds = now + Self.acceptPause
        }
    }

    private func remove(_ client: Client) { clients.removeAll { $0 === client } }
}
