import AirSimulator
import SeededRandomness
import Testing

/// Many controllers on one air, held against what the Core Specification and arithmetic say of them.
@Suite struct CrowdedAirTests {
    @Test(arguments: [(10, 32), (50, 32), (50, 160)] as [(Int, UInt16)])
    func advertisersDestroyEachOthersPacketsAsOftenAsArithmeticSays(count: Int, slots: UInt16) throws {
        let seed = UInt64(count) * 1000 + UInt64(slots)
        var random = SplitMix64(seed: seed)
        var rig = Rig(seed: seed)
        let phone = rig.add(address: 200)
        let interval = Int(slots) * 625
        for number in 1...count {
            let watch = rig.add(address: UInt8(number))
            AdvertisingTests.startLegacy(&rig, watch, slots: slots, type: "03")
            // Each begins at a moment of its own, so that nothing is left of a common beginning.
            rig.run(for: .microseconds(Int.random(in: 0..<interval, using: &random)))
        }
        AdvertisingTests.startScan(&rig, phone, interval: 0x4000, window: 0x4000)
        let span = 100
        rig.run(for: .seconds(span))
        let traffic = rig.air.traffic
        let airTime = Double(LinkLayerOracle.airTime(.le1M, payload: 6))
        let expected = CrowdedAirOracle.undisturbedShare(
            advertisers: count,
            airTime: airTime,
            interval: Double(interval)
        )
        let measured = 1 - Double(traffic.hits) / Double(traffic.listenings)
        let sent = Double(count * span) * 1_000_000 / Double(interval + 5000)
        #expect(abs(Double(traffic.listenings) / sent - 1) < 0.02, "\(traffic.listenings) of \(sent), seed \(seed)")
        // Four standard errors of so many packets, were each destroyed by itself; two go together.
        let tolerance = 4 * (2 * expected * (1 - expected) / sent).squareRoot()
        #expect(abs(measured - expected) < tolerance, "\(measured) of \(expected) arrived, seed \(seed)")
        // What was not hit is reported, and nothing else.
        #expect(rig.take(phone, "04 3e").count == traffic.listenings - traffic.hits)
    }

    @Test func scannersGetTheirAnswersAsSoonAsTheBackoffLets() throws {
        var measured = 0.0
        var expected = 0.0
        var variance = 0.0
        for seed in 1...60 as ClosedRange<UInt64> {
            let groups = try packetsUntilAllAnswered(scanners: 24, seed: seed)
            for (size, packets) in groups {
                let oracle = (1...200).map {
                    Double(CrowdedAirOracle.packetsUntilAllAnswered(scanners: size, seed: seed &* 1_000_003 &+ $0))
                }
                let mean = oracle.reduce(0, +) / Double(oracle.count)
                measured += Double(packets)
                expected += mean
                variance += oracle.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(oracle.count - 1)
            }
        }
        // Four standard errors of the sum of all groups.
        #expect(abs(measured - expected) < 4 * variance.squareRoot(), "\(measured) of \(expected), seeds 1 to 60")
    }

    /// Puts active scanners around one advertiser. They listen to three channels, each to one for 10 s, and those of one
    /// channel compete.
    /// - Returns: of each channel, how many scanners listened, and after how many packets the last had its scan response.
    private func packetsUntilAllAnswered(scanners count: Int, seed: UInt64) throws -> [(Int, Int)] {
        var rig = Rig(seed: seed)
        let watch = rig.add(address: 1)
        // ADV_SCAN_IND, with a scan response of a flag.
        let response = "03 02 01 06 \(String(repeating: "00 ", count: 28))"
        #expect(rig.ask("01 09 20 20 \(response)", watch) == ["04 0e 04 01 09 20 00"])
        let phones = (2..<(2 + count)).map { rig.add(address: UInt8($0)) }
        for phone in phones {
            AdvertisingTests.startScan(&rig, phone, type: "01", interval: 0x4000, window: 0x4000, duplicates: "01")
        }
        AdvertisingTests.startLegacy(&rig, watch, slots: 32, type: "02")
        rig.run(for: .seconds(10))
        var groups: [Duration: [Duration]] = [:]
        for phone in phones {
            let heard = rig.take(phone, "04 3e")
            // The first report is of the advertisement, when the packet on the scanner's channel ended; the other one of the
            // scan response.
            #expect(heard.count == 2, "seed \(seed)")
            groups[try #require(heard.first).time, default: []].append(try #require(heard.last).time)
        }
        #expect(groups.count <= 3, "seed \(seed)")
        return groups.map { first, answers in
            // A packet comes 20 to 30 ms after the one before, 25 on average; its answer within a millisecond.
            let milliseconds = ((answers.max() ?? first) - first) / .milliseconds(1)
            return (answers.count, Int((milliseconds / 25).rounded()) + 1)
        }
    }
}
