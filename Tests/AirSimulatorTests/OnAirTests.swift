import AirSimulator
import BluetoothHCI
import SeededRandomness
import Testing

/// What a sniffer hears, held against `LinkLayerOracle`.
@Suite struct OnAirTests {
    private func takePackets(_ rig: inout Rig) -> [AirPacket] {
        var packets: [AirPacket] = []
        while let packet = rig.air.nextAirPacket() { packets.append(packet) }
        return packets.sorted { $0.start < $1.start }
    }

    // MARK: Advertising

    @Test(arguments: [32, 244, 510, 2056] as [UInt16])
    func advertisingEventsKeepTheirIntervalAndChannels(slots: UInt16) throws {
        var rig = Rig(seed: UInt64(slots))
        let watch = rig.add(address: 1)
        rig.air.recordPackets(true)
        AdvertisingTests.startLegacy(&rig, watch, slots: slots)
        let interval = Int(slots) * 625
        rig.run(for: .microseconds(Int64(interval + 5000) * 2000))
        let packets = takePackets(&rig)
        #expect(LinkLayerOracle.problemsOfAdvertising(packets, of: watch, interval: interval) == [])
        let delays = LinkLayerOracle.delays(of: watch, interval: interval, in: packets)
        #expect((1980...2020).contains(delays.count))
        // Even between 0 and 10 ms: the mean of 2000 is 5 ms with a deviation of 65 µs, and every millisecond comes up.
        let mean = delays.reduce(0, +) / max(1, delays.count)
        #expect(abs(mean - 5000) < 260)
        #expect(Set(delays.map { min(9, $0 / 1000) }).count == 10)
    }

    @Test func answersFollowAfterTheInterFrameSpace() throws {
        var rig = Rig(quality: LinkQuality(loss: .uniform(probability: 0.2)))
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.air.recordPackets(true)
        AdvertisingTests.startLegacy(&rig, watch, slots: 160)
        AdvertisingTests.startScan(&rig, phone, type: "01")
        rig.run(for: .seconds(60))
        let packets = takePackets(&rig)
        #expect(LinkLayerOracle.problemsOfAdvertising(packets, of: watch, interval: 100_000) == [])
        #expect(LinkLayerOracle.problemsOfAnswers(packets) == [])
        let requests = packets.count { $0.kind == .scanRequest && $0.sender == phone }
        let lostResponses = packets.count { $0.kind == .scanResponse && $0.sender == watch && !$0.isReceived }
        #expect(requests > 50)
        #expect(lostResponses > 5)
    }

    @Test func auxiliaryPacketsFollowTheLastPrimaryOne() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        rig.air.recordPackets(true)
        // Set 0, neither connectable nor scannable, 100 ms, auxiliary packets on LE 2M; 251 + 49 octets of data.
        rig.send("01 36 20 19 00 00 00 a0 00 00 a0 00 00 07 00 00 00 00 00 00 00 00 00 7f 01 00 02 00 00", watch)
        let zeros = { (count: Int) in hex([UInt8](repeating: 0, count: count)) }
        rig.send("01 37 20 ff 00 01 00 fb \(zeros(251))", watch)
        rig.send("01 37 20 35 00 02 00 31 \(zeros(49))", watch)
        rig.send("01 39 20 06 01 01 00 00 00 00", watch)
        rig.run(for: .seconds(5))
        let packets = takePackets(&rig)
        var auxiliary = 0
        for (before, packet) in zip(packets, packets.dropFirst()) {
            guard case .auxiliaryAdvertising(let fragment) = packet.kind else { continue }
            auxiliary += 1
            #expect(LinkLayerOracle.start(packet) - LinkLayerOracle.end(before) >= 300)
            #expect(packet.phy == .le2M)
            #expect(before.kind == (fragment == 0 ? .advertising(channel: 39) : .auxiliaryAdvertising(fragment: 0)))
        }
        // Two packets in each of about 47 events: 300 octets do not fit into one.
        #expect((90...100).contains(auxiliary))
    }

    // MARK: Connections

    /// A conversation of two hosts that send at random, and everything that was on the air.
    private func conversation(
        seed: UInt64,
        loss: LossModel,
        interval: UInt16,
        latency: UInt16,
        eventLength: Duration? = nil
    ) throws -> [AirPacket] {
        var phone = ControllerConfiguration.modern
        phone.eventLimits = ConnectionEventLimits(length: eventLength)
        let link = ConnectedRig(seed: seed, interval: interval, latency: latency, timeout: 3200, central: phone)
        var rig = try #require(link)
        rig.rig.air.recordPackets(true)
        rig.rig.run(for: .milliseconds(500))
        rig.rig.air.setLinkQuality(LinkQuality(loss: loss), between: rig.central, and: rig.peripheral)
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let id = Bool.random(using: &random) ? rig.central : rig.peripheral
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                rig.sendData([UInt8](repeating: 1, count: Int.random(in: 1...251, using: &random)), from: id)
            }
            if Int.random(in: 0..<40, using: &random) == 0 {
                rig.rig.send(
                    "01 32 20 07 \(rig.centralHandle) 00 0\(Bool.random(using: &random) ? 1 : 2) 02 00 00",
                    rig.central
                )
            }
            rig.rig.run(for: .microseconds(Int64.random(in: 0...200_000, using: &random)))
        }
        return takePackets(&rig.rig)
    }

    private func problems(
        _ packets: [AirPacket],
        interval: UInt16,
        latency: UInt16,
        isLossless: Bool
    ) -> [String] {
        LinkLayerOracle.problemsOfConnection(
            1,
            in: packets,
            interval: Int(interval) * 1250,
            latency: isLossless ? Int(latency) : nil,
            longestPayload: 251
        )
    }

    @Test(arguments: [(6, 0), (24, 0), (24, 4), (80, 2)] as [(UInt16, UInt16)], [0.0, 0.1, 0.4])
    func connectionsKeepEveryRule(timing: (interval: UInt16, latency: UInt16), probability: Double) throws {
        let packets = try conversation(
            seed: UInt64(timing.interval) + UInt64(probability * 100),
            loss: .uniform(probability: probability),
            interval: timing.interval,
            latency: timing.latency
        )
        #expect(packets.count > 400)
        // Packets also go unheard while the peripheral sleeps.
        let isUnheard = packets.contains { !$0.isReceived }
        #expect(isUnheard == (probability > 0 || timing.latency > 0))
        let isLossless = probability == 0
        #expect(
            problems(packets, interval: timing.interval, latency: timing.latency, isLossless: isLossless) == []
        )
    }

    @Test func eventsEndWithinTheirLength() throws {
        let packets = try conversation(
            seed: 3,
            loss: .none,
            interval: 40,
            latency: 0,
            eventLength: .microseconds(7500)
        )
        #expect(problems(packets, interval: 40, latency: 0, isLossless: true) == [])
        var anchors: [Int64: Int] = [:]
        var longest = 0
        for packet in packets {
            guard case .connection(let header) = packet.kind else { continue }
            let anchor = anchors[header.event] ?? LinkLayerOracle.start(packet)
            anchors[header.event] = anchor
            longest = max(longest, LinkLayerOracle.end(packet) - anchor)
        }
        #expect(longest <= 7500)
        #expect(longest > 4000)
    }

    @Test func theFirstAnchorLiesInTheTransmitWindow() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var rig = Rig(seed: seed)
            let watch = rig.add(address: 1)
            let phone = rig.add(address: 2)
            rig.air.recordPackets(true)
            AdvertisingTests.startLegacy(&rig, watch, slots: 32)
            rig.send(
                "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00",
                phone
            )
            _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
            rig.run(for: .milliseconds(100))
            let packets = takePackets(&rig)
            let request = try #require(packets.first { $0.kind == .connectRequest })
            let first = try #require(packets.first { if case .connection = $0.kind { true } else { false } })
            // transmitWindowDelay is 1.25 ms; the offset is at most one interval of 30 ms.
            let wait = LinkLayerOracle.start(first) - LinkLayerOracle.end(request)
            #expect((1250...31_250).contains(wait), "seed \(seed)")
            #expect(LinkLayerOracle.problemsOfAnswers(packets) == [])
        }
    }

    // MARK: The oracle itself

    /// An oracle that finds nothing wrong with anything would prove nothing.
    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func theOracleNoticesEveryChange(seed: UInt64) throws {
        let packets = try conversation(seed: seed, loss: .uniform(probability: 0.1), interval: 24, latency: 0)
        #expect(problems(packets, interval: 24, latency: 0, isLossless: false) == [])
        var random = SplitMix64(seed: seed)
        for round in 0..<200 {
            // Not the very last ones, nor the first, by which the anchors are known: what follows gives the rest away.
            let index = Int.random(in: 1..<(packets.count - 20), using: &random)
            var changed = packets
            guard case .connection(var header) = changed[index].kind else { continue }
            switch round % 4 {
            case 0: changed[index].start += .microseconds(Bool.random(using: &random) ? 1 : -1)
            case 1: header.sequenceNumber.toggle()
            case 2: header.nextExpectedSequenceNumber.toggle()
            default:
                // A packet that another one follows within the event would end later.
                guard case .connection(let next) = packets[index + 1].kind, next.event == header.event else { continue }
                changed[index].payloadLength += 1
            }
            changed[index].kind = .connection(header)
            let found = problems(changed, interval: 24, latency: 0, isLossless: false)
            #expect(!found.isEmpty, "seed \(seed), round \(round): packet \(index) changed unnoticed")
        }
    }
}
