import PebbleWatch
import Testing

@testable import Control
@testable import cairn

/// The watch's screen in a terminal, and the keys for its buttons.
@Suite struct ScreenTests {
    private func screen(_ width: Int, _ height: Int, _ pixels: [PebbleColor], isRound: Bool = false) -> ControlScreen {
        ControlScreen(
            width: width,
            height: height,
            isRound: isRound,
            hasColor: true,
            format: .raw,
            data: pixels.map(\.rawValue)
        )
    }

    @Test func aCharacterHasTwoPixels() {
        let picture = TerminalPicture(screen(2, 3, [.red, .red, .black, .white, .oxfordBlue, .oxfordBlue]))
        #expect(
            picture.lines(columns: 80, rows: 24) == [
                "\u{1B}[38;2;255;0;0;48;2;0;0;0m▀\u{1B}[38;2;255;0;0;48;2;255;255;255m▀\u{1B}[0m",
                // What is as before is not said again, and below the picture is the terminal's own colour.
                "\u{1B}[0;38;2;0;0;85m▀▀\u{1B}[0m",
            ]
        )
    }

    @Test func aPictureThatDoesNotFitIsMadeSmaller() {
        let pixels = (0..<16).map { $0 % 4 < 2 ? PebbleColor.white : .black }
        let picture = TerminalPicture(screen(4, 4, pixels))
        #expect(
            picture.lines(columns: 2, rows: 24)
                == ["\u{1B}[38;2;255;255;255;48;2;255;255;255m▀\u{1B}[38;2;0;0;0;48;2;0;0;0m▀\u{1B}[0m"]
        )
        // One pixel is the mean of all.
        #expect(picture.lines(columns: 1, rows: 1) == ["\u{1B}[0;38;2;127;127;127m▀\u{1B}[0m"])
        #expect(picture.lines(columns: 0, rows: 1).isEmpty && picture.lines(columns: 1, rows: 0).isEmpty)
        #expect(TerminalPicture(screen(0, 0, [])).lines(columns: 80, rows: 24).isEmpty)
    }

    @Test func theCornersOfARoundScreenAreNotDrawn() {
        let pixels = [PebbleColor](repeating: .white, count: 64)
        let lines = TerminalPicture(screen(8, 8, pixels, isRound: true)).lines(columns: 80, rows: 24)
        #expect(lines.count == 4)
        #expect(lines[0].hasPrefix("\u{1B}[0m \u{1B}[0;38;2;255;255;255m▄"))
        #expect(lines[1].hasPrefix("\u{1B}[38;2;255;255;255;48;2;255;255;255m▀"))
    }

    /// A picture with fewer bytes than pixels, as no watch says it.
    @Test func pixelsThatAreMissingAreBlack() {
        #expect(
            TerminalPicture(screen(1, 2, [.white])).lines(columns: 80, rows: 24)
                == ["\u{1B}[38;2;255;255;255;48;2;0;0;0m▀\u{1B}[0m"]
        )
    }

    @Test(arguments: [
        ("w", KeyReader.Key.button(.up, isLong: false)), ("W", .button(.up, isLong: true)),
        ("s", .button(.down, isLong: false)), ("S", .button(.down, isLong: true)),
        ("d", .button(.select, isLong: false)), ("D", .button(.select, isLong: true)),
        ("a", .button(.back, isLong: false)), ("A", .button(.back, isLong: true)),
        ("\r", .button(.select, isLong: false)), ("\u{7F}", .button(.back, isLong: false)),
        ("\u{1B}[A", .button(.up, isLong: false)), ("\u{1B}[B", .button(.down, isLong: false)),
        ("\u{1B}OC", .button(.select, isLong: false)), ("\u{1B}[D", .button(.back, isLong: false)),
        ("\u{1B}[1;2A", .button(.up, isLong: true)), ("\u{1B}[1;2D", .button(.back, isLong: true)),
        ("\u{1B}[1;5A", .button(.up, isLong: false)), ("q", .leave), ("\u{03}", .leave),
    ])
    func aKeyIsAButton(text: String, key: KeyReader.Key) {
        var whole = KeyReader()
        #expect(whole.take(Array(text.utf8)) == [key])
        #expect(whole.finish() == nil)
        // However its bytes come.
        var reader = KeyReader()
        var keys: [KeyReader.Key] = []
        for byte in text.utf8 { keys += reader.take([byte]) }
        #expect(keys == [key])
    }

    @Test func anEscapeAloneIsBack() {
        var reader = KeyReader()
        #expect(reader.take([0x1B]).isEmpty)
        #expect(reader.finish() == .button(.back, isLong: false))
        #expect(reader.finish() == nil)
        #expect(reader.take([0x1B, 0x1B]) == [.button(.back, isLong: false)])
    }

    /// Sequences of other keys and of pasted text leave nothing behind, and never grow.
    @Test func whatMeansNothingIsPassedOver() {
        var reader = KeyReader()
        #expect(reader.take(Array("\u{1B}[5~xyz\u{1B}[Z\u{1B}xw".utf8)) == [.button(.up, isLong: false)])
        var keys: [KeyReader.Key] = []
        for _ in 0..<100 { keys += reader.take(Array("\u{1B}[111111111111".utf8)) }
        #expect(keys.isEmpty)
        #expect(reader.finish() == nil)
        #expect(reader.take([UInt8(ascii: "w")]) == [.button(.up, isLong: false)])
    }
}
