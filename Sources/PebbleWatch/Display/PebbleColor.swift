/// A colour as the watch stores it: `aarrggbb`, two bits each.
public struct PebbleColor: RawRepresentable, Hashable, Sendable {
    /// The byte of a colour frame buffer and of a screenshot.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// An opaque colour by its parts, each 0 to 3; more counts as 3.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        rawValue = 0b1100_0000 | min(red, 3) << 4 | min(green, 3) << 2 | min(blue, 3)
    }

    /// #000000.
    public static let black = PebbleColor(red: 0, green: 0, blue: 0)
    /// #FFFFFF.
    public static let white = PebbleColor(red: 3, green: 3, blue: 3)
    /// #AAAAAA; white on a display of one bit a pixel.
    public static let lightGray = PebbleColor(red: 2, green: 2, blue: 2)
    /// #555555; black on a display of one bit a pixel.
    public static let darkGray = PebbleColor(red: 1, green: 1, blue: 1)
    /// #FF0000; black on a display of one bit a pixel.
    public static let red = PebbleColor(red: 3, green: 0, blue: 0)
    /// #00AA00, by the SDK's name; black on a display of one bit a pixel.
    public static let islamicGreen = PebbleColor(red: 0, green: 2, blue: 0)
    /// #000055, by the SDK's name; black on a display of one bit a pixel.
    public static let oxfordBlue = PebbleColor(red: 0, green: 0, blue: 1)

    var red: UInt8 { rawValue >> 4 & 3 }
    var green: UInt8 { rawValue >> 2 & 3 }
    var blue: UInt8 { rawValue & 3 }

    /// Whether a display of one bit a pixel shows it as white: at least half of the light.
    public var isLight: Bool { red + green + blue >= 5 }
}
