import AirSimulator
import BluetoothHCI
import SeededRandomness
import Testing

/// Hosts that send anything: no trap, a bounded answer to each command, and the same bytes for the same seed.
@Suite struct RobustnessTests {
    /// Valid commands, from which the mutations are made.
    private static let templates: [[UInt8]] = [
        "01 03 0c 00", "01 01 0c 08 ff ff ff ff ff ff ff 3f", "01 01 20 08 ff ff ff ff ff ff ff 7f",
        "01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00",
        "01 08 20 20 03 02 01 06 \(String(repeating: "00", count: 28))", "01 0a 20 01 01", "01 0a 20 01 00",
        "01 0b 20 07 01 10 00 10 00 00 00", "01 0c 20 02 01 00", "01 0c 20 02 00 00",
        "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00", "01 0e 20 00",
        "01 05 20 06 55 44 33 22 11 c0", "01 35 20 07 00 55 44 33 22 11 c0",
        "01 36 20 19 00 13 00 20 00 00 20 00 00 07 00 00 00 00 00 00 00 00 00 7f 01 00 01 00 00",
        "01 36 20 19 01 02 00 20 00 00 20 00 00 07 00 00 00 00 00 00 00 00 00 7f 01 00 02 00 01",
        "01 36 20 19 02 01 00 20 00 00 20 00 00 07 00 00 00 00 00 00 00 00 00 7f 03 00 03 00 01",
        "01 37 20 07 00 03 01 03 02 01 06", "01 38 20 08 01 03 01 04 03 09 41 42",
        "01 37 20 07 02 01 01 03 02 01 06", "01 37 20 07 02 02 01 03 02 01 06",
        "01 39 20 06 01 01 00 00 00 00", "01 39 20 06 01 01 01 10 00 03", "01 39 20 06 01 01 02 00 00 00",
        "01 39 20 02 00 00", "01 3c 20 01 01", "01 3d 20 00", "01 41 20 08 00 00 01 01 10 00 10 00",
        "01 41 20 0d 00 00 05 01 10 00 10 00 01 10 00 08 00", "01 42 20 06 01 01 00 00 00 00",
        "01 42 20 06 01 02 10 00 01 00", "01 42 20 06 00 00 00 00 00 00",
        "01 43 20 1a 00 00 00 01 00 00 c0 c0 c0 01 30 00 30 00 18 00 18 00 00 00 c8 00 00 00 00 00",
        "01 11 20 07 00 01 00 00 c0 c0 c0", "01 10 20 00", "01 27 20 27 00 01 00 00 c0 c0 c0 \(key) \(key)",
        "01 2d 20 01 01", "01 2d 20 01 00", "01 2e 20 02 01 00", "01 29 20 00", "01 4e 20 08 00 01 00 00 c0 c0 c0 01",
        "01 06 04 03 40 00 13", "01 06 04 03 50 00 13", "01 1d 04 02 40 00", "01 16 20 02 50 00",
        "01 13 20 0e 50 00 0c 00 0c 00 00 00 2c 01 00 00 00 00",
        "01 13 20 0e 40 00 0c 00 18 00 02 00 58 02 00 00 00 00",
        "01 20 20 0e 50 00 10 00 10 00 02 00 58 02 00 00 00 00", "01 21 20 03 50 00 3b",
        "01 22 20 06 50 00 fb 00 48 08", "01 24 20 04 fb 00 48 08", "01 32 20 07 50 00 00 02 02 00 00",
        "01 32 20 07 40 00 00 04 04 00 00", "01 19 20 1c 50 00 01 02 03 04 05 06 07 08 0a 0b \(key)",
        "01 1a 20 12 40 00 \(key)", "01 1b 20 02 40 00", "01 05 14 02 50 00", "01 31 0c 01 01",
        "01 33 0c 07 1b 00 00 02 00 00 00", "01 35 0c 05 01 40 00 01 00", "02 50 00 05 00 01 00 04 00 0d",
        "02 40 00 05 00 01 00 04 00 0d", "02 50 10 03 00 01 00 04",
    ].map(bytes)

    private static let key = "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"

    private static func mutate(_ packet: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var packet = packet
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard !packet.isEmpty else { break }
            let index = Int.random(in: 0..<packet.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: packet[index] = UInt8.random(in: 0...255, using: &random)
            case 1: packet[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: packet[index] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF].randomElement(using: &random) ?? 0
            case 3: packet.removeLast(Int.random(in: 1...packet.count, using: &random))
            case 4: packet.append(contentsOf: (0..<Int.random(in: 1...40, using: &random)).map { UInt8($0) })
            case 5: packet.insert(UInt8.random(in: 0...255, using: &random), at: index)
            default: break
            }
        }
        // Half of the time, the length is made right again, so that the parameters are looked at.
        if packet.count >= 4, packet[0] == 1, Bool.random(using: &random) {
            packet[3] = UInt8(clamping: packet.count - 4)
        }
        if packet.count >= 5, packet[0] == 2, Bool.random(using: &random) {
            packet[3] = UInt8((packet.count - 5) & 0xFF)
            packet[4] = UInt8((packet.count - 5) >> 8)
        }
        return packet
    }

    /// Two hundred thousand packets in all, from hosts of four controllers at once.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func nothingThatAHostSendsTraps(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var rig = Rig(seed: seed, quality: LinkQuality(loss: .uniform(probability: 0.02)))
        let ids = [
            rig.add(address: 1), rig.add(address: 2), rig.add(.legacy, address: 3),
            rig.add(.legacyWithDataLength, address: 4),
        ]
        var connections = 0
        for round in 0..<25_000 {
            let id = ids[Int.random(in: 0..<ids.count, using: &random)]
            guard let template = Self.templates.randomElement(using: &random) else { return }
            // Resets would keep anything else from happening.
            if template[1...2] == [0x03, 0x0C], round % 50 != 0 { continue }
            rig.send(Self.mutate(template, &random), id)
            if Int.random(in: 0..<6, using: &random) == 0 {
                rig.run(for: .microseconds(Int64.random(in: 0...50_000, using: &random)))
            }
            for id in ids {
                let said = rig.take(id)
                if said.count > 2000 { Issue.record("seed \(seed), round \(round): \(said.count) packets") }
                for packet in said where packet.bytes[0] == 4 {
                    if packet.bytes.starts(with: [4, 0x3E, 0x1F, 0x0A, 0]) { connections += 1 }
                    // Each of its packets is an event that a host can decode.
                    do {
                        _ = try HCIEvent(body: packet.bytes.dropFirst())
                    } catch {
                        Issue.record("seed \(seed), round \(round): \(packet): \(error)")
                    }
                }
            }
        }
        // The input has reached connections.
        #expect(connections > 5, "seed \(seed)")
    }

    /// Many events of three controllers.
    private func life(seed: UInt64) -> [Rig.Said] {
        var random = SplitMix64(seed: 4711)
        var rig = Rig(seed: seed, quality: LinkQuality(loss: .uniform(probability: 0.1)))
        let ids = [rig.add(address: 1), rig.add(address: 2), rig.add(address: 3)]
        var said: [Rig.Said] = []
        for _ in 0..<3000 {
            let id = ids[Int.random(in: 0..<ids.count, using: &random)]
            guard let template = Self.templates.randomElement(using: &random) else { break }
            if template[1...2] == [0x03, 0x0C] { continue }
            rig.send(template, id)
            rig.run(for: .microseconds(Int64.random(in: 0...30_000, using: &random)))
            for id in ids { said += rig.take(id) }
        }
        return said
    }

    @Test func theSameSeedGivesTheSameBytes() throws {
        let one = life(seed: 1)
        #expect(one.count > 3000)
        #expect(one == life(seed: 1))
        #expect(one != life(seed: 2))
    }

    @Test func timeGoesOnInAnyStep() throws {
        // The same connection, once stepped deadline by deadline and once in strides, ends up at the same point.
        var ends: [[String]] = []
        for stride in [Duration.milliseconds(1), .milliseconds(333), .seconds(50)] {
            var link = try #require(
                ConnectedRig(quality: LinkQuality(loss: .uniform(probability: 0.3)), interval: 8, timeout: 40)
            )
            while link.rig.now < .seconds(100) {
                let next = link.rig.now + stride
                link.rig.air.advance(to: next)
                link.rig.now = next
            }
            link.rig.run(for: .zero)
            ends.append(link.rig.take(link.central).map(\.hex))
        }
        #expect(ends[0] == ends[1] && ends[1] == ends[2])
    }

    @Test func timeDoesNotGoBack() throws {
        var link = try #require(ConnectedRig())
        link.rig.run(for: .seconds(10))
        link.rig.air.advance(to: .seconds(1))
        link.rig.air.advance(to: .seconds(-5))
        link.rig.air.receive(bytes("01 03 0c 00")[...], from: link.central, at: .seconds(2))
        link.rig.air.receive(bytes("01 03 0c 00")[...], from: link.peripheral, at: .seconds(1 << 40))
        link.rig.air.advance(to: .seconds(1 << 62))
        var buffer: [UInt8] = []
        var resets = 0
        while link.rig.air.nextPacket(into: &buffer) != nil { if buffer[1] == 0x0E { resets += 1 } }
        #expect(resets == 2)
    }

    @Test func removedControllersAreGone() throws {
        var rig = Rig()
        let old = rig.add(address: 1)
        rig.air.removeController(old)
        #expect(rig.ask("01 03 0c 00", old).isEmpty)
        #expect(rig.air.publicAddress(of: old) == nil)
        let new = rig.add(address: 2)
        #expect(new != old)
        #expect(rig.ask("01 03 0c 00", old).isEmpty)
        #expect(rig.ask("01 03 0c 00", new) == ["04 0e 04 01 03 0c 00"])
        rig.air.removeController(old)
        #expect(rig.ask("01 03 0c 00", new) == ["04 0e 04 01 03 0c 00"])
        // Connecting and disconnecting leaves nothing behind: handles are used again.
        for _ in 0..<10_000 {
            let id = rig.air.addController()
            rig.air.receive(bytes("01 0a 20 01 01")[...], from: id, at: rig.now)
            rig.air.removeController(id)
        }
        #expect("\(rig.air.addController())" == "controller 1.10000")
    }
}
