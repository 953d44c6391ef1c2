import ByteCoding

/// The number by which host and controller name a connection: 0x0000...0x0EFF.
///
/// Source: Core 5.4, Vol 4, Part E, 5.3.1.
public struct ConnectionHandle: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number; never more than 0x0EFF.
    public let rawValue: UInt16

    /// The largest handle there is.
    package static let maximum: UInt16 = 0x0EFF

    /// Nil if the number is none that the Core allows.
    public init?(rawValue: UInt16) {
        guard rawValue <= Self.maximum else { return nil }
        self.rawValue = rawValue
    }

    public static func < (left: ConnectionHandle, right: ConnectionHandle) -> Bool { left.rawValue < right.rawValue }
}

extension ConnectionHandle: ExpressibleByIntegerLiteral {
    /// For literals in code; one that is too large becomes the largest handle.
    public init(integerLiteral value: UInt16) { rawValue = min(value, Self.maximum) }
}

extension ConnectionHandle: CustomStringConvertible {
    public var description: String {
        "0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal.uppercased()
    }
}
