// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Sets how legacy scanning happens; not allowed while it runs.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.10.
public struct LESetScanParameters: HCICommandWithReturn {
    public static let id = HCICommandID("LESetScanParameters", .lowEnergy, 0x000B, bit: (26, 2))

    /// Whether scan responses are asked for.
    public var type: ScanType
    /// The time between scans.
    public var interval: ScanInterval
    /// How long each scan listens.
    public var window: ScanInterval
    /// The address that scan requests carry.
    public var ownAddressType: OwnAddressType
    /// Whose advertisements are reported.
    public var filterPolicy: ScanFilterPolicy

    /// Makes the command with these parameters.
    public init(
        type: ScanType,
        interval: ScanInterval,
        window: ScanInterval,
        ownAddressType: OwnAddressType,
        filterPolicy: ScanFilterPolicy
    ) {
        self.type = type
        self.interval = interval
        self.window = window
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        type = try ScanType(reading: &reader, "le_set_scan_parameters.type")
        interval = try ScanInterval(reading: &reader, "le_set_scan_parameters.interval")
        window = try ScanInterval(reading: &reader, "le_set_scan_parameters.window")
        ownAddressType = try OwnAddressType(reading: &reader, "le_set_scan_parameters.own_address_type")
        filterPolicy = try ScanFilterPolicy(reading: &reader, "le_set_scan_parameters.filter_policy")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.append(type.rawValue)
        interval.encode(to: &buffer)
        window.encode(to: &buffer)
        buffer.append(ownAddressType.rawValue)
        buffer.append(filterPolicy.rawValue)
    }
}

/// Starts or stops legacy scanning.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.11.
public struct LESetScanEnable: HCICommandWithReturn {
    public static let id = HCICommandID("LESetScanEnable", .lowEnergy, 0x000C, bit: (26, 3))

    /// Whether to scan.
    public var isEnabled: Bool
    /// Whether each advertiser is reported only once.
    public var filtersDuplicates: Bool

    /// Makes the command with these parameters.
    public init(isEnabled: Bool, filtersDuplicates: Bool) {
        self.isEnabled = isEnabled
        self.filtersDuplicates = filtersDuplicates
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_scan_enable.is_enabled")
        filtersDuplicates = try reader.readBool("le_set_scan_enable.filters_duplicates")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
        buffer.append(filtersDuplicates ? 1 : 0)
    }
}
