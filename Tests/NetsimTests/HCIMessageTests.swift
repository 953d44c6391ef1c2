import BluetoothHCI
import LinuxBluetooth
import SeededRandomness
import SwiftProtobuf
import Synchronization
import Testing

@testable import Netsim

struct HCIMessageTests {
    @Test func aWholePacketIsTakenAsItStands() {
        let reset = HCIMessage(type: 1, body: [0x03, 0x0C, 0x00])
        #expect(reset.packet(from: .host) == [0x01, 0x03, 0x0C, 0x00])
        let complete = HCIMessage(type: 4, body: [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
        #expect(complete.packet(from: .controller) == [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
    }

    @Test(arguments: [
        HCIMessage(type: 0, body: [0x03, 0x0C, 0x00]),
        HCIMessage(type: 9, body: [0x03, 0x0C, 0x00]),
        HCIMessage(type: -1, body: [0x03, 0x0C, 0x00]),
        HCIMessage(type: 257, body: [0x03, 0x0C, 0x00]),
        HCIMessage(type: 1, body: []),
        HCIMessage(type: 1, body: [0x03, 0x0C]),
        HCIMessage(type: 1, body: [0x03, 0x0C, 0x01]),
        HCIMessage(type: 1, body: [0x03, 0x0C, 0x00, 0x00]),
        HCIMessage(type: 4, body: [0x0E, 0x00]),
        HCIMessage(type: 2, body: [0x40, 0x00, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF)),
    ])
    func whatIsNoPacketOfAHostIsLeftOut(_ message: HCIMessage) {
        #expect(message.packet(from: .host) == nil)
    }

    @Test func aHostsPacketsAreCutOutOfAnyPieces() {
        var random = SplitMix64(seed: 21)
        print("seed 21")
        let packets: [[UInt8]] = [[1, 3, 12, 0], [2, 0x40, 0, 3, 0, 7, 8, 9], [1, 1, 0x20, 2, 0xAA, 0xBB]]
        let bytes = packets.flatMap { $0 }
        for _ in 0..<200 {
            var cutter = PacketCutter(from: .host)
            var found: [HCIMessage] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...rest.count, using: &random)
                cutter.take(rest.prefix(count)) { found.append($0) }
                rest = rest.dropFirst(count)
            }
            #expect(found == packets.compactMap(HCIMessage.init))
        }
    }

    /// The bytes were written by protobuf's own library for Python.
    @Test func messagesHaveTheNumbersOfTheInterface() throws {
        let packet = Netsim_Packet_PacketRequest.with { $0.hciPacket = .init(HCIMessage(type: 1, body: [3, 12, 0])) }
        #expect(try packet.serializedBytes() == [0x12, 0x07, 0x08, 0x01, 0x12, 0x03, 0x03, 0x0C, 0x00] as [UInt8])
        let older = Android_Emulation_Bluetooth_HCIPacket(HCIMessage(type: 4, body: [0x0F, 0]))
        #expect(try older.serializedBytes() == [0x08, 0x04, 0x12, 0x02, 0x0F, 0x00] as [UInt8])
        let info = Netsim_Packet_PacketRequest.with {
            $0.initialInfo = .with {
                $0.name = "w"
                $0.chip = .with { $0.kind = .bluetooth }
            }
        }
        #expect(try info.serializedBytes() == [0x0A, 0x07, 0x0A, 0x01, 0x77, 0x12, 0x02, 0x08, 0x01] as [UInt8])
    }

    @Test func textOfTheOtherSideIsOneBoundedLine() {
        #expect(PlainText.line("busy\n\u{1B}[31mred\u{2028}end") == "busy  [31mred end")
        #expect(PlainText.line(String(repeating: "x", count: 1000)).count == PlainText.longest + 1)
    }

    @Test func reportsAreLines() {
        let lines = Mutex<[String]>([])
        let report = HelperReport { line in lines.withLock { $0.append(line) } }
        report.ready()
        report.skipped(HCIMessage(type: 9, body: [0xDE, 0x0D]))
        report.ended(NetsimEnd(.refused, "no\nroom"))
        #expect(lines.withLock { $0 } == ["ready", "skipped 2 de0d", "ended refused no room"])
    }
}
