import AirSimulator
import BluetoothHCI
import ByteCoding
import PebblePhone
import PebbleProtocol
import SeededRandomness
import Testing

/// A watch or a controller can send anything, and the phone still works.
@Suite("Mutated packets at every point of a phone's demonstration")
struct MutationTests {
    private struct Recorded {
        let time: Duration
        let bytes: [UInt8]
    }

    /// What the phone's controller told it in a story that went well.
    private static func record(_ transport: PhoneTransport) throws -> [Recorded] {
        var rig = try Rig(settings(transport))
        let recorder = Recorder()
        let phone = rig.phone.controller
        rig.observe { packet in
            guard packet.controller == phone, !packet.isFromHost else { return }
            recorder.packets.append(Recorded(time: packet.time, bytes: Array(packet.bytes)))
        }
        rig.runToTheEnd()
        _ = try #require(rig.summary, "\(rig.transcript)")
        return recorder.packets
    }

    private final class Recorder {
        var packets: [Recorded] = []
    }

    private static func settings(_ transport: PhoneTransport) -> Rig.Settings {
        var script = DemonstrationScript.standard
        script.exchanges = Array(script.exchanges.prefix(4))
        return Rig.Settings(transport: transport, seed: 3, linkSecurity: .insecureTestLink, script: script)
    }

    @Test("do no harm, and the phone still answers the original packet", arguments: PhoneTransport.allCases)
    func bentPackets(transport: PhoneTransport) throws {
        let mutationsPerPacket = 60
        let recorded = try Self.record(transport)
        #expect(recorded.count > 100)
        var random = SplitMix64(seed: 0xBE17 ^ UInt64(transport.rawValue.count))
        var demonstration = try Rig.makeDemonstration(Self.settings(transport))
        demonstration.start(at: .zero)
        var buffer: [UInt8] = []
        while demonstration.nextPacket(into: &buffer) {}
        for packet in recorded {
            for _ in 0..<mutationsPerPacket {
                var copy = demonstration
                copy.advance(to: packet.time)
                copy.receive(Self.bend(packet.bytes, with: &random)[...], at: packet.time)
                Self.drain(&copy, &buffer)
                copy.receive(packet.bytes[...], at: packet.time)
                copy.advance(to: packet.time + .seconds(60))
                Self.drain(&copy, &buffer)
            }
            demonstration.advance(to: packet.time)
            demonstration.receive(packet.bytes[...], at: packet.time)
            Self.drain(&demonstration, &buffer)
        }
        // What was recorded is the whole story: the phone that was not disturbed has come to its end.
        guard case .success = demonstration.outcome else {
            Issue.record("\(String(describing: demonstration.outcome))")
            return
        }
    }

    private static func drain(_ demonstration: inout Demonstration, _ buffer: inout [UInt8]) {
        while demonstration.nextPacket(into: &buffer) {}
        while demonstration.nextEvent() != nil {}
    }

    /// Changes, adds, removes or repeats a few bytes; often corrects the lengths of an ACL packet afterwards, so that
    /// the change reaches further up.
    private static func bend(_ packet: [UInt8], with random: inout SplitMix64) -> [UInt8] {
        var bytes = packet
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where index < bytes.count: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            case 3 where index < bytes.count: bytes.removeSubrange(index..<min(bytes.count, index + 3))
            default: bytes.append(contentsOf: bytes.suffix(4))
            }
        }
        let headerLength = 9
        guard Bool.random(using: &random), packet.first == HCIPacketType.acl.rawValue, bytes.count >= headerLength
        else {
            return bytes
        }
        bytes.replaceSubrange(0..<3, with: packet[0..<3])
        let dataLength = bytes.count - 5
        bytes[3] = UInt8(truncatingIfNeeded: dataLength)
        bytes[4] = UInt8(truncatingIfNeeded: dataLength >> 8)
        bytes[5] = UInt8(truncatingIfNeeded: dataLength - 4)
        bytes[6] = UInt8(truncatingIfNeeded: (dataLength - 4) >> 8)
        bytes.replaceSubrange(7..<9, with: packet[7..<9])
        return bytes
    }
}
