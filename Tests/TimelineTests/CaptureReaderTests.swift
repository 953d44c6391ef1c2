import BluetoothHCI
import LinuxBluetooth
import SeededRandomness
import Testing

@testable import Timeline

/// Captures as bytes, whole and not.
struct CaptureReaderTests {
    private static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
    private static let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

    private static func btsnoop() -> [UInt8] {
        var bytes = Btsnoop.header
        Btsnoop.append(reset[...], .sent, at: .seconds(1_700_000_000), to: &bytes)
        let later = Duration.seconds(1_700_000_000) + .microseconds(1234)
        Btsnoop.append(complete[...], .received, at: later, drops: 2, to: &bytes)
        return bytes
    }

    private static func packets(_ bytes: [UInt8], piece: Int = .max) throws -> [CapturedPacket] {
        var reader = CaptureReader()
        var packets: [CapturedPacket] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            while let packet = try reader.next() { packets.append(packet) }
        }
        try reader.end()
        return packets
    }

    @Test(arguments: [1, 7, 1000])
    func aCaptureIsReadInPiecesOfAnyLength(piece: Int) throws {
        let packets = try Self.packets(Self.btsnoop(), piece: piece)
        #expect(packets.map { Array($0.bytes) } == [Self.reset, Self.complete])
        #expect(packets.map(\.isFromHost) == [true, false])
        #expect(packets.map(\.microseconds) == [1_700_000_000_000_000, 1_700_000_000_001_234])
        #expect(packets.map(\.drops) == [0, 2])
    }

    @Test func aPcapOfEitherByteOrderIsRead() throws {
        for isBig in [true, false] {
            func word(_ value: UInt32) -> [UInt8] {
                let bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - $0 * 8)) }
                return isBig ? bytes : bytes.reversed()
            }
            let head = word(0xA1B2_C3D4) + word(0x0002_0004) + word(0) + word(0) + word(65535) + word(201)
            let record = word(5) + word(250) + word(11) + word(11) + [0, 0, 0, 1] + Self.complete
            let packets = try Self.packets(head + record)
            #expect(packets.count == 1)
            #expect(packets.first?.microseconds == 5_000_250)
            #expect(packets.first?.isFromHost == false)
            #expect(packets.first.map { Array($0.bytes) } == Self.complete)
        }
    }

    @Test func whatIsNoCaptureIsNamed() {
        #expect(throws: CaptureProblem.empty) { try Self.packets([]) }
        #expect(throws: CaptureProblem.notACapture) { try Self.packets(Array("hello, world".utf8)) }
        #expect(throws: CaptureProblem.notACapture) { try Self.packets([0x7F]) }
        #expect(throws: CaptureProblem.truncated(offset: 0)) { try Self.packets(Array(Self.btsnoop().prefix(9))) }
        #expect(throws: CaptureProblem.truncated(offset: 44)) { try Self.packets(Self.btsnoop().dropLast()) }
        var damaged = Self.btsnoop()
        damaged[44] = 0xFF
        #expect(throws: CaptureProblem.damaged(offset: 44)) { try Self.packets(damaged) }
        var monitor = Btsnoop.header
        monitor[14] = 0x07
        monitor[15] = 0xD1
        #expect(throws: CaptureProblem.self) { try Self.packets(monitor) }
    }

    /// Bytes that have been changed anywhere are read, or refused, and what is drawn of them is markup.
    @Test func damagedCapturesAreDrawnOrRefused() {
        var random = SplitMix64(seed: 17)
        for _ in 0..<500 {
            var bytes = Self.btsnoop()
            for _ in 0..<4 {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var reader = CaptureReader()
            var builder = TimelineBuilder()
            reader.append(bytes)
            while let packet = try? reader.next() { builder.take(packet) }
            #expect(TimelineSVG(builder.finish(), title: "<>").text().hasSuffix("</svg>\n"))
        }
    }
}
