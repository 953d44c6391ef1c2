import PebbleProtocol

/// The screen of a kind of watch.
public struct Display: Sendable, Equatable {
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// Which colours a pixel can show.
    public let depth: Depth
    /// Whether only the circle within the square can be seen.
    public let isRound: Bool

    /// Which colours a pixel can show.
    public enum Depth: Sendable {
        /// Black and white.
        case oneBit
        /// Two bits each of red, green and blue.
        case eightBits
    }

    /// A screen.
    public init(width: Int, height: Int, depth: Depth, isRound: Bool = false) {
        self.width = max(0, width)
        self.height = max(0, height)
        self.depth = depth
        self.isRound = isRound
    }

    /// The screen of the watches that run this kind of app.
    public init(of platform: AppPlatform) {
        switch platform {
        case .aplite, .diorite, .flint: self.init(width: 144, height: 168, depth: .oneBit)
        case .basalt: self.init(width: 144, height: 168, depth: .eightBits)
        case .chalk: self.init(width: 180, height: 180, depth: .eightBits, isRound: true)
        case .emery: self.init(width: 200, height: 228, depth: .eightBits)
        case .gabbro: self.init(width: 260, height: 260, depth: .eightBits, isRound: true)
        }
    }

    /// The screen of a board; one that has no meaning has the original's.
    public init(of hardware: HardwarePlatform) { self.init(of: hardware.appPlatform ?? .aplite) }
}

/// A colour as the SDK's `GColor8` has it: two bits each of alpha, red, green and blue, the first most significant.
public struct PixelColor: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// An opaque colour; each part from 0 to 3, of which only the low two bits are taken.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        rawValue = 0b11 << 6 | (red & 3) << 4 | (green & 3) << 2 | blue & 3
    }

    public static let black = PixelColor(red: 0, green: 0, blue: 0)
    public static let darkGray = PixelColor(red: 1, green: 1, blue: 1)
    public static let lightGray = PixelColor(red: 2, green: 2, blue: 2)
    public static let white = PixelColor(red: 3, green: 3, blue: 3)

    /// Whether a screen of black and white shows it as white: if it is nearer to white than to black.
    public var isLight: Bool {
        let red = Int(rawValue >> 4 & 3)
        let green = Int(rawValue >> 2 & 3)
        let blue = Int(rawValue & 3)
        // How bright the eye finds each, in thousandths (ITU-R BT.601).
        return red * 299 + green * 587 + blue * 114 >= 1500
    }
}
