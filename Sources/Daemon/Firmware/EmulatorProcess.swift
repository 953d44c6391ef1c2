import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch

/// The emulator that Cairn starts for the real firmware: it is started again when it ends, or when the firmware in it hangs, and
/// ends with Cairn.
///
/// What it prints goes to the log, each line once. One that ends again and again is started less and less often.
final class EmulatorProcess: LoopMember {
    /// The first wait before it is started again; it doubles each time...
    static let firstBackOff: Duration = .milliseconds(250)
    /// ...up to this.
    static let longestBackOff: Duration = .seconds(15)
    /// One that has run for so long has started well.
    static let goodRun: Duration = .seconds(20)
    /// How long a firmware may take to answer for the first time. It may have to prepare a new flash.
    static let bootPatience: Duration = .seconds(180)
    /// How long it may take to end when it is asked to, before it is ended.
    static let farewell: Duration = .seconds(1)
    /// How long a program may take to say its version.
    private static let versionPatience: Duration = .seconds(10)
    /// How many different lines are known again.
    private static let knownLineLimit = 200

    private enum State {
        case running(BoundProgram, since: Duration)
        case waiting(until: Duration)
        case ended
    }

    private let images: EmulatorImages.Found
    private let directory: EmulatorDirectory
    private let command: EmulatorCommand
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var state = State.waiting(until: .zero)
    private var token: PollSet.Token?
    private var backOff = firstBackOff
    private var knownLines: Set<String> = []
    private var hangCount = 0
    private var hasAnswered = false
    private var isStopping = false
    private var farewellEnd: Duration?

    /// Finds everything, and makes the flash.
    init(
        _ images: EmulatorImages,
        state: String,
        watch: HostRunner<WatchHost>,
        log: Logger
    ) throws(ProgramError) {
        let found = try images.find()
        let directory = try EmulatorDirectory(in: state, for: found)
        let hasDisplay = getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil
        command = EmulatorCommand(
            found,
            qemu: try Self.version(of: found.program, in: directory.descriptor),
            hasDisplay: hasDisplay
        )
        self.images = found
        self.directory = directory
        self.watch = watch
        self.log = log
    }

    /// Where the emulator's port of the Pebble Protocol is.
    var port: EmulatorPlace { directory.place(of: EmulatorCommand.Name.port, called: "qemu:\(images.board.rawValue)") }

    /// Where its console is.
    var console: EmulatorPlace {
        directory.place(of: EmulatorCommand.Name.console, called: "qemu:\(images.board.rawValue)")
    }

    func start(at now: Duration) {
        log.notice("the emulator of \(images.name) keeps its flash in \(directory.path)")
        launch(at: now)
    }

    func addPollRequests(to set: inout PollSet) {
        guard case .running(let program, _) = state else { return token = nil }
        token = set.add(program.descriptor, reading: true, writing: false)
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let token, set.isReadable(token), case .running(let program, let since) = state else { return }
        program.read { say($0) }
        if let end = program.end { ended(end, since: since, at: now) }
    }

    func moveOutput(at now: Duration) -> Bool {
        guard case .running(let program, let since) = state, let status = watch.host.watch.firmwareStatus else {
            return false
        }
        hasAnswered = hasAnswered || status.isAnswering
        if status.hangCount != hangCount {
            hangCount = status.hangCount
            // One that was asked before this emulator was started is not this one.
            if hasAnswered { restart(program, since: since, because: "the firmware hangs", at: now) }
        }
        return false
    }

    func advance(to now: Duration) {
        switch state {
        case .running(let program, let since):
            if let end = farewellEnd, end <= now {
                farewellEnd = nil
                program.stop(force: true)
            }
            guard !isStopping, !hasAnswered, since + Self.bootPatience <= now else { return }
            restart(program, since: since, because: "the firmware has not answered since it was started", at: now)
        case .waiting(let end) where end <= now && !isStopping: launch(at: now)
        case .waiting, .ended: break
        }
    }

    var nextDeadline: Duration? {
        switch state {
        case .running(_, let since): farewellEnd ?? (hasAnswered ? nil : since + Self.bootPatience)
        case .waiting(let end): isStopping ? nil : end
        case .ended: nil
        }
    }

    func beginStop(at now: Duration) {
        isStopping = true
        guard case .running(let program, _) = state else { return state = .ended }
        farewellEnd = now + Self.farewell
        program.stop(force: false)
    }

    var isStopped: Bool { if case .running = state { false } else { true } }

    private func launch(at now: Duration) {
        directory.removeSockets()
        hasAnswered = false
        hangCount = watch.host.watch.firmwareStatus?.hangCount ?? 0
        do throws(SystemError) {
            log.debug("starting \(images.program) \(command.arguments.joined(separator: " "))")
            let program = try BoundProgram(
                images.program,
                command.arguments,
                // The firmware says something when it has started: only then may it be spoken to.
                adding: ["PEBBLE_QEMU_START_CONNECTED": "1"],
                in: directory.descriptor
            )
            state = .running(program, since: now)
        } catch {
            wait("cannot start the emulator \(images.program): \(error)", at: now)
        }
    }

    private func restart(_ program: BoundProgram, since: Duration, because reason: String, at now: Duration) {
        log.error("\(reason): its emulator is started again")
        program.stop(force: true)
        // Its end is noticed by its output, as any other.
        farewellEnd = nil
        hasAnswered = false
    }

    private func ended(_ end: String, since: Duration, at now: Duration) {
        farewellEnd = nil
        guard !isStopping else { return state = .ended }
        if since + Self.goodRun <= now || hasAnswered {
            backOff = Self.firstBackOff
            knownLines.removeAll()
        }
        wait("the emulator \(images.program) \(end)", at: now)
    }

    private func wait(_ problem: String, at now: Duration) {
        state = .waiting(until: now + backOff)
        let level: Logger.Level = isKnown(problem) ? .debug : .error
        log.log(level: level, "\(problem); starting it again")
        backOff = min(backOff * 2, Self.longestBackOff)
    }

    private func say(_ line: String) {
        let level: Logger.Level = isKnown(line) ? .debug : .warning
        log.log(level: level, "the emulator says: \(line)")
    }

    private func isKnown(_ line: String) -> Bool {
        if knownLines.count >= Self.knownLineLimit { knownLines.removeAll() }
        return !knownLines.insert(line).inserted
    }

    /// The first number of an emulator's version.
    private static func version(
        of path: String,
        in directory: borrowing FileDescriptor
    ) throws(ProgramError) -> Int {
        let advice = "let PEBBLE_QEMU_PATH name the SDK's qemu-pebble"
        let program: BoundProgram
        do throws(SystemError) {
            program = try BoundProgram(path, ["--version"], in: directory)
        } catch {
            throw ProgramError(.unavailable, "cannot start the emulator \(path): \(error)", advice: advice)
        }
        let clock = MonotonicClock()
        let end = clock.now + versionPatience
        var lines: [String] = []
        while program.end == nil, clock.now < end {
            var request = pollfd(fd: program.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&request, 1, 100)
            program.read { if lines.count < 10 { lines.append($0) } }
        }
        guard let version = lines.lazy.compactMap(EmulatorCommand.version).first else {
            let said = lines.first.map { ": \($0)" } ?? ""
            throw ProgramError(
                .unavailable,
                "the emulator \(path) does not say its version\(said)",
                advice: advice
            )
        }
        return version
    }
}
