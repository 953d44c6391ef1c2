import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Foundation
import PebblePhone
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Every packet that a controller can send to the watch, mutated, at every point of a conversation: no trap, no
/// growth, and a watch that still works for the next phone.
///
/// A conversation is recorded with the watch as it was at many points of it; since the watch is a value, each of these
/// is a place to start from. From there it gets packets of the conversation with bits flipped, bytes lost, lengths wrong and
/// parts of other packets put in, which so reach HCI, L2CAP, SMP, ATT, PPoGATT and the Pebble Protocol.
@Suite struct MutationTests {
    /// How many mutated packets the watch gets, unless `CAIRN_MUTATIONS` sets the number.
    private static let count = ProcessInfo.processInfo.environment["CAIRN_MUTATIONS"].flatMap(Int.init) ?? 300_000
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0xF022

    /// The most packets that one packet may cause.
    private static let packetLimit = 256

    /// A watch that is checked after each packet.
    private struct RecordedWatch: HostOwner {
        struct Moment {
            let time: Duration
            let firmware: Watch
        }

        var host: Watch
        var moments: [Moment] = []
        var packets: [[UInt8]] = []

        mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
            packets.append(Array(packet))
            moments.append(Moment(time: now, firmware: host))
            host.receive(packet, at: now)
            settle(at: now)
        }

        mutating func settle(at now: Duration) {
            while host.nextEvent() != nil {}
            host.finishMemoryChanges(at: now)
        }
    }

    private static func conversation(_ transport: PhoneTransport) throws -> RecordedWatch {
        let address = DeviceAddress(0xC0DE_0000_1234)
        var configuration = WatchConfiguration(identity: WatchIdentity(address: .random(address)))
        configuration.linkSecurity = .insecureTestLink
        var simulation = Simulation(seed: 7)
        let firmware = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 8, SplitMix64.draw)
        )
        let watch = simulation.add(RecordedWatch(host: firmware))
        var phone = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0001),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        phone.transport = transport
        let companion = try CompanionPhone(phone, randomness: RandomSource(state: 9, SplitMix64.draw))
        let story = simulation.add(Demonstration(companion))
        _ = simulation.run(until: .seconds(300)) { simulation in
            simulation.withHost(story) { $0.outcome != nil } == true
        }
        let outcome = simulation.withHost(story) { $0.outcome } ?? nil
        guard case .success? = outcome else {
            Issue.record("the conversation to be bent did not succeed: \(String(describing: outcome))")
            throw CancellationError()
        }
        return try #require(simulation.withHost(watch) { $0 })
    }

    /// A pairing, with all that SMP says.
    private static func pairing() throws -> RecordedWatch {
        let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
        var simulation = Simulation(seed: 7)
        let firmware = try Watch(
            WatchConfiguration(identity: WatchIdentity(address: address)),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 8, SplitMix64.draw)
        )
        let watch = simulation.add(RecordedWatch(host: firmware))
        let phone = simulation.add(RigPhone(address: 0x11, seed: 2))
        simulation.run(for: .seconds(1))
        simulation.withHost(phone) { $0.connect(to: address) }
        simulation.run(for: .seconds(3))
        let now = simulation.now
        try simulation.withHost(phone) { try $0.pair(at: now) }
        simulation.run(for: .seconds(5))
        let paired = simulation.withHost(phone) { $0.pairings.count }
        try #require(paired == 1)
        return try #require(simulation.withHost(watch) { $0 })
    }

    @Test func bentPacketsAtEveryPointOfAConversation() throws {
        let conversations = [
            try Self.conversation(.forward), try Self.conversation(.reversed), try Self.pairing(),
        ]
        var random = SplitMix64(seed: Self.seed)
        var buffer: [UInt8] = []
        var bent = 0
        while bent < Self.count {
            let recorded = conversations[Int.random(in: conversations.indices, using: &random)]
            let place = Int.random(in: recorded.moments.indices, using: &random)
            var firmware = recorded.moments[place].firmware
            let now = recorded.moments[place].time
            let burst = Int.random(in: 1...40, using: &random)
            for step in 0..<burst {
                // Mostly the next packet of the conversation, so that the watch gets further before it is disturbed.
                let isBent = Int.random(in: 0..<4, using: &random) != 0
                let index = min(place + step, recorded.packets.count - 1)
                var packet = recorded.packets[index]
                if isBent {
                    let other = recorded.packets[Int.random(in: recorded.packets.indices, using: &random)]
                    Self.bend(&packet, with: other, using: &random)
                    bent += 1
                }
                firmware.receive(packet[...], at: now)
                Self.drain(&firmware, &buffer, at: now)
            }
            try Self.checkThatItRecovers(&firmware, &buffer, at: now + .seconds(60))
        }
    }

    private static func bend(_ packet: inout [UInt8], with other: [UInt8], using random: inout SplitMix64) {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let index = packet.isEmpty ? 0 : Int.random(in: packet.indices, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where !packet.isEmpty: packet[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where !packet.isEmpty: packet[index] = UInt8.random(in: 0...255, using: &random)
            case 2 where !packet.isEmpty:
                packet[index] = [0x00, 0x01, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            case 3: packet.removeLast(min(packet.count, Int.random(in: 1...8, using: &random)))
            case 4:
                packet += (0..<Int.random(in: 1...30, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            case 5: packet.replaceSubrange(min(index, packet.count)..., with: other.dropFirst(index))
            default: packet = other
            }
        }
    }

    private static func drain(_ firmware: inout Watch, _ buffer: inout [UInt8], at now: Duration) {
        var packets = 0
        while firmware.nextPacket(into: &buffer) { packets += 1 }
        #expect(packets <= packetLimit, "seed \(seed): one packet caused \(packets)")
        while firmware.nextEvent() != nil {}
        firmware.finishMemoryChanges(at: now)
        if firmware.ownDeadline != firmware.findDeadline() {
            Issue.record("seed \(seed): the deadline that is kept is not the one that a search finds")
        }
    }

    /// In any state of the watch, a controller that answers brings it back on the air.
    private static func checkThatItRecovers(
        _ firmware: inout Watch,
        _ buffer: inout [UInt8],
        at time: Duration
    ) throws {
        var now = time
        firmware.advance(to: now)
        // A controller that has lost everything: the watch starts it again, and advertises.
        firmware.receive([0x04, 0x10, 0x01, 0x00], at: now)
        firmware.start(at: now)
        var isOnAir = false
        var answered = 0
        while !isOnAir, answered < 200 {
            guard firmware.nextPacket(into: &buffer) else {
                now += .milliseconds(100)
                firmware.advance(to: now)
                answered += 1
                continue
            }
            guard buffer.first == 0x01, buffer.count >= 4 else { continue }
            answered += 1
            isOnAir = buffer[1...2] == [0x0A, 0x20] && buffer[4] == 1
            firmware.receive(Self.answer(to: buffer)[...], at: now)
            while firmware.nextEvent() != nil {}
        }
        #expect(isOnAir, "seed \(seed): the watch did not come back on the air")
    }

    /// What a plain legacy controller answers: success, and as much else as the watch needs.
    private static func answer(to command: [UInt8]) -> [UInt8] {
        let opcode = Array(command[1...2])
        let parameters: [UInt8] =
            switch opcode {
            case [0x02, 0x20]: [0x00, 0xFB, 0x00, 0x08]  // LE Read Buffer Size: 251 x 8
            case [0x01, 0x10]: [0x00, 0x09, 0, 0, 0x09, 0, 0, 0, 0]
            case [0x02, 0x10]: [0x00] + [UInt8](repeating: 0, count: 64)
            case [0x03, 0x10], [0x03, 0x20], [0x1C, 0x20]: [0x00] + [UInt8](repeating: 0, count: 8)
            case [0x09, 0x10]: [0x00, 1, 2, 3, 4, 5, 6]
            case [0x05, 0x10]: [0x00, 0xFB, 0x00, 0xFF, 0x08, 0x00, 0x00, 0x00]
            default: [0x00]
            }
        return [0x04, 0x0E, UInt8(3 + parameters.count), 0x01] + opcode + parameters
    }
}
