import ByteCoding

/// Sets how extended scanning happens, for each PHY; not allowed while it runs.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.64.
package struct LESetExtendedScanParameters: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedScanParameters", .lowEnergy, 0x0041, bit: (37, 5))

    /// How to scan on one PHY.
    package struct Scan: Hashable, Sendable {
        /// Whether scan responses are asked for.
        package var type: ScanType
        /// The time between scans.
        package var interval: ScanInterval
        /// How long each scan listens.
        package var window: ScanInterval

        /// Makes the part of the command that is sent for one PHY.
        package init(type: ScanType, interval: ScanInterval, window: ScanInterval) {
            self.type = type
            self.interval = interval
            self.window = window
        }

        init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            type = try ScanType(reading: &reader, "le_set_extended_scan_parameters.scan_type")
            interval = try ScanInterval(reading: &reader, "le_set_extended_scan_parameters.scan_interval")
            window = try ScanInterval(reading: &reader, "le_set_extended_scan_parameters.scan_window")
        }

        func encode(to buffer: inout [UInt8]) {
            buffer.append(type.rawValue)
            interval.encode(to: &buffer)
            window.encode(to: &buffer)
        }
    }

    /// The address that scan requests carry.
    package var ownAddressType: OwnAddressType
    /// Whose advertisements are reported.
    package var filterPolicy: ScanFilterPolicy
    /// How to scan on LE 1M; nil not to.
    package var le1M: Scan?
    /// How to scan on LE Coded; nil not to.
    package var leCoded: Scan?

    /// Makes the command. For each PHY that is not nil, it sends the PHY's bit and a `Scan`.
    package init(ownAddressType: OwnAddressType, filterPolicy: ScanFilterPolicy, le1M: Scan?, leCoded: Scan? = nil) {
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
        self.le1M = le1M
        self.leCoded = leCoded
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        ownAddressType = try OwnAddressType(reading: &reader, "le_set_extended_scan_parameters.own_address_type")
        filterPolicy = try ScanFilterPolicy(
            reading: &reader,
            "le_set_extended_scan_parameters.scanning_filter_policy"
        )
        let phys = PHYSet(rawValue: try reader.readUInt8("le_set_extended_scan_parameters.scanning_phys"))
        guard phys.isSubset(of: [.le1M, .leCoded]) else {
            throw ByteDecodingError(
                "le_set_extended_scan_parameters.scanning_phys",
                .invalidValue(UInt64(phys.rawValue))
            )
        }
        le1M = phys.contains(.le1M) ? try Scan(reading: &reader) : nil
        leCoded = phys.contains(.leCoded) ? try Scan(reading: &reader) : nil
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(ownAddressType.rawValue)
        buffer.append(filterPolicy.rawValue)
        var phys: PHYSet = []
        if le1M != nil { phys.insert(.le1M) }
        if leCoded != nil { phys.insert(.leCoded) }
        buffer.append(phys.rawValue)
        le1M?.encode(to: &buffer)
        leCoded?.encode(to: &buffer)
    }
}
