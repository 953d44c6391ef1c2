import BluetoothHCI

/// An advertisement or a scan response that was heard.
public struct AdvertisingReport: Hashable, Sendable {
    /// Who sent it; nil if it was anonymous.
    public var address: LEAddress?
    /// Whom it is for, if it is directed to an address that the controller could not resolve.
    public var directAddress: LEAddress?
    /// Whether it can be connected to.
    public var isConnectable: Bool
    /// Whether there is a scan response to ask for.
    public var isScannable: Bool
    /// Whether it is for one device.
    public var isDirected: Bool
    /// Whether it is a scan response rather than an advertisement.
    public var isScanResponse: Bool
    /// Its AD structures.
    public var data: ArraySlice<UInt8>
    /// Whether some of the data was lost.
    public var isTruncated: Bool
    /// How strongly it was received, in dBm; nil if that is not known.
    public var rssiDBm: Int8?
    /// How strongly it was sent, in dBm, as the controller says; nil if that is not known.
    public var txPowerDBm: Int8?
    /// The PHY of the primary channel.
    package var primaryPHY: PHY
    /// The advertising set identifier; nil if there was none.
    package var sid: UInt8?

    init(_ report: LEAdvertisingReport.Report) {
        address = report.address
        isConnectable = report.type == .connectableScannable || report.type == .directed
        isScannable = report.type == .connectableScannable || report.type == .scannable
        isDirected = report.type == .directed
        isScanResponse = report.type == .scanResponse
        data = report.data
        isTruncated = false
        rssiDBm = report.rssiDBm
        primaryPHY = .le1M
    }

    init(_ report: LEDirectedAdvertisingReport.Report) {
        address = report.address
        directAddress = report.directAddress
        isConnectable = true
        isScannable = false
        isDirected = true
        isScanResponse = false
        data = []
        isTruncated = false
        rssiDBm = report.rssiDBm
        primaryPHY = .le1M
    }

    init(_ report: LEExtendedAdvertisingReport.Report, data: ArraySlice<UInt8>) {
        address = report.address
        directAddress = report.directAddress
        isConnectable = report.properties.contains(.connectable)
        isScannable = report.properties.contains(.scannable)
        isDirected = report.properties.contains(.directed)
        isScanResponse = report.properties.contains(.scanResponse)
        self.data = data
        isTruncated = report.dataStatus == .truncated
        rssiDBm = report.rssiDBm
        txPowerDBm = report.txPowerDBm
        primaryPHY = report.primaryPHY
        sid = report.sid
    }
}

/// Puts advertisements together that came in several reports.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.13.
struct ExtendedReportAssembler: Sendable {
    private struct Key: Hashable {
        let address: LEAddress?
        let sid: UInt8?
        let isScanResponse: Bool
    }

    private struct Partial {
        let key: Key
        var data: [UInt8]
    }

    /// How many advertisements may be unfinished at once: controllers follow few at a time.
    static let limit = 4
    /// The longest that advertising data can be (Core 5.4, Vol 4, Part E, 7.8.57).
    static let maximumDataLength = 1650

    private var partials: [Partial] = []

    /// Takes a report.
    /// - Returns: the advertisement, if it is whole or nothing more is to come of it.
    mutating func receive(_ report: LEExtendedAdvertisingReport.Report) -> AdvertisingReport? {
        let isScanResponse = report.properties.contains(.scanResponse)
        let key = Key(address: report.address, sid: report.sid, isScanResponse: isScanResponse)
        let index = partials.firstIndex { $0.key == key }
        guard report.dataStatus == .moreToCome else {
            guard let index else { return AdvertisingReport(report, data: report.data) }
            let data = partials.remove(at: index).data + report.data
            return AdvertisingReport(report, data: data.prefix(Self.maximumDataLength))
        }
        if let index {
            let room = Self.maximumDataLength - partials[index].data.count
            partials[index].data.append(contentsOf: report.data.prefix(room))
        } else {
            if partials.count >= Self.limit { partials.removeFirst() }
            partials.append(Partial(key: key, data: Array(report.data)))
        }
        return nil
    }

    /// Forgets what is unfinished.
    mutating func removeAll() { partials.removeAll() }
}
