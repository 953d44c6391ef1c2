import Glibc
import Logging

/// Notices that nothing reads the process's output any more, as in `cairn run 2>&1 | head`, and brings the loop to a clean end:
/// phones are disconnected, and no socket is left behind.
///
/// Only pipes are looked at. What a service manager gives a process is a socket or a file, and whether a program reads the
/// journal does not matter to the watch.
package final class OutputReader: LoopMember {
    private var descriptors: [Int32]
    private var tokens = PollSet.Tokens()
    /// The loop has its members, so that a member does not keep the loop: what they give back, they give back as they go.
    private unowned let loop: EventLoop
    private let log: Logger

    /// - Parameter descriptors: where output goes.
    package init(_ descriptors: [Int32] = [STDOUT_FILENO, STDERR_FILENO], of loop: EventLoop, log: Logger) {
        self.descriptors = descriptors.filter(Self.isPipe)
        self.loop = loop
        self.log = log
    }

    private static func isPipe(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    package func start(at now: Duration) {}

    package func addPollRequests(to set: inout PollSet) {
        tokens = set.addReaders(of: descriptors)
    }

    package func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard set.hasLostReader(tokens) else { return }
        descriptors = []
        tokens = PollSet.Tokens()
        log.notice("nothing reads the output any more: ending")
        loop.requestStop(as: .readerGone)
    }

    package func moveOutput(at now: Duration) -> Bool { false }
    package func advance(to now: Duration) {}
    package var nextDeadline: Duration? { nil }
    package func beginStop(at now: Duration) {}
    package var isStopped: Bool { true }
}
