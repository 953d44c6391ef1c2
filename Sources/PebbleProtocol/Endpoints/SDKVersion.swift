/// The SDK that an app was built with, as its header says.
public struct SDKVersion: Hashable, Comparable, Sendable {
    /// 5 for every app of firmware 3 and later.
    public let major: UInt8
    /// Counts up with every change of the API.
    public let minor: UInt8

    /// A version by its numbers.
    public init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    public static func < (older: SDKVersion, newer: SDKVersion) -> Bool {
        (older.major, older.minor) < (newer.major, newer.minor)
    }
}
