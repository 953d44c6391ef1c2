import LinuxBluetooth
import Logging

/// The capture file of a running watch. A disk that fills up ends the capture, not the watch.
public final class PacketCapture {
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
        guard let writer else { return }
        do {
            try writer.record(packet, direction, at: clock.civilTime(at: now))
        } catch {
            log.error("\(error); the capture ends here and the watch goes on")
            self.writer = nil
        }
    }
}
