// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Starts or stops extended scanning.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.65.
package struct LESetExtendedScanEnable: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedScanEnable", .lowEnergy, 0x0042, bit: (37, 6))

    /// Whether to scan.
    package var isEnabled: Bool
    /// Whether each advertiser is reported only once.
    package var duplicateFilter: DuplicateFilter
    /// How long to scan; zero until it is stopped.
    package var duration: EnableDuration
    /// The time between scans that have a duration; zero for a single one.
    package var period: ScanPeriod

    /// Makes the command with these parameters.
    package init(isEnabled: Bool, duplicateFilter: DuplicateFilter, duration: EnableDuration, period: ScanPeriod) {
        self.isEnabled = isEnabled
        self.duplicateFilter = duplicateFilter
        self.duration = duration
        self.period = period
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_extended_scan_enable.is_enabled")
        duplicateFilter = try DuplicateFilter(reading: &reader, "le_set_extended_scan_enable.duplicate_filter")
        duration = try EnableDuration(reading: &reader, "le_set_extended_scan_enable.duration")
        period = try ScanPeriod(reading: &reader, "le_set_extended_scan_enable.period")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
        buffer.append(duplicateFilter.rawValue)
        duration.encode(to: &buffer)
        period.encode(to: &buffer)
    }
}
