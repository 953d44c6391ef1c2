import ByteCoding

/// What kind of packet an extended advertising report is about.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.13.
package struct ExtendedReportProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Bit 0: initiators can connect to the advertiser.
    package static let connectable = ExtendedReportProperties(rawValue: 1 << 0)
    /// Bit 1: scanners can ask the advertiser for a scan response.
    package static let scannable = ExtendedReportProperties(rawValue: 1 << 1)
    /// Bit 2: the advertisement is for one peer, whose address is the report's `directAddress`.
    package static let directed = ExtendedReportProperties(rawValue: 1 << 2)
    /// Bit 3: the packet is a scan response.
    package static let scanResponse = ExtendedReportProperties(rawValue: 1 << 3)
    /// A legacy advertising packet.
    package static let legacy = ExtendedReportProperties(rawValue: 1 << 4)
}

/// Whether a report's data is all there is.
package enum ReportDataStatus: UInt16, Hashable, Sendable, CaseIterable {
    /// Nothing follows: this is all of the data, or the last part of it.
    case complete = 0
    /// The rest follows in further reports.
    case moreToCome = 1
    /// The rest was lost.
    case truncated = 2
}

/// Advertisements that extended scanning heard, legacy ones among them.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.13.
package struct LEExtendedAdvertisingReport: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x0D)

    /// The address type that says that there is no address.
    static let anonymous: UInt8 = 0xFF
    /// Where the data status is in the event type.
    static let dataStatusShift: UInt16 = 5

    /// One advertisement or scan response, or a part of one.
    package struct Report: Hashable, Sendable {
        /// What kind of packet it was.
        package var properties: ExtendedReportProperties
        /// Whether `data` is all there is.
        package var dataStatus: ReportDataStatus
        /// Who sent it; nil if it was anonymous.
        package var address: LEAddress?
        /// The PHY of the primary channel.
        package var primaryPHY: PHY
        /// The PHY of the auxiliary packet; nil if there was none.
        package var secondaryPHY: PHY?
        /// The advertising set identifier; nil if there was none.
        package var sid: UInt8?
        /// How strongly it was sent, in dBm; nil if that is not known.
        package var txPowerDBm: Int8?
        /// How strongly it was received, in dBm; nil if that is not available.
        package var rssiDBm: Int8?
        /// The time between the set's periodic advertisements, in 1.25 ms units; 0 if there are none.
        package var periodicIntervalSlots: UInt16
        /// Whom it is for, if it is directed.
        package var directAddress: LEAddress?
        /// Its AD structures.
        package var data: ArraySlice<UInt8>

        /// Makes a report; what is left out has the value of an undirected legacy advertisement.
        package init(
            properties: ExtendedReportProperties,
            dataStatus: ReportDataStatus = .complete,
            address: LEAddress?,
            primaryPHY: PHY = .le1M,
            secondaryPHY: PHY? = nil,
            sid: UInt8? = nil,
            txPowerDBm: Int8? = nil,
            rssiDBm: Int8?,
            periodicIntervalSlots: UInt16 = 0,
            directAddress: LEAddress? = nil,
            data: ArraySlice<UInt8>
        ) {
            self.properties = properties
            self.dataStatus = dataStatus
            self.address = address
            self.primaryPHY = primaryPHY
            self.secondaryPHY = secondaryPHY
            self.sid = sid
            self.txPowerDBm = txPowerDBm
            self.rssiDBm = rssiDBm
            self.periodicIntervalSlots = periodicIntervalSlots
            self.directAddress = directAddress
            self.data = data
        }
    }

    /// The advertisements. Together they must fit one event, whose parameters take at most 255 bytes.
    package var reports: [Report]

    /// Makes the event of these reports, which must fit one event.
    package init(reports: [Report]) { self.reports = reports }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let count = try reader.readUInt8("le_extended_advertising_report.num_reports")
        reports = []
        for _ in 0..<count { reports.append(try Report(reading: &reader)) }
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: reports.count))
        for report in reports { report.encode(to: &buffer) }
    }
}

extension LEExtendedAdvertisingReport.Report {
    /// How much data one report can hold.
    package static let dataCapacity = 229
    /// What the advertising set identifier is when there is none.
    private static let noSID: UInt8 = 0xFF
    private static let propertyBits: UInt16 = 0x1F

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let type = try reader.readLittleEndian("le_extended_advertising_report.event_type", as: UInt16.self)
        properties = ExtendedReportProperties(rawValue: type & Self.propertyBits)
        let status = type >> LEExtendedAdvertisingReport.dataStatusShift & 0b11
        guard let dataStatus = ReportDataStatus(rawValue: status) else {
            throw ByteDecodingError("le_extended_advertising_report.data_status", .invalidValue(UInt64(status)))
        }
        self.dataStatus = dataStatus
        if reader.remaining.first == LEExtendedAdvertisingReport.anonymous {
            _ = try reader.readBytes(1 + DeviceAddress.size, "le_extended_advertising_report.address")
            address = nil
        } else {
            address = try LEAddress(reading: &reader, "le_extended_advertising_report.address")
        }
        primaryPHY = try PHY(reading: &reader, "le_extended_advertising_report.primary_phy")
        let secondary = try reader.readUInt8("le_extended_advertising_report.secondary_phy")
        secondaryPHY = PHY(rawValue: secondary)
        guard secondary == 0 || secondaryPHY != nil else {
            throw ByteDecodingError("le_extended_advertising_report.secondary_phy", .invalidValue(UInt64(secondary)))
        }
        let sid = try reader.readUInt8("le_extended_advertising_report.advertising_sid")
        self.sid = sid == Self.noSID ? nil : sid
        txPowerDBm = try reader.readDecibels("le_extended_advertising_report.tx_power")
        rssiDBm = try reader.readDecibels("le_extended_advertising_report.rssi")
        periodicIntervalSlots = try reader.readLittleEndian(
            "le_extended_advertising_report.periodic_advertising_interval"
        )
        if properties.contains(.directed) {
            directAddress = try LEAddress(reading: &reader, "le_extended_advertising_report.direct_address")
        } else {
            _ = try reader.readBytes(1 + DeviceAddress.size, "le_extended_advertising_report.direct_address")
            directAddress = nil
        }
        let length = try reader.readUInt8("le_extended_advertising_report.data_length")
        data = try reader.readBytes(Int(length), "le_extended_advertising_report.data")
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(
            properties.rawValue | dataStatus.rawValue << LEExtendedAdvertisingReport.dataStatusShift
        )
        if let address {
            address.encode(to: &buffer)
        } else {
            buffer.append(LEExtendedAdvertisingReport.anonymous)
            DeviceAddress.zero.encode(to: &buffer)
        }
        buffer.append(primaryPHY.rawValue)
        buffer.append(secondaryPHY?.rawValue ?? 0)
        buffer.append(sid ?? Self.noSID)
        buffer.appendDecibels(txPowerDBm)
        buffer.appendDecibels(rssiDBm)
        buffer.appendLittleEndian(periodicIntervalSlots)
        (directAddress ?? .public(.zero)).encode(to: &buffer)
        let sent = data.prefix(Self.dataCapacity)
        buffer.append(UInt8(clamping: sent.count))
        buffer.append(contentsOf: sent)
    }
}
