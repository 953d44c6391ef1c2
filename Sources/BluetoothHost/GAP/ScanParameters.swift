import BluetoothHCI

/// How to listen for advertisements.
public struct ScanParameters: Hashable, Sendable {
    /// Whether scan responses are asked for.
    public var type: ScanType
    /// The time between scans.
    public var interval: ScanInterval
    /// How long each scan listens; at most `interval`.
    public var window: ScanInterval
    /// Whether each advertiser is reported only once.
    public var filtersDuplicates: Bool
    /// Whose advertisements are reported.
    public var filterPolicy: ScanFilterPolicy

    /// Listens all the time, unless told otherwise.
    public init(
        type: ScanType = .active,
        interval: ScanInterval = .milliseconds(30),
        window: ScanInterval = .milliseconds(30),
        filtersDuplicates: Bool = false,
        filterPolicy: ScanFilterPolicy = .anyone
    ) {
        self.type = type
        self.interval = interval
        self.window = window
        self.filtersDuplicates = filtersDuplicates
        self.filterPolicy = filterPolicy
    }

    /// Whether a controller could take them at all: the legacy ranges, which fit both kinds of controller.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 7.8.10.
    var areValid: Bool {
        let range: ClosedRange<UInt16> = 0x0004...0x4000
        return range.contains(interval.rawValue) && range.contains(window.rawValue) && window <= interval
    }
}
