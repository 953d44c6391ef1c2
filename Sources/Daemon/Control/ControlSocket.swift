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
    /// What is kept of a program.
    private struct Dialogue {
        var conversation = ControlConversation()
        /// The copy of the watch's state that it reads.
        var backup: BackupSnapshot?
    }

    private let port: CommandPort<Dialogue>
    private let watch: HostRunner<WatchHost>
    private let store: SQLiteStore?
    private let log: Logger
    private var history = EventHistory()
    /// What programs get to know of this process.
    var program: ControlProgram

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
        self.watch = watch
        self.store = store
        self.log = log
        let refusal = "\(CommandPort<Dialogue>.clientLimit) programs are connected already; end one of them"
        port = try CommandPort(
            path: path,
            access: access,
            for: .commands,
            log: log,
            refusal: ControlAnswer(failure: .busy, refusal).line
        ) { Dialogue() }
    }

    /// Keeps what happened, and tells the programs that want to know.
    func deliver(_ event: WatchEvent, text: String, at now: Duration) {
        guard let event = history.record(event, text: text, at: now) else { return }
        for client in port.clients {
            if let line = client.state.conversation.line(for: event, hasRoom: client.stream.hasRoom, at: now) {
                client.stream.send(line)
            }
        }
    }

    public func start(at now: Duration) {}

    public func addPollRequests(to set: inout PollSet) { port.addPollRequests(to: &set) }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) {
        port.takeInput(set, at: now) { client, bytes in
            client.state.conversation.receive(bytes)
        } leave: { _ in
        }
    }

    public func moveOutput(at now: Duration) -> Bool {
        port.moveOutput { client in
            guard let item = client.state.conversation.nextItem() else { return .reads }
            client.stream.send(answer(to: item, of: client, at: now))
            return .answered
        } leave: { _ in
        }
    }

    private func answer(
        to item: ControlConversation.Item,
        of client: CommandPort<Dialogue>.Client,
        at now: Duration
    ) -> [UInt8] {
        switch item {
        case .backup: return backUp(for: client).line
        case .backupPart(let offset): return part(of: client.state.backup, from: offset).line
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
    private func backUp(for client: CommandPort<Dialogue>.Client) -> ControlAnswer {
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
            client.state.backup = backup
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

    public func advance(to now: Duration) { port.advance(to: now) }

    public var nextDeadline: Duration? { port.nextDeadline }

    public func beginStop(at now: Duration) { port.close() }

    public var isStopped: Bool { true }
}
