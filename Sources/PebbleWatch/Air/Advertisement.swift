import BluetoothHCI
import ByteCoding
import PebbleProtocol

/// The bytes that the watch sends to be found and to be recognized.
public struct Advertisement: Sendable, Equatable {
    /// In every advertising event.
    public let data: AdvertisingData
    /// In answer to a scanner that asks for more.
    public let scanResponse: AdvertisingData

    /// What the watch says of itself for a purpose, with a profile that decides how much a watch that waits for its own
    /// phone tells the others.
    public init(
        for purpose: AdvertisingPolicy.Purpose,
        of identity: WatchIdentity,
        by profile: AdvertisingProfile,
        transmitPower: Int8 = 0
    ) {
        switch (purpose, profile.reconnectionPayload) {
        case (.discovery, _), (.reconnection, .full): self.init(full: identity, transmitPower: transmitPower)
        case (.reconnection, .empty): self.init(data: AdvertisingData(), scanResponse: AdvertisingData())
        }
    }

    private init(data: AdvertisingData, scanResponse: AdvertisingData) {
        self.data = data
        self.scanResponse = scanResponse
    }

    private init(full identity: WatchIdentity, transmitPower: Int8) {
        var parts = Self.parts(of: identity, transmitPower: transmitPower)
        // What does not fit moves to the scan response, where nothing but the watch's own data would stand.
        var moved: [ADStructure] = []
        while AdvertisingData(parts).encodedCount > Self.legacyCapacity, let last = parts.popLast() {
            moved.insert(last, at: 0)
        }
        let response = AdvertisingData([Self.manufacturerData(of: identity)] + moved)
        self.init(
            data: AdvertisingData(parts),
            scanResponse: response.encodedCount <= Self.legacyCapacity
                ? response : AdvertisingData([Self.manufacturerData(of: identity)])
        )
    }

    /// What one legacy advertising PDU can carry, in bytes.
    static let legacyCapacity = 31

    /// In exactly this order: flags, services, name, power.
    private static func parts(of identity: WatchIdentity, transmitPower: Int8) -> [ADStructure] {
        [
            .flags(identity.flags),
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
