/// Whether a scanner asks for scan responses.
public enum ScanType: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the scanner only listens.
    case passive = 0
    /// 1: the scanner asks scannable advertisers for their scan responses.
    case active = 1
}

/// Whose advertisements a scanner reports.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.10.
public enum ScanFilterPolicy: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: those of any device, except directed ones for another device.
    case anyone = 0
    /// 1: those of devices in the filter accept list, except directed ones for another device.
    case acceptListOnly = 1
    /// Also directed ones whose target is a private address that cannot be resolved.
    case anyoneAndUnresolvedDirected = 2
    /// 3: as `acceptListOnly`, and also directed ones from the list whose target is a private address that cannot be
    /// resolved.
    case acceptListAndUnresolvedDirected = 3
}

/// Whether extended scanning reports each advertiser only once.
package enum DuplicateFilter: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: every advertisement is reported.
    case off = 0
    /// 1: each advertiser is reported only once until scanning stops.
    case on = 1
    /// Once in each period.
    case onEachPeriod = 2
}

/// The time between scans that each last for a duration: 1.28 s units; zero means a single scan.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.65.
package struct ScanPeriod: HCITime {
    package static let unit = Duration.milliseconds(1280)
    package static let validRange: ClosedRange<UInt16> = 0x0000...0xFFFF
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
}
