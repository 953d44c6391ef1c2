import ByteCoding
import PebbleProtocol

/// Endpoint 0xB1DB: the phone fills the watch's databases.
///
/// Commands are answered one by one, in order, each when the store has what it changed. What they mean for the rest of
/// the watch is told as ``Effect``s.
struct BlobDBService: Sendable {
    /// Commands that may wait for the store; a phone that sends more is told to try later.
    static let queueLimit = 64

    /// A change of a database that has become true.
    enum Effect: Sendable {
        case inserted(BlobDBDatabase, key: [UInt8], value: [UInt8])
        /// A notification that was there has another status.
        case notificationChanged(TimelineItem)
        case deleted(BlobDBDatabase, key: [UInt8])
        case cleared(BlobDBDatabase)
    }

    private struct Request: Sendable {
        let session: SessionID
        let token: BlobDBToken
        let command: BlobDBRequest.Command
    }

    /// What a command comes to: an answer at once, or a change that is to be stored first, and what it means.
    private enum Verdict {
        case answer(BlobDBStatus)
        case store(ServiceChange, Effect)
    }

    private(set) var databases: BlobDatabases
    /// Whether what the phone believes to be in the databases is true. It is not on a watch that has lost them; a phone
    /// that has cleared one starts again.
    private(set) var isFaithful: Bool
    private var queue: [Request] = []
    /// What the store was handed of the first of the queue.
    private var storing: (change: ServiceChange, effect: Effect)?

    init(databases: BlobDatabases, isFaithful: Bool) {
        self.databases = databases
        self.isFaithful = isFaithful
    }

    mutating func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        guard let request = try? BlobDBRequest(payload: message.payload) else {
            context.reply(BlobDBResponse(token: .none, status: .invalidData), on: session)
            return
        }
        guard queue.count < Self.queueLimit else {
            context.reply(BlobDBResponse(token: request.token, status: .tryLater), on: session)
            return
        }
        queue.append(Request(session: session, token: request.token, command: request.command))
        work(in: &context)
    }

    /// The session that waited for answers is gone. What is with the store happens all the same.
    mutating func sessionClosed(_ session: SessionID) {
        let first = storing == nil ? nil : queue.first
        queue.removeAll { $0.session == session }
        if let first, first.session == session { queue.insert(first, at: 0) }
    }

    /// The store has the change of the command that waits, or could not take it.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) -> Effect? {
        guard let (change, effect) = storing, !queue.isEmpty else { return nil }
        storing = nil
        let request = queue.removeFirst()
        defer { work(in: &context) }
        guard failure == nil else {
            answer(request, failure.map(Self.status) ?? .generalFailure, in: &context)
            return nil
        }
        apply(change)
        answer(request, .success, in: &context)
        return effect
    }

    private static func status(of failure: WatchStoreError) -> BlobDBStatus {
        if case .full = failure { .databaseFull } else { .generalFailure }
    }

    private func answer(_ request: Request, _ status: BlobDBStatus, in context: inout ServiceContext) {
        if status != .success {
            context.log(.info, .session, "\(request.session): a database command was refused: \(status)")
        }
        context.reply(BlobDBResponse(token: request.token, status: status), on: request.session)
    }

    /// Answers what can be answered, up to the first command that the store has to hear of.
    private mutating func work(in context: inout ServiceContext) {
        while storing == nil, let request = queue.first {
            switch verdict(on: request.command, in: context) {
            case .answer(let status):
                queue.removeFirst()
                answer(request, status, in: &context)
            case .store(let change, let effect):
                storing = (change, effect)
                context.remember(change, for: .blobDB)
            }
        }
    }
}

// MARK: - Commands

extension BlobDBService {
    private func verdict(on command: BlobDBRequest.Command, in context: ServiceContext) -> Verdict {
        do throws(DatabaseRules.Refusal) {
            switch command {
            case .insert(let database, let record, let timestamp):
                return try insertion(into: database, record, timestamp: timestamp, in: context)
            case .delete(let database, let key):
                let deletion = try rules(of: database).deletion(of: key)
                guard databases[database, deletion.key] != nil else { return .answer(deletion.statusIfMissing) }
                let removal = Self.removal(from: database, deletion.key)
                return .store(removal, .deleted(database, key: deletion.key))
            case .clear(let database):
                guard try rules(of: database).canBeCleared else { return .answer(.dataStale) }
                var changes: [ServiceChange] = [.databaseCleared(database), .isFaithful(true)]
                if database == .apps { changes.append(.allAppPartsRemoved) }
                return .store(.several(changes), .cleared(database))
            case .unsupported:
                return .answer(.invalidOperation)
            case .malformed:
                return .answer(.invalidData)
            }
        } catch {
            return .answer(error.status)
        }
    }

    private func rules(of database: BlobDBDatabase) throws(DatabaseRules.Refusal) -> DatabaseRules {
        guard let rules = DatabaseRules(database) else { throw DatabaseRules.Refusal(status: .invalidDatabase) }
        return rules
    }

    private func insertion(
        into database: BlobDBDatabase,
        _ record: BlobDBRecord,
        timestamp: UInt32?,
        in context: ServiceContext
    ) throws(DatabaseRules.Refusal) -> Verdict {
        let rules = try rules(of: database)
        let place = try rules.place(of: record, known: databases, in: context)
        let key = place.key
        let known = databases[database, key]
        // Both sides change settings: the later change holds.
        if database == .settings, let timestamp, let known, known.timestamp > timestamp { return .answer(.dataStale) }
        if database == .notifications, let verdict = statusChange(of: known, by: place) { return verdict }
        var changes: [ServiceChange] = []
        var count = databases.count(of: database) + (known == nil ? 1 : 0)
        var byteCount = databases.byteCount(of: database) - (known?.value.count ?? 0) + place.value.count
        for oldest in databases.keys(of: database) {
            guard count > rules.recordLimit || byteCount > rules.byteLimit else { break }
            guard rules.dropsOldest else { return .answer(.databaseFull) }
            guard oldest != key else { continue }
            count -= 1
            byteCount -= databases[database, oldest]?.value.count ?? 0
            changes.append(Self.removal(from: database, oldest))
        }
        changes.append(.record(stored(place, timestamp: timestamp, in: database, in: context)))
        if database == .apps, let application = PebbleUUID(key) { changes.append(.appPartsRemoved(of: application)) }
        return .store(
            changes.count == 1 ? changes[0] : .several(changes),
            .inserted(database, key: key, value: place.value)
        )
    }

    /// Of a notification that is known, only the status changes; and one that already has a status, but is not known, is not
    /// shown.
    /// - Returns: nil for one that is new.
    private func statusChange(of known: BlobDatabases.Record?, by place: DatabaseRules.Place) -> Verdict? {
        guard let item = try? TimelineItem(place.value[...]) else { return nil }
        guard var record = known, var shown = try? TimelineItem(record.value[...]) else {
            return item.status.isEmpty ? nil : .answer(.success)
        }
        shown.status = item.status
        record.value = []
        shown.encode(to: &record.value)
        let change = StoredRecord(database: .notifications, key: place.key, record: record)
        return .store(.record(change), .notificationChanged(shown))
    }

    private func stored(
        _ place: DatabaseRules.Place,
        timestamp: UInt32?,
        in database: BlobDBDatabase,
        in context: ServiceContext
    ) -> StoredRecord {
        StoredRecord(
            database: database,
            key: place.key,
            record: BlobDatabases.Record(
                value: place.value,
                timestamp: timestamp ?? context.clock.seconds(at: context.now)
            )
        )
    }

    private static func removal(from database: BlobDBDatabase, _ key: [UInt8]) -> ServiceChange {
        guard database == .apps, let application = PebbleUUID(key) else { return .recordRemoved(database, key: key) }
        return .several([.recordRemoved(database, key: key), .appPartsRemoved(of: application)])
    }

    /// Makes true what the store has.
    private mutating func apply(_ change: ServiceChange) {
        switch change {
        case .several(let changes): for change in changes { apply(change) }
        case .record(let stored): databases[stored.database, stored.key] = stored.record
        case .recordRemoved(let database, let key): databases[database, key] = nil
        case .databaseCleared(let database): databases.clear(database)
        case .isFaithful(let value): isFaithful = value
        case .appPart, .appPartsRemoved, .allAppPartsRemoved, .file, .updateBytes, .updateProgress, .updateDiscarded,
            .firmware, .recoveryFirmware, .allRecordsDirty, .appOrder, .loggingSession, .loggingData, .loggingConsumed,
            .loggingFinished, .loggingEnded, .isDataLoggingEnabled, .coreDump, .coreDumpRead, .factoryReset:
            // Kept by other services, or applied already.
            break
        }
    }
}

// MARK: - Changes that the watch makes itself

extension BlobDBService {
    /// Changes a record that the phone may write too, such as a setting. It is true at once; that it is stored is no
    /// one's to wait for.
    mutating func set(
        _ database: BlobDBDatabase,
        _ key: [UInt8],
        _ record: BlobDatabases.Record,
        in context: inout ServiceContext
    ) {
        databases[database, key] = record
        context.remember(.record(StoredRecord(database: database, key: key, record: record)))
    }

    /// Adds a record of the watch's own to a database whose oldest records make way.
    mutating func insert(
        _ database: BlobDBDatabase,
        _ key: [UInt8],
        _ record: BlobDatabases.Record,
        in context: inout ServiceContext
    ) {
        guard let rules = DatabaseRules(database), record.value.count <= rules.byteLimit else { return }
        databases[database, key] = nil
        for oldest in databases.keys(of: database) {
            let byteCount = databases.byteCount(of: database) + record.value.count
            guard databases.count(of: database) >= rules.recordLimit || byteCount > rules.byteLimit else { break }
            databases[database, oldest] = nil
            context.remember(.recordRemoved(database, key: oldest))
        }
        set(database, key, record, in: &context)
    }

    /// All of a database's records count as changed by the watch.
    mutating func markAllDirty(_ database: BlobDBDatabase, in context: inout ServiceContext) {
        for key in databases.keys(of: database) { databases[database, key]?.isDirty = true }
        context.remember(.allRecordsDirty(database))
    }

    /// The phone has a record as it was at a time.
    mutating func wasWrittenBack(
        _ database: BlobDBDatabase,
        _ key: [UInt8],
        at timestamp: UInt32,
        in context: inout ServiceContext
    ) {
        guard var record = databases[database, key], record.timestamp == timestamp else { return }
        record.isDirty = false
        set(database, key, record, in: &context)
    }
}

extension PebbleUUID {
    /// Reads the 16 bytes of a key; nil if they are not 16.
    init?(_ key: [UInt8]) {
        guard key.count == Self.encodedLength else { return nil }
        var reader = ByteReader(key)
        guard let uuid = try? PebbleUUID(reading: &reader, "key") else { return nil }
        self = uuid
    }

    /// The 16 bytes.
    var key: [UInt8] {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return bytes
    }
}
