import ByteCoding

/// A version of the Core Specification, as link layers and HCI say it.
///
/// Source: Bluetooth Assigned Numbers, 2.1.
public struct CoreVersion: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// 6: Core 4.0, the first with LE.
    package static let v4_0 = CoreVersion(rawValue: 6)
    /// 7: Core 4.1.
    package static let v4_1 = CoreVersion(rawValue: 7)
    /// 8: Core 4.2.
    package static let v4_2 = CoreVersion(rawValue: 8)
    /// 9: Core 5.0.
    package static let v5_0 = CoreVersion(rawValue: 9)
    /// 10: Core 5.1.
    package static let v5_1 = CoreVersion(rawValue: 10)
    /// 11: Core 5.2.
    package static let v5_2 = CoreVersion(rawValue: 11)
    /// 12: Core 5.3.
    package static let v5_3 = CoreVersion(rawValue: 12)
    /// 13: Core 5.4.
    package static let v5_4 = CoreVersion(rawValue: 13)
    /// 14: Core 6.0.
    package static let v6_0 = CoreVersion(rawValue: 14)

    public static func < (left: CoreVersion, right: CoreVersion) -> Bool { left.rawValue < right.rawValue }
}

extension CoreVersion: CustomStringConvertible {
    public var description: String {
        let names = ["1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4"]
        let later = ["6.0"]
        return (names + later).dropFirst(Int(rawValue)).first ?? "version \(rawValue)"
    }
}

/// A company, as the Bluetooth SIG numbers them.
///
/// Source: Bluetooth Assigned Numbers, 7.1.
public struct CompanyIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

extension CompanyIdentifier: CustomStringConvertible {
    public var description: String {
        "0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal.uppercased()
    }
}
