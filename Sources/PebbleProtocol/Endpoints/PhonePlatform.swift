/// The phone's operating system and hardware, as one word of the phone version response.
public struct PhonePlatform: RawRepresentable, Hashable, Sendable {
    /// The operating system in the low three bits, `Features` above.
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A system and what the phone has; libpebble3 and Gadgetbridge say the system only.
    package init(_ system: OperatingSystem, _ features: Features = []) {
        rawValue = system.rawValue | features.rawValue
    }

    /// The systems that have a number.
    package enum OperatingSystem: UInt32, Sendable {
        /// The system is not known. Numbers without a name are read as this, too.
        case unknown = 0
        /// Apple's iOS.
        case iOS = 1
        /// Android.
        case android = 2
        /// Apple's macOS; it was called OS X when it got its number.
        case macOS = 3
        /// Linux.
        case linux = 4
        /// Microsoft's Windows.
        case windows = 5
    }

    /// What the phone has.
    package struct Features: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Bit 4: the phone can make calls.
        package static let telephony = Features(rawValue: 0x10)
        /// Bit 5: the phone can send text messages.
        package static let sms = Features(rawValue: 0x20)
        /// Bit 6: the phone has GPS.
        package static let gps = Features(rawValue: 0x40)
        /// Bit 7: the phone has Bluetooth LE.
        package static let bluetoothLE = Features(rawValue: 0x80)
        /// Bit 8: the phone has a camera on its back.
        package static let rearCamera = Features(rawValue: 0x100)
        /// Bit 9: the phone has an accelerometer.
        package static let accelerometer = Features(rawValue: 0x200)
        /// Bit 10: the phone has a gyroscope.
        package static let gyroscope = Features(rawValue: 0x400)
        /// Bit 11: the phone has a compass.
        package static let compass = Features(rawValue: 0x800)
    }

    private static let operatingSystemMask: UInt32 = 0x7

    /// The system; a number without a name is ``OperatingSystem/unknown``.
    package var operatingSystem: OperatingSystem {
        OperatingSystem(rawValue: rawValue & Self.operatingSystemMask) ?? .unknown
    }

    /// What the phone has.
    package var features: Features { Features(rawValue: rawValue & ~Self.operatingSystemMask) }
}
