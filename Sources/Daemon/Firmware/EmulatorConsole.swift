import HCIRuntime
import Logging
import PebbleProtocol
import PebbleWatch

/// The console of the emulator that the real firmware runs in: its log goes to Cairn's, and its prompt begins a fresh session of
/// the firmware's between two phones.
final class EmulatorConsole: LoopMember {
    /// What ends the firmware's session and lets the next one begin.
    private static let renewal = ["bt airplane mode enter", "bt airplane mode exit"]

    private let port: EmulatorPort
    private let link: EmulatorLink
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var console = PulseConsole()
    private var isRenewing = false

    /// - Parameter link: the connection to the same emulator's other port.
    init(_ place: EmulatorPlace, beside link: EmulatorLink, watch: HostRunner<WatchHost>, log: Logger) {
        self.link = link
        port = EmulatorPort(place, name: "the firmware's console", log: log)
        self.watch = watch
        self.log = log
    }

    func start(at now: Duration) { tell(port.connect(at: now), at: now) }

    func addPollRequests(to set: inout PollSet) { port.addPollRequests(to: &set) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        tell(port.takeInput(set, at: now) { console.receive($0, at: now) }, at: now)
        handleEvents(at: now)
    }

    func moveOutput(at now: Duration) -> Bool {
        let isWanted = watch.host.watch.firmwareStatus?.wantsFreshSession ?? false
        if isWanted, !isRenewing {
            isRenewing = true
            console.run(Self.renewal, at: now)
            handleEvents(at: now)
        }
        if !isWanted { isRenewing = false }
        tell(port.send(at: now) { console.nextBytes() }, at: now)
        return false
    }

    func advance(to now: Duration) {
        tell(port.advance(to: now), at: now)
        console.advance(to: now)
        handleEvents(at: now)
    }

    var nextDeadline: Duration? { [port.nextDeadline, console.nextDeadline].compactMap { $0 }.min() }

    func beginStop(at now: Duration) { port.beginStop() }

    /// Nothing that is said here has to be whole.
    var isStopped: Bool { true }

    private func tell(_ change: EmulatorPort.Change?, at now: Duration) {
        switch change {
        case .connected: console.connected(at: now)
        case .lost:
            console.lost()
            handleEvents(at: now)
        case nil: break
        }
    }

    private func handleEvents(at now: Duration) {
        while let event = console.nextEvent() {
            switch event {
            case .opened:
                log.info("the firmware's console takes commands")
                link.consoleHasOpened(at: now)
                watch.take(.console(isThere: true), at: now)
            case .closed(let hasRestarted):
                log.info("the firmware's console takes no commands any more")
                watch.take(.console(isThere: false), at: now)
                if hasRestarted { link.firmwareHasRestarted(at: now) }
            case .log(let line):
                let place = line.line == 0 ? line.source : "\(line.source):\(line.line)"
                log.log(level: Self.level(of: line.level), "\(place) \(line.text)")
            case .output(let text): log.debug("the console answers: \(text)")
            case .finished(true): watch.take(.sessionRenewed, at: now)
            case .finished(false):
                guard isRenewing else { break }
                log.warning("the firmware's console begins no fresh session; phones get that of the phone before")
                watch.take(.console(isThere: false), at: now)
            }
        }
    }

    private static func level(of level: PulseLogLine.Level) -> Logger.Level {
        switch level {
        case .always: .notice
        case .error: .error
        case .warning: .warning
        case .info: .info
        case .debug: .debug
        case .verbose: .trace
        }
    }
}
