import ByteCoding

/// A Simplified Protocol/Service Multiplexer: the number of a service that credit-based channels are opened to. On
/// Apple's platforms, and in the characteristic that publishes it there, it is called a PSM.
///
/// Source: Core 5.4, Vol 3, Part A, 4.22.
public struct SPSM: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Those that the Bluetooth SIG assigns.
    package static let fixedRange: ClosedRange<UInt16> = 0x0001...0x007F
    /// Those that a device gives to its services as it likes, and clients learn from the service.
    package static let dynamicRange: ClosedRange<UInt16> = 0x0080...0x00FF

    /// Enhanced ATT bearers (Bluetooth Assigned Numbers, 2.9).
    static let enhancedATT = SPSM(rawValue: 0x0027)

    /// Whether a service can have it.
    var isValid: Bool { Self.fixedRange.contains(rawValue) || Self.dynamicRange.contains(rawValue) }
}

extension SPSM: CustomStringConvertible {
    public var description: String { "0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal }
}

extension ChannelID {
    /// The channels that are opened and closed on an LE link.
    ///
    /// Source: Core 5.4, Vol 3, Part A, 2.1, table 2.3.
    static let dynamicRange: ClosedRange<UInt16> = 0x0040...0x007F

    /// Whether it can be an end of a credit-based channel on an LE link.
    var isDynamic: Bool { Self.dynamicRange.contains(rawValue) }
}
