import ByteCoding
import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch

// How rows become what services keep, when the watch starts.

extension ServiceTables {
    static func load(from database: Database) throws -> ServiceMemory {
        ServiceMemory(
            firmware: try firmware(Fact.firmware, in: database),
            recoveryFirmware: try firmware(Fact.recoveryFirmware, in: database),
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

    private static func firmware(_ name: String, in database: Database) throws -> FirmwareMetadata? {
        try fact(name, in: database).map { bytes in
            guard let metadata = FirmwareImage.metadata(of: Array(bytes)) else {
                throw ByteDecodingError(name, .invalidValue(UInt64(bytes.count)))
            }
            return metadata
        }
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
                    database: BlobDBDatabase(rawValue: try row.decode(forColumn: "database")),
                    key: try row.bytes("key"),
                    record: BlobDatabases.Record(
                        value: try row.bytes("value"),
                        timestamp: try row.decode(forColumn: "timestamp"),
                        isDirty: try row.decode(forColumn: "isDirty")
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
            let id = LoggingSessionID(rawValue: try row.decode(forColumn: "id"))
            let consumed = try row.place("consumed")
            var spool = LoggingSpool(
                session: DataLoggingMessage.Session(
                    application: try row.application(),
                    timestamp: try row.decode(forColumn: "timestamp"),
                    tag: try row.decode(forColumn: "tag"),
                    itemType: try row.raw("itemType"),
                    itemSize: try row.decode(forColumn: "itemSize")
                ),
                start: consumed,
                isFinished: try row.decode(forColumn: "isFinished")
            )
            let pieces = try Row.fetchCursor(
                database,
                sql: "SELECT offset, content FROM loggingData WHERE session = ? ORDER BY offset",
                arguments: [id.rawValue]
            )
            while let piece = try pieces.next() {
                // Of a piece that the phone has in part, the rest.
                spool.append(Array(try piece.bytes("content").dropFirst(max(0, consumed - piece.place("offset")))))
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
            let part: FirmwarePart = try row.raw("part")
            var bytes: [UInt8] = []
            let pieces = try Row.fetchCursor(
                database,
                sql: "SELECT offset, content FROM updatePiece WHERE part = ? ORDER BY offset",
                arguments: [part.rawValue]
            )
            while let piece = try pieces.next() {
                let offset = try piece.place("offset")
                guard offset == bytes.count else {
                    throw ByteDecodingError("updatePiece.offset", .invalidValue(UInt64(offset)))
                }
                bytes += try piece.bytes("content")
            }
            if !bytes.isEmpty { images[part] = StoredFirmwareImage(bytes: bytes, progress: try row.raw("progress")) }
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
            let part = AppPart(of: try row.application(), try row.raw("kind"))
            parts[part] = StoredObject(size: try row.decode(forColumn: "size"), head: try row.bytes("head"))
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
            let name: String = try row.decode(forColumn: "name")
            files[name] = StoredObject(size: try row.decode(forColumn: "size"), head: try row.bytes("head"))
        }
        return files
    }
}

/// What a column has, or an error: a file that somebody else has changed may have anything there.
extension Row {
    /// A place in a stream of bytes is far from where numbers end.
    private static let placeLimit = 1 << 48

    fileprivate func bytes(_ column: String) throws -> [UInt8] { Array(try decode(Data.self, forColumn: column)) }

    /// How many bytes of a stream come before something.
    fileprivate func place(_ column: String) throws -> Int {
        let place: Int = try decode(forColumn: column)
        guard 0...Self.placeLimit ~= place else {
            throw ByteDecodingError(column, .invalidValue(UInt64(bitPattern: Int64(place))))
        }
        return place
    }

    fileprivate func raw<Value: RawRepresentable<UInt8>>(_ column: String) throws -> Value {
        let number: UInt8 = try decode(forColumn: column)
        guard let value = Value(rawValue: number) else {
            throw ByteDecodingError(column, .invalidValue(UInt64(number)))
        }
        return value
    }

    /// The 16 bytes of an app's UUID.
    fileprivate func application() throws -> PebbleUUID {
        var reader = ByteReader(try bytes("application"))
        let uuid = try PebbleUUID(reading: &reader, "application")
        try reader.expectEnd("application")
        return uuid
    }
}
