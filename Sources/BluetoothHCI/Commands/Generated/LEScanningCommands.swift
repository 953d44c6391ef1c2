// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Sets how legacy scanning happens; not allowed while it runs.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.10.
package struct LESetScanParameters: HCICommandWithReturn {
    package static let id = HCICommandID("LESetScanParameters", .lowEnergy, 0x000B, bit: (26, 2))

    /// Whether scan responses are asked for.
    package var type: ScanType
    /// The time between scans.
    package var interval: ScanInterval
    /// How long each scan listens.
    package var window: ScanInterval
    /// The address that scan requests carry.
    package var ownAddressType: OwnAddressType
    /// Whose advertisements are reported.
    package var filterPolicy: ScanFilterPolicy

    /// Makes the command with these parameters.
    package init(
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

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        type = try ScanType(reading: &reader, "le_set_scan_parameters.type")
        interval = try ScanInterval(reading: &reader, "le_set_scan_parameters.interval")
        window = try ScanInterval(reading: &reader, "le_set_scan_parameters.window")
        ownAddressType = try OwnAddressType(reading: &reader, "le_set_scan_parameters.own_address_type")
        filterPolicy = try ScanFilterPolicy(reading: &reader, "le_set_scan_parameters.filter_policy")
    }

    package func encode(to buffer: inout [UInt8]) {
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
package struct LESetScanEnable: HCICommandWithReturn {
    package static let id = HCICommandID("LESetScanEnable", .lowEnergy, 0x000C, bit: (26, 3))

    /// Whether to scan.
    package var isEnabled: Bool
    /// Whether each advertiser is reported only once.
    package var filtersDuplicates: Bool

    /// Makes the command with these parameters.
    package init(isEnabled: Bool, filtersDuplicates: Bool) {
        self.isEnabled = isEnabled
        self.filtersDuplicates = filtersDuplicates
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_scan_enable.is_enabled")
        filtersDuplicates = try reader.readBool("le_set_scan_enable.filters_duplicates")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
        buffer.append(filtersDuplicates ? 1 : 0)
    }
}
