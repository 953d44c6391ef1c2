/// The phone's operating system and hardware, as one word of the phone version response.
public struct PhonePlatform: RawRepresentable, Hashable, Sendable {
    /// The operating system in the low three bits, ``Features`` above.
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A system and what the phone has; libpebble3 and Gadgetbridge say the system only.
    public init(_ system: OperatingSystem, _ features: Features = []) {
        rawValue = system.rawValue | features.rawValue
    }

    /// The systems that have a number.
    public enum OperatingSystem: UInt32, Sendable {
        case unknown = 0
        case iOS = 1
        case android = 2
        case macOS = 3
        case linux = 4
        case windows = 5
    }

    /// What the phone has.
    public struct Features: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) { self.rawValue = rawValue }

        public static let telephony = Features(rawValue: 0x10)
        public static let sms = Features(rawValue: 0x20)
        public static let gps = Features(rawValue: 0x40)
        public static let bluetoothLE = Features(rawValue: 0x80)
        public static let rearCamera = Features(rawValue: 0x100)
        public static let accelerometer = Features(rawValue: 0x200)
        public static let gyroscope = Features(rawValue: 0x400)
        public static let compass = Features(rawValue: 0x800)
    }

    private static let operatingSystemMask: UInt32 = 0x7

    /// The system; a number without a name is ``OperatingSystem/unknown``.
    public var operatingSystem: OperatingSystem {
        OperatingSystem(rawValue: rawValue & Self.operatingSystemMask) ?? .unknown
    }

    /// What the phone has.
    public var features: Features { Features(rawValue: rawValue & ~Self.operatingSystemMask) }
}
