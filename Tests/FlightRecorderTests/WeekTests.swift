import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

@testable import FlightRecorder

/// What a recording costs over a long time, as counts.
@Suite struct WeekTests {
    @Test func anHourAtRestIsLessThanAMegabyte() throws {
        // Connected, with nothing to say: links cost more than advertising alone.
        var air = try RecordedAir(RecordedHost(seed: 3), seed: 3)
        air.acquaint()
        let before = try Self.size(&air)
        air.run(for: .seconds(3600))
        let connected = try Self.size(&air) - before
        #expect(connected < 1_000_000, "\(connected) bytes")

        var alone = try RecordedAir(RecordedHost(seed: 4), seed: 4)
        alone.run(for: .seconds(60))
        let start = try Self.size(&alone)
        alone.run(for: .seconds(3600))
        let advertising = try Self.size(&alone) - start
        #expect(advertising < 1_000_000, "\(advertising) bytes")
    }

    private static func size(_ air: inout RecordedAir) throws -> Int {
        let recorded = air.recorded()
        return try #require(recorded).bytes.count
    }

    @Test func aWeekIsReplayed() throws {
        var air = try RecordedAir(RecordedHost(seed: 6), seed: 6)
        air.acquaint()
        for hour in 0..<(7 * 24) {
            air.tell(.notify(title: "Hour \(hour)", body: "has passed"))
            air.tell(.ping)
            if hour % 24 == 8 {
                air.tell(.drop)
                air.run(for: .seconds(60))
                air.tell(.connect(.selected(.any), within: .seconds(20)))
            }
            air.run(for: .seconds(3600))
        }
        let recorded = air.recorded()
        let (bytes, watch) = try #require(recorded)
        let replay = try Replay.all(of: bytes)
        #expect(replay.divergence == nil)
        #expect(replay.recording.end > .seconds(7 * 24 * 3600))
        #expect(replay.inputCount == replay.recording.inputCount)
        #expect(replay.watch.nextDeadline == watch.nextDeadline)
        #expect(bytes.count < 7 * 24 * 1_000_000, "\(bytes.count) bytes")
    }
}
