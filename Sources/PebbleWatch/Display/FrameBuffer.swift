import PebbleProtocol

/// What the watch's screen shows: apps draw into it, and a screenshot is its bytes.
public struct FrameBuffer: Sendable, Equatable {
    /// The screen: how large it is, and whether a pixel is a byte or a bit.
    public let display: Display
    /// Rows from top to bottom, as a screenshot sends them: one byte a pixel, `aarrggbb`, or one bit a pixel, bit 0 of a
    /// byte leftmost, 1 for white. On a round display the corners are there too.
    public private(set) var pixels: [UInt8]
    private let bytesPerRow: Int

    /// A black screen.
    public init(_ display: Display) {
        self.display = display
        bytesPerRow = display.hasColor ? display.width : (display.width + 7) / 8
        pixels = Array(
            repeating: display.hasColor ? PebbleColor.black.rawValue : 0,
            count: bytesPerRow * display.height
        )
    }

    /// How the pixels are packed.
    package var format: ScreenshotHeader.Format { display.hasColor ? .eightBits : .oneBit }

    /// A pixel; reading outside of the screen is black, and writing there does nothing.
    public subscript(x: Int, y: Int) -> PebbleColor {
        get {
            guard let index = index(x, y) else { return .black }
            if display.hasColor { return PebbleColor(rawValue: pixels[index]) }
            return pixels[index] >> UInt8(x % 8) & 1 == 1 ? .white : .black
        }
        set {
            guard let index = index(x, y) else { return }
            if display.hasColor {
                pixels[index] = newValue.rawValue
            } else if newValue.isLight {
                pixels[index] |= 1 << UInt8(x % 8)
            } else {
                pixels[index] &= ~(1 << UInt8(x % 8))
            }
        }
    }

    /// Fills the whole screen.
    public mutating func fill(_ color: PebbleColor) {
        fillRectangle(x: 0, y: 0, width: display.width, height: display.height, color)
    }

    /// Fills a rectangle, as far as it is on the screen.
    public mutating func fillRectangle(x: Int, y: Int, width: Int, height: Int, _ color: PebbleColor) {
        let columns = max(0, x)..<max(0, x, min(display.width, x + width))
        let rows = max(0, y)..<max(0, y, min(display.height, y + height))
        for row in rows {
            for column in columns { self[column, row] = color }
        }
    }

    /// The same screen with the pixels of a screenshot, of which those that are too many are left out.
    func showing(_ screenshot: [UInt8]) -> FrameBuffer {
        var frame = self
        frame.pixels.replaceSubrange(..<min(screenshot.count, pixels.count), with: screenshot.prefix(pixels.count))
        return frame
    }

    private func index(_ x: Int, _ y: Int) -> Int? {
        guard (0..<display.width).contains(x), (0..<display.height).contains(y) else { return nil }
        return y * bytesPerRow + (display.hasColor ? x : x / 8)
    }
}
