import BluetoothHCI
import GRDB
import PebbleProtocol

/// What is in a store, in numbers; nothing secret.
public struct StoreSummary: Sendable, Equatable {
    /// Bytes of the file.
    public let size: Int
    /// The version of its tables.
    public let schema: Int
    /// Who the watch is; nil if it has never been started.
    public let address: DeviceAddress?
    /// Bonded phones.
    public let phones: Int
    /// Apps that phones have installed.
    public let apps: Int
    /// Entries of the phones' databases, those of the apps among them.
    public let records: Int
    /// Bytes of logged data that no phone has taken.
    public let loggedBytes: Int

    /// Counts what a file of any schema up to ours has.
    init(of database: Database, size: Int) throws {
        self.size = size
        schema = try Schema.version(of: database)
        address = try IdentityRecord.fetchOne(database)?.value.address.address
        phones = try PhoneRecord.fetchCount(database)
        guard try database.tableExists("record") else {
            (apps, records, loggedBytes) = (0, 0, 0)
            return
        }
        records = try Int.fetchOne(database, sql: "SELECT count(*) FROM record") ?? 0
        apps =
            try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM record WHERE database = ?",
                arguments: [BlobDBDatabase.apps.rawValue]
            ) ?? 0
        loggedBytes = try Int.fetchOne(database, sql: "SELECT total(length(content)) FROM loggingData") ?? 0
    }
}
