import PebbleProtocol

/// Something that a script draws. What lies outside of the screen is cut off, and a screen without colours shows the lighter
/// ones as white: see ``PebbleColor/isLight``.
public enum Drawing: Sendable, Equatable {
    /// The whole screen.
    case clear(PebbleColor)
    /// One or more lines of text.
    case text(DrawnText)
    /// All of a rectangle in this colour, or only its edge, one pixel wide. Without width or height, nothing.
    case rectangle(PixelRectangle, PebbleColor, isFilled: Bool)
    /// Both ends included, one pixel wide.
    case line(from: PixelPoint, to: PixelPoint, PebbleColor)
    /// A picture that the script holds itself.
    case bitmap(DrawnBitmap)
    /// Every colour becomes its opposite; nil for the whole screen.
    case invert(PixelRectangle?)
}

/// A place on the screen, or outside of it: in pixels from the top left corner.
public struct PixelPoint: Sendable, Hashable {
    /// To the right; negative on the left of the screen.
    public var x: Int
    /// Down; negative above the screen.
    public var y: Int

    /// A place, which need not be on the screen.
    public init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }
}

/// A part of the screen, in pixels.
public struct PixelRectangle: Sendable, Hashable {
    /// Its left column, from the screen's left edge.
    public var x: Int
    /// Its top row, from the screen's top edge.
    public var y: Int
    /// How many columns it has; zero or less for none.
    public var width: Int
    /// How many rows it has; zero or less for none.
    public var height: Int

    /// A rectangle, which need not be on the screen.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// Text to be drawn in the ``PixelFont``; a line break begins a new line.
public struct DrawnText: Sendable, Equatable {
    /// Where the text comes from.
    public enum Source: Sendable, Equatable {
        /// This text, every time.
        case text(String)
        /// What the received dictionary has under a key: text as it is, a number in decimal digits. Nothing for what is
        /// neither, or not there.
        case received(UInt32)
    }

    /// What `x` is of each line.
    public enum Alignment: String, Sendable, CaseIterable {
        /// Its left edge.
        case left
        /// Its middle; what can't be halved is one pixel more on the right.
        case center
        /// Where it has ended.
        case right
    }

    /// The most that text is enlarged.
    public static let largestScale = 64

    /// The text, or the key under which the received dictionary has it.
    public var source: Source
    /// Nil for the screen's left edge, middle or right edge, by the alignment.
    public var x: Int?
    /// The first line's top.
    public var y: Int
    /// How many pixels a pixel of the font becomes, each way.
    public var scale: Int
    /// Which part of a line stands at `x`.
    public var alignment: Alignment
    /// The colour of the characters; the pixels between them stay as they are.
    public var color: PebbleColor

    /// A text; without more arguments white, not enlarged, at the top left.
    public init(
        _ source: Source,
        x: Int? = nil,
        y: Int = 0,
        scale: Int = 1,
        alignment: Alignment = .left,
        color: PebbleColor = .white
    ) {
        self.source = source
        self.x = x
        self.y = y
        self.scale = scale
        self.alignment = alignment
        self.color = color
    }
}

/// A picture of two colours, or of one that leaves alone what it does not cover.
public struct DrawnBitmap: Sendable, Equatable {
    /// From the top; they may differ in length.
    public var rows: [[Bool]]
    /// The left edge, in pixels from the screen's; it may be outside of the screen.
    public var x: Int
    /// The top edge, in pixels from the screen's; it may be outside of the screen.
    public var y: Int
    /// How many pixels a pixel of the picture becomes, each way.
    public var scale: Int
    /// Of what is set.
    public var color: PebbleColor
    /// Of what is not; nil leaves it alone.
    public var background: PebbleColor?

    /// A picture; with rows alone white, not enlarged, at the top left, with nothing drawn where nothing is set.
    public init(
        rows: [[Bool]],
        x: Int = 0,
        y: Int = 0,
        scale: Int = 1,
        color: PebbleColor = .white,
        background: PebbleColor? = nil
    ) {
        self.rows = rows
        self.x = x
        self.y = y
        self.scale = scale
        self.color = color
        self.background = background
    }
}

extension Drawing {
    /// Draws it.
    /// - Parameter received: the dictionary that it answers.
    func draw(on frame: inout FrameBuffer, received: AppMessageDictionary) {
        switch self {
        case .clear(let color): frame.fill(color)
        case .text(let text): text.draw(on: &frame, received: received)
        case .rectangle(let area, let color, let isFilled):
            if isFilled { return frame.fill(area, color) }
            let last = PixelPoint(x: area.x + area.width - 1, y: area.y + area.height - 1)
            guard area.width > 0, area.height > 0 else { return }
            for y in Set([area.y, last.y]) {
                frame.fill(PixelRectangle(x: area.x, y: y, width: area.width, height: 1), color)
            }
            for x in Set([area.x, last.x]) {
                frame.fill(PixelRectangle(x: x, y: area.y, width: 1, height: area.height), color)
            }
        case .line(let start, let end, let color): frame.drawLine(from: start, to: end, color)
        case .bitmap(let bitmap): bitmap.draw(on: &frame)
        case .invert(let area): frame.invert(area)
        }
    }
}

extension DrawnText {
    /// From the top of one line to the top of the next, before scaling.
    static let lineHeight = PixelFont.characterHeight + 2

    fileprivate func draw(on frame: inout FrameBuffer, received: AppMessageDictionary) {
        var top = y
        for line in text(received).split(separator: "\n", omittingEmptySubsequences: false) {
            guard top < frame.display.height else { return }
            let line = String(line)
            let width = PixelFont.width(of: line, scale: scale)
            let left =
                switch alignment {
                case .left: x ?? 0
                // Rounded down, on both sides of the edge.
                case .center: (2 * (x ?? frame.display.width / 2) - width) >> 1
                case .right: (x ?? frame.display.width) - width
                }
            PixelFont.draw(line, x: left, y: top, scale: scale, color, on: &frame)
            top += Self.lineHeight * scale
        }
    }

    private func text(_ received: AppMessageDictionary) -> String {
        switch source {
        case .text(let text): return text
        case .received(let key):
            let value = received.first(forKey: key)
            return value?.text ?? value?.integer.map { "\($0)" } ?? ""
        }
    }
}

extension DrawnBitmap {
    fileprivate func draw(on frame: inout FrameBuffer) {
        for (row, bits) in rows.enumerated() {
            let top = y + row * scale
            guard top < frame.display.height else { return }
            for (column, isSet) in bits.enumerated() {
                guard let color = isSet ? color : background else { continue }
                frame.fill(PixelRectangle(x: x + column * scale, y: top, width: scale, height: scale), color)
            }
        }
    }
}

extension FrameBuffer {
    fileprivate mutating func fill(_ area: PixelRectangle, _ color: PebbleColor) {
        fillRectangle(x: area.x, y: area.y, width: area.width, height: area.height, color)
    }

    /// Makes every colour of a part of the screen its opposite.
    fileprivate mutating func invert(_ area: PixelRectangle?) {
        let area = area ?? PixelRectangle(x: 0, y: 0, width: display.width, height: display.height)
        for y in max(0, area.y)..<max(0, area.y, min(display.height, area.y + area.height)) {
            for x in max(0, area.x)..<max(0, area.x, min(display.width, area.x + area.width)) {
                self[x, y] = self[x, y].opposite
            }
        }
    }

    /// Along the longer of its two ways the line has one pixel a step; the other coordinate is rounded to the nearest, a half
    /// away from the start.
    fileprivate mutating func drawLine(from start: PixelPoint, to end: PixelPoint, _ color: PebbleColor) {
        let (width, height) = (end.x - start.x, end.y - start.y)
        let length = max(abs(width), abs(height))
        guard length > 0 else {
            self[start.x, start.y] = color
            return
        }
        func part(_ whole: Int, _ step: Int) -> Int {
            whole.signum() * ((2 * abs(whole) * step + length) / (2 * length))
        }
        for step in 0...length { self[start.x + part(width, step), start.y + part(height, step)] = color }
    }
}

extension PebbleColor {
    /// Each part of the colour is what it lacked.
    fileprivate var opposite: PebbleColor { PebbleColor(red: 3 - red, green: 3 - green, blue: 3 - blue) }
}
