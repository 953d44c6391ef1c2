import AirSimulator
import Testing

/// The link layer's timing, against the packet formats of the Core Specification as this file works them out.
@Suite struct TimingTests {
    /// Microseconds that a data packet takes: preamble, access address (4), header (2), payload, CRC (3), bit by bit.
    static func onAir1M(_ payload: Int) -> Int { (1 + 4 + 2 + payload + 3) * 8 }
    static func onAir2M(_ payload: Int) -> Int { (2 + 4 + 2 + payload + 3) * 4 }
    /// Coded, eight symbols a bit: 80 + 256 + 16 + 24 µs in front, 24 behind.
    static func onAirCoded(_ payload: Int) -> Int { 80 + 256 + 16 + 24 + (2 + payload + 3) * 8 * 8 + 24 }

    @Test(arguments: [1, 7, 20, 27])
    func packetsArriveWhenTheirAirTimeIsOver(length: Int) throws {
        var link = try #require(ConnectedRig(interval: 24))
        // The first anchor is 1.25 ms after CONNECT_IND; let the connection settle, then send between two events.
        link.rig.run(until: link.created + .milliseconds(300))
        let data = [UInt8](repeating: 0x5A, count: length)
        link.sendData(data, from: link.central)
        link.sendData(data, from: link.peripheral)
        let anchor = link.created + .microseconds(1250) + .milliseconds(300)
        link.rig.run(for: .milliseconds(40))
        let down = try link.rig.first(link.peripheral, "02")
        let up = try link.rig.first(link.central, "02")
        #expect(down.time - anchor == .microseconds(Self.onAir1M(length)))
        #expect(up.time - anchor == .microseconds(Self.onAir1M(length) + 150 + Self.onAir1M(length)))
    }

    @Test func completedPacketsAreReportedWhenThePeerHasAcknowledged() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.run(until: link.created + .milliseconds(300))
        let anchor = link.created + .microseconds(1250) + .milliseconds(300)
        link.sendData([1, 2, 3], from: link.central)
        link.sendData([4, 5, 6, 7], from: link.peripheral)
        link.rig.run(for: .milliseconds(70))
        let central = try link.rig.first(link.central, "04 13")
        let peripheral = try link.rig.first(link.peripheral, "04 13")
        // The peripheral's answer acknowledges the central's packet; the central's next event the peripheral's.
        #expect(central.time - anchor == .microseconds(Self.onAir1M(3) + 150 + Self.onAir1M(4)))
        #expect(peripheral.time - anchor == .milliseconds(30) + .microseconds(Self.onAir1M(0)))
    }

    @Test func moreDataKeepsTheEventOpen() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.run(until: link.created + .milliseconds(300))
        let anchor = link.created + .microseconds(1250) + .milliseconds(300)
        for _ in 0..<5 { link.sendData([UInt8](repeating: 1, count: 27), from: link.central) }
        link.rig.run(for: .milliseconds(25))
        let pair = Self.onAir1M(27) + 150 + Self.onAir1M(0) + 150
        #expect(pair == 676)
        let times = link.rig.take(link.peripheral, "02").map(\.time)
        #expect(times == (0..<5).map { anchor + .microseconds($0 * pair + Self.onAir1M(27)) })
    }

    @Test(arguments: [0, 1, 2, 3] as [UInt16])
    func aSleepingPeripheralHearsOnlyEveryLatencyPlusFirstEvent(latency: UInt16) throws {
        var link = try #require(ConnectedRig(interval: 24, latency: latency, timeout: 400))
        var delays: Set<Int> = []
        // Whenever the central sends, the peripheral hears it in the first event that it attends.
        for round in 0..<40 {
            link.rig.run(for: .milliseconds(Int64(200 + round * 7)))
            let sent = link.rig.now
            link.sendData([9], from: link.central)
            link.rig.run(for: .milliseconds(400))
            let heard = try link.rig.first(link.peripheral, "02")
            let anchorOfSending = (sent - link.created - .microseconds(1250)) / .milliseconds(30)
            let anchorOfHearing = (heard.time - link.created - .microseconds(1250)) / .milliseconds(30)
            delays.insert(Int(anchorOfHearing) - Int(anchorOfSending.rounded(.up)))
        }
        #expect(delays == Set(0...Int(latency)))
    }

    @Test func aSleepingPeripheralSendsAtOnce() throws {
        var link = try #require(ConnectedRig(interval: 24, latency: 10, timeout: 400))
        link.rig.run(until: link.created + .milliseconds(3000))
        link.sendData([9], from: link.peripheral)
        link.rig.run(for: .milliseconds(400))
        let heard = try link.rig.first(link.central, "02")
        let wait = Self.onAir1M(0) + 150 + Self.onAir1M(1)
        #expect(heard.time == link.created + .milliseconds(3000) + .microseconds(1250 + wait))
    }

    @Test func supervisionTimeoutCountsFromTheLastPacketHeard() throws {
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        link.rig.run(until: link.created + .seconds(10))
        link.rig.air.cutLink(between: link.central, and: link.peripheral)
        link.rig.run(for: .seconds(3))
        // The last event before 10 s: number 333, the first one being 1.25 ms after the connection was made.
        let anchor = link.created + .microseconds(1250) + .milliseconds(30) * 333
        let atPeripheral = try link.rig.first(link.peripheral, "04 05")
        let atCentral = try link.rig.first(link.central, "04 05")
        #expect(atPeripheral.hex == "04 05 04 00 \(link.peripheralHandle) 08")
        #expect(atCentral.hex == "04 05 04 00 \(link.centralHandle) 08")
        #expect(atPeripheral.time == anchor + .microseconds(Self.onAir1M(0)) + .seconds(1))
        #expect(atCentral.time == anchor + .microseconds(Self.onAir1M(0) * 2 + 150) + .seconds(1))
        #expect(link.rig.air.nextDeadline == nil)
    }

    @Test func aLinkThatComesBackInTimeLives() throws {
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        link.rig.run(until: link.created + .seconds(10))
        link.rig.air.cutLink(between: link.central, and: link.peripheral)
        link.rig.run(for: .milliseconds(900))
        link.rig.air.setLinkQuality(.perfect, between: link.central, and: link.peripheral)
        link.sendData([7], from: link.central)
        link.rig.run(for: .seconds(10))
        #expect(link.rig.take(link.peripheral).map(\.hex) == ["02 40 20 01 00 07"])
        #expect(link.rig.take(link.central, "04 05").isEmpty)
    }

    @Test func twoMegabitAndCodedPacketsTakeTheirTime() throws {
        var link = try #require(ConnectedRig(interval: 24))
        // LE Set PHY: no preference bits, 2M both ways.
        link.rig.send("01 32 20 07 \(link.centralHandle) 00 02 02 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral).map(\.hex) == ["04 3e 06 0c 00 \(link.peripheralHandle) 02 02"])
        try expectArrival(of: 20, in: &link, Self.onAir2M)
        link.rig.send("01 32 20 07 \(link.centralHandle) 00 04 04 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(
            link.rig.take(link.peripheral, "04 3e").map(\.hex) == [
                "04 3e 06 0c 00 \(link.peripheralHandle) 03 03",
                // On the coded PHY, 27 octets may take 2704 µs.
                "04 3e 0b 07 \(link.peripheralHandle) 1b 00 90 0a 1b 00 90 0a",
            ]
        )
        try expectArrival(of: 20, in: &link, Self.onAirCoded)
    }

    private func expectArrival(of length: Int, in link: inout ConnectedRig, _ onAir: (Int) -> Int) throws {
        let elapsed = (link.rig.now - link.created) / .milliseconds(30)
        let anchor = link.created + .microseconds(1250) + .milliseconds(30) * (Int(elapsed) + 1)
        link.rig.run(until: anchor - .milliseconds(1))
        link.sendData([UInt8](repeating: 3, count: length), from: link.central)
        link.rig.run(for: .milliseconds(20))
        let heard = try link.rig.first(link.peripheral, "02")
        #expect(heard.time - anchor == .microseconds(onAir(length)))
    }
}
