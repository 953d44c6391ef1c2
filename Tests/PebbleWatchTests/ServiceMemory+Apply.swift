import PebbleProtocol
import PebbleWatch
import Testing

extension ServiceMemory {
    /// What a store does with a change.
    mutating func apply(_ change: ServiceChange) {
        switch change {
        case .several(let changes):
            for change in changes { apply(change) }
        case .appPart(let part, let bytes):
            appParts[part] = StoredObject(bytes)
        case .appPartsRemoved(let application):
            appParts = appParts.filter { $0.key.application != application }
        case .file(let name, let bytes):
            files[name] = StoredObject(bytes)
        case .updateBytes(let part, let offset, let bytes):
            let before = update[part] ?? StoredFirmwareImage(bytes: [])
            update[part] = StoredFirmwareImage(bytes: before.bytes.prefix(offset) + bytes, progress: before.progress)
        case .updateProgress(let part, let progress):
            update[part]?.progress = progress
        case .updateDiscarded(let part):
            update[part] = nil
        case .firmware(let metadata):
            firmware = metadata
        case .recoveryFirmware(let metadata):
            recoveryFirmware = metadata
        case .allAppPartsRemoved:
            appParts = [:]
        case .record(let stored):
            if let index = index(of: stored.database, stored.key) {
                records[index] = stored
            } else {
                records.append(stored)
            }
        case .recordRemoved(let database, let key):
            if let index = index(of: database, key) { records.remove(at: index) }
        case .databaseCleared(let database):
            records.removeAll { $0.database == database }
        case .allRecordsDirty(let database):
            for index in records.indices where records[index].database == database {
                records[index].record.isDirty = true
            }
        case .isFaithful(let value):
            isFaithful = value
        case .appOrder(let order):
            appOrder = order
        case .loggingSession(let id, let session):
            logging[id] = LoggingSpool(session: session)
        case .loggingData(let id, let offset, let items):
            #expect(logging[id]?.end == offset)
            logging[id]?.append(items)
        case .loggingConsumed(let id, let end):
            if let spool = logging[id] {
                logging[id] = LoggingSpool(
                    session: spool.session,
                    bytes: Array(spool.bytes.dropFirst(end - spool.start)),
                    start: end,
                    isFinished: spool.isFinished
                )
            }
        case .loggingFinished(let id):
            logging[id]?.isFinished = true
        case .loggingEnded(let id):
            logging[id] = nil
        case .isDataLoggingEnabled(let value):
            isDataLoggingEnabled = value
        case .coreDump(let bytes):
            coreDump = CoreDump(bytes: bytes)
        case .coreDumpRead:
            coreDump?.isRead = true
        case .factoryReset:
            self = ServiceMemory(firmware: firmware, recoveryFirmware: recoveryFirmware)
        }
    }

    private func index(of database: BlobDBDatabase, _ key: [UInt8]) -> Int? {
        records.firstIndex { $0.database == database && $0.key == key }
    }
}
