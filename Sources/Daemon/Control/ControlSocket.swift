import Bundles
import Control
import FlightRecorder
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
    /// How many bytes of packages wait to be installed at most, of all programs together.
    private static let packageLimit = 16 * 1024 * 1024

    private typealias Port = CommandPort<ControlDialogue>

    private let port: Port
    private let watch: HostRunner<WatchHost>
    private let store: SQLiteStore?
    private let recorder: FlightRecorder
    private let loggers: Loggers
    private let log: Logger
    private let clock: MonotonicClock
    private let capture: ControlCapture
    /// What is logged now.
    private var logLevels: LogLevels
    private var history = EventHistory()
    /// What programs get to know of this process.
    var program: ControlProgram
    /// Where faults are added.
    private let faults: FaultDesk

    /// Listens from now on, so that an error of the path shows at once.
    /// - Parameters:
    ///   - store: what a backup is a copy of; nil for a watch that keeps nothing.
    ///   - recorder: what stands around the watch.
    ///   - faults: where faults are added; nil for a desk of its own, without an air.
    ///   - logLevels: what the loggers log.
    ///   - clock: the loop's.
    package init(
        path: String,
        access: ControlAccess = .user,
        watch: HostRunner<WatchHost>,
        store: SQLiteStore?,
        recorder: FlightRecorder,
        program: ControlProgram,
        faults: FaultDesk? = nil,
        loggers: Loggers,
        logLevels: LogLevels,
        clock: MonotonicClock
    ) throws(ProgramError) {
        self.program = program
        self.faults = faults ?? FaultDesk(watch: watch, hasStore: store != nil, isAllowed: true)
        self.loggers = loggers
        self.logLevels = logLevels
        self.clock = clock
        log = loggers[.daemon]
        capture = ControlCapture(of: watch, clock: clock, log: log)
        self.watch = watch
        self.store = store
        self.recorder = recorder
        let refusal = "\(Port.clientLimit) programs are connected already; end one of them"
        port = try CommandPort(
            path: path,
            access: access,
            for: .commands,
            log: log,
            refusal: ControlAnswer(failure: .busy, refusal).line
        ) { ControlDialogue() }
    }

    /// Keeps what happened, and tells the programs that want to know.
    /// - Parameter text: the event in words.
    func deliver(_ event: WatchEvent, text: @autoclosure () -> String, at now: Duration) {
        if let event = history.record(event, text: text(), at: now) { tell(event, at: now) }
    }

    /// The same of an event of which there are many.
    func deliver(_ event: FrequentEvent, at now: Duration) {
        guard port.hasClients else { return history.note(event, at: now) }
        tell(history.record(event, at: now), at: now)
    }

    private func tell(_ event: ControlEvent, at now: Duration) {
        guard port.hasClients else { return }
        for client in port.clients {
            if let line = client.state.conversation.line(for: event, hasRoom: client.stream.hasRoom, at: now) {
                client.stream.send(line)
            }
        }
    }

    /// Gives a packet to the programs that want them.
    private func deliver(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at now: Duration) {
        let packet = ControlPacket(Array(packet), direction == .sent ? .sent : .received, at: now)
        for client in port.clients {
            if let line = client.state.conversation.line(for: packet, hasRoom: client.stream.hasRoom) {
                client.stream.send(line)
            }
        }
    }

    /// Packets are looked at only while a program wants them.
    private func updatePacketListener() {
        guard port.clients.contains(where: \.state.conversation.wantsPackets) else {
            watch.packetListener = nil
            return
        }
        watch.packetListener = { [weak self] packet, direction, now in self?.deliver(packet, direction, at: now) }
    }

    public func start(at now: Duration) {}

    public func addPollRequests(to set: inout PollSet) {
        port.addPollRequests(to: &set)
        capture.addPollRequests(to: &set)
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) {
        port.takeInput(set, at: now) { client, bytes in
            client.state.conversation.receive(bytes)
        } leave: { _ in
            updatePacketListener()
        }
        capture.takeInput(set, at: now)
    }

    public func moveOutput(at now: Duration) -> Bool {
        guard port.hasClients else {
            capture.flush()
            return false
        }
        for client in port.clients { finishWait(of: client, at: now) }
        let isBusy = port.moveOutput { client in
            answerNext(of: client, at: now)
        } leave: { _ in
            updatePacketListener()
        }
        capture.flush()
        // What one program has done may be what another waits for.
        return isBusy || port.clients.contains { $0.state.wait.map { $0.lookedAt < history.last } ?? false }
    }

    private func answerNext(of client: Port.Client, at now: Duration) -> Port.Progress {
        guard client.state.wait == nil else { return .waits }
        switch client.state.conversation.nextItem() {
        case nil: return .reads
        case .answered(let answer)?: client.stream.send(answer.line)
        case .asked(let request)?:
            if let line = answer(to: request, of: client, at: now) { client.stream.send(line) }
        }
        return client.state.wait == nil ? .answered : .waits
    }

    /// - Returns: the answer, and lines that belong to it; nil if it comes later.
    private func answer(to request: ControlRequest, of client: Port.Client, at now: Duration) -> [UInt8]? {
        switch request {
        case .backup: return backUp(for: client).line
        case .backupPart(let offset): return part(of: client.state.backup, from: offset).line
        case .status:
            return ControlAnswer(watch.look { $0.watch.status }, of: program, history, at: now).line
        case .screenshot(let format):
            return ControlAnswer(watch.look { $0.watch.frame }, as: format, after: history.last).line
        case .look(let look):
            return watch.look { ControlAnswer(look, of: $0.watch, after: history.last, at: now) }.line
        case .messages(let direction, let app, let sequence):
            return ControlAnswer(direction, app: app, after: sequence, from: history).line
        case .wait(let wait): return begin(wait, of: client, at: now)?.line
        case .installPart(let bytes): return take(bytes, from: client).line
        case .install(let launches): return install(launches: launches, from: client, at: now).line
        case .startCapture(let path):
            return changeCapture(for: client) { capture.start(path, besides: program.paths.capture, at: now) }.line
        case .stopCapture: return changeCapture(for: client) { capture.stop() }.line
        case .packets: return beginPackets(for: client).line
        case .saveRecording(let path): return saveRecording(to: path, for: client, at: now).line
        case .setLogLevels(let text): return setLogLevels(text).line
        case .addFault, .faults, .faultNames, .clearFaults: return answer(toFaults: request, at: now).line
        case .events(let sequence): return ControlAnswer.events(after: sequence, from: history.events, at: now)
        case .perform(let command):
            let last = history.last
            do throws(WatchCommandError) {
                return ControlAnswer(try watch.perform(command, at: now), after: last, at: now).line
            } catch {
                return ControlAnswer(error).line
            }
        }
    }

    // MARK: Faults

    private func answer(toFaults request: ControlRequest, at now: Duration) -> ControlAnswer {
        let last = history.last
        do throws(WatchCommandError) {
            switch request {
            case .addFault(let fault):
                let id = try faults.add(fault, at: now)
                log.notice("fault \(id.rawValue) is there: \(fault)")
                return ControlAnswer(ControlAnswers.FaultNumber { $0.number = id.rawValue }, after: last)
            case .clearFaults(let id):
                try faults.clear(id, at: now)
                return ControlAnswer(ControlAnswers.Done.blank, after: last)
            case .faultNames: return ControlAnswer(ControlAnswers.FaultNames.all, after: last)
            default:
                let running = faults.running.map { ControlFault($0, at: now) }
                return ControlAnswer(ControlAnswers.Faults { $0.faults = running }, after: last)
            }
        } catch {
            return ControlAnswer(error)
        }
    }

    // MARK: Waiting

    /// - Returns: the answer, if it is known already.
    private func begin(_ wait: ControlWait, of client: Port.Client, at now: Duration) -> ControlAnswer? {
        if case .event(_, let sequence) = wait.goal,
            let failure = ControlAnswer.refusal(of: sequence, from: history.events)
        {
            return failure
        }
        let last = history.last
        if let answer = outcome(of: wait, since: last) { return answer }
        guard wait.duration > .zero else { return ControlAnswer(timedOut: wait) }
        client.state.wait = ControlDialogue.Wait(wait: wait, sequence: last, end: now + wait.duration, lookedAt: last)
        return nil
    }

    /// Answers a wait that is over.
    private func finishWait(of client: Port.Client, at now: Duration) {
        guard let wait = client.state.wait else { return }
        let isOver = wait.end <= now
        // Whatever changes is an event.
        guard isOver || wait.lookedAt < history.last else { return }
        client.state.wait?.lookedAt = history.last
        guard
            let answer = outcome(of: wait.wait, since: wait.sequence)
                ?? (isOver ? ControlAnswer(timedOut: wait.wait) : nil)
        else { return }
        client.state.wait = nil
        client.stream.send(answer.line)
    }

    /// - Returns: nil if it is not so.
    private func outcome(of wait: ControlWait, since sequence: UInt64) -> ControlAnswer? {
        switch wait.goal {
        case .condition(let condition):
            return watch.look { condition.holds($0.watch) } ? ControlAnswer(awaited: nil, after: sequence) : nil
        case .event(let name, let number):
            return history.events.first(name, after: number).map { ControlAnswer(awaited: $0, after: sequence) }
        }
    }

    // MARK: Packages

    private func take(_ bytes: [UInt8], from client: Port.Client) -> ControlAnswer {
        let waiting = port.clients.reduce(0) { $0 + $1.state.package.count }
        guard waiting + bytes.count <= Self.packageLimit else {
            client.state.package = []
            return ControlAnswer(
                failure: .packageTooLarge,
                "\(Self.packageLimit) bytes of packages may wait, of all programs together; what this one brought is thrown away"
            )
        }
        client.state.package += bytes
        return ControlAnswer(ControlAnswers.PackageSize { $0.byteCount = client.state.package.count })
    }

    private func install(launches: Bool, from client: Port.Client, at now: Duration) -> ControlAnswer {
        let bytes = client.state.package
        client.state.package = []
        guard !bytes.isEmpty else {
            return ControlAnswer(
                failure: .noPackage,
                "no package was brought on this connection: bring one with install-part first"
            )
        }
        let platform = watch.look { $0.watch.configuration.identity.hardware.appPlatform ?? .aplite }
        let package: AppPackage
        do throws(BundleError) {
            package = try AppBundle.package(in: ZipArchive(bytes), for: platform)
        } catch {
            return ControlAnswer(failure: .badPackage, "the package cannot be installed: \(error)")
        }
        let last = history.last
        do throws(WatchCommandError) {
            try watch.perform(.installApp(package, launches: launches), at: now)
        } catch {
            return ControlAnswer(error)
        }
        // The store has said by now whether it has the app.
        if let failure = watch.look({ $0.watch.installationFailure }) {
            return ControlAnswer(failure: .notStored, "the app is not installed: \(failure)")
        }
        let uuid = package.metadata.uuid
        guard let app = watch.look({ $0.watch.apps.first { $0.uuid == uuid } }) else {
            return ControlAnswer(failure: .notStored, "the app is not installed: the store has not answered")
        }
        return ControlAnswer(ControlAnswers.App { $0.app = ControlApp(app) }, after: last)
    }

    // MARK: Packets and the log

    /// They have keys in them, which no group is given.
    private static let packetsAreSecret = ControlAnswer(
        failure: .notPermitted,
        "only the user who started the watch, and root, may capture its packets"
    )

    private func changeCapture(for client: Port.Client, _ change: () -> ControlAnswer?) -> ControlAnswer {
        guard client.stream.isOwnUserOrRoot else {
            return Self.packetsAreSecret
        }
        return change() ?? ControlAnswer(ControlAnswers.Done.blank, after: history.last)
    }

    private func beginPackets(for client: Port.Client) -> ControlAnswer {
        guard client.stream.isOwnUserOrRoot else { return Self.packetsAreSecret }
        client.state.conversation.sendPackets()
        updatePacketListener()
        let start = clock.civilTime(at: .zero)
        return ControlAnswer(
            ControlAnswers.PacketStream { $0.startedAt = (start / .microseconds(1)).rounded() / 1_000_000 }
        )
    }

    private func saveRecording(to path: String, for client: Port.Client, at now: Duration) -> ControlAnswer {
        guard client.stream.isOwnUserOrRoot else {
            return ControlAnswer(
                failure: .notPermitted,
                "only the user who started the watch, and root, may save what was recorded of it"
            )
        }
        recorder.note("saved at \(now), on demand")
        let bytes = recorder.recording()
        do throws(ProgramError) {
            try SavedRecording.write(bytes, to: path)
        } catch {
            return ControlAnswer(failure: .recordingFailed, "\(error.what): \(error.advice)")
        }
        log.notice("what was recorded of the watch is saved in \(path)")
        let answer = ControlAnswers.SavedRecording {
            $0.size = bytes.count
            $0.seconds = recorder.span(at: now) / .seconds(1)
            $0.isWhole = !recorder.hasLostBeginning
        }
        return ControlAnswer(answer, after: history.last)
    }

    private func setLogLevels(_ text: String) -> ControlAnswer {
        do throws(LogLevels.ParsingError) {
            logLevels = try LogLevels(parsing: text, over: logLevels)
            loggers.set(logLevels)
            log.notice("logs at \(logLevels) from now on")
            return ControlAnswer(ControlAnswers.LogLevels { $0.levels = logLevels.description }, after: history.last)
        } catch {
            return ControlAnswer(failure: .badLogLevel, error.description)
        }
    }

    // MARK: Backups

    /// A backup has the keys in it, which no group is given.
    private func backUp(for client: Port.Client) -> ControlAnswer {
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

    public func advance(to now: Duration) {
        port.advance(to: now)
        capture.advance(to: now)
    }

    public var nextDeadline: Duration? {
        // A wait ends when the output moves, which it does before the loop waits again.
        var next = port.nextDeadline
        func consider(_ deadline: Duration?) {
            if let deadline { next = min(next ?? deadline, deadline) }
        }
        consider(capture.nextDeadline)
        guard port.hasClients else { return next }
        for client in port.clients { consider(client.state.wait?.end) }
        return next
    }

    public func beginStop(at now: Duration) {
        port.close()
        capture.beginStop(at: now)
    }

    public var isStopped: Bool { true }
}
