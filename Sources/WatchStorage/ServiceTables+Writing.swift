import PebbleProtocol
import PebbleWatch

// How a change of what services keep becomes rows.

extension ServiceTables {
    static func apply(_ change: ServiceChange, in connection: SQLiteConnection) throws {
        switch change {
        case .several(let changes):
            for change in changes { try apply(change, in: connection) }
        case .appPart, .appPartsRemoved, .allAppPartsRemoved, .file:
            try applyObject(change, in: connection)
        case .updateBytes, .updateProgress, .updateDiscarded, .firmware, .recoveryFirmware:
            try applyUpdate(change, in: connection)
        case .record, .recordRemoved, .databaseCleared, .allRecordsDirty, .isFaithful, .appOrder:
            try applyRecord(change, in: connection)
        case .loggingSession, .loggingData, .loggingConsumed, .loggingFinished, .loggingEnded, .isDataLoggingEnabled:
            try applyLogging(change, in: connection)
        case .coreDump(let bytes):
            try set(Fact.coreDump, to: bytes, in: connection)
            try remove(Fact.coreDumpIsRead, in: connection)
        case .coreDumpRead:
            try set(Fact.coreDumpIsRead, to: [], in: connection)
        case .factoryReset:
            for table in ["appPart", "file", "updateImage", "record", "loggingSession"] {
                try connection.execute("DELETE FROM \(table)")
            }
            try connection.execute(
                "DELETE FROM fact WHERE name NOT IN (?, ?)",
                [Fact.firmware, Fact.recoveryFirmware]
            )
        }
    }

    private static func applyObject(_ change: ServiceChange, in connection: SQLiteConnection) throws {
        switch change {
        case .appPart(let part, let bytes):
            try connection.execute(
                "INSERT OR REPLACE INTO appPart (application, kind, content) VALUES (?, ?, ?)",
                [part.application.bytes, part.kind.rawValue, bytes]
            )
        case .appPartsRemoved(let application):
            try connection.execute("DELETE FROM appPart WHERE application = ?", [application.bytes])
        case .allAppPartsRemoved:
            try connection.execute("DELETE FROM appPart")
        case .file(let name, let bytes):
            try connection.execute(
                "INSERT OR REPLACE INTO file (name, content) VALUES (?, ?)",
                [name, bytes]
            )
        default: break
        }
    }

    private static func applyUpdate(_ change: ServiceChange, in connection: SQLiteConnection) throws {
        switch change {
        case .updateBytes(let part, let offset, let bytes):
            try connection.execute(
                "INSERT OR IGNORE INTO updateImage (part, progress) VALUES (?, ?)",
                [part.rawValue, StoredFirmwareImage.Progress.partial.rawValue]
            )
            try cut(part, to: offset, in: connection)
            try connection.execute(
                "INSERT INTO updatePiece (part, offset, content) VALUES (?, ?, ?)",
                [part.rawValue, offset, bytes]
            )
        case .updateProgress(let part, let progress):
            try connection.execute(
                "UPDATE updateImage SET progress = ? WHERE part = ?",
                [progress.rawValue, part.rawValue]
            )
        case .updateDiscarded(let part):
            try connection.execute("DELETE FROM updateImage WHERE part = ?", [part.rawValue])
        case .firmware(let metadata):
            try set(Fact.firmware, to: metadata.bytes, in: connection)
        case .recoveryFirmware(let metadata):
            try set(Fact.recoveryFirmware, to: metadata.bytes, in: connection)
        default: break
        }
    }

    private static func applyRecord(_ change: ServiceChange, in connection: SQLiteConnection) throws {
        switch change {
        case .record(let stored):
            try connection.execute(
                """
                INSERT INTO record (database, key, value, timestamp, isDirty) VALUES (?, ?, ?, ?, ?) \
                ON CONFLICT (database, key) DO UPDATE SET \
                value = excluded.value, timestamp = excluded.timestamp, isDirty = excluded.isDirty
                """,
                [
                    stored.database.rawValue, stored.key, stored.record.value, stored.record.timestamp,
                    stored.record.isDirty,
                ]
            )
        case .recordRemoved(let number, let key):
            try connection.execute(
                "DELETE FROM record WHERE database = ? AND key = ?",
                [number.rawValue, key]
            )
        case .databaseCleared(let number):
            try connection.execute("DELETE FROM record WHERE database = ?", [number.rawValue])
        case .allRecordsDirty(let number):
            try connection.execute("UPDATE record SET isDirty = 1 WHERE database = ?", [number.rawValue])
        case .isFaithful(let isFaithful):
            try setFlag(Fact.isFaithful, to: isFaithful, in: connection)
        case .appOrder(let order):
            try set(Fact.appOrder, to: order.reduce(into: [UInt8]()) { $0 += $1.bytes }, in: connection)
        default: break
        }
    }

    private static func applyLogging(_ change: ServiceChange, in connection: SQLiteConnection) throws {
        switch change {
        case .loggingSession(let id, let session):
            try connection.execute(
                """
                INSERT INTO loggingSession \
                (id, application, timestamp, tag, itemType, itemSize, consumed, isFinished) \
                VALUES (?, ?, ?, ?, ?, ?, 0, 0)
                """,
                [
                    id.rawValue, session.application.bytes, session.timestamp, session.tag, session.itemType.rawValue,
                    session.itemSize,
                ]
            )
        case .loggingData(let id, let offset, let items):
            try connection.execute(
                "INSERT INTO loggingData (session, offset, content) VALUES (?, ?, ?)",
                [id.rawValue, offset, items]
            )
        case .loggingConsumed(let id, let end):
            try connection.execute(
                "UPDATE loggingSession SET consumed = ? WHERE id = ?",
                [end, id.rawValue]
            )
            try connection.execute(
                "DELETE FROM loggingData WHERE session = ? AND offset + length(content) <= ?",
                [id.rawValue, end]
            )
        case .loggingFinished(let id):
            try connection.execute("UPDATE loggingSession SET isFinished = 1 WHERE id = ?", [id.rawValue])
        case .loggingEnded(let id):
            try connection.execute("DELETE FROM loggingSession WHERE id = ?", [id.rawValue])
        case .isDataLoggingEnabled(let isEnabled):
            try setFlag(Fact.isDataLoggingDisabled, to: !isEnabled, in: connection)
        default: break
        }
    }

    /// A flag is set by being there.
    private static func setFlag(_ fact: String, to isSet: Bool, in connection: SQLiteConnection) throws {
        if isSet { try set(fact, to: [], in: connection) } else { try remove(fact, in: connection) }
    }

    private static func remove(_ fact: String, in connection: SQLiteConnection) throws {
        try connection.execute("DELETE FROM fact WHERE name = ?", [fact])
    }

    private static func set(_ fact: String, to content: [UInt8], in connection: SQLiteConnection) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO fact (name, content) VALUES (?, ?)",
            [fact, content]
        )
    }

    /// Drops what an image has from a place on; a piece that reaches beyond it is shortened.
    private static func cut(_ part: FirmwarePart, to offset: Int, in connection: SQLiteConnection) throws {
        try connection.execute(
            "DELETE FROM updatePiece WHERE part = ? AND offset >= ?",
            [part.rawValue, offset]
        )
        try connection.execute(
            """
            UPDATE updatePiece SET content = substr(content, 1, ?2 - offset) \
            WHERE part = ?1 AND offset + length(content) > ?2
            """,
            [part.rawValue, offset]
        )
    }
}

extension PebbleUUID {
    /// The 16 bytes.
    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return bytes
    }
}

extension FirmwareMetadata {
    /// As it stands in an image.
    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        FirmwareImage.append(self, to: &bytes)
        return bytes
    }
}
