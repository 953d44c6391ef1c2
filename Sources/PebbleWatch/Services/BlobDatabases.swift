import PebbleProtocol

/// The watch's databases, as their phone has filled them.
public struct BlobDatabases: Sendable, Equatable {
    /// A key's value.
    public struct Record: Sendable, Equatable {
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
            return try? TimelineItem(value[...])
        }
    }
}

/// A record, as it is remembered.
public struct StoredRecord: Sendable, Equatable {
    public var database: BlobDBDatabase
    public var key: [UInt8]
    public var record: BlobDatabases.Record

    /// A record.
    public init(database: BlobDBDatabase, key: [UInt8], record: BlobDatabases.Record) {
        self.database = database
        self.key = key
        self.record = record
    }
}

/// What a database takes.
struct DatabaseRules: Sendable {
    /// What a key is.
    enum Key: Sendable {
        case uuid
        /// Printable ASCII, at most ``textLimit`` bytes.
        case text

        static let textLimit = 64

        func allows(_ key: ArraySlice<UInt8>) -> Bool {
            switch self {
            case .uuid: key.count == PebbleUUID.encodedLength
            case .text: (1...Self.textLimit).contains(key.count) && key.allSatisfy { (0x20...0x7E).contains($0) }
            }
        }
    }

    /// What a value is.
    enum Value: Sendable {
        case anything
        case app
        case timelineItem

        func allows(_ value: ArraySlice<UInt8>, for key: ArraySlice<UInt8>) -> Bool {
            switch self {
            case .anything: true
            case .app:
                if let metadata = try? AppMetadata(value) {
                    metadata.uuid.isLaunchable && value.prefix(16) == key
                } else {
                    false
                }
            case .timelineItem:
                (try? TimelineItem(value)) != nil && value.prefix(16) == key
            }
        }
    }

    let key: Key
    let value: Value
    /// The most records that there is room for.
    let recordLimit: Int
    /// The longest value, and the most bytes of values together.
    let byteLimit: Int
    /// Whether the oldest record makes way when there is no room; otherwise the new one is refused.
    let dropsOldest: Bool

    private init(_ key: Key, _ value: Value, records: Int, bytes: Int, dropsOldest: Bool = false) {
        self.key = key
        self.value = value
        recordLimit = records
        byteLimit = bytes
        self.dropsOldest = dropsOldest
    }

    /// Nil for a number that no database has.
    init?(_ database: BlobDBDatabase) {
        switch database {
        case .test: self.init(.text, .anything, records: 64, bytes: 64 * 1024)
        case .pins, .reminders: self.init(.uuid, .timelineItem, records: 1024, bytes: 512 * 1024)
        case .apps: self.init(.uuid, .app, records: 512, bytes: 512 * AppMetadata.encodedLength)
        case .notifications: self.init(.uuid, .timelineItem, records: 128, bytes: 128 * 1024, dropsOldest: true)
        case .weather, .appGlances: self.init(.uuid, .anything, records: 128, bytes: 128 * 1024)
        case .contacts: self.init(.uuid, .anything, records: 512, bytes: 256 * 1024)
        case .cannedMessages, .healthPreferences, .watchAppPreferences, .healthStatistics:
            self.init(.text, .anything, records: 512, bytes: 256 * 1024)
        case .settings: self.init(.text, .anything, records: 256, bytes: 64 * 1024)
        default: return nil
        }
    }
}
