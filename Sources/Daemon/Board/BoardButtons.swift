import Board
import Glibc
import HCIRuntime
import Logging
import PebbleWatch

/// The buttons of a board: what their lines say is what a person does to the watch.
final class BoardButtons: LoopMember {
    private let inputs: GPIOInputs
    private let buttons: [UInt32: WatchButton]
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    /// The loop's time when the kernel's monotonic clock shows zero.
    private let clockOffset: Duration
    private var lines = HeldLines()
    private var debouncer: LineDebouncer
    private var token: PollSet.Token?

    init(_ board: BoardHardware, clock: MonotonicClock, watch: HostRunner<WatchHost>, log: Logger) throws(GPIOError) {
        let chip = try GPIOChip.named(board.chip ?? "")
        let order = board.buttons.sorted { $0.value < $1.value }
        inputs = try GPIOInputs(
            chip,
            lines: order.map(\.value),
            active: board.buttonLevel,
            pull: board.buttonPull,
            debounce: board.debounce
        )
        buttons = Dictionary(order.map { ($0.value, WatchButton($0.key)) }) { first, _ in first }
        debouncer = LineDebouncer(period: board.debounce)
        self.watch = watch
        self.log = log
        var kernelTime = timespec()
        clock_gettime(CLOCK_MONOTONIC, &kernelTime)
        clockOffset = clock.now - .seconds(kernelTime.tv_sec) - .nanoseconds(kernelTime.tv_nsec)
        let names = order.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
        log.info("buttons on \(chip.label), \(chip.path): \(names)")
    }

    func start(at now: Duration) throws(ProgramError) {
        do throws(GPIOError) {
            let active = try inputs.activeLines()
            lines = HeldLines(active: active)
            debouncer = LineDebouncer(period: debouncer.period, active: active)
        } catch {
            throw ProgramError(error)
        }
        for line in lines.stuck.sorted() {
            guard let button = buttons[line] else { continue }
            log.warning("the \(button.rawValue) button is down already: it counts once it has been let go")
        }
    }

    func addPollRequests(to set: inout PollSet) { token = set.add(inputs.descriptor, reading: true, writing: false) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) throws(ProgramError) {
        guard let token, set.isReadable(token) else { return }
        let edges: [GPIOEdge]
        do throws(GPIOError) {
            edges = try inputs.nextEdges()
        } catch {
            throw ProgramError(error)
        }
        for edge in edges {
            // A time that the kernel has not reached yet would hold up the debouncer for as long.
            let time = min(edge.time + clockOffset, now)
            let edge = GPIOEdge(line: edge.line, isActive: edge.isActive, time: time)
            if inputs.isDebounced { take(edge, at: now) } else { debouncer.receive(edge) }
        }
    }

    func moveOutput(at now: Duration) -> Bool { false }

    func advance(to now: Duration) {
        for edge in debouncer.advance(to: now) { take(edge, at: now) }
    }

    var nextDeadline: Duration? { debouncer.nextDeadline }

    func beginStop(at now: Duration) {}

    var isStopped: Bool { true }

    private func take(_ edge: GPIOEdge, at now: Duration) {
        guard lines.receive(edge) else { return }
        let held = Set(lines.held.compactMap { buttons[$0] })
        // To hold buttons is a command that cannot fail.
        _ = try? watch.perform(.hold(held, since: edge.time), at: now)
    }
}

extension WatchButton {
    init(_ button: BoardHardware.Button) {
        self =
            switch button {
            case .back: .back
            case .up: .up
            case .select: .select
            case .down: .down
            }
    }
}

extension BoardHardware {
    /// Whether a person can say yes to a pairing with its buttons.
    public var takesYes: Bool { buttons.keys.contains { WatchButton($0).isYes } }
}

extension ProgramError {
    init(_ error: GPIOError) {
        self.init(error.isPermission ? .notPermitted : .unavailable, error.description, advice: error.advice)
    }
}
