import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import GRDB
import PebbleWatch

/// The row that says who the watch is.
struct IdentityRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "identity"
    static let onlyID = 1

    private let id: Int
    private let addressType: UInt8
    private let address: Int64
    private let identityResolvingKey: Data

    init(_ identity: LocalIdentity) {
        id = Self.onlyID
        addressType = identity.address.type.rawValue
        address = Int64(identity.address.address.value)
        var key: [UInt8] = []
        identity.identityResolvingKey.encode(to: &key)
        identityResolvingKey = Data(key)
    }

    var value: LocalIdentity {
        get throws(ByteDecodingError) {
            guard let type = AddressType(rawValue: addressType) else {
                throw ByteDecodingError("identity.addressType", .invalidValue(UInt64(addressType)))
            }
            var reader = ByteReader(Array(identityResolvingKey))
            let key = try IdentityResolvingKey(reading: &reader, "identity.identityResolvingKey")
            try reader.expectEnd("identity.identityResolvingKey")
            return LocalIdentity(
                address: LEAddress(type: type, address: DeviceAddress(UInt64(truncatingIfNeeded: address))),
                identityResolvingKey: key
            )
        }
    }
}
