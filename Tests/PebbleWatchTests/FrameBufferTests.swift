import PebbleProtocol
import PebbleWatch
import Testing

@Suite struct FrameBufferTests {
    @Test func everyPlatformHasItsScreen() {
        // Sizes as the SDK's documentation of hardware has them.
        let expected: [AppPlatform: (width: Int, height: Int, hasColor: Bool, isRound: Bool)] = [
            .aplite: (144, 168, false, false), .basalt: (144, 168, true, false), .chalk: (180, 180, true, true),
            .diorite: (144, 168, false, false), .emery: (200, 228, true, false), .flint: (144, 168, false, false),
            .gabbro: (260, 260, true, true),
        ]
        for platform in AppPlatform.allCases {
            let display = Display(of: platform)
            let wanted = expected[platform]
            #expect(display.width == wanted?.width && display.height == wanted?.height)
            #expect(display.hasColor == wanted?.hasColor && display.isRound == wanted?.isRound)
            let frame = FrameBuffer(display)
            #expect(frame.pixels.count == display.width * display.height / (display.hasColor ? 1 : 8))
        }
    }

    @Test func blackAndWhiteIsPackedFromTheLeft() {
        var frame = FrameBuffer(Display(of: .aplite))
        frame[0, 0] = .white
        frame[9, 0] = .white
        frame[143, 1] = .white
        frame[142, 1] = .black
        #expect(frame.pixels.prefix(3) == [0x01, 0x02, 0x00])
        #expect(frame.pixels[35] == 0x80)
        #expect(frame.format == .oneBit)
    }

    @Test func coloursAreOneByteEach() {
        var frame = FrameBuffer(Display(of: .basalt))
        frame[1, 0] = PebbleColor(rawValue: 0b1111_0000)
        frame[0, 1] = PebbleColor(rawValue: 0b1100_1001)
        #expect(frame.pixels.prefix(3) == [0b1100_0000, 0b1111_0000, 0b1100_0000])
        #expect(frame.pixels[144] == 0b1100_1001)
        #expect(frame.format == .eightBits)
    }

    @Test func whatLiesOutsideIsNotDrawn() {
        var frame = FrameBuffer(Display(of: .basalt))
        let before = frame
        for (x, y) in [(-1, 0), (0, -1), (144, 0), (0, 168), (.max, .min)] { frame[x, y] = .white }
        frame.fillRectangle(x: -5, y: 0, width: 5, height: 4, .white)
        frame.fillRectangle(x: 144, y: 168, width: 100, height: 100, .white)
        frame.fillRectangle(x: 1, y: 1, width: -3, height: 2, .white)
        #expect(frame == before)
        frame.fillRectangle(x: -1, y: 167, width: 1000, height: 1000, .white)
        #expect(frame.pixels.dropLast(144).allSatisfy { $0 == 0xC0 })
        #expect(frame.pixels.suffix(144).allSatisfy { $0 == 0xFF })
    }
}
