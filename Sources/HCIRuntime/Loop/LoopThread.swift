import Dispatch
import Logging

/// A loop with one host and its controller, on a thread of its own.
final class LoopThread<Host: LoopHost & SendableMetatype>: Sendable {
    /// The runner, which only the loop's thread touches.
    private struct Confined: @unchecked Sendable {
        let runner: HostRunner<Host>
        let loop: EventLoop
    }

    private let confined: Confined
    private let mailbox: Mailbox
    private let ending: Task<EventLoop.Outcome, any Error>

    /// Opens the controller and starts. Everything else happens on the loop's thread.
    /// - Parameters:
    ///   - name: what the thread's queue is called.
    ///   - handleEvent: is given every event, on that thread.
    ///   - atEnd: is called there when the loop has ended.
    init(
        _ host: Host,
        on transport: String,
        capturePath: String?,
        log: Logger,
        name: String,
        handleEvent: @escaping (Host.Event) -> Void,
        atEnd: @escaping @Sendable () -> Void
    ) throws(ProgramError) {
        let clock = MonotonicClock()
        let loop = EventLoop(clock: clock, signals: nil, log: log)
        let mailbox = try Mailbox()
        loop.add(mailbox)
        let runner = try loop.add(host, on: transport, capturePath: capturePath, clock: clock, log: log) { event, _ in
            handleEvent(event)
        }
        let confined = Confined(runner: runner, loop: loop)
        self.mailbox = mailbox
        self.confined = confined
        let queue = DispatchQueue(label: name)
        ending = Task {
            try await withCheckedThrowingContinuation { end in
                queue.async {
                    let outcome = Result { try confined.loop.run() }
                    // The loop has ended: the callers that still wait get an error.
                    for job in mailbox.close() { job(nil) }
                    atEnd()
                    end.resume(with: outcome)
                }
            }
        }
    }

    /// Has the loop's thread use the host. `body` is given nil if the loop has ended, perhaps on the caller's thread.
    func perform(_ body: @escaping @Sendable (HostRunner<Host>?, Duration) -> Void) {
        let isTaken = mailbox.post { [confined] now in
            if let now { body(confined.runner, now) } else { body(nil, .zero) }
        }
        if !isTaken { body(nil, .zero) }
    }

    /// Has the host take leave, and ends.
    func stop() async throws -> EventLoop.Outcome {
        _ = mailbox.post { [confined] _ in confined.loop.requestStop() }
        return try await outcome
    }

    /// How it ended, once it has.
    var outcome: EventLoop.Outcome { get async throws { try await ending.value } }
}
