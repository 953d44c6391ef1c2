import Control

/// A picture of the watch's screen as text: a character has two pixels, one above the other, in 24-bit colours.
struct TerminalPicture {
    /// A colour, 8 bits a part; nil is what cannot be seen, outside of a round screen.
    struct Color: Equatable {
        let red: Int
        let green: Int
        let blue: Int

        fileprivate var code: String { "\(red);\(green);\(blue)" }
    }

    private let screen: ControlScreen

    /// - Parameter screen: in the format `raw`. Pixels that are missing are black.
    init(_ screen: ControlScreen) { self.screen = screen }

    /// The picture, as large as it is or as fits.
    /// - Parameters:
    ///   - columns: the widest that it may be, in characters.
    ///   - rows: the highest that it may be, in lines.
    func lines(columns: Int, rows: Int) -> [String] {
        guard screen.width > 0, screen.height > 0, columns > 0, rows > 0 else { return [] }
        let scale = min(
            1,
            Double(columns) / Double(screen.width),
            Double(rows) * 2 / Double(screen.height)
        )
        let width = max(1, Int(Double(screen.width) * scale))
        let height = max(1, Int(Double(screen.height) * scale))
        return stride(from: 0, to: height, by: 2).map { y in
            var line = ""
            var last = ""
            for x in 0..<width {
                let upper = color(x, y, of: width, height)
                let lower = y + 1 < height ? color(x, y + 1, of: width, height) : nil
                let (style, character) = Self.cell(upper, lower)
                // What is as before needs no second word.
                if style != last { line += style }
                last = style
                line += character
            }
            return line + "\u{1B}[0m"
        }
    }

    private static func cell(_ upper: Color?, _ lower: Color?) -> (style: String, character: String) {
        switch (upper, lower) {
        case (let upper?, let lower?): ("\u{1B}[38;2;\(upper.code);48;2;\(lower.code)m", "▀")
        case (let upper?, nil): ("\u{1B}[0;38;2;\(upper.code)m", "▀")
        case (nil, let lower?): ("\u{1B}[0;38;2;\(lower.code)m", "▄")
        case (nil, nil): ("\u{1B}[0m", " ")
        }
    }

    /// The mean of the pixels that become one.
    private func color(_ x: Int, _ y: Int, of width: Int, _ height: Int) -> Color? {
        let columns = x * screen.width / width..<max(x * screen.width / width + 1, (x + 1) * screen.width / width)
        let rows = y * screen.height / height..<max(y * screen.height / height + 1, (y + 1) * screen.height / height)
        var sum = (red: 0, green: 0, blue: 0)
        var count = 0
        for row in rows {
            for column in columns where isVisible(column, row) {
                let index = row * screen.width + column
                let pixel = index < screen.data.count ? Int(screen.data[index]) : 0
                sum.red += (pixel >> 4 & 3) * 0x55
                sum.green += (pixel >> 2 & 3) * 0x55
                sum.blue += (pixel & 3) * 0x55
                count += 1
            }
        }
        guard count > 0 else { return nil }
        return Color(red: sum.red / count, green: sum.green / count, blue: sum.blue / count)
    }

    /// Of a round screen, whether a pixel is in the circle.
    private func isVisible(_ x: Int, _ y: Int) -> Bool {
        guard screen.isRound else { return true }
        // From the middle, in half pixels.
        let across = 2 * x + 1 - screen.width
        let down = 2 * y + 1 - screen.height
        let diameter = min(screen.width, screen.height)
        return across * across + down * down <= diameter * diameter
    }
}
