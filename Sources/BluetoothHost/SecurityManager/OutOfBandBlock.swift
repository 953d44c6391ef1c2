import BluetoothHCI
import ByteCoding

/// What one device hands another by some way that no third party can listen to or write on: an NFC tag, a printed code, a
/// cable.
///
/// Layout: AD structures, one after the other, as on an NFC tag behind its two length octets: LE Bluetooth Device Address
/// (six octets, least significant first, and one whose lowest bit says random), LE Role, LE Secure Connections
/// Confirmation Value and Random Value (16 octets each, least significant first), Security Manager TK Value for LE legacy
/// pairing.
///
/// Source: Core Specification Supplement 11, Part A, 1.6, 1.8, 1.16, 1.17; Bluetooth Secure Simple Pairing Using NFC 1.3.
public struct OutOfBandBlock: Secret {
    /// Whose secrets these are: the address that the device pairs with.
    package var device: LEAddress
    /// The secrets.
    package var data: PeerOutOfBandData

    /// The secrets of a device.
    package init(device: LEAddress, data: PeerOutOfBandData) {
        self.device = device
        self.data = data
    }

    /// LE Role: only the peripheral role.
    private static let peripheralOnly: UInt8 = 0x00

    /// Reads a block. Structures that it does not know are passed over; there must be an address, and secrets of one kind
    /// or the other.
    public init(parsing bytes: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var address: LEAddress?
        var confirm: UInt128?
        var random: UInt128?
        var temporaryKey: TemporaryKey?
        let block = AdvertisingData(parsing: bytes)
        guard block.malformedTail.isEmpty else {
            throw ByteDecodingError("oob", .trailingBytes(block.malformedTail.count))
        }
        for case .raw(let type, let data) in block.structures {
            var reader = ByteReader(data)
            switch type {
            case .leBluetoothDeviceAddress:
                let octets = try DeviceAddress(reading: &reader, "oob.address")
                let flags = try reader.readUInt8("oob.address_type")
                address = LEAddress(type: flags & 1 == 0 ? .public : .random, address: octets)
            case .leSecureConnectionsConfirmation: confirm = try reader.readLittleEndian("oob.confirm")
            case .leSecureConnectionsRandom: random = try reader.readLittleEndian("oob.random")
            case .securityManagerTK: temporaryKey = try TemporaryKey(reading: &reader, "oob.temporary_key")
            default: continue
            }
        }
        guard let address else {
            throw ByteDecodingError("oob.address", .truncated(needed: DeviceAddress.size + 1, available: 0))
        }
        var data = PeerOutOfBandData(temporaryKey: temporaryKey)
        if let confirm, let random { data.secureConnections = OutOfBandData(confirm: confirm, random: random) }
        guard data.secureConnections != nil || temporaryKey != nil else {
            let missing = confirm == nil ? "oob.confirm" : "oob.random"
            throw ByteDecodingError(missing, .truncated(needed: MemoryLayout<UInt128>.size, available: 0))
        }
        self.init(device: address, data: data)
    }

    /// The block of a peripheral.
    public var bytes: [UInt8] {
        var address: [UInt8] = []
        device.address.encode(to: &address)
        address.append(device.type.withoutIdentity == .random ? 1 : 0)
        var structures: [ADStructure] = [
            .raw(.leBluetoothDeviceAddress, address[...]), .raw(.leRole, [Self.peripheralOnly]),
        ]
        if let secureConnections = data.secureConnections {
            structures.append(.raw(.leSecureConnectionsConfirmation, Self.octets(secureConnections.confirm)))
            structures.append(.raw(.leSecureConnectionsRandom, Self.octets(secureConnections.random)))
        }
        if let key = data.temporaryKey { structures.append(.raw(.securityManagerTK, Self.octets(key.value))) }
        return AdvertisingData(structures).bytes
    }

    private static func octets(_ number: UInt128) -> ArraySlice<UInt8> {
        var octets: [UInt8] = []
        octets.appendLittleEndian(number)
        return octets[...]
    }
}

extension ADType {
    static let securityManagerTK = ADType(rawValue: 0x10)
    static let leBluetoothDeviceAddress = ADType(rawValue: 0x1B)
    static let leRole = ADType(rawValue: 0x1C)
    static let leSecureConnectionsConfirmation = ADType(rawValue: 0x22)
    static let leSecureConnectionsRandom = ADType(rawValue: 0x23)
}
