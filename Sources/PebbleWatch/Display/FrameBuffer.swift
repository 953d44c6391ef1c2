import PebbleProtocol

/// What a watch's screen shows: a colour for each pixel. Drawing beyond its edges does nothing.
public struct FrameBuffer: Sendable, Equatable {
    /// The screen that this is for.
    public let display: Display
    /// Row by row from the top, each from the left.
    private var pixels: [PixelColor]

    /// A rectangle of pixels.
    public struct Rectangle: Sendable, Equatable {
        public var x: Int
        public var y: Int
        public var width: Int
        public var height: Int

        /// A rectangle by its top left corner.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// A screen that shows one colour.
    public init(_ display: Display, filledWith color: PixelColor = .black) {
        self.display = display
        pixels = Array(repeating: color, count: display.width * display.height)
    }

    /// The colour of a pixel, counted from the top left corner; black outside.
    public subscript(x: Int, y: Int) -> PixelColor {
        get {
            guard let index = index(x, y) else { return .black }
            return pixels[index]
        }
        set {
            guard let index = index(x, y) else { return }
            pixels[index] = newValue
        }
    }

    /// Gives every pixel one colour.
    public mutating func fill(_ color: PixelColor) {
        for index in pixels.indices { pixels[index] = color }
    }

    /// Gives the pixels of a rectangle one colour.
    public mutating func fill(_ rectangle: Rectangle, _ color: PixelColor) {
        let columns = Self.clipped(rectangle.x, rectangle.width, to: display.width)
        for y in Self.clipped(rectangle.y, rectangle.height, to: display.height) {
            for x in columns { pixels[y * display.width + x] = color }
        }
    }

    private static func clipped(_ start: Int, _ length: Int, to limit: Int) -> Range<Int> {
        let first = min(max(start, 0), limit)
        let (end, overflows) = start.addingReportingOverflow(max(length, 0))
        let last = overflows ? limit : min(max(end, first), limit)
        return first..<last
    }

    private func index(_ x: Int, _ y: Int) -> Int? {
        guard (0..<display.width).contains(x), (0..<display.height).contains(y) else { return nil }
        return y * display.width + x
    }
}

// MARK: - Screenshots

extension FrameBuffer {
    /// How a screenshot packs pixels.
    public var screenshotFormat: ScreenshotHeader.Format { display.depth == .oneBit ? .oneBit : .eightBits }

    /// Every pixel, packed for a screenshot.
    public var screenshotBytes: [UInt8] {
        switch display.depth {
        case .eightBits: return pixels.map(\.rawValue)
        case .oneBit:
            var bytes = [UInt8](repeating: 0, count: (display.width + 7) / 8 * display.height)
            let rowLength = (display.width + 7) / 8
            for y in 0..<display.height {
                for x in 0..<display.width where pixels[y * display.width + x].isLight {
                    bytes[y * rowLength + x / 8] |= 1 << UInt8(x % 8)
                }
            }
            return bytes
        }
    }
}
