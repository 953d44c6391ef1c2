import AirSimulator
import Testing

/// How much data a link carries, against the figures that follow from packet formats and published measurements.
@Suite struct ThroughputTests {
    /// Keeps both controllers' buffers full for a while.
    /// - Returns: Octets of ACL data a second that arrived at the receiver.
    private func pump(
        _ link: inout ConnectedRig,
        from sender: ControllerID,
        packet: Int,
        buffers: Int,
        for span: Duration
    ) -> Double {
        let handle = bytes(sender == link.central ? link.centralHandle : link.peripheralHandle)
        let data = [2] + handle + [UInt8(packet), 0] + [UInt8](repeating: 0xA5, count: packet)
        _ = link.rig.take(sender)
        for _ in 0..<buffers { link.rig.send(data, sender) }
        let start = link.rig.now
        let end = start + span
        var received = 0
        var buffer: [UInt8] = []
        // Straight on the air: keeping a log of all this would take far longer than the simulation itself.
        while let next = link.rig.air.nextDeadline, next <= end {
            link.rig.air.advance(to: next)
            while let id = link.rig.air.nextPacket(into: &buffer) {
                if id != sender, buffer[0] == 2 { received += buffer.count - 5 }
                if id == sender, buffer[0] == 4, buffer[1] == 0x13 {
                    link.rig.air.receive(data[...], from: sender, at: next)
                }
            }
        }
        link.rig.run(until: end + .seconds(1))
        return Double(received) / (span / .seconds(1))
    }

    /// LE Set Data Length at both ends: 251 octets, 2120 µs.
    private func lengthenPackets(_ link: inout ConnectedRig) {
        link.rig.send("01 22 20 06 \(link.centralHandle) fb 00 48 08", link.central)
        link.rig.send("01 22 20 06 \(link.peripheralHandle) fb 00 48 08", link.peripheral)
        link.rig.run(for: .seconds(1))
    }

    private static let ios2017: ControllerConfiguration = {
        var configuration = ControllerConfiguration.modern
        configuration.eventLimits = .ios2017
        return configuration
    }()

    @Test(arguments: [true, false])
    func aPhoneOf2017ExchangesSevenShortPacketsAnEvent(fromPhone: Bool) throws {
        var link = try #require(ConnectedRig(interval: 24, central: Self.ios2017))
        let sender = fromPhone ? link.central : link.peripheral
        let rate = pump(&link, from: sender, packet: 27, buffers: 8, for: .seconds(5))
        #expect(abs(rate / (7 * 27 / 0.030) - 1) < 0.01)
    }

    @Test(arguments: [(24 as UInt16, 0.030), (12, 0.015)])
    func aPhoneOf2017ExchangesThreeLongPacketsAnEvent(interval: UInt16, seconds: Double) throws {
        var link = try #require(ConnectedRig(interval: interval, central: Self.ios2017))
        lengthenPackets(&link)
        for sender in [link.central, link.peripheral] {
            let rate = pump(&link, from: sender, packet: 251, buffers: 8, for: .seconds(5))
            // 394 kbps of K-frame payload at 15 ms are 739 octets of 753 an event.
            #expect(abs(rate / (3 * 251 / seconds) - 1) < 0.01)
        }
    }

    @Test func longPacketsOn1MFillTheInterval() throws {
        var link = try #require(ConnectedRig(interval: 12))
        lengthenPackets(&link)
        let rate = pump(&link, from: link.central, packet: 251, buffers: 8, for: .seconds(5))
        // Six exchanges of 2468 µs fit into 15 ms.
        let pair = TimingTests.onAir1M(251) + 150 + TimingTests.onAir1M(0) + 150
        #expect(pair == 2468 && 15_000 / pair == 6)
        #expect(abs(rate / (6 * 251 / 0.015) - 1) < 0.005)
    }

    @Test func longPacketsOn2MReachTheLimit() throws {
        var link = try #require(ConnectedRig(interval: 12))
        lengthenPackets(&link)
        link.rig.send("01 32 20 07 \(link.centralHandle) 00 02 02 00 00", link.central)
        link.rig.run(for: .seconds(1))
        let short = pump(&link, from: link.peripheral, packet: 251, buffers: 8, for: .seconds(5))
        let pair = TimingTests.onAir2M(251) + 150 + TimingTests.onAir2M(0) + 150
        #expect(pair == 1392 && 15_000 / pair == 10)
        #expect(abs(short / (10 * 251 / 0.015) - 1) < 0.005)

        // With events of 400 ms, all but the last half packet's time is used: 251 octets every 1392 µs.
        var slow = try #require(ConnectedRig(interval: 320, timeout: 400))
        lengthenPackets(&slow)
        slow.rig.send("01 32 20 07 \(slow.centralHandle) 00 02 02 00 00", slow.central)
        slow.rig.run(for: .seconds(10))
        let long = pump(&slow, from: slow.peripheral, packet: 251, buffers: 8, for: .seconds(20))
        let limit = 251 / 0.001392
        #expect(long <= limit)
        #expect(long > limit * 0.98)
    }

    @Test func encryptionAddsFourOctetsToEachPacket() throws {
        var link = try #require(ConnectedRig(interval: 12))
        lengthenPackets(&link)
        try link.encrypt()
        let rate = pump(&link, from: link.central, packet: 251, buffers: 8, for: .seconds(5))
        let pair = TimingTests.onAir1M(255) + 150 + TimingTests.onAir1M(0) + 150
        #expect(abs(rate / (Double(15_000 / pair) * 251 / 0.015) - 1) < 0.005)
        let small = pump(&link, from: link.central, packet: 27, buffers: 8, for: .seconds(5))
        let smallPair = TimingTests.onAir1M(31) + 150 + TimingTests.onAir1M(0) + 150
        #expect(abs(small / (Double(15_000 / smallPair) * 27 / 0.015) - 1) < 0.005)
    }

    @Test func eventLengthIsAnUpperLimit() throws {
        var limited = ControllerConfiguration.modern
        limited.eventLimits = ConnectionEventLimits(length: .microseconds(2500))
        var link = try #require(ConnectedRig(interval: 24, peripheral: limited))
        let rate = pump(&link, from: link.central, packet: 27, buffers: 8, for: .seconds(10))
        #expect(abs(rate / (Double(2500 / 676) * 27 / 0.030) - 1) < 0.01)
    }

    @Test func lossCostsWhatItShould() throws {
        var link = try #require(
            ConnectedRig(quality: LinkQuality(loss: .uniform(probability: 0.02)), interval: 24, timeout: 3200)
        )
        let rate = pump(&link, from: link.central, packet: 27, buffers: 8, for: .seconds(30))
        // Every lost packet, of either side, closes the event: the mean number of exchanges until then, at most 44.
        let survives = 0.98 * 0.98
        var delivered = 0.0
        for exchange in 0..<(30_000 / 676) { delivered += 0.98 * (0..<exchange).reduce(1.0) { p, _ in p * survives } }
        #expect(abs(rate / (delivered * 27 / 0.030) - 1) < 0.05)
    }
}
