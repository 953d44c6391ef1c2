import ByteCoding
import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch

/// What the services keep, as tables. Numbers and names in them are those of the protocol.
enum ServiceTables {
    static func create(in database: Database) throws {
        try database.create(table: "appPart") { table in
            table.column("application", .blob).notNull()
            table.column("kind", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["application", "kind"])
        }
        try database.create(table: "file") { table in
            table.primaryKey("name", .text)
            table.column("content", .blob).notNull()
        }
        // An image comes in pieces, over minutes; each is a row of its own.
        try database.create(table: "updateImage") { table in
            table.primaryKey("part", .integer)
            table.column("progress", .integer).notNull()
        }
        try database.create(table: "updatePiece") { table in
            table.column("part", .integer).notNull()
                .references("updateImage", onDelete: .cascade)
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["part", "offset"])
        }
        // The row's own number is the order in which keys were first inserted.
        try database.create(table: "record") { table in
            table.column("database", .integer).notNull()
            table.column("key", .blob).notNull()
            table.column("value", .blob).notNull()
            table.column("timestamp", .integer).notNull()
            table.column("isDirty", .boolean).notNull()
            table.uniqueKey(["database", "key"])
        }
        try database.create(table: "loggingSession") { table in
            table.primaryKey("id", .integer)
            table.column("application", .blob).notNull()
            table.column("timestamp", .integer).notNull()
            table.column("tag", .integer).notNull()
            table.column("itemType", .integer).notNull()
            table.column("itemSize", .integer).notNull()
            table.column("consumed", .integer).notNull()
            table.column("isFinished", .boolean).notNull()
        }
        try database.create(table: "loggingData") { table in
            table.column("session", .integer).notNull()
                .references("loggingSession", onDelete: .cascade)
            // Bytes that were logged before these.
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["session", "offset"])
        }
        // What there is one of.
        try database.create(table: "fact") { table in
            table.primaryKey("name", .text)
            table.column("content", .blob).notNull()
        }
    }

    /// The names in the table of facts.
    private enum Fact {
        static let firmware = "firmware"
        static let recoveryFirmware = "recovery firmware"
        static let isFaithful = "is faithful"
        static let appOrder = "app order"
        static let isDataLoggingDisabled = "data logging is disabled"
        static let coreDump = "core dump"
        static let coreDumpIsRead = "core dump is read"
    }

    // MARK: Writing

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

    // MARK: Reading

    static func load(from database: Database) throws -> ServiceMemory {
        ServiceMemory(
            firmware: try fact(Fact.firmware, in: database).flatMap { FirmwareImage.metadata(of: Array($0)) },
            recoveryFirmware: try fact(Fact.recoveryFirmware, in: database)
                .flatMap { FirmwareImage.metadata(of: Array($0)) },
            update: try updateImages(in: database),
            appParts: try appParts(in: database),
            files: try files(in: database),
            records: try records(in: database),
            isFaithful: try fact(Fact.isFaithful, in: database) != nil,
            appOrder: try appOrder(in: database),
            logging: try spools(in: database),
            isDataLoggingEnabled: try fact(Fact.isDataLoggingDisabled, in: database) == nil,
            coreDump: try coreDump(in: database)
        )
    }

    private static func fact(_ name: String, in database: Database) throws -> Data? {
        try Data.fetchOne(database, sql: "SELECT content FROM fact WHERE name = ?", arguments: [name])
    }

    private static func records(in database: Database) throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        let rows = try Row.fetchCursor(
            database,
            sql: "SELECT database, key, value, timestamp, isDirty FROM record ORDER BY rowid"
        )
        while let row = try rows.next() {
            records.append(
                StoredRecord(
                    database: BlobDBDatabase(rawValue: row["database"]),
                    key: Array(row["key"] as Data),
                    record: BlobDatabases.Record(
                        value: Array(row["value"] as Data),
                        timestamp: row["timestamp"],
                        isDirty: row["isDirty"]
                    )
                )
            )
        }
        return records
    }

    private static func appOrder(in database: Database) throws -> [PebbleUUID] {
        guard let order = try fact(Fact.appOrder, in: database) else { return [] }
        var reader = ByteReader(Array(order))
        var applications: [PebbleUUID] = []
        while !reader.isEmpty { applications.append(try PebbleUUID(reading: &reader, "app order")) }
        return applications
    }

    private static func spools(in database: Database) throws -> [LoggingSessionID: LoggingSpool] {
        var spools: [LoggingSessionID: LoggingSpool] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT * FROM loggingSession") {
            guard let application = PebbleUUID(row["application"] as Data),
                let itemType = DataLoggingMessage.ItemType(rawValue: row["itemType"])
            else { continue }
            let id = LoggingSessionID(rawValue: row["id"])
            let consumed: Int = row["consumed"]
            var spool = LoggingSpool(
                session: DataLoggingMessage.Session(
                    application: application,
                    timestamp: row["timestamp"],
                    tag: row["tag"],
                    itemType: itemType,
                    itemSize: row["itemSize"]
                ),
                start: consumed,
                isFinished: row["isFinished"]
            )
            let pieces = try Row.fetchCursor(
                database,
                sql: "SELECT offset, content FROM loggingData WHERE session = ? ORDER BY offset",
                arguments: [id.rawValue]
            )
            while let piece = try pieces.next() {
                // Of a piece that the phone has in part, the rest.
                let offset: Int = piece["offset"]
                spool.append(Array((piece["content"] as Data).dropFirst(max(0, consumed - offset))))
            }
            spools[id] = spool
        }
        return spools
    }

    private static func coreDump(in database: Database) throws -> CoreDump? {
        guard let bytes = try fact(Fact.coreDump, in: database) else { return nil }
        return CoreDump(bytes: Array(bytes), isRead: try fact(Fact.coreDumpIsRead, in: database) != nil)
    }

    private static func updateImages(in database: Database) throws -> [FirmwarePart: StoredFirmwareImage] {
        var images: [FirmwarePart: StoredFirmwareImage] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT part, progress FROM updateImage") {
            guard let part = FirmwarePart(rawValue: row["part"]),
                let progress = StoredFirmwareImage.Progress(rawValue: row["progress"])
            else { continue }
            var bytes: [UInt8] = []
            let pieces = try Row.fetchCursor(
                database,
                sql: "SELECT offset, content FROM updatePiece WHERE part = ? ORDER BY offset",
                arguments: [part.rawValue]
            )
            while let piece = try pieces.next(), piece["offset"] == bytes.count { bytes += piece["content"] as Data }
            if !bytes.isEmpty { images[part] = StoredFirmwareImage(bytes: bytes, progress: progress) }
        }
        return images
    }

    private static func appParts(in database: Database) throws -> [AppPart: StoredObject] {
        var parts: [AppPart: StoredObject] = [:]
        let rows = try Row.fetchCursor(
            database,
            sql: "SELECT application, kind, length(content) AS size, substr(content, 1, ?) AS head FROM appPart",
            arguments: [StoredObject.headLength]
        )
        while let row = try rows.next() {
            guard let application = PebbleUUID(row["application"] as Data),
                let kind = AppPart.Kind(rawValue: row["kind"])
            else {
                continue
            }
            parts[AppPart(of: application, kind)] = StoredObject(size: row["size"], head: Array(row["head"] as Data))
        }
        return parts
    }

    private static func files(in database: Database) throws -> [String: StoredObject] {
        var files: [String: StoredObject] = [:]
        let rows = try Row.fetchCursor(
            database,
            sql: "SELECT name, length(content) AS size, substr(content, 1, ?) AS head FROM file",
            arguments: [StoredObject.headLength]
        )
        while let row = try rows.next() {
            files[row["name"]] = StoredObject(size: row["size"], head: Array(row["head"] as Data))
        }
        return files
    }
}

extension PebbleUUID {
    /// The 16 bytes.
    fileprivate var data: Data {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return Data(bytes)
    }

    fileprivate init?(_ data: Data) {
        var reader = ByteReader(Array(data))
        guard let uuid = try? PebbleUUID(reading: &reader, "application"), reader.isEmpty else { return nil }
        self = uuid
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
