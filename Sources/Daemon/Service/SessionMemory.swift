import HCIRuntime
import PebbleWatch

/// Gives back the memory that only the beginning of a phone's session has needed: that of pairing and encryption, then that of discovery, and
/// later that of all that a companion asks at first.
///
/// That is half of what a watch with a phone has resident. What is used again comes back by itself: ``ProgramMemory``.
final class SessionMemory: LoopMember {
    /// After a session has opened, until its companion has asked what it asks at first.
    static let settling: Duration = .seconds(10)

    /// When what encryption or discovery has needed is given back.
    private var reached: Duration?
    /// When what the session's beginning has needed is given back.
    private var settled: Duration?

    var nextDeadline: Duration? {
        guard let reached, let settled else { return reached ?? settled }
        return min(reached, settled)
    }

    /// Takes note of what happened on the watch.
    func deliver(_ event: WatchEvent, at now: Duration) {
        if case .securityChanged = event { reached = now }
        if case .sessionOpened = event {
            reached = now
            settled = now + Self.settling
        }
    }

    func advance(to now: Duration) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        reached = nil
        if let settled, settled <= now { self.settled = nil }
        ProgramMemory.release()
    }

    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
