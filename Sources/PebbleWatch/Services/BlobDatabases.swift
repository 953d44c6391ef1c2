import PebbleProtocol

/// The watch's databases, as their phone has filled them.
public struct BlobDatabases: Sendable, Equatable {
    /// A key's value.
    public struct Record: Sendable, Equatable {
        /// The value as the phone or the watch wrote it; its layout is the database's.
        public var value: [UInt8]
        /// When it was last changed, in seconds since 1970: of use in the settings only, which both sides change.
        public var timestamp: UInt32
        /// Whether the watch changed it and the phone does not know yet.
        public var isDirty: Bool

        /// A value.
        public init(value: [UInt8], timestamp: UInt32 = 0, isDirty: Bool = false) {
            self.value = value
            self.timestamp = timestamp
            self.isDirty = isDirty
        }
    }

    /// A database: records in the order in which their keys were first inserted.
    private struct Table: Sendable, Equatable {
        var records: [[UInt8]: Record] = [:]
        /// Kept in step with `records`.
        var order: [[UInt8]] = []
        var byteCount = 0

        mutating func set(_ key: [UInt8], _ record: Record) {
            if let old = records.updateValue(record, forKey: key) {
                byteCount -= old.value.count
            } else {
                order.append(key)
            }
            byteCount += record.value.count
        }

        mutating func remove(_ key: [UInt8]) {
            guard let old = records.removeValue(forKey: key) else { return }
            byteCount -= old.value.count
            order.removeAll { $0 == key }
        }
    }

    private var tables: [BlobDBDatabase: Table] = [:]

    /// Empty databases.
    public init() {}

    /// Databases with these records, first to last.
    public init(_ records: [StoredRecord]) {
        for record in records { self[record.database, record.key] = record.record }
    }

    /// A key's value; nil if there is none.
    public subscript(database: BlobDBDatabase, key: [UInt8]) -> Record? {
        get { tables[database]?.records[key] }
        set {
            if let newValue {
                tables[database, default: Table()].set(key, newValue)
            } else {
                tables[database]?.remove(key)
            }
        }
    }

    /// A database's keys, in the order in which they were first inserted.
    public func keys(of database: BlobDBDatabase) -> [[UInt8]] { tables[database]?.order ?? [] }

    /// How many records a database has.
    public func count(of database: BlobDBDatabase) -> Int { tables[database]?.order.count ?? 0 }

    /// The length of a database's values together.
    public func byteCount(of database: BlobDBDatabase) -> Int { tables[database]?.byteCount ?? 0 }

    /// The databases that have records.
    public var databases: [BlobDBDatabase] {
        tables.filter { !$0.value.order.isEmpty }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Every record, database by database.
    public var all: [StoredRecord] {
        databases.flatMap { database in
            keys(of: database).compactMap { key in
                self[database, key].map { StoredRecord(database: database, key: key, record: $0) }
            }
        }
    }

    mutating func clear(_ database: BlobDBDatabase) { tables[database] = nil }

    /// The items of one of the databases of the timeline, in the order in which they came.
    public func items(of database: BlobDBDatabase) -> [TimelineItem] {
        keys(of: database).compactMap { key in
            guard let value = self[database, key]?.value else { return nil }
            return try? TimelineItem(value[...], reading: .asKept)
        }
    }

    /// The record of an item: under its id, or, since a phone may write a pin or a reminder under another key, wherever it is.
    func record(of id: PebbleUUID, in database: BlobDBDatabase) -> (key: [UInt8], item: TimelineItem)? {
        for key in [id.key] + keys(of: database) {
            guard let value = self[database, key]?.value, let item = try? TimelineItem(value[...], reading: .asKept),
                item.id == id
            else {
                continue
            }
            return (key, item)
        }
        return nil
    }
}

/// A record, as it is remembered.
public struct StoredRecord: Sendable, Equatable {
    /// The database that it is in.
    public var database: BlobDBDatabase
    /// Its key, as the database has it.
    public var key: [UInt8]
    /// Its value, when that was last changed, and whether the phone knows.
    public var record: BlobDatabases.Record

    /// A record.
    public init(database: BlobDBDatabase, key: [UInt8], record: BlobDatabases.Record) {
        self.database = database
        self.key = key
        self.record = record
    }
}
