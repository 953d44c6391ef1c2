import LinuxBluetooth
import Logging

/// The capture file of a running watch. A disk that fills up ends the capture, not the watch.
///
/// As a member of the loop it stands behind whoever records: packets that have left in a turn are in the file before the loop
/// waits again. Packets that have come in are there before any of them is worked on; that is the affair of `HostRunner`.
public final class PacketCapture: LoopMember {
    private var writer: BtsnoopWriter?
    private let clock: MonotonicClock
    private let log: Logger

    /// Creates the file.
    public init(path: String, clock: MonotonicClock, log: Logger) throws(DaemonError) {
        do {
            writer = try BtsnoopWriter(path: path)
        } catch {
            throw DaemonError(.cannotCreate, "\(error)", advice: error.advice)
        }
        self.clock = clock
        self.log = log
    }

    /// Adds a packet that was seen at a reading of the clock.
    func record(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at now: Duration) {
        write { writer throws(BtsnoopWriter.CaptureError) in
            try writer.record(packet, direction, at: clock.civilTime(at: now))
        }
    }

    /// Sees to it that what was added survives the process.
    func flush() { write { writer throws(BtsnoopWriter.CaptureError) in try writer.flush() } }

    private func write(_ body: (BtsnoopWriter) throws(BtsnoopWriter.CaptureError) -> Void) {
        guard let writer else { return }
        do {
            try body(writer)
        } catch {
            log.error("\(error); the capture ends here and the watch goes on")
            self.writer = nil
        }
    }

    public func start(at now: Duration) {}
    public func addPollRequests(to set: inout PollSet) {}
    public func takeInput(_ set: borrowing PollSet, at now: Duration) {}

    public func moveOutput(at now: Duration) -> Bool {
        flush()
        return false
    }

    public func advance(to now: Duration) {}
    public var nextDeadline: Duration? { nil }
    public func beginStop(at now: Duration) {}
    public var isStopped: Bool { true }
}
