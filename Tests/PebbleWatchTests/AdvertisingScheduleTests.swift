import BluetoothHCI
import PebbleWatch
import Testing

/// Schedules as people write them.
@Suite struct AdvertisingScheduleTests {
    @Test func aScheduleIsRead() throws {
        let schedule = try AdvertisingSchedule(parsing: ["20ms/30s", "152.5 ms / 1.5min", "0.2s/2h", "1285ms"])
        #expect(
            schedule.steps == [
                .every(AdvertisingInterval(rawValue: 32), for: .seconds(30)),
                .every(AdvertisingInterval(rawValue: 244), for: .seconds(90)),
                .every(AdvertisingInterval(rawValue: 320), for: .seconds(7200)),
            ]
        )
        #expect(schedule.last == AdvertisingInterval(rawValue: 2056))
        #expect(try AdvertisingSchedule(parsing: ["10240ms"]).last.rawValue == 0x4000)
        let profile = AdvertisingProfile.custom(schedule)
        #expect(profile.discovery == schedule && profile.reconnection == schedule && profile.name == "custom")
    }

    @Test(arguments: [
        ([], "there is no step"),
        (["20ms/30s"], "step 1, “20ms/30s”, is the last and has to last for ever"),
        (["20ms", "1285ms"], "step 1, “20ms”, would last for ever; write how long, as in 20ms/30s"),
        (
            ["100.3ms"],
            "step 1, “100.3ms”, is not on the grid of 0.625 ms in which controllers count: write 100 ms or 100.625 ms"
        ),
        (["19.375ms"], "takes: they take 20 ms to 10240 ms"),
        (["10240.625ms"], "takes: they take 20 ms to 10240 ms"),
        (["0ms"], "takes: they take 20 ms to 10240 ms"),
        (["fast"], "step 1, “fast”, is no step"),
        (["20"], "is no step"), (["-20ms"], "is no step"), (["+20ms"], "is no step"), (["20.ms"], "is no step"),
        ([".5s"], "is no step"), (["1e3ms"], "is no step"), (["9999999ms"], "is no step"), (["２０ms"], "is no step"),
        (["20.0000001ms"], "is no step"), ([""], "is no step"), (["/30s"], "is no step"),
        (["20ms/soon", "1285ms"], "step 1, “20ms/soon”, has no readable time after the /"),
        (["20ms/", "1285ms"], "has no readable time"), (["20ms/30s/4s", "1285ms"], "has no readable time"),
        (["20ms/500ms", "1285ms"], "has to last from 1 s to 7 days"),
        (["20ms/169h", "1285ms"], "has to last from 1 s to 7 days"),
    ])
    func whatIsWrongIsSaid(steps: [String], words: String) throws {
        let error = #expect(throws: AdvertisingSchedule.Invalid.self) { try AdvertisingSchedule(parsing: steps) }
        #expect(try #require(error).description.contains(words), "\(String(describing: error))")
    }

    @Test func thereIsALimit() throws {
        let steps = Array(repeating: "20ms/30s", count: 31) + ["1285ms"]
        #expect(try AdvertisingSchedule(parsing: steps).steps.count == 31)
        #expect(throws: AdvertisingSchedule.Invalid.self) { try AdvertisingSchedule(parsing: ["20ms/30s"] + steps) }
    }

    @Test func intervalsBesideApplesGridAreFound() throws {
        let schedule = try AdvertisingSchedule(parsing: ["20ms/30s", "1280ms/1min", "1021.875ms/1h", "1285ms"])
        #expect(schedule.intervalsOffGrid.map(\.interval.inMilliseconds) == ["1280 ms", "1021.875 ms"])
        #expect(schedule.intervalsOffGrid.map(\.nearest.inMilliseconds) == ["1285 ms", "1022.5 ms"])
    }
}
