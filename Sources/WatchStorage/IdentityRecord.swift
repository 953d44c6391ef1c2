import BluetoothHCI
import BluetoothHost
import ByteCoding
import CSQLite
import PebbleWatch

/// The row that says who the watch is.
enum IdentityRecord {
    /// One row: a watch is one device.
    private static let onlyID = 1

    /// Who the watch is; nil if it has never been started.
    static func load(from connection: SQLiteConnection) throws -> LocalIdentity? {
        // Whatever number the row has: a row that is not looked for would be a watch that has forgotten who it is.
        let rows = try connection.prepare("SELECT addressType, address, identityResolvingKey FROM identity")
        guard let row = try rows.next() else { return nil }
        let typeNumber = try row.read(0, as: UInt8.self)
        guard let type = AddressType(rawValue: typeNumber) else {
            throw ByteDecodingError("identity.addressType", .invalidValue(UInt64(typeNumber)))
        }
        var reader = ByteReader(try row.read(2, as: [UInt8].self))
        let key = try IdentityResolvingKey(reading: &reader, "identity.identityResolvingKey")
        try reader.expectEnd("identity.identityResolvingKey")
        let address = DeviceAddress(UInt64(truncatingIfNeeded: try row.read(1, as: Int64.self)))
        guard try rows.next() == nil else { throw SQLiteError(SQLITE_CORRUPT, "identity has more than one row") }
        return LocalIdentity(address: LEAddress(type: type, address: address), identityResolvingKey: key)
    }

    /// Keeps it in the place of the one before.
    static func save(_ identity: LocalIdentity, in connection: SQLiteConnection) throws {
        var key: [UInt8] = []
        identity.identityResolvingKey.encode(to: &key)
        try connection.execute("DELETE FROM identity")
        try connection.execute(
            "INSERT INTO identity (id, addressType, address, identityResolvingKey) VALUES (?, ?, ?, ?)",
            [onlyID, identity.address.type.rawValue, Int64(identity.address.address.value), key]
        )
    }
}
