import BluetoothHCI
import Testing

@testable import cairn_bench

/// A short run of the ladder: real hosts, a simulated connection, and published figures.
@Suite struct LadderTests {
    private static let rungs = DeviceProfile.all.flatMap { profile in
        Rung.ladder(of: profile).indices.map { (profile.name, $0) }
    }

    private func rung(_ profile: String, _ index: Int) throws -> (DeviceProfile, Rung) {
        let profile = try #require(DeviceProfile.all.first { $0.name == profile })
        return (profile, Rung.ladder(of: profile)[index])
    }

    @Test(arguments: rungs)
    func everyRungCarriesWhatItShould(profile: String, index: Int) throws {
        let (profile, rung) = try rung(profile, index)
        let result = try Ladder.climb(rung, profile, for: .seconds(8))
        #expect(
            result.isGood,
            "\(rung.name): \(result.measured) measured, \(result.derived) derived, \(result.channelLimit) the limit of a channel"
        )
        // The talk rounded its figures.
        if let published = rung.published { #expect(abs(result.measured / published - 1) < 0.07, "\(rung.name)") }
    }

    /// Worked out by hand: 20 octets in two intervals of 30 ms, and so on.
    @Test func theModelAgreesWithPaper() throws {
        let old = Rung.ladder(of: .ios2017).map {
            ThroughputModel(interval: $0.interval, profile: .ios2017).kilobitsPerSecond($0)
        }
        let expected = [2.667, 5.333, 37.333, 48.533, 136.533, 197.067, 394.133]
        #expect(old.count == expected.count)
        for (one, other) in zip(old, expected) { #expect(abs(one - other) < 0.01) }
        let new = Rung.ladder(of: .current)
        let limits = new.compactMap { ThroughputModel(interval: $0.interval, profile: .current).limit($0) }
        // Notifications of 182 and 244 octets, SDUs of 8192 octets: figures of others.
        for figure in [419.4, 1402.3] { #expect(limits.contains { abs($0 - figure) < 0.1 }) }
        let whole = Rung("", .channel(mps: 8194), 8192, .milliseconds(15), packetLength: 251)
        let channel = ThroughputModel(interval: whole.interval, profile: .current)
        #expect(abs(try #require(channel.limit(whole)) - 1437.3) < 0.1)
        #expect(abs(channel.channelLimit - 1324) < 0.1)
    }

    /// A phone that does less than its profile says does not pass.
    @Test func aSlowerPhoneIsNoticed() throws {
        let slow = DeviceProfile(name: "slow", description: "", phy: .le1M, shortExchanges: 6, longExchanges: 2)
        for rung in Rung.ladder(of: .ios2017) where rung.method == .writeCommands || rung.isChannel {
            let result = RungResult(
                rung: rung,
                measured: try Ladder.measure(rung, slow, for: .seconds(2)),
                derived: ThroughputModel(interval: rung.interval, profile: .ios2017).kilobitsPerSecond(rung),
                limit: nil,
                channelLimit: 0
            )
            #expect(!result.isGood, "\(rung.name)")
        }
    }

    @Test func theReportHasEveryRung() throws {
        let rungs = Rung.ladder(of: .ios2017)
        let results = rungs.map { RungResult(rung: $0, measured: 50, derived: 50, limit: 60, channelLimit: 51) }
        let report = LadderReport(profile: .ios2017, results: results)
        for rung in rungs {
            #expect(report.text.contains("| \(rung.name) "))
            #expect(report.chart.svg.document.contains(">\(rung.name)<"))
        }
        #expect(!report.text.contains("OFF"))
        let bad = RungResult(rung: rungs[0], measured: 48.9, derived: 50, limit: 60, channelLimit: 50)
        #expect(LadderReport(profile: .ios2017, results: [bad]).text.contains("OFF"))
        // A channel that is as slow as it should be, but slower than another framing allows.
        let channel = RungResult(rung: rungs[6], measured: 50, derived: 50, limit: 60, channelLimit: 51.1)
        #expect(!channel.isGood)
    }
}
