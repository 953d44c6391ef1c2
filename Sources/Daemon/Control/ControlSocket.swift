import Control
import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch
import WatchStorage

/// The control socket of a running watch: programs of this user connect, send commands, and get events.
///
/// It lives in the loop like everything else. A program that does not read holds up only itself: what it asked for is
/// not read any further, and events that it does not take are lost.
public final class ControlSocket: LoopMember {
    /// How many programs may be connected at once.
    public static let clientLimit = 16
    /// Requests of one program that are answered in one turn of the loop, so that none keeps the radio waiting.
    private static let requestsPerTurn = 64
    /// When so many bytes wait for a program, it gets no more.
    private static let outboundLimit = 256 * 1024
    /// How long no program is let in after that failed: the reason, such as too many open files, will still be there.
    private static let acceptPause: Duration = .seconds(1)

    private final class Client {
        let stream: ByteStream
        var conversation = ControlConversation()
        var pollToken: PollSet.Token?
        /// Whether whole requests wait to be answered: then nothing more is read.
        var isBehind = false
        /// The copy of the watch's state that it reads.
        var backup: BackupSnapshot?

        init(_ stream: ByteStream) { self.stream = stream }
    }

    private let listener: PrivateSocket
    private let watch: HostRunner<WatchHost>
    private let store: SQLiteStore?
    private let log: Logger
    private var history = EventHistory()
    /// What programs get to know of this process.
    var program: ControlProgram
    private var clients: [Client] = []
    private var listenerToken: PollSet.Token?
    private var acceptPauseEnds: Duration?

    /// Listens from now on, so that an error of the path shows at once.
    /// - Parameter store: what a backup is a copy of; nil for a watch that keeps nothing.
    package init(
        path: String,
        access: ControlAccess = .user,
        watch: HostRunner<WatchHost>,
        store: SQLiteStore?,
        program: ControlProgram,
        log: Logger
    ) throws(ProgramError) {
        self.program = program
        listener = try PrivateSocket(path: path, access: access, for: .commands)
        self.watch = watch
        self.store = store
        self.log = log
        log.info("takes commands at \(path)")
    }

    /// Keeps what happened, and tells the programs that want to know.
    func deliver(_ event: WatchEvent, text: String, at now: Duration) {
        guard let event = history.record(event, text: text, at: now) else { return }
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
            // One that stopped for want of room continues when there is some; one that used up its share, at once.
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
            client.stream.send(answer(to: item, of: client, at: now))
            share -= 1
        }
        client.isBehind = true
    }

    private func answer(to item: ControlConversation.Item, of client: Client, at now: Duration) -> [UInt8] {
        switch item {
        case .backup: return backUp(for: client).line
        case .backupPart(let offset): return part(of: client.backup, from: offset).line
        case .answered(let answer): return answer.line
        case .status: return ControlAnswer(watch.host.watch.status, of: program, history, at: now).line
        case .events(let sequence): return ControlAnswer.events(after: sequence, from: history, at: now)
        case .perform(let command):
            let last = history.last
            do throws(WatchCommandError) {
                let result = try watch.withWatch(at: now) { watch throws(WatchCommandError) in
                    try watch.perform(command, at: now)
                }
                return ControlAnswer(result, after: last, at: now).line
            } catch {
                return ControlAnswer(error).line
            }
        }
    }

    /// A backup has the keys in it, which no group is given.
    private func backUp(for client: Client) -> ControlAnswer {
        guard client.stream.isOwnUserOrRoot else {
            return ControlAnswer(
                failure: .notPermitted,
                "only the user who started the watch, and root, may back it up"
            )
        }
        guard let store else {
            return ControlAnswer(failure: .nothingIsKept, "this watch keeps nothing: it has no state directory")
        }
        do throws(ProgramError) {
            let backup = try BackupSnapshot(of: store)
            client.backup = backup
            log.notice("its state is being backed up: \(backup.summary.size) bytes")
            return ControlAnswer(ControlBackup(backup.summary))
        } catch {
            return ControlAnswer(failure: .backupFailed, error.what)
        }
    }

    private func part(of backup: BackupSnapshot?, from offset: Int) -> ControlAnswer {
        guard let backup else {
            return ControlAnswer(failure: .noBackup, "there is no backup on this connection: ask for one first")
        }
        do throws(ProgramError) {
            return ControlAnswer(backupPart: try backup.piece(from: offset))
        } catch {
            return ControlAnswer(failure: .backupFailed, error.what)
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
            while let socket = try listener.accept() {
                let stream = ByteStream(owning: socket, kind: .unixSocket, outboundLimit: Self.outboundLimit)
                guard clients.count < Self.clientLimit else {
                    let refusal = "\(Self.clientLimit) programs are connected already; end one of them"
                    stream.send(ControlAnswer(failure: .busy, refusal).line)
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
