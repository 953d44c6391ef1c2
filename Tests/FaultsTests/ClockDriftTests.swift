import BluetoothHCI
import Testing

@testable import AirSimulator
@testable import Faults

/// A watch whose clock is wrong by more than it claims.
@Suite struct ClockDriftTests {
    @Test(arguments: [-100, 100]) func aClockThatIsAsGoodAsItClaimsKeepsTheLink(_ error: Int) throws {
        let rig = try FaultRig.connected()
        rig.air.simulation.air.setClockError(of: rig.air.watch.controller, partsPerMillion: error)
        rig.run(20)
        #expect(rig.phone { $0.reasons }.isEmpty)
        #expect(try rig.readsName())
    }

    @Test func aClockThatIsFarOffLosesTheLink() throws {
        let rig = try FaultRig.connected()
        rig.air.simulation.air.setClockError(of: rig.air.watch.controller, partsPerMillion: 20_000)
        rig.run(10)
        #expect(rig.phone { $0.reasons } == [.connectionTimeout])
        rig.air.simulation.air.setClockError(of: rig.air.watch.controller, partsPerMillion: 0)
        #expect(rig.connect(), "a clock that is right again hears everything")
    }

    @Test func bothClocksFastAreAsIfBothWereRight() throws {
        let rig = try FaultRig.connected()
        rig.air.simulation.air.setClockError(of: rig.air.watch.controller, partsPerMillion: 20_000)
        rig.air.simulation.air.setClockError(of: rig.air.phone.controller, partsPerMillion: 20_000)
        rig.run(20)
        #expect(rig.phone { $0.reasons }.isEmpty)
    }

    /// Core 5.4, Vol 6, Part B, 4.2.4: the window grows by what both clocks claim, and by 16 µs of jitter for each.
    @Test(arguments: [
        // The error in ppm, the span and the interval in milliseconds, and whether the packet is missed.
        (200, 30, 30, false), (200, 300, 30, false), (200, 320, 30, false), (200, 330, 30, true), (2000, 15, 15, false),
        (2000, 18, 15, true), (-2000, 18, 15, true),
        // 10 s of both claims is 1032 µs; the window of an interval of 2 ms ends at 850 µs, before the middle.
        (101, 10_000, 8, false), (101, 10_000, 2, true),
    ]) func theWindowIsWhatTheClocksClaim(_ error: Int64, _ span: Int64, _ interval: Int64, _ misses: Bool) {
        var clocks = SleepClocks()
        clocks.setError(error, of: .peripheral)
        #expect(clocks.miss(after: Microseconds(span * 1000), interval: Microseconds(interval * 1000)) == misses)
    }
}
