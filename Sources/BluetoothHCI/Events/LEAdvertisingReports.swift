import ByteCoding

/// What kind of packet a legacy advertising report is about.
package enum AdvertisingReportType: UInt8, Hashable, Sendable, CaseIterable {
    /// ADV_IND.
    case connectableScannable = 0
    /// ADV_DIRECT_IND.
    case directed = 1
    /// ADV_SCAN_IND.
    case scannable = 2
    /// ADV_NONCONN_IND.
    case nonConnectable = 3
    /// SCAN_RSP.
    case scanResponse = 4
}

/// Advertisements that legacy scanning heard.
///
/// The Core prints the parameters as arrays; controllers send them report by report.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.2.
package struct LEAdvertisingReport: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x02)

    /// One advertisement or scan response.
    package struct Report: Hashable, Sendable {
        /// What kind of packet it was.
        package var type: AdvertisingReportType
        /// Who sent it.
        package var address: LEAddress
        /// Its AD structures.
        package var data: ArraySlice<UInt8>
        /// How strongly it was received, in dBm; nil if that is not available.
        package var rssiDBm: Int8?

        /// Makes a report. At most 31 octets of `data` are sent.
        package init(type: AdvertisingReportType, address: LEAddress, data: ArraySlice<UInt8>, rssiDBm: Int8?) {
            self.type = type
            self.address = address
            self.data = data
            self.rssiDBm = rssiDBm
        }
    }

    /// The advertisements. Together they must fit one event, whose parameters take at most 255 bytes.
    package var reports: [Report]

    /// Makes the event of these reports, which must fit one event.
    package init(reports: [Report]) { self.reports = reports }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let count = try reader.readUInt8("le_advertising_report.num_reports")
        reports = []
        for _ in 0..<count {
            let type = try AdvertisingReportType(reading: &reader, "le_advertising_report.event_type")
            let address = try LEAddress(reading: &reader, "le_advertising_report.address")
            let length = try reader.readUInt8("le_advertising_report.data_length")
            guard length <= AdvertisingBytes.capacity else {
                throw ByteDecodingError("le_advertising_report.data_length", .invalidValue(UInt64(length)))
            }
            let data = try reader.readBytes(Int(length), "le_advertising_report.data")
            let rssi = try reader.readDecibels("le_advertising_report.rssi")
            reports.append(Report(type: type, address: address, data: data, rssiDBm: rssi))
        }
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: reports.count))
        for report in reports {
            buffer.append(report.type.rawValue)
            report.address.encode(to: &buffer)
            let data = report.data.prefix(AdvertisingBytes.capacity)
            buffer.append(UInt8(clamping: data.count))
            buffer.append(contentsOf: data)
            buffer.appendDecibels(report.rssiDBm)
        }
    }
}

/// Directed advertisements to private addresses that the controller could not resolve.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.11.
package struct LEDirectedAdvertisingReport: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x0B)

    /// One advertisement.
    package struct Report: Hashable, Sendable {
        /// Who sent it.
        package var address: LEAddress
        /// Whom it is for.
        package var directAddress: LEAddress
        /// How strongly it was received, in dBm; nil if that is not available.
        package var rssiDBm: Int8?

        /// Makes the report of one directed advertisement.
        package init(address: LEAddress, directAddress: LEAddress, rssiDBm: Int8?) {
            self.address = address
            self.directAddress = directAddress
            self.rssiDBm = rssiDBm
        }
    }

    /// The advertisements.
    package var reports: [Report]

    /// Makes the event of these reports, which must fit one event.
    package init(reports: [Report]) { self.reports = reports }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let count = try reader.readUInt8("le_directed_advertising_report.num_reports")
        reports = []
        for _ in 0..<count {
            let type = try AdvertisingReportType(reading: &reader, "le_directed_advertising_report.event_type")
            guard type == .directed else {
                throw ByteDecodingError(
                    "le_directed_advertising_report.event_type",
                    .invalidValue(UInt64(type.rawValue))
                )
            }
            let address = try LEAddress(reading: &reader, "le_directed_advertising_report.address")
            let direct = try LEAddress(reading: &reader, "le_directed_advertising_report.direct_address")
            let rssi = try reader.readDecibels("le_directed_advertising_report.rssi")
            reports.append(Report(address: address, directAddress: direct, rssiDBm: rssi))
        }
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: reports.count))
        for report in reports {
            buffer.append(AdvertisingReportType.directed.rawValue)
            report.address.encode(to: &buffer)
            report.directAddress.encode(to: &buffer)
            buffer.appendDecibels(report.rssiDBm)
        }
    }
}
