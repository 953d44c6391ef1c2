import PebbleProtocol

// Changes of the databases that the watch makes itself. They are true at once; no answer waits until they are stored.

extension ServiceContext {
    /// Changes a record that the phone may write too, such as a setting.
    mutating func set(_ database: BlobDBDatabase, _ key: [UInt8], _ record: BlobDatabases.Record) {
        store.databases[database, key] = record
        remember(.record(StoredRecord(database: database, key: key, record: record)))
    }

    /// Adds a record of the watch's own to a database whose oldest records make way.
    mutating func insert(_ database: BlobDBDatabase, _ key: [UInt8], _ record: BlobDatabases.Record) {
        guard let rules = DatabaseRules(database), record.value.count <= rules.byteLimit else { return }
        store.databases[database, key] = nil
        for oldest in store.databases.keys(of: database) {
            let byteCount = store.databases.byteCount(of: database) + record.value.count
            guard store.databases.count(of: database) >= rules.recordLimit || byteCount > rules.byteLimit else { break }
            store.databases[database, oldest] = nil
            remember(.recordRemoved(database, key: oldest))
        }
        set(database, key, record)
    }

    /// All of a database's records count as changed by the watch.
    mutating func markAllDirty(_ database: BlobDBDatabase) {
        for key in store.databases.keys(of: database) { store.databases[database, key]?.isDirty = true }
        remember(.allRecordsDirty(database))
    }

    /// The phone has a record as it was at a time.
    mutating func wasWrittenBack(_ database: BlobDBDatabase, _ key: [UInt8], at timestamp: UInt32) {
        guard var record = store.databases[database, key], record.timestamp == timestamp else { return }
        record.isDirty = false
        set(database, key, record)
    }

    /// A notification, pin or reminder is not shown any more.
    mutating func dismiss(_ id: PebbleUUID) {
        guard let (database, key, found) = store.databases.shown(id), !found.status.contains(.dismissed),
            var record = store.databases[database, key]
        else { return }
        var item = found
        item.status.insert(.dismissed)
        record.value = []
        item.encode(to: &record.value)
        set(database, key, record)
        emit(.notificationRemoved(id))
    }
}

extension BlobDatabases {
    /// A notification, pin or reminder by its id, and where it is; nil if there is none.
    func shown(_ id: PebbleUUID) -> (database: BlobDBDatabase, key: [UInt8], item: TimelineItem)? {
        for database in [BlobDBDatabase.notifications, .pins, .reminders] {
            if let record = record(of: id, in: database) { return (database, record.key, record.item) }
        }
        return nil
    }
}
