import BluetoothHCI
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
    init(of connection: SQLiteConnection, size: Int) throws {
        self.size = size
        schema = try Schema.version(of: connection)
        address = try IdentityRecord.load(from: connection)?.address.address
        phones = try connection.first("SELECT count(*) FROM phone") ?? 0
        guard try connection.hasTable("record") else {
            (apps, records, loggedBytes) = (0, 0, 0)
            return
        }
        records = try connection.first("SELECT count(*) FROM record") ?? 0
        let apps = "SELECT count(*) FROM record WHERE database = ?"
        self.apps = try connection.first(apps, [BlobDBDatabase.apps.rawValue]) ?? 0
        loggedBytes = try connection.first("SELECT coalesce(sum(length(content)), 0) FROM loggingData") ?? 0
    }
}
