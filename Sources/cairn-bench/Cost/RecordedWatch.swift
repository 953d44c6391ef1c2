import BluetoothHost
import FlightRecorder
import PebbleWatch

/// A watch with a flight recorder around it, which keeps what it can in memory: as every watch runs.
struct RecordedWatch: DrivableHost {
    private var watch: Watch
    private let recorder: FlightRecorder

    /// Begins to record a watch that runs already. No replay can come of it, and it costs the same.
    init(_ watch: Watch) {
        self.watch = watch
        let circumstances = RecordingHeader.Circumstances(watch.configuration)
        recorder = FlightRecorder(
            RecordingHeader(program: "cairn-bench", circumstances: circumstances),
            numbers: DrawnNumbers(RandomSource { _ in 0 })
        )
    }

    mutating func start(at now: Duration) { give(.start, at: now) }
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { give(.packet(packet), at: now) }
    mutating func advance(to now: Duration) { give(.time, at: now) }
    var nextDeadline: Duration? { watch.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { recorder.nextPacket(of: &watch, into: &buffer) }
    mutating func discardEvents() { watch.discardEvents() }

    private mutating func give(_ input: WatchInput, at now: Duration) {
        _ = try? recorder.take(input, by: &watch, at: now)
    }
}
