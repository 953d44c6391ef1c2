import ByteCoding
import PebbleProtocol

/// Endpoint 0xB1DB: the phone fills the watch's databases.
///
/// Commands are answered one by one, in order, each when the store has what it changed. What that means for the rest of the
/// watch follows.
struct BlobDBService: EndpointService {
    static var endpoint: Endpoint { .blobDB }

    /// Commands that may wait for the store; a phone that sends more is told to try later.
    static let queueLimit = 64

    /// A change of a database that has become true.
    private enum Effect: Sendable {
        case inserted(BlobDBDatabase, key: [UInt8], value: [UInt8])
        /// A notification that was there has another status.
        case notificationChanged(TimelineItem)
        case deleted(BlobDBDatabase, key: [UInt8])
        /// A pin is gone, and its reminders with it.
        case pinDeleted([(database: BlobDBDatabase, key: [UInt8])])
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

    private var queue: [Request] = []
    /// What the store was handed of the first of the queue.
    private var storing: (change: ServiceChange, effect: Effect)?

    mutating func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        guard let request = try? BlobDBRequest(payload: message.payload) else {
            context.reply(BlobDBResponse(token: .none, status: .invalidData), on: session)
            return
        }
        // During an update of the firmware its databases are closed.
        guard !context.isUpdating else {
            context.reply(BlobDBResponse(token: request.token, status: .tryLater), on: session)
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
    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        let first = storing == nil ? nil : queue.first
        queue.removeAll { $0.session == session }
        if let first, first.session == session { queue.insert(first, at: 0) }
    }

    /// The store has the change of the command that waits, or could not take it.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard let (change, effect) = storing, !queue.isEmpty else { return }
        storing = nil
        let request = queue.removeFirst()
        if let failure {
            answer(request, Self.status(of: failure), in: &context)
            return work(in: &context)
        }
        Self.apply(change, to: &context.store)
        answer(request, .success, in: &context)
        work(in: &context)
        carryOut(effect, in: &context)
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
                let deletion = try rules(of: database).deletion(of: key, in: context)
                guard database != .pins else {
                    return Self.pinDeletion(deletion.key, context.store.databases) ?? .answer(deletion.statusIfMissing)
                }
                guard context.store.databases[database, deletion.key] != nil else {
                    return .answer(deletion.statusIfMissing)
                }
                let removal = Self.removal(from: database, deletion.key)
                return .store(removal, .deleted(database, key: deletion.key))
            case .clear(let database):
                let rules = try rules(of: database)
                try rules.expectDatabase(in: context)
                guard rules.canBeCleared else { return .answer(.dataStale) }
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

    /// A pin takes the reminders with it whose parent is its key, as in the firmware: also those of a pin that is gone already.
    /// - Returns: nil if there is nothing to delete.
    private static func pinDeletion(_ key: [UInt8], _ databases: BlobDatabases) -> Verdict? {
        var places: [(database: BlobDBDatabase, key: [UInt8])] = databases[.pins, key] == nil ? [] : [(.pins, key)]
        for reminder in databases.keys(of: .reminders) {
            guard let value = databases[.reminders, reminder]?.value,
                let item = try? TimelineItem(value[...], reading: .asKept),
                item.parent.key == key
            else { continue }
            places.append((.reminders, reminder))
        }
        guard !places.isEmpty else { return nil }
        let changes = places.map { ServiceChange.recordRemoved($0.database, key: $0.key) }
        return .store(changes.count == 1 ? changes[0] : .several(changes), .pinDeleted(places))
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
        let databases = context.store.databases
        let place = try rules.place(of: record, in: context)
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
    private static func apply(_ change: ServiceChange, to store: inout ServiceStore) {
        switch change {
        case .several(let changes): for change in changes { apply(change, to: &store) }
        case .record(let stored): store.databases[stored.database, stored.key] = stored.record
        case .recordRemoved(let database, let key): store.databases[database, key] = nil
        case .databaseCleared(let database): store.databases.clear(database)
        case .isFaithful(let value): store.isFaithful = value
        case .appPart, .appPartsRemoved, .allAppPartsRemoved, .file, .updateBytes, .updateProgress, .updateDiscarded,
            .firmware, .recoveryFirmware, .allRecordsDirty, .appOrder, .loggingSession, .loggingData, .loggingConsumed,
            .loggingFinished, .loggingEnded, .isDataLoggingEnabled, .coreDump, .coreDumpRead, .factoryReset:
            // Kept by other services, or applied already.
            break
        }
    }
}

// MARK: - Effects

extension BlobDBService {
    /// What a changed database means for the rest of the watch.
    private func carryOut(_ effect: Effect, in context: inout ServiceContext) {
        switch effect {
        case .inserted(.apps, _, let value):
            guard let metadata = try? AppMetadata(value[...]) else { return }
            context.store.apps.insert(metadata)
            context.effects.append(.appInstalled(metadata))
        case .deleted(.apps, let key):
            guard let uuid = PebbleUUID(key) else { return }
            context.store.apps.remove(uuid)
            context.effects.append(.appRemoved(uuid))
        case .cleared(.apps):
            context.effects.append(.appsCleared(context.store.apps.all.map(\.metadata.uuid)))
            context.store.apps.removeAll()
        case .inserted(.notifications, _, let value):
            if let item = try? TimelineItem(value[...]) { context.emit(.notificationShown(item)) }
        case .notificationChanged(let item):
            var value: [UInt8] = []
            item.encode(to: &value)
            context.emit(.recordChanged(.notifications, key: item.id.key, value: value))
            if !item.isShown { context.emit(.notificationRemoved(item.id)) }
        case .deleted(.notifications, let key):
            if let id = PebbleUUID(key) { context.emit(.notificationRemoved(id)) }
        case .inserted(let database, let key, let value):
            context.emit(.recordChanged(database, key: key, value: value))
        case .deleted(let database, let key):
            context.emit(.recordRemoved(database, key: key))
        case .pinDeleted(let places):
            for (database, key) in places { context.emit(.recordRemoved(database, key: key)) }
        case .cleared(let database):
            context.emit(.databaseCleared(database))
        }
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
