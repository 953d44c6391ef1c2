import ByteCoding
import PebbleProtocol
import PebbleWatch

// How rows become what services keep, when the watch starts.

extension ServiceTables {
    static func load(from connection: SQLiteConnection) throws -> ServiceMemory {
        ServiceMemory(
            firmware: try firmware(Fact.firmware, in: connection),
            recoveryFirmware: try firmware(Fact.recoveryFirmware, in: connection),
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

    private static func firmware(_ name: String, in connection: SQLiteConnection) throws -> FirmwareMetadata? {
        try fact(name, in: connection).map { bytes in
            guard let metadata = FirmwareImage.metadata(of: bytes) else {
                throw ByteDecodingError(name, .invalidValue(UInt64(bytes.count)))
            }
            return metadata
        }
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
            let id = LoggingSessionID(rawValue: try row.read(0))
            let consumed = try row.place(6)
            var spool = LoggingSpool(
                session: DataLoggingMessage.Session(
                    application: try row.application(1),
                    timestamp: try row.read(2),
                    tag: try row.read(3),
                    itemType: try row.raw(4),
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
                let content = try piece.read(1, as: [UInt8].self)
                spool.append(Array(content.dropFirst(max(0, consumed - (try piece.place(0))))))
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
            let part: FirmwarePart = try row.raw(0)
            var bytes: [UInt8] = []
            let pieces = try connection.prepare(
                "SELECT offset, content FROM updatePiece WHERE part = ? ORDER BY offset",
                [part.rawValue]
            )
            while let piece = try pieces.next() {
                let offset = try piece.place(0)
                guard offset == bytes.count else {
                    throw ByteDecodingError(piece.name(of: 0), .invalidValue(UInt64(offset)))
                }
                bytes += try piece.read(1, as: [UInt8].self)
            }
            if !bytes.isEmpty { images[part] = StoredFirmwareImage(bytes: bytes, progress: try row.raw(1)) }
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
            let part = AppPart(of: try row.application(0), try row.raw(1))
            parts[part] = StoredObject(size: try row.read(2), head: try row.read(3))
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

/// What a column has, or an error: a file that somebody else has changed may have anything there.
extension SQLiteRow {
    /// A place in a stream of bytes is far from where numbers end.
    private static let placeLimit = 1 << 48

    /// How many bytes of a stream come before something.
    fileprivate func place(_ column: Int32) throws -> Int {
        let place = try read(column, as: Int.self)
        guard 0...Self.placeLimit ~= place else {
            throw ByteDecodingError(name(of: column), .invalidValue(UInt64(bitPattern: Int64(place))))
        }
        return place
    }

    fileprivate func raw<Value: RawRepresentable<UInt8>>(_ column: Int32) throws -> Value {
        let number = try read(column, as: UInt8.self)
        guard let value = Value(rawValue: number) else {
            throw ByteDecodingError(name(of: column), .invalidValue(UInt64(number)))
        }
        return value
    }

    /// The 16 bytes of an app's UUID.
    fileprivate func application(_ column: Int32) throws -> PebbleUUID {
        var reader = ByteReader(try read(column, as: [UInt8].self))
        let uuid = try PebbleUUID(reading: &reader, "application")
        try reader.expectEnd("application")
        return uuid
    }
}
