import BluetoothHCI
import ByteCoding
import PebbleProtocol

/// The bytes that the watch sends to be found and to be recognized.
public struct Advertisement: Sendable, Equatable {
    /// In every advertising event.
    public let data: AdvertisingData
    /// In answer to a scanner that asks for more.
    public let scanResponse: AdvertisingData

    /// Advertisement of a job. The payload for reconnection is empty, as on the real watch: the phone that knows the
    /// watch looks for its address, and nobody else should notice it.
    public init(for job: AdvertisingPolicy.Job, of identity: WatchIdentity, transmitPower: Int8 = 0) {
        switch job {
        case .discovery:
            var parts = Self.discovery(of: identity, transmitPower: transmitPower)
            // What does not fit moves to the scan response, where nothing but the watch's own data would stand.
            var moved: [ADStructure] = []
            while AdvertisingData(parts).encodedCount > Self.legacyCapacity, let last = parts.popLast() {
                moved.insert(last, at: 0)
            }
            data = AdvertisingData(parts)
            let response = AdvertisingData([Self.manufacturerData(of: identity)] + moved)
            scanResponse =
                response.encodedCount <= Self.legacyCapacity
                ? response : AdvertisingData([Self.manufacturerData(of: identity)])
        case .reconnection:
            data = AdvertisingData()
            scanResponse = AdvertisingData()
        }
    }

    /// What one legacy advertising PDU can carry, in bytes.
    static let legacyCapacity = 31

    /// In exactly this order: flags, services, name, power.
    private static func discovery(of identity: WatchIdentity, transmitPower: Int8) -> [ADStructure] {
        [
            .flags([.leGeneralDiscoverable, .brEDRNotSupported]),
            .uuids16([PebbleAttribute.pairingService], .complete),
            .localName(identity.name, .complete),
            .txPowerLevel(dBm: transmitPower),
        ]
    }

    /// | Offset | Size | Field |
    /// |---|---|---|
    /// | 0 | 1 | payload type, 0 |
    /// | 1 | 12 | serial number, ASCII |
    /// | 13 | 1 | hardware platform |
    /// | 14 | 1 | colour |
    /// | 15 | 3 | firmware version: major, minor, patch |
    /// | 18 | 1 | flags: bit 0 recovery firmware, bit 1 first use |
    private static func manufacturerData(of identity: WatchIdentity) -> ADStructure {
        var payload: [UInt8] = [0]
        payload += identity.serialNumber.utf8.prefix(WatchIdentity.serialNumberLength)
        payload.append(identity.hardware.rawValue)
        payload.append(UInt8(truncatingIfNeeded: identity.color.rawValue))
        payload += [identity.firmware.major, identity.firmware.minor, identity.firmware.patch]
        payload.append(0)
        return .manufacturerSpecific(identity.company.identifier, payload[...])
    }
}
