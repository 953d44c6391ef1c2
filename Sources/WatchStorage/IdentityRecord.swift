import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch

/// The row that says who the watch is.
enum IdentityRecord {
    /// One row: a watch is one device.
    private static let onlyID = 1

    /// Who the watch is; nil if it has never been started.
    static func load(from connection: SQLiteConnection) throws -> LocalIdentity? {
        let columns = "SELECT addressType, address, identityResolvingKey FROM identity WHERE id = ?"
        guard let row = try connection.prepare(columns, [onlyID]).next() else { return nil }
        let typeNumber = try row.read(0, as: UInt8.self)
        guard let type = AddressType(rawValue: typeNumber) else {
            throw ByteDecodingError("identity.addressType", .invalidValue(UInt64(typeNumber)))
        }
        var reader = ByteReader(try row.read(2, as: [UInt8].self))
        let key = try IdentityResolvingKey(reading: &reader, "identity.identityResolvingKey")
        try reader.expectEnd("identity.identityResolvingKey")
        let address = DeviceAddress(UInt64(truncatingIfNeeded: try row.read(1, as: Int64.self)))
        return LocalIdentity(address: LEAddress(type: type, address: address), identityResolvingKey: key)
    }

    /// Keeps it in the place of the one before.
    static func save(_ identity: LocalIdentity, in connection: SQLiteConnection) throws {
        var key: [UInt8] = []
        identity.identityResolvingKey.encode(to: &key)
        try connection.execute(
            "INSERT OR REPLACE INTO identity (id, addressType, address, identityResolvingKey) VALUES (?, ?, ?, ?)",
            [onlyID, identity.address.type.rawValue, Int64(identity.address.address.value), key]
        )
    }
}
