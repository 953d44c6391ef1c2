import Board
import HCIRuntime
import Logging
import PebbleWatch

/// The LED of a board: it shows how the watch is doing.
final class BoardLED: LoopMember {
    private let output: GPIOOutput
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var pattern = LEDPattern()
    /// What the LED was told last.
    private var isLit = false
    private var isStale = true
    /// When what it shows ends by itself, which no event tells: a pairing window, the word of a refused phone.
    private var signalEnd: Duration?
    private var isStopping = false
    private var hasFailed = false

    init(_ board: BoardHardware, line: UInt32, watch: HostRunner<WatchHost>, log: Logger) throws(GPIOError) {
        let chip = try GPIOChip.named(board.chip ?? "")
        output = try GPIOOutput(chip, line: line, active: board.ledLevel)
        self.watch = watch
        self.log = log
        log.info("LED on \(chip.label), \(chip.path): \(line)")
    }

    /// Takes note that something happened which it may show.
    func deliver(_ event: WatchEvent) {
        if event.concernsStatus { isStale = true }
    }

    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}

    /// Before the loop waits, so that it shows what has just happened.
    func moveOutput(at now: Duration) -> Bool {
        guard !isStopping else { return false }
        if isStale || signalEnd.map({ $0 <= now }) == true {
            isStale = false
            let status = watch.host.watch.status
            let ends = [status.pairing.windowEnd, status.pairing.refused.map { $0.time + LEDSignal.refusedDuration }]
            signalEnd = ends.compactMap(\.self).filter { $0 > now }.min()
            pattern.show(LEDSignal(status, at: now), at: now)
        }
        pattern.advance(to: now)
        light(pattern.isLit)
        return false
    }

    /// `moveOutput` follows each time before the loop waits.
    func advance(to now: Duration) {}

    var nextDeadline: Duration? {
        isStopping ? nil : [pattern.nextDeadline, signalEnd].compactMap(\.self).min()
    }

    func beginStop(at now: Duration) {
        isStopping = true
        light(false)
    }

    var isStopped: Bool { true }

    private func light(_ isLit: Bool) {
        guard isLit != self.isLit else { return }
        self.isLit = isLit
        do throws(GPIOError) {
            try output.set(isLit)
            hasFailed = false
        } catch {
            // A watch without its LED is a watch all the same.
            if !hasFailed { log.error("\(error)") }
            hasFailed = true
        }
    }
}

extension LEDSignal {
    /// How long it tells of a phone that was refused.
    static let refusedDuration = Duration.seconds(10)

    /// What is most worth knowing of a watch at a moment.
    init(_ status: WatchStatus, at now: Duration) {
        self =
            if !status.isReady {
                .fault
            } else if !status.pairing.waiting.isEmpty {
                .question
            } else if let refused = status.pairing.refused, now < refused.time + Self.refusedDuration {
                .refused
            } else if status.pairing.windowEnd != nil {
                .pairing
            } else if !status.links.isEmpty {
                .connected
            } else if status.onAir.connectable?.remaining != nil {
                .advertising
            } else {
                // The last and slowest step of the advertising policy, which is for ever.
                .idle
            }
    }
}
