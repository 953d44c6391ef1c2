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
    }

    // MARK: Writing

    static func apply(_ change: ServiceChange, in database: Database) throws {
        switch change {
        case .several(let changes):
            for change in changes { try apply(change, in: database) }
        case .appPart(let part, let bytes):
            try database.execute(
                sql: "INSERT OR REPLACE INTO appPart (application, kind, content) VALUES (?, ?, ?)",
                arguments: [part.application.data, part.kind.rawValue, Data(bytes)]
            )
        case .appPartsRemoved(let application):
            try database.execute(sql: "DELETE FROM appPart WHERE application = ?", arguments: [application.data])
        case .file(let name, let bytes):
            try database.execute(
                sql: "INSERT OR REPLACE INTO file (name, content) VALUES (?, ?)",
                arguments: [name, Data(bytes)]
            )
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
        }
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
            files: try files(in: database)
        )
    }

    private static func fact(_ name: String, in database: Database) throws -> Data? {
        try Data.fetchOne(database, sql: "SELECT content FROM fact WHERE name = ?", arguments: [name])
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
