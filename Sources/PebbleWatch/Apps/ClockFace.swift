import PebbleProtocol

/// The watchface: the time in large digits, and the date below.
public struct ClockFace: WatchApp {
    /// c10cface-0c1a-4a1b-8f00-ca1200000001.
    public static let identifier = PebbleUUID(upperHalf: 0xC10C_FACE_0C1A_4A1B, lowerHalf: 0x8F00_CA12_0000_0001)

    public let uuid = Self.identifier
    public let name = "Clock"
    public let flags: AppFlags = .watchFace

    private var time = WatchTime(secondsSince1970: 0)

    /// A watchface that has not been launched.
    public init() {}

    public mutating func didLaunch(_ context: inout AppContext) {
        time = context.time
        // All that it shows: a clock that is set eight hours ahead has the same minute.
        context.subscribeToTicks([.minute, .hour, .day, .month, .year])
    }

    public mutating func tick(_ time: WatchTime, _ changed: TickUnits, _ context: inout AppContext) {
        self.time = time
        context.markDirty()
    }

    public func draw(on frame: inout FrameBuffer) {
        let display = frame.display
        frame.fill(display.hasColor ? .oxfordBlue : .black)
        let hours = Self.twoDigits(time.hour) + ":" + Self.twoDigits(time.minute)
        // A round screen is narrower where the digits' corners are.
        let width = display.isRound ? display.width * 3 / 4 : display.width * 7 / 8
        let large = PixelFont.scale(for: hours, width: width)
        let date = Self.weekdays[time.weekday % 7] + " " + Self.twoDigits(time.day) + "." + Self.twoDigits(time.month)
        let small = max(1, large / 2)
        let gap = PixelFont.characterHeight * small / 2
        let height = PixelFont.characterHeight * (large + small) + gap
        let top = (display.height - height) / 2
        PixelFont.drawCentered(hours, y: top, scale: large, .white, on: &frame)
        let dateTop = top + PixelFont.characterHeight * large + gap
        PixelFont.drawCentered(date, y: dateTop, scale: small, .lightGray, on: &frame)
    }

    private static let weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

    private static func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
}
