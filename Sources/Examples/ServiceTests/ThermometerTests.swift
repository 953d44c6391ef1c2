import BluetoothHost
import Testing

/// A service of one's own, tested without hardware and without waiting: `swift test --filter ThermometerTests`.
@Suite struct ThermometerTests {
    @Test func theTemperatureIsRead() throws {
        var thermometer = Thermometer()
        thermometer.hundredths = -1234
        var bench = try Bench(thermometer)
        let remote = try bench.connect()
        let temperature = try remote.characteristic(Thermometer.temperature, of: Thermometer.environmentalSensing)
        #expect(try bench.read(temperature, of: remote) == [0x2E, 0xFB])
    }

    @Test func itCannotBeWritten() throws {
        var bench = try Bench(Thermometer())
        let remote = try bench.connect()
        let temperature = try remote.characteristic(Thermometer.temperature, of: Thermometer.environmentalSensing)
        #expect(throws: (any Error).self) {
            try bench.perform { $0.write([0, 0], to: temperature, of: remote.id, at: $1) }
        }
    }

    // snippet: test
    @Test func subscribersHearOfHalfADegreeAndOfNoLess() throws {
        var bench = try Bench(Thermometer())
        let remote = try bench.connect()
        let temperature = try remote.characteristic(Thermometer.temperature, of: Thermometer.environmentalSensing)
        try bench.perform { $0.subscribe(to: temperature, of: remote.id, at: $1) }
        bench.update { $0.hundredths = 2149 }
        bench.run(for: .seconds(3600))
        #expect(bench.values.isEmpty)
        bench.update { $0.hundredths = 2150 }
        bench.run(for: .seconds(1))
        #expect(bench.values == [[0x66, 0x08]])
        #expect(bench.now > .seconds(3600))
    }
    // end
}
