import PebbleProtocol

/// What a watch's screen is like.
public struct Display: Hashable, Sendable {
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// Whether it shows 64 colours, or black and white only.
    public let hasColor: Bool
    /// Whether only the circle in the middle can be seen.
    public let isRound: Bool

    private init(_ width: Int, _ height: Int, hasColor: Bool, isRound: Bool = false) {
        self.width = width
        self.height = height
        self.hasColor = hasColor
        self.isRound = isRound
    }

    /// Whether a pixel can be seen: on a round screen, whether its middle is in the circle.
    public func shows(x: Int, y: Int) -> Bool {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return false }
        guard isRound else { return true }
        // From the middle, in half pixels.
        let across = 2 * x + 1 - width
        let down = 2 * y + 1 - height
        let diameter = min(width, height)
        return across * across + down * down <= diameter * diameter
    }

    /// The screen of the watches that run a kind of app.
    package init(of platform: AppPlatform) {
        self =
            switch platform {
            case .aplite, .diorite, .flint: Display(144, 168, hasColor: false)
            case .basalt: Display(144, 168, hasColor: true)
            case .chalk: Display(180, 180, hasColor: true, isRound: true)
            case .emery: Display(200, 228, hasColor: true)
            case .gabbro: Display(260, 260, hasColor: true, isRound: true)
            }
    }

    /// The screen of a board; of an unknown board, the first Pebble's.
    public init(of hardware: HardwarePlatform) { self.init(of: hardware.appPlatform ?? .aplite) }
}
