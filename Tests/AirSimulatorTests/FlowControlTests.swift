import AirSimulator
import Testing

/// Data buffers in both directions.
@Suite struct FlowControlTests {
    @Test func aHostThatSendsMoreThanThereAreBuffersIsCaught() throws {
        var configuration = ControllerConfiguration.modern
        configuration.dataBuffers = .init(length: 27, count: 3)
        var link = try #require(ConnectedRig(central: configuration))
        for number in 0..<5 { link.sendData([UInt8(number)], from: link.central) }
        // Data Buffer Overflow, for ACL data, for the two that did not fit.
        #expect(link.rig.take(link.central).map(\.hex) == ["04 1a 01 01", "04 1a 01 01"])
        link.rig.run(for: .seconds(1))
        #expect(link.receivedData(link.peripheral) == [0, 1, 2])
        #expect(link.rig.take(link.central, "04 13").count == 3)
        // Longer than a buffer; for no connection; with flags that LE does not have.
        link.sendData([UInt8](repeating: 0, count: 28), from: link.central)
        link.rig.send("02 77 00 01 00 00", link.central)
        link.rig.send("02 50 30 01 00 00", link.central)
        link.rig.send("02 50 40 01 00 00", link.central)
        link.rig.send("02 50 00 05 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral).isEmpty)
        var events = 0
        while link.rig.air.nextEvent() != nil { events += 1 }
        #expect(events == 2 + 5)
        // The buffers are all there still.
        for number in 0..<3 { link.sendData([UInt8(number)], from: link.central) }
        link.rig.run(for: .seconds(1))
        #expect(link.receivedData(link.peripheral) == [0, 1, 2])
    }

    @Test func emptyPacketsAreDoneAtOnce() throws {
        var link = try #require(ConnectedRig())
        link.sendData([], from: link.central)
        #expect(link.rig.take(link.central).map(\.hex) == ["04 13 05 01 50 00 01 00"])
    }

    @Test func buffersOfABrokenConnectionAreFreeAgain() throws {
        var configuration = ControllerConfiguration.modern
        configuration.dataBuffers = .init(length: 27, count: 2)
        var link = try #require(ConnectedRig(timeout: 100, central: configuration))
        link.rig.air.cutLink(between: link.central, and: link.peripheral)
        for number in 0..<2 { link.sendData([UInt8(number)], from: link.central) }
        link.rig.run(for: .seconds(3))
        #expect(link.rig.take(link.central).map { $0.bytes[1] } == [0x05])
        link.rig.air.setLinkQuality(.perfect, between: link.central, and: link.peripheral)
        AdvertisingTests.startLegacy(&link.rig, link.peripheral, slots: 32)
        link.rig.send(
            "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00",
            link.central
        )
        let connected = try link.rig.wait(for: "04 3e 1f 0a 00", from: link.central)
        for number in 0..<2 { link.rig.send("02 \(hex(connected.bytes[5...6])) 01 00 0\(number)", link.central) }
        link.rig.run(for: .seconds(1))
        #expect(link.receivedData(link.peripheral) == [0, 1])
    }

    @Test func theHostMayLimitWhatItIsSent() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // Host Buffer Size: 27 octets, 2 packets; Set Controller To Host Flow Control: ACL.
        #expect(rig.ask("01 33 0c 07 1b 00 00 02 00 00 00", watch) == ["04 0e 04 01 33 0c 00"])
        #expect(rig.ask("01 31 0c 01 01", watch) == ["04 0e 04 01 31 0c 00"])
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.send("01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00", phone)
        rig.run(for: .seconds(1))
        _ = rig.take(phone)
        for number in 0..<5 { rig.send("02 50 00 01 00 0\(number)", phone) }
        rig.run(for: .seconds(10))
        // Two arrive; the others are held back, since they are not acknowledged. The connection stays.
        #expect(rig.take(watch, "02").map { $0.bytes.last } == [0, 1])
        #expect(rig.take(phone, "04 13").count == 2)
        // Host Number Of Completed Packets: one more; it is not answered.
        #expect(rig.ask("01 35 0c 05 01 40 00 01 00", watch).isEmpty)
        rig.run(for: .seconds(1))
        #expect(rig.take(watch).map { $0.bytes.last } == [2])
        // More than were ever sent.
        #expect(rig.ask("01 35 0c 05 01 40 00 09 00", watch) == ["04 0e 04 01 35 0c 12"])
        rig.send("01 35 0c 05 01 40 00 02 00", watch)
        rig.run(for: .seconds(1))
        #expect(rig.take(watch).map { $0.bytes.last } == [3, 4])
    }

    @Test func aHostThatDoesNotReadHoldsUpItsPeersOnly() throws {
        var link = try #require(ConnectedRig(interval: 6))
        // The peripheral's host does not take its packets: what it has to say waits, within bounds.
        var waiting = 0
        var delivered = 0
        var buffer: [UInt8] = []
        for number in 0..<8 {
            link.rig.air.receive([2, 0x50, 0, 1, 0, UInt8(number)], from: link.central, at: link.rig.now)
        }
        for _ in 0..<4000 {
            guard let next = link.rig.air.nextDeadline else { break }
            link.rig.air.advance(to: next)
            while link.rig.air.nextPacket(from: link.central, into: &buffer) {
                guard buffer[0] == 4, buffer[1] == 0x13 else { continue }
                delivered += 1
                link.rig.air.receive([2, 0x50, 0, 1, 0, 0], from: link.central, at: next)
            }
        }
        // The connection is alive; reading lets it go on.
        while link.rig.air.nextPacket(from: link.peripheral, into: &buffer) { waiting += 1 }
        #expect(waiting <= 128)
        #expect(delivered < 200)
        let before = delivered
        for _ in 0..<400 {
            guard let next = link.rig.air.nextDeadline else { break }
            link.rig.air.advance(to: next)
            while link.rig.air.nextPacket(from: link.central, into: &buffer) {
                if buffer[0] == 4, buffer[1] == 0x13 { delivered += 1 }
                #expect(buffer[1] != 0x05)
            }
            while link.rig.air.nextPacket(from: link.peripheral, into: &buffer) {}
        }
        #expect(delivered > before)
    }

    @Test func aHostThatOnlySendsCommandsIsCutOff() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        for _ in 0..<10_000 { rig.air.receive([1, 9, 0x10, 0], from: id, at: .zero) }
        var buffer: [UInt8] = []
        var answers = 0
        while rig.air.nextPacket(from: id, into: &buffer) { answers += 1 }
        #expect(answers > 500 && answers < 2000)
        #expect(rig.ask("01 09 10 00", id).count == 1)
    }
}
