import ByteCoding
import PebbleProtocol
import PebbleWatch

// How rows become what services keep, when the watch starts.

extension ServiceTables {
    static func load(from connection: SQLiteConnection) throws -> ServiceMemory {
        ServiceMemory(
            firmware: try fact(Fact.firmware, in: connection).flatMap { FirmwareImage.metadata(of: $0) },
            recoveryFirmware: try fact(Fact.recoveryFirmware, in: connection)
                .flatMap { FirmwareImage.metadata(of: $0) },
            update: try updateImages(in: connection),
            appParts: try appParts(in: connection),
            files: try files(in: connection),
            records: try records(in: connection),
            isFaithful: try fact(Fact.isFaithful, in: connection) != nil,
            appOrder: try appOrder(in: connection),
            logging: try spools(in: connection),
            isDataLoggingEnabled: try fact(Fact.isDataLoggingDisabled, in: connection) == nil,
            coreDump: try coreDump(in: connection)
        )
    }

    private static func fact(_ name: String, in connection: SQLiteConnection) throws -> [UInt8]? {
        try connection.first("SELECT content FROM fact WHERE name = ?", [name])
    }

    private static func records(in connection: SQLiteConnection) throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        let rows = try connection.prepare(
            "SELECT database, key, value, timestamp, isDirty FROM record ORDER BY rowid"
        )
        while let row = try rows.next() {
            records.append(
                StoredRecord(
                    database: BlobDBDatabase(rawValue: try row.read(0)),
                    key: try row.read(1),
                    record: BlobDatabases.Record(
                        value: try row.read(2),
                        timestamp: try row.read(3),
                        isDirty: try row.read(4)
                    )
                )
            )
        }
        return records
    }

    private static func appOrder(in connection: SQLiteConnection) throws -> [PebbleUUID] {
        guard let order = try fact(Fact.appOrder, in: connection) else { return [] }
        var reader = ByteReader(order)
        var applications: [PebbleUUID] = []
        while !reader.isEmpty { applications.append(try PebbleUUID(reading: &reader, "app order")) }
        return applications
    }

    private static func spools(in connection: SQLiteConnection) throws -> [LoggingSessionID: LoggingSpool] {
        var spools: [LoggingSessionID: LoggingSpool] = [:]
        let rows = try connection.prepare(
            "SELECT id, application, timestamp, tag, itemType, itemSize, consumed, isFinished FROM loggingSession"
        )
        while let row = try rows.next() {
            guard let application = PebbleUUID(try row.read(1, as: [UInt8].self)),
                let itemType = DataLoggingMessage.ItemType(rawValue: try row.read(4))
            else { continue }
            let id = LoggingSessionID(rawValue: try row.read(0))
            let consumed = try row.read(6, as: Int.self)
            var spool = LoggingSpool(
                session: DataLoggingMessage.Session(
                    application: application,
                    timestamp: try row.read(2),
                    tag: try row.read(3),
                    itemType: itemType,
                    itemSize: try row.read(5)
                ),
                start: consumed,
                isFinished: try row.read(7)
            )
            let pieces = try connection.prepare(
                "SELECT offset, content FROM loggingData WHERE session = ? ORDER BY offset",
                [id.rawValue]
            )
            while let piece = try pieces.next() {
                // Of a piece that the phone has in part, the rest.
                let offset = try piece.read(0, as: Int.self)
                spool.append(Array(try piece.read(1, as: [UInt8].self).dropFirst(max(0, consumed - offset))))
            }
            spools[id] = spool
        }
        return spools
    }

    private static func coreDump(in connection: SQLiteConnection) throws -> CoreDump? {
        guard let bytes = try fact(Fact.coreDump, in: connection) else { return nil }
        return CoreDump(bytes: bytes, isRead: try fact(Fact.coreDumpIsRead, in: connection) != nil)
    }

    private static func updateImages(in connection: SQLiteConnection) throws -> [FirmwarePart: StoredFirmwareImage] {
        var images: [FirmwarePart: StoredFirmwareImage] = [:]
        let rows = try connection.prepare("SELECT part, progress FROM updateImage")
        while let row = try rows.next() {
            guard let part = FirmwarePart(rawValue: try row.read(0)),
                let progress = StoredFirmwareImage.Progress(rawValue: try row.read(1))
            else { continue }
            var bytes: [UInt8] = []
            let pieces = try connection.prepare(
                "SELECT offset, content FROM updatePiece WHERE part = ? ORDER BY offset",
                [part.rawValue]
            )
            while let piece = try pieces.next(), try piece.read(0) == bytes.count {
                bytes += try piece.read(1, as: [UInt8].self)
            }
            if !bytes.isEmpty { images[part] = StoredFirmwareImage(bytes: bytes, progress: progress) }
        }
        return images
    }

    private static func appParts(in connection: SQLiteConnection) throws -> [AppPart: StoredObject] {
        var parts: [AppPart: StoredObject] = [:]
        let rows = try connection.prepare(
            "SELECT application, kind, length(content), substr(content, 1, ?) FROM appPart",
            [StoredObject.headLength]
        )
        while let row = try rows.next() {
            guard let application = PebbleUUID(try row.read(0, as: [UInt8].self)),
                let kind = AppPart.Kind(rawValue: try row.read(1))
            else { continue }
            parts[AppPart(of: application, kind)] = StoredObject(size: try row.read(2), head: try row.read(3))
        }
        return parts
    }

    private static func files(in connection: SQLiteConnection) throws -> [String: StoredObject] {
        var files: [String: StoredObject] = [:]
        let rows = try connection.prepare(
            "SELECT name, length(content), substr(content, 1, ?) FROM file",
            [StoredObject.headLength]
        )
        while let row = try rows.next() {
            files[try row.read(0)] = StoredObject(size: try row.read(1), head: try row.read(2))
        }
        return files
    }
}

extension PebbleUUID {
    /// Of the 16 bytes.
    fileprivate init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let uuid = try? PebbleUUID(reading: &reader, "application"), reader.isEmpty else { return nil }
        self = uuid
    }
}
