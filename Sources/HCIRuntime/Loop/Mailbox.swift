import CLinux
import Glibc
import LinuxBluetooth
import Synchronization

/// Work that other threads have for the loop: it wakes the loop, which does it in its next turn.
final class Mailbox: LoopMember, Sendable {
    /// Is given the loop's time; nil if the loop has ended.
    typealias Job = @Sendable (_ now: Duration?) -> Void

    private struct Jobs {
        var waiting: [Job] = []
        /// Whether the loop has ended: nothing is taken any more.
        var isClosed = false
    }

    private let jobs = Mutex(Jobs())
    /// An eventfd(2): readable while there is something to do.
    private let bell: FileDescriptor
    private let token = Mutex<PollSet.Token?>(nil)

    init() throws(ProgramError) {
        let number = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard number >= 0 else {
            throw ProgramError(
                .systemError,
                "the kernel gives no eventfd: \(String(cString: strerror(errno)))",
                advice: "Close other programs, or raise the limit of open files (ulimit -n)."
            )
        }
        bell = FileDescriptor(owning: number)
    }

    /// Has the loop do something.
    /// - Returns: false if the loop has ended.
    func post(_ job: @escaping Job) -> Bool {
        let isTaken = jobs.withLock { jobs in
            guard !jobs.isClosed else { return false }
            jobs.waiting.append(job)
            return true
        }
        if isTaken { eventfd_write(bell.number, 1) }
        return isTaken
    }

    /// The loop has ended.
    /// - Returns: what it has not done.
    func close() -> [Job] {
        jobs.withLock { jobs in
            jobs.isClosed = true
            defer { jobs.waiting = [] }
            return jobs.waiting
        }
    }

    func start(at now: Duration) {}

    func addPollRequests(to set: inout PollSet) {
        let new = set.add(bell.number, reading: true, writing: false)
        token.withLock { $0 = new }
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let token = token.withLock({ $0 }), set.isReadable(token) else { return }
        var count: eventfd_t = 0
        eventfd_read(bell.number, &count)
        let waiting = jobs.withLock { jobs in
            defer { jobs.waiting = [] }
            return jobs.waiting
        }
        for job in waiting { job(now) }
    }

    func moveOutput(at now: Duration) -> Bool { false }
    func advance(to now: Duration) {}
    var nextDeadline: Duration? { nil }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
