import ByteCoding
import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch

// How rows become what services keep, when the watch starts.

extension ServiceTables {
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
    /// Of the 16 bytes.
    fileprivate init?(_ data: Data) {
        var reader = ByteReader(Array(data))
        guard let uuid = try? PebbleUUID(reading: &reader, "application"), reader.isEmpty else { return nil }
        self = uuid
    }
}
