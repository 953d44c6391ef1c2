import HCIRuntime
import Logging
import Synchronization

/// Where lines leave the process: one throttle for all layers.
///
/// Who asks for a layer's details has all of them: nothing of a layer at level `debug` or `trace` is left out.
final class LogEdge: Sendable {
    private let throttle = Mutex(LogThrottle())
    private let clock: MonotonicClock
    private let write: @Sendable (_ label: String, Logger.Level, _ text: String) -> Void

    /// - Parameters:
    ///   - clock: the loop's.
    ///   - write: writes a line.
    init(clock: MonotonicClock, write: @escaping @Sendable (_ label: String, Logger.Level, _ text: String) -> Void) {
        self.clock = clock
        self.write = write
    }

    /// Writes a line, or counts it.
    /// - Parameter threshold: the level at which its layer is logged.
    func log(_ text: String, label: String, level: Logger.Level, threshold: Logger.Level) {
        guard threshold > .debug else { return write(label, level, text) }
        let now = clock.now
        let (counts, isTold) = throttle.withLock { $0.admit(text, label: label, level: level, at: now) }
        tell(counts)
        if isTold { write(label, level, text) }
    }

    /// Counts a line whose words have not been made yet, if those of its kind are left out at the moment.
    /// - Parameter beginning: what `LogThrottle.beginning(of:)` would say of it.
    /// - Returns: whether it has been counted; if not, log it.
    func leavesOut(_ beginning: String, label: String, level: Logger.Level) -> Bool {
        let kind = LogThrottle.Kind(label: label, level: level, beginning: beginning)
        let now = clock.now
        return throttle.withLock { $0.leavesOut(kind, at: now) }
    }

    /// Tells what may be told again.
    func advance(to now: Duration) { tell(throttle.withLock { $0.reopened(at: now) }) }

    /// Tells what is left.
    func finish() { tell(throttle.withLock { $0.takeCounts() }) }

    /// When there is something to tell.
    var nextDeadline: Duration? { throttle.withLock { $0.nextDeadline } }

    private func tell(_ counts: [LogThrottle.Count]) {
        for count in counts { write(count.label, count.level, count.text) }
    }
}

/// The log as a member of the loop: after a flood it says how much of it was left out.
final class LogCounts: LoopMember {
    private let edge: LogEdge

    init(_ edge: LogEdge) { self.edge = edge }

    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    func advance(to now: Duration) { edge.advance(to: now) }
    var nextDeadline: Duration? { edge.nextDeadline }
    func beginStop(at now: Duration) { edge.finish() }
    var isStopped: Bool { true }
}
