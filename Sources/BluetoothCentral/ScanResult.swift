import BluetoothHCI
import BluetoothHost

/// An advertiser, as it was heard: its advertisement, and its scan response once there is one.
public struct ScanResult: Hashable, Sendable {
    /// The advertiser's address.
    public let address: LEAddress
    /// How strongly it was received last, in dBm; nil if that is not known.
    public internal(set) var rssiDBm: Int8?
    /// Whether it can be connected to.
    public internal(set) var isConnectable = false
    /// Its advertisement, or what of it could be read.
    public internal(set) var advertisement = AdvertisingData()
    /// Its scan response; empty if none was heard.
    public internal(set) var scanResponse = AdvertisingData()

    /// Its name, shortened if that is all there is.
    public var name: String? { advertisement.localName ?? scanResponse.localName }

    /// The services that it names, in either.
    public var services: [BluetoothUUID] {
        var uuids: [BluetoothUUID] = []
        for data in [advertisement, scanResponse] {
            for uuid in data.serviceUUIDs16 { uuids.append(.uuid16(uuid)) }
            for uuid in data.serviceUUIDs128 { uuids.append(.uuid128(uuid)) }
        }
        return uuids
    }
}

/// The advertisers that were heard since scanning began.
struct ScanResults: Sendable {
    /// How many are remembered: of more, the one that was heard of first is forgotten.
    static let limit = 256

    private(set) var all: [ScanResult] = []

    /// Takes a report.
    /// - Returns: what is known of its sender now; nil if the sender is anonymous.
    mutating func receive(_ report: AdvertisingReport) -> ScanResult? {
        guard let address = report.address else { return nil }
        let index = index(of: address)
        all[index].rssiDBm = report.rssiDBm ?? all[index].rssiDBm
        let data = AdvertisingData(parsing: Array(report.data))
        if report.isScanResponse {
            all[index].scanResponse = data
        } else {
            all[index].advertisement = data
            all[index].isConnectable = report.isConnectable
        }
        return all[index]
    }

    /// Forgets them.
    mutating func removeAll() { all.removeAll() }

    private mutating func index(of address: LEAddress) -> Int {
        if let index = all.firstIndex(where: { $0.address == address }) { return index }
        if all.count >= Self.limit { all.removeFirst() }
        all.append(ScanResult(address: address))
        return all.count - 1
    }
}
