import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch

// How a change of what services keep becomes rows.

extension ServiceTables {
    static func apply(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .several(let changes):
            for change in changes { try apply(change, in: database) }
        case .appPart, .appPartsRemoved, .allAppPartsRemoved, .file:
            try applyObject(change, in: database)
        case .updateBytes, .updateProgress, .updateDiscarded, .firmware, .recoveryFirmware:
            try applyUpdate(change, in: database)
        case .record, .recordRemoved, .databaseCleared, .allRecordsDirty, .isFaithful, .appOrder:
            try applyRecord(change, in: database)
        case .loggingSession, .loggingData, .loggingConsumed, .loggingFinished, .loggingEnded, .isDataLoggingEnabled:
            try applyLogging(change, in: database)
        case .coreDump(let bytes):
            try set(Fact.coreDump, to: Data(bytes), in: database)
            try remove(Fact.coreDumpIsRead, in: database)
        case .coreDumpRead:
            try set(Fact.coreDumpIsRead, to: Data(), in: database)
        case .factoryReset:
            for table in ["appPart", "file", "updateImage", "record", "loggingSession"] {
                try database.execute(sql: "DELETE FROM \(table)")
            }
            try database.execute(
                sql: "DELETE FROM fact WHERE name NOT IN (?, ?)",
                arguments: [Fact.firmware, Fact.recoveryFirmware]
            )
        }
    }

    private static func applyObject(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .appPart(let part, let bytes):
            try database.execute(
                sql: "INSERT OR REPLACE INTO appPart (application, kind, content) VALUES (?, ?, ?)",
                arguments: [part.application.data, part.kind.rawValue, Data(bytes)]
            )
        case .appPartsRemoved(let application):
            try database.execute(sql: "DELETE FROM appPart WHERE application = ?", arguments: [application.data])
        case .allAppPartsRemoved:
            try database.execute(sql: "DELETE FROM appPart")
        case .file(let name, let bytes):
            try database.execute(
                sql: "INSERT OR REPLACE INTO file (name, content) VALUES (?, ?)",
                arguments: [name, Data(bytes)]
            )
        default: break
        }
    }

    private static func applyUpdate(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .updateBytes(let part, let offset, let bytes):
            try database.execute(
                sql: "INSERT OR IGNORE INTO updateImage (part, progress) VALUES (?, ?)",
                arguments: [part.rawValue, StoredFirmwareImage.Progress.partial.rawValue]
            )
            try cut(part, to: offset, in: database)
            try database.execute(
                sql: "INSERT INTO updatePiece (part, offset, content) VALUES (?, ?, ?)",
                arguments: [part.rawValue, offset, Data(bytes)]
            )
        case .updateProgress(let part, let progress):
            try database.execute(
                sql: "UPDATE updateImage SET progress = ? WHERE part = ?",
                arguments: [progress.rawValue, part.rawValue]
            )
        case .updateDiscarded(let part):
            try database.execute(sql: "DELETE FROM updateImage WHERE part = ?", arguments: [part.rawValue])
        case .firmware(let metadata):
            try set(Fact.firmware, to: metadata.data, in: database)
        case .recoveryFirmware(let metadata):
            try set(Fact.recoveryFirmware, to: metadata.data, in: database)
        default: break
        }
    }

    private static func applyRecord(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .record(let stored):
            try database.execute(
                sql: """
                    INSERT INTO record (database, key, value, timestamp, isDirty) VALUES (?, ?, ?, ?, ?) \
                    ON CONFLICT (database, key) DO UPDATE SET \
                    value = excluded.value, timestamp = excluded.timestamp, isDirty = excluded.isDirty
                    """,
                arguments: [
                    stored.database.rawValue, Data(stored.key), Data(stored.record.value), stored.record.timestamp,
                    stored.record.isDirty,
                ]
            )
        case .recordRemoved(let number, let key):
            try database.execute(
                sql: "DELETE FROM record WHERE database = ? AND key = ?",
                arguments: [number.rawValue, Data(key)]
            )
        case .databaseCleared(let number):
            try database.execute(sql: "DELETE FROM record WHERE database = ?", arguments: [number.rawValue])
        case .allRecordsDirty(let number):
            try database.execute(sql: "UPDATE record SET isDirty = 1 WHERE database = ?", arguments: [number.rawValue])
        case .isFaithful(let isFaithful):
            try setFlag(Fact.isFaithful, to: isFaithful, in: database)
        case .appOrder(let order):
            try set(Fact.appOrder, to: order.reduce(into: Data()) { $0 += $1.data }, in: database)
        default: break
        }
    }

    private static func applyLogging(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .loggingSession(let id, let session):
            try database.execute(
                sql: """
                    INSERT INTO loggingSession \
                    (id, application, timestamp, tag, itemType, itemSize, consumed, isFinished) \
                    VALUES (?, ?, ?, ?, ?, ?, 0, 0)
                    """,
                arguments: [
                    id.rawValue, session.application.data, session.timestamp, session.tag, session.itemType.rawValue,
                    session.itemSize,
                ]
            )
        case .loggingData(let id, let offset, let items):
            try database.execute(
                sql: "INSERT INTO loggingData (session, offset, content) VALUES (?, ?, ?)",
                arguments: [id.rawValue, offset, Data(items)]
            )
        case .loggingConsumed(let id, let end):
            try database.execute(
                sql: "UPDATE loggingSession SET consumed = ? WHERE id = ?",
                arguments: [end, id.rawValue]
            )
            try database.execute(
                sql: "DELETE FROM loggingData WHERE session = ? AND offset + length(content) <= ?",
                arguments: [id.rawValue, end]
            )
        case .loggingFinished(let id):
            try database.execute(sql: "UPDATE loggingSession SET isFinished = 1 WHERE id = ?", arguments: [id.rawValue])
        case .loggingEnded(let id):
            try database.execute(sql: "DELETE FROM loggingSession WHERE id = ?", arguments: [id.rawValue])
        case .isDataLoggingEnabled(let isEnabled):
            try setFlag(Fact.isDataLoggingDisabled, to: !isEnabled, in: database)
        default: break
        }
    }

    /// A flag is set by being there.
    private static func setFlag(_ fact: String, to isSet: Bool, in database: Database) throws {
        if isSet { try set(fact, to: Data(), in: database) } else { try remove(fact, in: database) }
    }

    private static func remove(_ fact: String, in database: Database) throws {
        try database.execute(sql: "DELETE FROM fact WHERE name = ?", arguments: [fact])
    }

    private static func set(_ fact: String, to content: Data, in database: Database) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO fact (name, content) VALUES (?, ?)",
            arguments: [fact, content]
        )
    }

    /// Drops what an image has from a place on; a piece that reaches beyond it is shortened.
    private static func cut(_ part: FirmwarePart, to offset: Int, in database: Database) throws {
        try database.execute(
            sql: "DELETE FROM updatePiece WHERE part = ? AND offset >= ?",
            arguments: [part.rawValue, offset]
        )
        try database.execute(
            sql: """
                UPDATE updatePiece SET content = substr(content, 1, ?2 - offset) \
                WHERE part = ?1 AND offset + length(content) > ?2
                """,
            arguments: [part.rawValue, offset]
        )
    }
}

extension PebbleUUID {
    /// The 16 bytes.
    fileprivate var data: Data {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return Data(bytes)
    }
}

extension FirmwareMetadata {
    /// As it stands in an image.
    fileprivate var data: Data {
        var bytes: [UInt8] = []
        FirmwareImage.append(self, to: &bytes)
        return Data(bytes)
    }
}
