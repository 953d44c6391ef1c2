import AirSimulator
import SeededRandomness
import Testing

/// Packets that get lost, and their effect on a connection.
@Suite struct LossTests {
    /// How many of the advertising packets of a watch a scanner hears, from 0 to 1, and in what runs.
    private func reception(_ loss: LossModel, seed: UInt64, events: Int) -> (share: Double, longestSilence: Duration) {
        var rig = Rig(seed: seed)
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.air.setLinkQuality(LinkQuality(loss: loss), between: watch, and: phone)
        // A scanner that is on channel 37 for 10.24 s and not for twice as long: what counts is the first window.
        AdvertisingTests.startLegacy(&rig, watch, slots: 32, type: "03")
        AdvertisingTests.startScan(&rig, phone)
        rig.run(for: .milliseconds(25) * events)
        let times = rig.take(phone, "04 3e").map(\.time)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        // Of an event, a scanner that is always listening hears the packet on its channel of the moment.
        return (Double(times.count) / Double(events), gaps.max() ?? .zero)
    }

    @Test(arguments: [0.0, 0.1, 0.5, 0.9])
    func uniformLossLosesItsShare(probability: Double) throws {
        let (share, _) = reception(.uniform(probability: probability), seed: 5, events: 4000)
        #expect(abs(share - (1 - probability)) < 0.03)
    }

    @Test func burstsLoseTheirShareInRuns() throws {
        let burst = GilbertElliott(meanGood: .milliseconds(900), meanBad: .milliseconds(300))
        let (share, silence) = reception(.bursty(burst), seed: 6, events: 8000)
        #expect(abs(share - 0.75) < 0.05)
        // Uniform loss of a quarter would never be silent for that long: 0.25^20.
        #expect(silence > .milliseconds(500))
        let partly = GilbertElliott(
            meanGood: .milliseconds(200),
            meanBad: .milliseconds(200),
            lossWhenGood: 0.1,
            lossWhenBad: 0.5
        )
        #expect(abs(reception(.bursty(partly), seed: 7, events: 8000).share - 0.7) < 0.05)
    }

    @Test func theFurtherApartTheMoreGetsLost() throws {
        // Standing still at a distance: d^8 / (d^8 + 20^8).
        for (metres, lost) in [(5.0, 0.0), (15.0, 0.0910), (20.0, 0.5), (25.0, 0.8563), (60.0, 1.0)] {
            let still = DistanceFade(from: metres, to: metres, over: .zero)
            #expect(abs(still.loss(after: .zero) - lost) < 0.001)
            #expect(abs(reception(.fading(still), seed: 8, events: 4000).share - (1 - lost)) < 0.03)
        }
        let walk = DistanceFade(from: 1, to: 101, over: .seconds(100))
        #expect(walk.distance(after: .seconds(25)) == 26 && walk.distance(after: .seconds(900)) == 101)
        #expect(walk.attenuation(after: .zero) == 0)
        #expect(walk.attenuation(after: .seconds(63)) == 36)
    }

    @Test func aWalkOutOfRangeEndsTheConnection() throws {
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        // 1 m/s, from 1 m to 61 m; at one metre the signal has -40 dBm.
        let walk = DistanceFade(from: 1, to: 61, over: .seconds(60))
        link.rig.air.setLinkQuality(
            LinkQuality(loss: .fading(walk), rssi: -40),
            between: link.central,
            and: link.peripheral
        )
        let start = link.rig.now
        // Read RSSI of the connection: weaker from step to step.
        var strengths: [Int8] = []
        for _ in 0..<4 {
            let answer = link.rig.ask("01 05 14 02 \(link.centralHandle)", link.central)
            strengths.append(Int8(bitPattern: try #require(answer.first.map(bytes)?.last)))
            link.rig.run(for: .seconds(5))
        }
        #expect(strengths == [-40, -55, -60, -64])
        let ended = try link.rig.wait(for: "04 05", from: link.central)
        #expect(ended.bytes.last == 0x08)
        // All is well at 10 m and nothing at 60 m.
        #expect(ended.time - start > .seconds(20) && ended.time - start < .seconds(60))
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func everythingArrivesOnceAndInOrder(seed: UInt64) throws {
        var rig = try #require(ConnectedRig(seed: seed, interval: 6, timeout: 3200))
        rig.rig.run(for: .milliseconds(100))
        let loss: LossModel =
            seed % 2 == 0
            ? .uniform(probability: 0.3)
            : .bursty(GilbertElliott(meanGood: .milliseconds(200), meanBad: .milliseconds(100), lossWhenBad: 0.9))
        rig.rig.air.setLinkQuality(LinkQuality(loss: loss), between: rig.central, and: rig.peripheral)
        var sent: [ControllerID: [UInt8]] = [:]
        var got: [ControllerID: [UInt8]] = [:]
        var credits: [ControllerID: Int] = [rig.central: 8, rig.peripheral: 8]
        var random = SplitMix64(seed: seed)
        for _ in 0..<1500 {
            for id in [rig.central, rig.peripheral] where credits[id, default: 0] > 0 && Bool.random(using: &random) {
                let data = (0..<Int.random(in: 1...251, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                rig.sendData(data, from: id)
                sent[id, default: []] += data
                credits[id, default: 0] -= 1
            }
            rig.rig.run(for: .milliseconds(Int64.random(in: 1...20, using: &random)))
            for id in [rig.central, rig.peripheral] {
                for said in rig.rig.take(id) {
                    if said.bytes[0] == 2 { got[id, default: []] += said.bytes.dropFirst(5) }
                    if said.bytes[1] == 0x13 { credits[id, default: 0] += word(said.bytes, 6) }
                    try #require(said.bytes[1] != 0x05 || said.bytes[0] == 2, "seed \(seed): disconnected")
                }
            }
        }
        rig.rig.air.setLinkQuality(.perfect, between: rig.central, and: rig.peripheral)
        rig.rig.run(for: .seconds(2))
        for id in [rig.central, rig.peripheral] {
            for said in rig.rig.take(id) {
                if said.bytes[0] == 2 { got[id, default: []] += said.bytes.dropFirst(5) }
                if said.bytes[1] == 0x13 { credits[id, default: 0] += word(said.bytes, 6) }
            }
        }
        #expect(got[rig.peripheral] == sent[rig.central], "seed \(seed)")
        #expect(got[rig.central] == sent[rig.peripheral], "seed \(seed)")
        #expect(credits == [rig.central: 8, rig.peripheral: 8], "seed \(seed)")
        #expect(sent[rig.central, default: []].count > 10_000)
    }

    @Test func heavyLossEndsConnectionsByTheirTimeout() throws {
        // With six of ten packets lost and a timeout of ten intervals, ten in a row go wrong soon.
        var lived: [Duration] = []
        for seed in 1...20 as ClosedRange<UInt64> {
            var link = try #require(ConnectedRig(seed: seed, interval: 8, timeout: 10))
            link.rig.run(for: .milliseconds(100))
            link.rig.air.setLinkQuality(
                LinkQuality(loss: .uniform(probability: 0.6)),
                between: link.central,
                and: link.peripheral
            )
            let start = link.rig.now
            let ended = try link.rig.wait(for: "04 05", from: link.central)
            #expect(ended.bytes.last == 0x08)
            lived.append(ended.time - start)
            link.rig.run(for: .seconds(5))
            #expect(link.rig.take(link.peripheral, "04 05").count == 1)
            #expect(link.rig.air.nextDeadline == nil)
        }
        #expect(Set(lived).count > 10)
        #expect(lived.allSatisfy { $0 >= .milliseconds(80) && $0 < .seconds(20) })
    }

    @Test func anInstantThatIsMissedLosesTheLink() throws {
        // The central announces new timing; the peripheral hears nothing until the instant has passed, though in time
        // to live. It then listens at the wrong times.
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        link.rig.run(for: .milliseconds(100))
        link.rig.send("01 13 20 0e \(link.centralHandle) 0c 00 0c 00 00 00 64 00 00 00 00 00", link.central)
        link.rig.air.cutLink(between: link.central, and: link.peripheral)
        link.rig.run(for: .milliseconds(400))
        link.rig.air.setLinkQuality(.perfect, between: link.central, and: link.peripheral)
        link.rig.run(for: .seconds(3))
        #expect(link.rig.take(link.central, "04 05").map { $0.bytes.last } == [0x08])
        #expect(link.rig.take(link.peripheral, "04 05").map { $0.bytes.last } == [0x08])
    }
}
