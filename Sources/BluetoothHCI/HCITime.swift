import ByteCoding

/// A span of time counted in a unit of its own, as link layer parameters are.
///
/// Any count can be held, since a peer may send any; `isValid` says whether the Core allows it.
public protocol HCITime: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible
where RawValue: FixedWidthInteger & UnsignedInteger & Sendable {
    /// How long one unit is.
    static var unit: Duration { get }
    /// The counts that the Core allows.
    static var validRange: ClosedRange<RawValue> { get }
    /// Any count of units.
    init(rawValue: RawValue)
}

extension HCITime {
    /// How long it is.
    public var duration: Duration { Self.unit * Int(clamping: rawValue) }

    /// Whether the Core allows this count.
    public var isValid: Bool { Self.validRange.contains(rawValue) }

    /// The whole count of units nearest below a duration, moved into the range that the Core allows.
    package init(clamping duration: Duration) {
        let units = duration / Self.unit
        let lower = Double(Self.validRange.lowerBound)
        let upper = Double(Self.validRange.upperBound)
        // A hair is added so that 7.5 ms, which binary fractions only approximate, stays 6 units of 1.25 ms.
        self.init(rawValue: RawValue(min(max(units + 1e-6, lower), upper)))
    }

    /// A number of milliseconds, moved into the range that the Core allows.
    public static func milliseconds(_ milliseconds: Double) -> Self {
        Self(clamping: .microseconds(Int64(milliseconds * 1000)))
    }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public var description: String { "\(duration)" }
}

extension HCITime where RawValue == UInt16 {
    /// Reads the two bytes of a count.
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        self.init(rawValue: try reader.readLittleEndian(field))
    }

    /// Appends the two bytes of the count.
    package func encode(to buffer: inout [UInt8]) { buffer.appendLittleEndian(rawValue) }
}

/// The time between advertising events: 0.625 ms units. Legacy commands carry 16 bits of it, extended ones 24.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.5 and 7.8.53.
public struct AdvertisingInterval: HCITime {
    public static let unit = Duration.microseconds(625)
    public static let validRange: ClosedRange<UInt32> = 0x20...0xFF_FFFF
    /// The range that legacy advertising allows: 20 ms to 10.24 s.
    package static let legacyRange: ClosedRange<UInt32> = 0x20...0x4000
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The time between scans, and the window of one: 0.625 ms units.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.10 and 7.8.64.
public struct ScanInterval: HCITime {
    public static let unit = Duration.microseconds(625)
    public static let validRange: ClosedRange<UInt16> = 0x0004...0xFFFF
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// The time between connection events: 1.25 ms units.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.12.
public struct ConnectionInterval: HCITime {
    public static let unit = Duration.microseconds(1250)
    public static let validRange: ClosedRange<UInt16> = 0x0006...0x0C80
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// How long a link may hear nothing before it is lost: 10 ms units.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.12.
public struct SupervisionTimeout: HCITime {
    public static let unit = Duration.milliseconds(10)
    public static let validRange: ClosedRange<UInt16> = 0x000A...0x0C80
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// How long a connection event is expected to last: 0.625 ms units.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.12.
public struct ConnectionEventLength: HCITime {
    public static let unit = Duration.microseconds(625)
    public static let validRange: ClosedRange<UInt16> = 0x0000...0xFFFF
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// How long an advertising set or a scan runs: 10 ms units; zero means until it is stopped.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.56.
package struct EnableDuration: HCITime {
    package static let unit = Duration.milliseconds(10)
    package static let validRange: ClosedRange<UInt16> = 0x0000...0xFFFF
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
}
