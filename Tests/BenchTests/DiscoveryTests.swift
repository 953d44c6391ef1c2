import BluetoothHCI
import Testing

@testable import cairn_bench

/// A short run of discovery, against another model's figures and the targets.
@Suite struct DiscoveryTests {
    private func sighting(_ slots: UInt32, _ scanner: ScannerProfile, seeds: Int) async throws -> Distribution {
        let trial = SightingTrial(interval: AdvertisingInterval(rawValue: slots), scanner: scanner)
        return Distribution(
            try await Trials.run(seeds, prepare: {}, trial: { _, seed in try trial.run(seed: seed) })
        )
    }

    /// Means in seconds from a published Monte Carlo model, of 3000 runs each.
    @Test(
        arguments: [
            (32, 0.14, 2.3), (244, 1.3, 14), (338, 1.3, 19), (668, 3.1, 35), (1216, 4.3, 67), (1636, 7.2, 88),
            (2048, 9.8, 165), (2056, 7.5, 99),
        ] as [(UInt32, Double, Double)]
    )
    func meansAgreeWithAnotherModel(slots: UInt32, atTenth: Double, atHundredth: Double) async throws {
        let tenth = try await sighting(slots, .tenth, seeds: 2500).mean
        #expect(abs(tenth / atTenth - 1) < 0.1, "\(tenth) s")
        let hundredth = try await sighting(slots, .hundredth, seeds: 2500).mean
        #expect(abs(hundredth / atHundredth - 1) < 0.1, "\(hundredth) s")
    }

    /// By hand: with 20 ms, an event comes at most 30 ms after the last one, and of 40 ms the scanner is deaf for 10.
    @Test func aFastWatchIsHeardAtOnceInTheForeground() async throws {
        let times = try await sighting(32, .foreground, seeds: 2000)
        #expect(times.quantile(0.99) < 0.06)
        #expect(times.quantile(1) < 0.1)
        #expect(times.median > 0.005 && times.median < 0.03)
    }

    @Test func theSameSeedsGiveTheSameTimes() async throws {
        let trial = ReturnTrial(policy: WatchPolicy.all[0], scanner: .tenth, absence: .seconds(10))
        let one = try await Trials.run(6, prepare: trial.prepare, trial: trial.run)
        let other = try await Trials.run(6, prepare: trial.prepare, trial: trial.run)
        #expect(one.map(\.acknowledged) == other.map(\.acknowledged))
        #expect(Set(one.map(\.acknowledged)).count == 6)
    }

    @Test func theFirstMessageAfterALostLinkIsInTime() async throws {
        let results = try await Discovery.returns(
            seeds: 40,
            scanners: [.foreground, .tenth],
            absences: [.seconds(10)]
        )
        #expect(results.count == 2 * WatchPolicy.all.count)
        for result in results {
            #expect(result.target != nil)
            #expect(result.isGood, "\(result.policy.name), \(result.scanner.name): \(result.message.quantile(0.99)) s")
            #expect(result.connected.median < result.message.median)
        }
    }

    @Test func theFirstMessageAfterTheBeaconIsInTime() async throws {
        for result in try await Discovery.regions(seeds: 40) {
            #expect(result.isGood, "\(result.policy.name), \(result.scanner.name): \(result.message.quantile(0.99)) s")
        }
    }

    @Test func aMissedTargetIsSaid() {
        let slow = Distribution([.seconds(1), .seconds(2)])
        var report = DiscoveryReport()
        #expect(report.isGood)
        report.returns = [
            .init(
                policy: WatchPolicy.all[0],
                scanner: .foreground,
                absence: .seconds(10),
                connected: slow,
                message: slow
            )
        ]
        #expect(!report.isGood)
        #expect(report.returnText.contains("MISSED"))
    }

    @Test func quantilesAreThoseOfTheSortedTimes() {
        let times = Distribution((1...100).reversed().map { .seconds($0) })
        #expect(times.median == 50 && times.quantile(0.95) == 95 && times.quantile(0.99) == 99)
        #expect(times.mean == 50.5 && times.quantile(1) == 100)
        #expect(Distribution([]).quantile(0.5) == 0)
    }

    @Test func aDayCostsWhatItShould() throws {
        let connected = try RadioDay(WatchPolicy.all[0], .connected)
        // An empty packet of 80 us each way at least every interval of 30 ms, unless the watch has asked for less.
        #expect(connected.seconds > 10 && connected.seconds < 2 * 86_400 / 0.030 * 0.00009)
        let away = try RadioDay(WatchPolicy.all[0], .away)
        #expect(away.usage.advertising.transmitting > away.usage.connections.transmitting)
        #expect(away.milliampereHours() > 0.03)
    }
}
