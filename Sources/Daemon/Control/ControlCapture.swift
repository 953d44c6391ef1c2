import Control
import HCIRuntime
import Logging
import PebbleWatch

/// The capture that a program begins and ends while the watch runs. In the loop it is a part of the control socket.
final class ControlCapture {
    private let watch: HostRunner<WatchHost>
    private let clock: MonotonicClock
    private let log: Logger
    private var capture: PacketCapture?
    /// The file; nil if there is no capture.
    private(set) var path: String?

    init(of watch: HostRunner<WatchHost>, clock: MonotonicClock, log: Logger) {
        self.watch = watch
        self.clock = clock
        self.log = log
    }

    /// Begins a capture.
    /// - Parameter other: the file of the capture that the watch was started with.
    func start(_ path: String, besides other: String?, at now: Duration) -> ControlAnswer? {
        if let running = self.path {
            return ControlAnswer(failure: .captureRuns, "a capture is written to \(running): end it with capture-stop")
        }
        guard path != other else {
            return ControlAnswer(
                failure: .captureRuns,
                "the watch was started with a capture in \(path): name another file"
            )
        }
        do throws(ProgramError) {
            let capture = try PacketCapture(path: path, clock: clock, log: log)
            capture.start(at: now)
            self.capture = capture
            self.path = path
            watch.laterCapture = capture
            log.notice("packets are captured in \(path) from now on")
            return nil
        } catch {
            return ControlAnswer(failure: .captureFailed, "\(error.what): \(error.advice)")
        }
    }

    /// Ends it.
    func stop() -> ControlAnswer? {
        guard let path else {
            return ControlAnswer(failure: .noCapture, "there is no capture that capture-start has begun")
        }
        capture?.flush()
        watch.laterCapture = nil
        capture = nil
        self.path = nil
        log.notice("the capture in \(path) is over")
        return nil
    }

    // MARK: In the loop

    func addPollRequests(to set: inout PollSet) { capture?.addPollRequests(to: &set) }
    func takeInput(_ set: borrowing PollSet, at now: Duration) { capture?.takeInput(set, at: now) }
    func flush() { capture?.flush() }
    func advance(to now: Duration) { capture?.advance(to: now) }
    var nextDeadline: Duration? { capture?.nextDeadline }
    func beginStop(at now: Duration) { capture?.beginStop(at: now) }
}
