import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness
import Testing

@Suite("LE host: hostile input")
struct LEHostMutationTests {
    /// Valid packets, from which the mutations are made.
    static let corpus: [[UInt8]] = [
        HostRig.connected("4000"), HostRig.connected("4100", role: "00"), HostRig.legacyConnected("4200"),
        HostRig.event("05", "00 4000 13"), HostRig.completed("4000", "0100"), HostRig.event("08", "00 4000 01"),
        HostRig.le("03", "00 4000 1800 0300 5802"), HostRig.le("04", "00 4000 0300000000000000"),
        HostRig.le("05", "4000 0000000000000000 0000"), HostRig.le("06", "4000 1800 2400 0300 5802"),
        HostRig.le("07", "4000 fb00 4808 1b00 4801"), HostRig.le("0c", "00 4000 02 01"),
        HostRig.le("12", "00 01 4000 00"), HostRig.le("02", "01 00 \(HostRig.peerHex) 03 020106 c4"),
        HostRig.le("0d", "01 1300 \(HostRig.peerHex) 01 00 ff 7f c0 0000 00 000000000000 03 020104"),
        HostRig.commandComplete("0514", "00 4000 c4"), HostRig.commandStatus("00", "1320"),
        HostRig.frame("4000", channel: "0400", "02 f700"), HostRig.frame("4000", channel: "0400", "12 0700 0100"),
        HostRig.frame("4000", channel: "0400", "0a 0300"), HostRig.frame("4100", channel: "0400", "10 0100 ffff 0028"),
        HostRig.frame("4000", channel: "0500", "12 09 0800 1800 2400 0300 5802"),
        HostRig.frame("4000", channel: "0600", "01 03 00 01 10 07 07"), HostRig.frame("4000", channel: "4000", "01"),
        HostRig.frame("4000", channel: "0500", "14 01 0a00 8000 5000 0002 6400 0700"),
        HostRig.frame("4000", channel: "0500", "17 02 0c00 8000 4000 4000 0100 5100 5200"),
        HostRig.frame("4000", channel: "0500", "06 03 0400 4000 5000"),
        HostRig.frame("4000", channel: "0500", "16 04 0400 5000 0100"),
        HostRig.frame("4000", channel: "4000", "0300 616263"), HostRig.frame("4000", channel: "4100", "0500 6162"),
        "02 4010 0200 0102", "02 4020 0500 0300 0400 01",
    ].map { [UInt8](hexadecimal: $0) ?? [] }

    /// One packet, changed a little or completely.
    static func mutated(_ random: inout SplitMix64) -> [UInt8] {
        var packet = corpus.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            guard let index = packet.indices.randomElement(using: &random) else { break }
            switch Int.random(in: 0...4, using: &random) {
            case 0: packet[index] = UInt8.random(in: 0...255, using: &random)
            case 1: packet[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: packet.remove(at: index)
            case 3: packet.insert(UInt8.random(in: 0...255, using: &random), at: index)
            default: packet = Array(packet.prefix(index))
            }
        }
        return packet
    }

    @Test(
        "Mutated packets of every kind: no trap, no growth, and the host still works",
        arguments: [1, 2, 3, 4] as [UInt64]
    )
    func mutations(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        if seed.isMultiple(of: 2) { configuration.security = SecurityManager.Configuration() }
        var rig = try HostRig.ready(seed < 3 ? .rich : .minimal, configuration: configuration)
        _ = try rig.host.channels.listen(ChannelListener(requirement: .open), on: SPSM(rawValue: 0x80))
        var mostPackets = 0
        for step in 0..<25_000 {
            rig.host.receive(Self.mutated(&random)[...], at: rig.now)
            // The controller answers most commands, and sometimes time passes.
            if Int.random(in: 0...3, using: &random) > 0 { mostPackets = max(mostPackets, rig.answerCommands().count) }
            if step.isMultiple(of: 100) { rig.advance(by: .milliseconds(Int.random(in: 0...3000, using: &random))) }
            if step.isMultiple(of: 10) { #expect(rig.events().count <= 4096, "seed \(seed), step \(step)") }
        }
        #expect(mostPackets < 1000, "seed \(seed)")
        _ = rig.events()
        rig.host.start(at: rig.now)
        rig.answerCommands()
        #expect(rig.host.isReady, "seed \(seed)")
        rig.connect("4000")
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        #expect(rig.sent() == [compact("02 4000 0a00 0600 0400 0b 436169726e")], "seed \(seed)")
    }
}
