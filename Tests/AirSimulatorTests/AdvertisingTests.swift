import AirSimulator
import Testing

/// Advertising and scanning in time, and what scanners report.
@Suite struct AdvertisingTests {
    static let zeros31 = String(repeating: "00 ", count: 31)

    /// LE Set Advertising Parameters with an interval in 0.625 ms units, and enable.
    static func startLegacy(
        _ rig: inout Rig,
        _ id: ControllerID,
        slots: UInt16,
        type: String = "00",
        ownAddress: String = "00",
        channels: String = "07",
        filter: String = "00"
    ) {
        let none = "00 00 00 00 00 00 00"
        let slots = little(slots)
        #expect(
            rig.ask("01 06 20 0f \(slots) \(slots) \(type) \(ownAddress) \(none) \(channels) \(filter)", id)
                == ["04 0e 04 01 06 20 00"]
        )
        #expect(rig.ask("01 0a 20 01 01", id) == ["04 0e 04 01 0a 20 00"])
    }

    /// LE Set Scan Parameters and Enable; interval and window in 0.625 ms units.
    static func startScan(
        _ rig: inout Rig,
        _ id: ControllerID,
        type: String = "00",
        interval: UInt16 = 0x10,
        window: UInt16 = 0x10,
        filter: String = "00",
        duplicates: String = "00"
    ) {
        #expect(
            rig.ask("01 0b 20 07 \(type) \(little(interval)) \(little(window)) 00 \(filter)", id)
                == ["04 0e 04 01 0b 20 00"]
        )
        #expect(rig.ask("01 0c 20 02 01 \(duplicates)", id) == ["04 0e 04 01 0c 20 00"])
    }

    // MARK: Time

    @Test(arguments: [32 as UInt16, 160, 244, 1636])
    func eventsAreTheIntervalApartPlusARandomDelay(slots: UInt16) throws {
        var rig = Rig(seed: UInt64(slots))
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // On one channel only, with a scanner that never leaves it: its interval is the longest there is, 10.24 s, so
        // it listens elsewhere for two thirds of the time, and only the rest is counted.
        Self.startLegacy(&rig, watch, slots: slots, type: "03", channels: "01")
        Self.startScan(&rig, phone, interval: 0x4000, window: 0x4000)
        rig.run(for: .seconds(600))
        let times = rig.take(phone, "04 3e").map(\.time)
        let interval = Duration.microseconds(Int(slots) * 625)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 < interval * 2 }
        #expect(gaps.count > 100)
        #expect(gaps.allSatisfy { $0 >= interval && $0 <= interval + .milliseconds(10) })
        // Uniform from 0 to 10 ms: mean 5 ms, and every tenth of the range about equally often.
        let delays = gaps.map { ($0 - interval) / .milliseconds(1) }
        let mean = delays.reduce(0, +) / Double(delays.count)
        // Three standard errors: the standard deviation of the distribution is 10 / √12 ms.
        let tolerance = 3 * (10 / 12.0.squareRoot()) / Double(delays.count).squareRoot()
        #expect(abs(mean - 5) < tolerance)
        let expected = Double(delays.count) / 10
        let squares = (0..<10).reduce(0.0) { sum, tenth in
            let count = Double(delays.filter { Int($0) == tenth }.count)
            return sum + (count - expected) * (count - expected) / expected
        }
        // Chi squared with nine degrees of freedom exceeds 27.9 once in a thousand.
        #expect(squares < 27.9)
    }

    @Test func eachEventGoesOutOnThreeChannelsInOrder() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phones = (2...10).map { rig.add(address: $0) }
        for phone in phones { Self.startScan(&rig, phone, interval: 0x4000, window: 0x4000) }
        Self.startLegacy(&rig, watch, slots: 0x4000, type: "03")
        // Nine scanners that each stay on a channel drawn at random: of one event, they hear three different packets.
        rig.run(for: .milliseconds(10_100))
        let times = Set(phones.flatMap { phone in rig.take(phone, "04 3e").map(\.time) }).sorted()
        #expect(times.count == 3)
        // Without data, an advertising packet takes 128 µs; the radio needs a while to go to the next channel.
        let packet = Duration.microseconds(TimingTests.onAir1M(6))
        for (one, next) in zip(times, times.dropFirst()) {
            #expect(next - one > packet && next - one < .milliseconds(10))
        }
    }

    @Test func aScannerHearsInItsWindowsOnly() throws {
        var rig = Rig(seed: 3)
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        Self.startLegacy(&rig, watch, slots: 32, type: "03")
        let start = rig.now
        // 30 ms of 300 ms.
        Self.startScan(&rig, phone, interval: 480, window: 48)
        rig.run(for: .seconds(300))
        let times = rig.take(phone, "04 3e").map { ($0.time - start) / .milliseconds(300) }
        let phases = times.map { $0 - $0.rounded(.down) }
        // A packet that begins in the window is received to its end, which is at most 0.2 ms later.
        #expect(phases.allSatisfy { $0 < (30 + 0.2) / 300 })
        // 1000 windows of 30 ms, each with 30 / 25 events on its channel.
        #expect((1000...1400).contains(times.count))
    }

    @Test func scanningCostsTheRadioItsWindows() throws {
        var rig = Rig()
        let phone = rig.add(address: 2)
        Self.startScan(&rig, phone, interval: 480, window: 48)
        rig.run(for: .seconds(30))
        #expect(rig.air.radioUsage(of: phone).scanning.receiving == .seconds(3))
        #expect(rig.air.radioUsage(of: phone).total.transmitting == .zero)
    }

    @Test func advertisingCostsTheSameHeardOrNot() throws {
        var usages: [RadioUsage] = []
        for isHeard in [true, false] {
            var rig = Rig()
            let watch = rig.add(address: 1)
            Self.startLegacy(&rig, watch, slots: 160, type: "03")
            if isHeard {
                let phone = rig.add(address: 2)
                Self.startScan(&rig, phone)
            }
            rig.run(for: .seconds(100))
            usages.append(rig.air.radioUsage(of: watch))
        }
        #expect(usages[0] == usages[1])
        // About 952 events of three packets of 128 µs.
        #expect(usages[0].advertising.transmitting > .microseconds(940 * 3 * 128))
        #expect(usages[0].advertising.transmitting < .microseconds(960 * 3 * 128))
    }

    @Test func anUnheardAdvertiserHasNoDeadline() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        Self.startLegacy(&rig, watch, slots: 32)
        #expect(rig.air.nextDeadline == nil)
        let phone = rig.add(address: 2)
        Self.startScan(&rig, phone)
        #expect(rig.air.nextDeadline != nil)
        rig.air.cutLink(between: watch, and: phone)
        #expect(rig.air.nextDeadline == nil)
        rig.air.setLinkQuality(.perfect, between: watch, and: phone)
        #expect(rig.air.nextDeadline != nil)
        rig.air.removeController(phone)
        #expect(rig.air.nextDeadline == nil)
    }

    // MARK: Reports

    @Test(arguments: [("00", "00"), ("02", "02"), ("03", "03")])
    func reportsNameTheKindOfPacket(type: String, reported: String) throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.send("01 08 20 20 03 02 01 06 \(String(repeating: "00", count: 28))", watch)
        Self.startLegacy(&rig, watch, slots: 160, type: type)
        Self.startScan(&rig, phone, duplicates: "01")
        rig.run(for: .seconds(1))
        #expect(
            rig.take(phone).map(\.hex)
                == ["04 3e 0f 02 01 \(reported) 00 01 00 00 c0 c0 c0 03 02 01 06 ce"]
        )
    }

    @Test func passiveScannersGetNoScanResponses() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        Self.startLegacy(&rig, watch, slots: 160)
        Self.startScan(&rig, phone, type: "00")
        rig.run(for: .seconds(2))
        let types = Set(rig.take(phone).map { $0.bytes[5] })
        #expect(types == [0])
    }

    @Test func duplicatesAreReportedUnlessFiltered() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        Self.startLegacy(&rig, watch, slots: 160)
        Self.startScan(&rig, phone, type: "01")
        rig.run(for: .seconds(2))
        let types = rig.take(phone).map { $0.bytes[5] }
        #expect(types.filter { $0 == 0 }.count > 15)
        #expect(types.filter { $0 == 4 }.count > 15)
        rig.send("01 0c 20 02 00 00", phone)
        rig.send("01 0c 20 02 01 01", phone)
        _ = rig.take(phone)
        rig.run(for: .seconds(2))
        #expect(rig.take(phone).map { $0.bytes[5] } == [0, 4])
    }

    @Test func theAcceptListFiltersReportsAndRequests() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let other = rig.add(address: 3)
        let phone = rig.add(address: 2)
        let stranger = rig.add(address: 4)
        // Phone scans for watch only; watch answers scan requests of phone only.
        #expect(rig.ask("01 11 20 07 00 01 00 00 c0 c0 c0", phone) == ["04 0e 04 01 11 20 00"])
        #expect(rig.ask("01 11 20 07 00 02 00 00 c0 c0 c0", watch) == ["04 0e 04 01 11 20 00"])
        Self.startLegacy(&rig, watch, slots: 160, filter: "01")
        Self.startLegacy(&rig, other, slots: 160)
        Self.startScan(&rig, phone, type: "01", filter: "01", duplicates: "01")
        Self.startScan(&rig, stranger, type: "01", duplicates: "01")
        rig.run(for: .seconds(20))
        let heard = rig.take(phone, "04 3e").map { "\($0.bytes[5]) \($0.bytes[7])" }
        #expect(heard == ["0 1", "4 1"])
        let strangers = Set(rig.take(stranger, "04 3e").map { "\($0.bytes[5]) \($0.bytes[7])" })
        #expect(strangers == ["0 1", "0 3", "4 3"])
    }

    @Test func randomAddressesAreReportedAsSuch() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        #expect(rig.ask("01 06 20 0f a0 00 a0 00 00 01 00 00 00 00 00 00 00 07 00", watch) == ["04 0e 04 01 06 20 00"])
        // No random address has been set yet.
        #expect(rig.ask("01 0a 20 01 01", watch) == ["04 0e 04 01 0a 20 12"])
        #expect(rig.ask("01 05 20 06 55 44 33 22 11 c0", watch) == ["04 0e 04 01 05 20 00"])
        #expect(rig.ask("01 0a 20 01 01", watch) == ["04 0e 04 01 0a 20 00"])
        Self.startScan(&rig, phone, duplicates: "01")
        rig.run(for: .seconds(1))
        #expect(rig.take(phone).map(\.hex) == ["04 3e 0c 02 01 00 01 55 44 33 22 11 c0 00 ce"])
    }

    @Test func signalStrengthIsThatOfThePair() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.air.setLinkQuality(LinkQuality(rssi: -83), between: phone, and: watch)
        Self.startLegacy(&rig, watch, slots: 160)
        Self.startScan(&rig, phone, duplicates: "01")
        rig.run(for: .seconds(1))
        #expect(rig.take(phone).first?.bytes.last == UInt8(bitPattern: -83))
    }

    @Test func packetsThatMeetOnOneChannelDestroyEachOther() throws {
        var rig = Rig(seed: 9)
        let phone = rig.add(address: 99)
        // 40 advertisers every 20 ms: a packet of 128 µs is hit by one that begins up to 128 µs before or after.
        for address in 1...40 {
            let watch = rig.add(address: UInt8(address))
            Self.startLegacy(&rig, watch, slots: 32, type: "03", channels: "01")
        }
        Self.startScan(&rig, phone, interval: 0x4000, window: 0x4000)
        // Only a third of the windows is on channel 37.
        rig.run(for: .milliseconds(3 * 10_240))
        let reports = rig.take(phone, "04 3e").count
        let sent = 40 * 10_240.0 / 25
        let survives = (0..<39).reduce(1.0) { p, _ in p * (1 - 0.256 / 25) }
        #expect(abs(Double(reports) / (sent * survives) - 1) < 0.05)
    }
}
