import SeededRandomness
import Testing

@testable import PebbleProtocol

/// Frames of a firmware's console. The frames that are given were made by PebbleOS's own Python library for it (pulse2).
@Suite struct PulseFrameTests {
    private static let known: [(content: String, frame: String)] = [
        ("00 00 00 00 00", "55 01 01 01 01 01 05 1d f7 22 c6 55"),
        ("c0 21 01 01 00 04", "55 05 c0 21 01 01 06 04 e8 70 98 e2 55"),
        ("55 55 55 55 00", "55 05 00 00 00 00 05 7c 0d b9 67 55"),
    ]

    private func deframed(_ bytes: [UInt8], inPiecesOf size: Int = .max) -> [PulseFrame] {
        var deframer = PulseDeframer()
        var frames: [PulseFrame] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            deframer.receive(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let frame = deframer.nextFrame() { frames.append(frame) }
        }
        return frames
    }

    @Test func framesAreThoseOfPebbleOSsOwnLibrary() throws {
        for (content, frame) in Self.known {
            let content = try #require([UInt8](hexadecimal: content))
            let bytes = try #require([UInt8](hexadecimal: frame))
            let number = UInt16(content[0]) << 8 | UInt16(content[1])
            let known = PulseFrame(PulseProtocol(rawValue: number), Array(content.dropFirst(2)))
            #expect(known.bytes == bytes)
            #expect(deframed(bytes) == [known])
            #expect(deframed(bytes, inPiecesOf: 1) == [known])
        }
    }

    /// With the two bytes of the number and the four of the check sequence these are runs around the 254 bytes of one code.
    @Test(arguments: [0, 1, 246, 247, 248, 249, 250, 251, 500, 502, 503, PulseFrame.maximumInformation])
    func framesOfAnyLengthAreReadAsTheyWereWritten(length: Int) {
        for byte in [0x00, 0x41, 0x55] as [UInt8] {
            let frame = PulseFrame(.push, [UInt8](repeating: byte, count: length))
            #expect(!frame.bytes.dropFirst().dropLast().contains(PulseFrame.flag))
            #expect(deframed(frame.bytes) == [frame])
        }
    }

    /// A zero behind 250 to 256 bytes without one: in the middle of a code, at its end, and behind it.
    @Test(arguments: 247...253)
    func zerosAroundTheEndOfACode(count: Int) {
        let frame = PulseFrame(.push, [UInt8](repeating: 0x41, count: count) + [0, 7])
        #expect(deframed(frame.bytes) == [frame])
    }

    @Test func oneFlagBetweenTwoFramesIsEnough() {
        let first = PulseFrame(.push, [1, 2, 3])
        let second = PulseFrame(.linkControl, [4])
        #expect(deframed(first.bytes + second.bytes.dropFirst()) == [first, second])
        #expect(deframed(first.bytes + [0x55, 0x55] + second.bytes) == [first, second])
    }

    /// A firmware prints bare text, too: before its console speaks PULSE, and where it forgets that it does.
    @Test func whatIsNoFrameIsPassedOver() {
        let frame = PulseFrame(.push, [1, 2, 3])
        var damaged = frame.bytes
        damaged[4] ^= 1
        var deframer = PulseDeframer()
        deframer.receive((Array("Boot\r\n".utf8) + frame.bytes + Array("Left airplane mode\r\n".utf8) + damaged)[...])
        deframer.receive(frame.bytes[...])
        #expect(deframer.nextFrame() == frame)
        #expect(deframer.nextFrame() == frame)
        #expect(deframer.nextFrame() == nil)
        #expect(deframer.brokenCount == 2)
    }

    @Test func aFrameWithoutEndTakesNoRoom() {
        let frame = PulseFrame(.push, [1])
        var deframer = PulseDeframer()
        deframer.receive([0x55])
        deframer.receive([UInt8](repeating: 0x41, count: 100_000)[...])
        #expect(deframer.nextFrame() == nil)
        #expect(deframer.brokenCount == 1)
        deframer.receive(frame.bytes[...])
        #expect(deframer.nextFrame() == frame)
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func noBytesTrap(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        var console = PulseConsole()
        console.connected(at: .zero)
        for turn in 1...40 {
            var bytes = chance.bytes(Int.random(in: 0...60, using: &chance))
            let numbers: [PulseProtocol] = [.linkControl, .trainControl, .trainCommand, .trainResponse, .push]
            if let number = numbers.randomElement(using: &chance), Bool.random(using: &chance) {
                bytes = PulseFrame(number, bytes.map { $0 & 0x0F }).bytes
            }
            console.receive(bytes[...], at: .seconds(turn))
            console.advance(to: .seconds(turn))
            if turn % 8 == 0 { console.run(["help"], at: .seconds(turn)) }
            #expect(console.nextBytes().count <= 64 * 1024, "seed \(seed)")
        }
        if let deadline = console.nextDeadline { #expect(deadline > .seconds(40), "seed \(seed)") }
    }
}
