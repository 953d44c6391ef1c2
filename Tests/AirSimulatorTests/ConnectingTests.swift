import AirSimulator
import Testing

/// How connections begin, and how they fail to.
@Suite struct ConnectingTests {
    private func createConnection(
        to address: String,
        type: String = "00",
        filter: String = "00",
        parameters: String = "18 00 18 00 00 00 c8 00"
    ) -> String {
        "01 0d 20 19 30 00 30 00 \(filter) \(type) \(address) 00 \(parameters) 00 00 00 00"
    }

    private let watchAddress = "01 00 00 c0 c0 c0"

    @Test func theFirstAnchorFollowsTheRequest() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.send(createConnection(to: watchAddress), phone)
        let created = try rig.wait(for: "04 3e 1f 0a 00", from: phone).time
        rig.send("02 50 00 01 00 77", phone)
        let heard = try rig.wait(for: "02", from: watch).time
        // Transmit window delay of a legacy request: 1.25 ms.
        #expect(heard - created == .microseconds(1250 + TimingTests.onAir1M(1)))
    }

    @Test func hostsWithoutTheEnhancedEventGetThePlainOne() throws {
        var rig = Rig()
        let watch = rig.add(.legacy, address: 1)
        let phone = rig.add(address: 2)
        // LE Set Event Mask: the first five events only, at the watch.
        rig.send("01 01 20 08 1f 00 00 00 00 00 00 00", watch)
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.send(createConnection(to: watchAddress), phone)
        _ = try rig.wait(for: "04 3e 13 01", from: watch)
        #expect(rig.take(watch).map(\.hex) == ["04 3e 13 01 00 40 00 01 00 02 00 00 c0 c0 c0 18 00 00 00 c8 00 00"])
        // The other side does not have channel selection algorithm #2.
        #expect(rig.take(phone).last?.hex == "04 3e 04 14 50 00 00")
    }

    @Test func connectingCanBeCancelled() throws {
        var rig = Rig()
        let phone = rig.add(address: 2)
        #expect(rig.ask("01 0e 20 00", phone) == ["04 0e 04 01 0e 20 0c"])
        #expect(rig.ask(createConnection(to: watchAddress), phone) == ["04 0f 04 00 01 0d 20"])
        #expect(rig.ask(createConnection(to: watchAddress), phone) == ["04 0f 04 0c 01 0d 20"])
        rig.run(for: .seconds(5))
        // Command Complete, then a connection complete event: Unknown Connection Identifier.
        let zeros = String(repeating: " 00", count: 29)
        #expect(rig.ask("01 0e 20 00", phone) == ["04 0e 04 01 0e 20 00", "04 3e 1f 0a 02\(zeros)"])
        rig.run(for: .seconds(5))
        #expect(rig.take(phone).isEmpty)
        let watch = rig.add(address: 1)
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.run(for: .seconds(5))
        #expect(rig.take(phone).isEmpty)
    }

    @Test func aRequestThatGetsLostIsNoticedAfterSixIntervals() throws {
        // What the watch sends always arrives, what the phone sends never: made by taking the watch out of range as
        // soon as its advertisement has been heard. The request then ends 150 + 352 µs later.
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        // The phone also scans, so that it says when it hears.
        AdvertisingTests.startScan(&rig, phone)
        _ = try rig.wait(for: "04 3e", from: phone)
        rig.send(createConnection(to: watchAddress), phone)
        // Finds the moment of the request, and repeats with the link cut just before it ends.
        var rehearsal = rig
        let created = try rehearsal.wait(for: "04 3e 1f 0a 00", from: phone).time
        rig.run(until: created - .microseconds(1))
        rig.air.cutLink(between: watch, and: phone)
        rig.run(for: .seconds(2))
        let said = rig.take(phone).filter { $0.bytes[1] == 0x05 || $0.bytes[1] == 0x3E && $0.bytes[3] == 0x0A }
        #expect(said.map { hex($0.bytes.prefix(5)) } == ["04 3e 1f 0a 00", "04 05 04 00 50"])
        // Connection Failed to be Established, after six intervals of 30 ms.
        #expect(said.last?.hex == "04 05 04 00 50 00 3e")
        #expect(said.last?.time == created + .milliseconds(180))
        // The watch knows nothing of it and goes on.
        #expect(rig.take(watch, "04 3e").isEmpty)
        rig.air.setLinkQuality(.perfect, between: watch, and: phone)
        rig.run(for: .seconds(1))
        #expect(rig.take(phone, "04 3e").count > 5)
    }

    @Test func thePeripheralNoticesToo() throws {
        var link = try #require(ConnectedRig(interval: 24))
        var other = try #require(ConnectedRig(interval: 24))
        #expect(link.created == other.created)
        // Cut before the first packet of the connection.
        link.rig.air.cutLink(between: link.peripheral, and: link.central)
        link.rig.run(for: .seconds(1))
        for (id, handle) in [(link.peripheral, link.peripheralHandle), (link.central, link.centralHandle)] {
            let ended = try link.rig.first(id, "04 05")
            #expect(ended.hex == "04 05 04 00 \(handle) 3e")
            #expect(ended.time == link.created + .milliseconds(180))
        }
        other.rig.run(for: .seconds(1))
        #expect(other.rig.take(other.central, "04 05").isEmpty)
    }

    @Test func onlyTheRightAdvertiserIsConnectedTo() throws {
        var rig = Rig()
        let other = rig.add(address: 1)
        let watch = rig.add(address: 3)
        let deaf = rig.add(address: 4)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, other, slots: 32)
        AdvertisingTests.startLegacy(&rig, watch, slots: 160)
        AdvertisingTests.startLegacy(&rig, deaf, slots: 32, type: "02")
        // By address; a random one with the same digits is another device.
        rig.send(createConnection(to: "03 00 00 c0 c0 c0", type: "01"), phone)
        rig.run(for: .seconds(5))
        #expect(rig.take(phone, "04 3e").isEmpty)
        rig.send("01 0e 20 00", phone)
        // One that is not connectable.
        rig.send(createConnection(to: "04 00 00 c0 c0 c0"), phone)
        rig.run(for: .seconds(5))
        rig.send("01 0e 20 00", phone)
        _ = rig.take(phone)
        rig.send(createConnection(to: "03 00 00 c0 c0 c0"), phone)
        let connected = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
        #expect(hex(connected.bytes[8..<15]) == "00 03 00 00 c0 c0 c0")
        #expect(rig.take(other, "04 3e").isEmpty)
        // Once connected, the watch no longer advertises, and cannot be connected to a second time.
        #expect(rig.ask(createConnection(to: "03 00 00 c0 c0 c0"), phone) == ["04 0f 04 0b 01 0d 20"])
    }

    @Test func theAcceptListMayNameThePeers() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        let stranger = rig.add(address: 5)
        rig.send("01 11 20 07 00 01 00 00 c0 c0 c0", phone)
        rig.send("01 11 20 07 00 02 00 00 c0 c0 c0", watch)
        // The watch takes connections from its list only.
        AdvertisingTests.startLegacy(&rig, watch, slots: 32, filter: "02")
        // The list may not be changed while it is in use.
        #expect(rig.ask("01 10 20 00", watch) == ["04 0e 04 01 10 20 0c"])
        rig.send(createConnection(to: watchAddress), stranger)
        rig.run(for: .seconds(1))
        // The stranger believes that it is connected until it is not answered.
        #expect(rig.take(stranger, "04 05").map(\.hex) == ["04 05 04 00 60 00 3e"])
        #expect(rig.take(watch, "04 3e").isEmpty)
        rig.send(createConnection(to: "00 00 00 00 00 00", filter: "01"), phone)
        _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
        #expect(!rig.take(watch, "04 3e 1f 0a 00").isEmpty)
    }

    @Test func badRequestsAreRefused() throws {
        var rig = Rig()
        let phone = rig.add(address: 2)
        // Window longer than the interval; interval of 5 ms; latency of 500; timeout too short for the interval.
        let bad = [
            "01 0d 20 19 30 00 31 00 00 00 \(watchAddress) 00 18 00 18 00 00 00 c8 00 00 00 00 00",
            createConnection(to: watchAddress, parameters: "04 00 18 00 00 00 c8 00"),
            createConnection(to: watchAddress, parameters: "18 00 18 00 f4 01 80 0c"),
            createConnection(to: watchAddress, parameters: "80 0c 80 0c 00 00 20 03"),
            createConnection(to: watchAddress, parameters: "20 00 18 00 00 00 c8 00"),
        ]
        for command in bad { #expect(rig.ask(command, phone) == ["04 0f 04 12 01 0d 20"]) }
    }

    @Test func extendedConnectionsAreMadeOnTheAuxiliaryChannel() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // Connectable set 3 with the auxiliary packet on LE 2M.
        rig.send("01 36 20 19 03 01 00 20 00 00 20 00 00 07 00 00 00 00 00 00 00 00 00 7f 01 00 02 00 00", watch)
        rig.send("01 39 20 06 01 01 03 00 00 00", watch)
        _ = rig.take(watch)
        // LE Extended Create Connection: LE 1M with 30 ms, LE 2M with 15 ms.
        let on1M = "30 00 30 00 18 00 18 00 00 00 c8 00 00 00 00 00"
        let on2M = "30 00 30 00 0c 00 0c 00 00 00 c8 00 00 00 00 00"
        #expect(
            rig.ask("01 43 20 2a 00 00 00 \(watchAddress) 03 \(on1M) \(on2M)", phone) == ["04 0f 04 00 01 43 20"]
        )
        rig.run(for: .seconds(1))
        let none = "00 00 00 00 00 00"
        #expect(
            rig.take(phone).map(\.hex).first
                == "04 3e 1f 0a 00 50 00 00 00 \(watchAddress) \(none) \(none) 0c 00 00 00 c8 00 00"
        )
        // Connection Complete, Channel Selection Algorithm, then Advertising Set Terminated with the handle.
        let said = rig.take(watch).map(\.hex)
        #expect(said.count == 3)
        #expect(said.last == "04 3e 06 12 00 03 40 00 00")
        // LE Read PHY: 2M both ways.
        #expect(rig.ask("01 30 20 02 50 00", phone) == ["04 0e 08 01 30 20 00 50 00 02 02"])
    }

    @Test func aControllerHasSeveralConnectionsAtOnce() throws {
        var rig = Rig()
        let phone = rig.add(address: 99)
        var watches: [ControllerID] = []
        for address in 1...6 {
            let watch = rig.add(address: UInt8(address))
            watches.append(watch)
            AdvertisingTests.startLegacy(&rig, watch, slots: 32)
            rig.send(createConnection(to: "0\(address) 00 00 c0 c0 c0"), phone)
            _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
            _ = rig.take(phone)
            _ = rig.take(watch)
        }
        // Each gets its own byte within one interval, since the central keeps their anchors apart.
        for (index, _) in watches.enumerated() {
            rig.send("02 \(little(0x40 + UInt16(index))) 01 00 \(hex([UInt8(index)]))", phone)
        }
        rig.run(for: .milliseconds(45))
        for (index, watch) in watches.enumerated() {
            #expect(rig.take(watch, "02").map { $0.bytes.last } == [UInt8(index)])
        }
        rig.run(for: .seconds(100))
        #expect(rig.take(phone, "04 05").isEmpty)
    }

    @Test func theNumberOfConnectionsIsLimited() throws {
        var configuration = ControllerConfiguration.modern
        configuration.connectionLimit = 1
        var link = try #require(ConnectedRig(peripheral: configuration, central: configuration))
        // Connection Limit Exceeded, both ways.
        #expect(link.rig.ask("01 0a 20 01 01", link.peripheral) == ["04 0e 04 01 0a 20 09"])
        #expect(link.rig.ask(createConnection(to: "07 00 00 c0 c0 c0"), link.central) == ["04 0f 04 09 01 0d 20"])
    }
}
