import PebbleProtocol
import PebbleWatch
import Testing

@Suite struct FrameBufferTests {
    @Test func everyPlatformHasItsScreen() {
        // Sizes as the SDK's documentation of hardware has them.
        let expected: [AppPlatform: (Int, Int, Display.Depth, Bool)] = [
            .aplite: (144, 168, .oneBit, false), .basalt: (144, 168, .eightBits, false),
            .chalk: (180, 180, .eightBits, true), .diorite: (144, 168, .oneBit, false),
            .emery: (200, 228, .eightBits, false), .flint: (144, 168, .oneBit, false),
            .gabbro: (260, 260, .eightBits, true),
        ]
        for platform in AppPlatform.allCases {
            let display = Display(of: platform)
            let wanted = expected[platform]
            #expect(display.width == wanted?.0 && display.height == wanted?.1)
            #expect(display.depth == wanted?.2 && display.isRound == wanted?.3)
        }
    }

    @Test func blackAndWhiteIsPackedFromTheLeft() {
        var frame = FrameBuffer(Display(width: 16, height: 2, depth: .oneBit))
        frame[0, 0] = .white
        frame[9, 0] = .white
        frame[15, 1] = .lightGray
        frame[14, 1] = .darkGray
        #expect(frame.screenshotBytes == [0x01, 0x02, 0x00, 0x80])
        #expect(frame.screenshotFormat == .oneBit)
    }

    @Test func coloursAreOneByteEach() {
        var frame = FrameBuffer(Display(width: 3, height: 1, depth: .eightBits))
        frame[1, 0] = PixelColor(red: 3, green: 0, blue: 0)
        frame[2, 0] = PixelColor(red: 0, green: 2, blue: 1)
        #expect(frame.screenshotBytes == [0b1100_0000, 0b1111_0000, 0b1100_1001])
    }

    @Test func whatLiesOutsideIsNotDrawn() {
        var frame = FrameBuffer(Display(width: 4, height: 4, depth: .eightBits))
        let before = frame
        for (x, y) in [(-1, 0), (0, -1), (4, 0), (0, 4), (.max, .min)] { frame[x, y] = .white }
        for rectangle in [
            FrameBuffer.Rectangle(x: -5, y: 0, width: 5, height: 4), .init(x: 4, y: 0, width: .max, height: .max),
            .init(x: 0, y: .max, width: 1, height: .max), .init(x: 1, y: 1, width: -3, height: 2),
            .init(x: .min, y: .min, width: .min, height: .min),
        ] {
            frame.fill(rectangle, .white)
        }
        #expect(frame == before)
        frame.fill(.init(x: -1, y: 2, width: .max, height: .max), .white)
        #expect(
            frame.screenshotBytes.map { $0 == 0xFF } == Array(repeating: false, count: 8)
                + Array(repeating: true, count: 8)
        )
    }
}
