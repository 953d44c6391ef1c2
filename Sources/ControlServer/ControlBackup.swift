/// What a backup of a watch's state has in it; nothing secret.
public struct ControlBackup: Codable, Sendable, Equatable {
    /// In bytes.
    public let size: Int
    /// The version of the store's tables.
    public let schema: Int
    /// Who the watch is; nothing before its first start.
    public let address: String?
    /// Bonded phones.
    public let phones: Int
    /// Apps that phones have installed.
    public let apps: Int
    /// Entries of the phones' databases, those of the apps among them.
    public let records: Int
    /// Bytes of logged data that no phone has taken.
    public let loggedBytes: Int

    /// What was counted.
    public init(
        size: Int,
        schema: Int,
        address: String?,
        phones: Int,
        apps: Int,
        records: Int,
        loggedBytes: Int
    ) {
        self.size = size
        self.schema = schema
        self.address = address
        self.phones = phones
        self.apps = apps
        self.records = records
        self.loggedBytes = loggedBytes
    }
}
