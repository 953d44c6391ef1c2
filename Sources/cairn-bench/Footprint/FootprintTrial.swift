import AirSimulator
import BluetoothHCI
import Daemon
import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PebblePhone

/// A watch in a process of its own, on a simulated air of this process, with a phone that listens there.
///
/// Everything is measured from outside: an advertisement counts when a scanner on the air has heard it, memory and
/// processor time are the kernel's figures. Air and phone take their own processor time, in this process.
final class FootprintTrial: LoopMember {
    /// What is looked at.
    enum Kind {
        /// Only the start: it ends with the first advertisement.
        case start
        /// A watch that advertises and is left alone for so long, and then a phone that connects and exchanges messages with
        /// it.
        case life(idle: Duration)
    }

    /// What was seen.
    struct Findings {
        /// From the program's execution to its first advertisement, and the processor time that the program took for it.
        var firstAdvertisement: Duration?
        var startProcessor: Duration?
        /// When it advertised and had nothing else to do.
        var idle: WatchProcess.Usage?
        /// What it did while it was left alone, a second.
        var idleSleeps: Double?
        var idleProcessor: Duration?
        /// While a phone was connected, at its largest.
        var connected: WatchProcess.Usage?
        /// Why there is not more.
        var failure: String?
    }

    /// How long a program may take to advertise, a small share of a processor included.
    private static let patience: Duration = .seconds(30)
    /// After the first advertisement, until the start is over.
    private static let settling: Duration = .seconds(2)

    private enum Stage {
        case starting(until: Duration)
        case settling(until: Duration)
        case idling(since: Duration, until: Duration, before: WatchProcess.Usage)
        case connected(until: Duration)
        case over
    }

    private(set) var findings = Findings()
    private let kind: Kind
    private let program: String
    private let arguments: [String]
    private let share: ProcessorShare?
    private let loop: EventLoop
    private let air: VirtualAir
    private let port: UInt16
    private let log: String
    private var phone: HostRunner<FootprintPhone>?
    private var watch: WatchProcess?
    private var executed = Duration.zero
    private var stage = Stage.over

    /// - Parameters:
    ///   - program: the `cairn` that is measured.
    ///   - share: what it has of a processor; nil for all of one.
    ///   - folder: where it keeps its state and its log.
    init(_ kind: Kind, program: String, share: ProcessorShare?, folder: String) throws {
        self.kind = kind
        self.share = share
        let loggers = Loggers(LogLevels(.error))
        loop = EventLoop(clock: MonotonicClock(), signals: nil, log: loggers[.daemon])
        air = VirtualAir(Air(seed: 1, quality: .perfect), log: loggers[.air])
        port = try air.listen(on: 0)
        log = folder + "/cairn.log"
        self.program = program
        arguments = [
            "run", "--controller", "tcp:127.0.0.1:\(port)", "--state", folder + "/state",
            "--insecure-test-link",
        ]
        let scanner = HostRunner(try FootprintScanner(), log: loggers[.hci]) { [unowned self] _, now in hear(at: now) }
        let phone = HostRunner(try FootprintPhone(), log: loggers[.hci]) { [unowned self] event, _ in follow(event) }
        air.attach(scanner, to: .modern)
        air.attach(phone, to: .modern)
        self.phone = phone
        loop.add(air)
        loop.add(self)
    }

    /// Runs it to its end.
    func run() throws -> Findings {
        _ = try loop.run()
        watch.take()?.kill()
        return findings
    }

    // MARK: - LoopMember

    func start(at now: Duration) throws(ProgramError) {
        stage = .starting(until: now + Self.patience)
        executed = loop.clock.now
        do throws(SystemError) {
            watch =
                if let share {
                    try share.start { () throws(SystemError) in try WatchProcess(program, arguments, log: log) }
                } else {
                    try WatchProcess(program, arguments, log: log)
                }
        } catch {
            throw ProgramError(.unavailable, "cannot run \(program): \(error)", advice: "name another with --program")
        }
    }

    func addPollRequests(to set: inout PollSet) {}

    func takeInput(_ set: borrowing PollSet, at now: Duration) {}

    func moveOutput(at now: Duration) -> Bool { false }

    var nextDeadline: Duration? {
        switch stage {
        case .starting(let end), .settling(let end), .idling(_, let end, _), .connected(let end): end
        case .over: nil
        }
    }

    func advance(to now: Duration) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        switch stage {
        case .starting: fail("no advertisement within \(Self.patience): see \(log)")
        case .settling:
            guard case .life(let idle) = kind, let usage else { return fail("the watch has ended: see \(log)") }
            stage = .idling(since: now, until: now + idle, before: usage)
        case .idling(let start, _, let before):
            guard let usage else { return fail("the watch has ended: see \(log)") }
            let seconds = (now - start) / .seconds(1)
            findings.idle = usage
            findings.idleSleeps = Double(usage.sleeps - before.sleeps) / seconds
            findings.idleProcessor = (usage.processor - before.processor) / seconds
            stage = .connected(until: now + Self.patience)
            phone?.update(at: now) { $0.connect(at: now) }
        case .connected: fail("the phone was not done within \(Self.patience): see \(log)")
        case .over: break
        }
    }

    func beginStop(at now: Duration) {}

    var isStopped: Bool { true }

    // MARK: -

    private var usage: WatchProcess.Usage? {
        switch watch {
        case .some(let watch): watch.usage
        case nil: nil
        }
    }

    private func hear(at now: Duration) {
        guard case .starting = stage else { return }
        findings.firstAdvertisement = now - executed
        findings.startProcessor = usage?.processor
        if case .start = kind { end() } else { stage = .settling(until: now + Self.settling) }
    }

    private func follow(_ event: FootprintPhone.Event) {
        guard case .connected = stage else { return }
        switch event {
        case .progress:
            if let usage, usage.resident > findings.connected?.resident ?? 0 { findings.connected = usage }
        case .ended(.success): end()
        case .ended(.failure(let reason)): fail("the phone: \(reason)")
        }
    }

    private func fail(_ reason: String) {
        findings.failure = reason
        end()
    }

    private func end() {
        stage = .over
        loop.requestStop()
    }
}
