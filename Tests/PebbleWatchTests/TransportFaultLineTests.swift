import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Faults
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

@Suite("Faults between PPoGATT and the GATT layer")
struct TransportFaultLineTests {
    private static let place = PPoGATTFaultLine.Place(connection: 0x40, carrier: .reversed)
    private static let phone = DeviceAddress(0xC0FF_EE00_0001)

    private func line(_ faults: String...) throws -> PPoGATTFaultLine {
        var line = PPoGATTFaultLine()
        for (index, text) in faults.enumerated() {
            try line.faults.add(Fault(parsing: text), as: FaultID(rawValue: index + 1), at: .zero)
        }
        return line
    }

    /// What becomes of a packet of the watch's.
    private func send(_ bytes: [UInt8], through line: inout PPoGATTFaultLine, at now: Duration = .zero) -> [[UInt8]] {
        line.send(bytes, at: Self.place, phone: Self.phone, at: now)
        return takeAll(of: &line)
    }

    private func takeAll(of line: inout PPoGATTFaultLine) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var packet: [UInt8] = []
        while line.nextPacket(for: Self.place, into: &packet) { packets.append(packet) }
        return packets
    }

    /// What becomes of a packet of the phone's.
    private func receive(
        _ bytes: [UInt8],
        through line: inout PPoGATTFaultLine,
        at place: PPoGATTFaultLine.Place = place,
        now: Duration = .zero
    ) -> [UInt8]? {
        line.receive(bytes[...], at: place, phone: Self.phone, at: now).map { Array($0) }
    }

    private func effects(of line: inout PPoGATTFaultLine) -> [String] {
        var effects: [String] = []
        while let firing = line.faults.nextFiring() { effects.append(firing.effect) }
        return effects
    }

    // MARK: Directions

    /// Data 2, Ack 1: the type is in the low three bits, the number above.
    private static let data: [UInt8] = [2 << 3 | 0, 0xAA]
    private static let ack: [UInt8] = [1 << 3 | 1]

    @Test(
        "A packet of the phone's is lost where the fault is of the phone's",
        arguments: ["from-phone", "to-phone", "both"]
    )
    func lost(direction: String) throws {
        var line = try line("ppogatt.data-lost direction=\(direction)", "ppogatt.ack-lost direction=\(direction)")
        let fromPhone = [receive(Self.data, through: &line), receive(Self.ack, through: &line)]
        #expect(fromPhone == (direction == "to-phone" ? [Self.data, Self.ack] : [nil, nil]))
        let toPhone = send(Self.data, through: &line) + send(Self.ack, through: &line)
        #expect(toPhone == (direction == "from-phone" ? [Self.data, Self.ack] : []))
        let effects = effects(of: &line)
        #expect(effects.contains("the phone's packet 2 is lost") == (direction != "to-phone"))
        #expect(effects.contains("the phone's Ack 1 is lost") == (direction != "to-phone"))
        #expect(effects.contains("the packet 2 is lost") == (direction != "from-phone"))
        #expect(effects.contains("the Ack 1 is lost") == (direction != "from-phone"))
    }

    @Test("A late Ack arrives when it is due, in either direction")
    func late() throws {
        var line = try line("ppogatt.ack-late direction=both delay=2s")
        #expect(receive(Self.ack, through: &line) == nil)
        #expect(send(Self.ack, through: &line, at: .seconds(1)) == [])
        #expect(line.nextDeadline == .seconds(2))
        #expect(line.advance(to: .milliseconds(1999)).isEmpty)
        let arriving = line.advance(to: .seconds(2))
        #expect(arriving.map(\.packet) == [Self.ack] && arriving.map(\.place) == [Self.place])
        #expect(takeAll(of: &line) == [])
        #expect(line.advance(to: .seconds(3)).isEmpty)
        #expect(takeAll(of: &line) == [Self.ack])
        #expect(effects(of: &line) == ["the phone's Ack 1 is late", "the Ack 1 is late"])
    }

    @Test("What is kept back of a connection goes with it, and of no other")
    func removed() throws {
        var line = try line(
            "ppogatt.ack-late direction=both delay=2s",
            "ppogatt.data-reordered count=1",
            "ppogatt.reset packets=0"
        )
        let other = PPoGATTFaultLine.Place(connection: 0x41, carrier: .reversed)
        _ = receive(Self.ack, through: &line)
        _ = receive(Self.ack, through: &line, at: other)
        // One goes out behind the next one, and one is ready.
        line.send(Self.data, at: Self.place, phone: Self.phone, at: .zero)
        line.send([0x07], at: Self.place, phone: Self.phone, at: .zero)
        #expect(line.resets == [Self.place])
        line.remove(Self.place.connection)
        #expect(line.resets == [])
        #expect(takeAll(of: &line) == [])
        #expect(line.advance(to: .seconds(2)).map(\.place) == [other])
        #expect(takeAll(of: &line) == [])
    }

    // MARK: Packets that pass

    @Test("What is no packet passes as it is", arguments: [[], [0x07], [0x0C, 1]])
    func unreadable(bytes: [UInt8]) throws {
        var line = try line("ppogatt.data-lost direction=both", "ppogatt.ack-lost direction=both")
        #expect(send(bytes, through: &line) == [bytes])
        #expect(receive(bytes, through: &line) == bytes)
        #expect(effects(of: &line) == [])
    }

    @Test("The watch opens with the version that the fault says, unless it says none")
    func otherVersion() throws {
        var line = try line("ppogatt.other-version version=5")
        #expect(send([0x02, 1, 0x51, 0x52], through: &line) == [[0x02, 5, 0x51, 0x52]])
        #expect(send([0x02], through: &line) == [[0x02]])
        #expect(receive([0x02, 1], through: &line) == [0x02, 1], "the phone's is the phone's")
    }

    @Test("Both sides' windows are of one packet, of versions that have windows")
    func windows() throws {
        var line = try line("ppogatt.window-one phone=\(Self.phone)")
        #expect(send([0x03, 25, 20], through: &line) == [[0x03, 1, 1]])
        #expect(receive([0x03, 25, 20], through: &line) == [0x03, 1, 1])
        #expect(send([0x03], through: &line) == [[0x03]])
        #expect(receive([0x03], through: &line) == [0x03])
        let stranger = DeviceAddress(0xC0FF_EE00_0002)
        #expect(line.receive([0x03, 25, 20], at: Self.place, phone: stranger, at: .zero) == [0x03, 25, 20])
    }

    // MARK: On the air

    private func add(_ text: String, to rig: inout CompanionsRig) throws {
        try rig.onWatch { watch, now in
            _ = try watch.host.perform(.addFault(try Fault(parsing: text), FaultID(rawValue: 1)), at: now)
        }
    }

    private func firings(_ rig: inout CompanionsRig) -> Int {
        rig.onWatch { watch, _ in watch.events.count { if case .fault = $0 { true } else { false } } }
    }

    @Test(
        "A packet or an Ack of the phone's that is lost once costs nothing but time",
        arguments: ["ppogatt.data-lost direction=from-phone count=1", "ppogatt.ack-lost direction=from-phone count=1"]
    )
    func lostOnTheAir(fault: String) throws {
        var rig = try CompanionsRig([RigCompanion("system", .system)])
        try add(fault, to: &rig)
        rig.onPhone { phone, _ in phone.send(PingMessage.ping(cookie: 1, isIdle: nil), from: "system") }
        rig.run(for: .seconds(30))
        #expect(rig.companion("system").messages.filter { $0.endpoint == .ping }.count == 1)
        rig.expectAlive("system", 2)
        #expect(firings(&rig) == 1)
        #expect(rig.companion("system").openedCount == 1)
    }

    @Test("Acks of the phone's that are late arrive all the same")
    func lateOnTheAir() throws {
        var rig = try CompanionsRig([RigCompanion("system", .system)])
        try add("ppogatt.ack-late direction=from-phone delay=500ms", to: &rig)
        for cookie: UInt32 in 1...40 { rig.expectAlive("system", cookie) }
        #expect(firings(&rig) >= 10)
        #expect(rig.companion("system").openedCount == 1, "Acks that never arrive end the session")
    }

    /// A watch and a phone that takes only the smallest packets.
    private func smallPackets() throws -> CompanionsRig {
        let seed: UInt64 = 0x23
        var phone = try CompanionsPhone(
            [RigCompanion("system", .system)],
            hidden: [CompanionsPhone.appLaunch],
            seed: seed
        )
        var configuration = phone.host.host.configuration
        configuration.gatt.maximumMTU = 23
        phone.host.host = LEHost(
            configuration: configuration,
            database: phone.host.host.gatt.database,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        let watch = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        var rig = CompanionsRig(seed: seed, watch: try RigWatch(watch, seed: seed), phone: phone)
        rig.run(for: .seconds(1))
        rig.onPhone { phone, _ in phone.host.connect(to: RigWatch.address) }
        rig.run(for: .seconds(3))
        try rig.onPhone { phone, now in try phone.host.pair(at: now) }
        rig.run(for: .seconds(8))
        return rig
    }

    @Test("A picture whose packets are more than the GATT layer takes at once is whole behind a fault")
    func picture() throws {
        var rig = try smallPackets()
        // A window of packets, each twice.
        try add("ppogatt.data-repeated", to: &rig)
        rig.onPhone { phone, _ in phone.send(ScreenshotRequest(), from: "system") }
        rig.run(for: .seconds(60))
        let messages = rig.onPhone { phone, _ in phone["system"].take(.screenshot) }
        let header = try #require(messages.first).payload
        // Status, format, width and height stand in front of the pixels: 144 by 168, of one bit each.
        #expect(header.prefix(13) == [0, 0, 0, 0, 1, 0, 0, 0, 144, 0, 0, 0, 168])
        let byteCount = messages.map(\.payload.count).reduce(0, +)
        #expect(byteCount == 13 + 3024)
        // Of the 20 bytes of a write one is PPoGATT's own.
        #expect(firings(&rig) >= 3024 / 19)
        #expect(rig.companion("system").openedCount == 1)
    }
}
