import ByteCoding

/// Endpoint 0xB2DB: the watch writes its own changes back to the phone. Layout: command, token, then by the command;
/// answers have bit 7 of the command set. Little-endian.
package struct BlobDB2Message: EndpointMessage {
    /// What the answer repeats.
    package var token: BlobDBToken
    /// What is asked or answered.
    package var body: Body

    /// What is asked or answered.
    package enum Body: Equatable, Sendable {
        /// `06`, phone to watch: which databases have changes?
        case dirtyDatabases
        /// `07`, phone to watch: write the changes of this one.
        case startSync(BlobDBDatabase)
        /// `08`, watch to phone.
        case write(WatchRecord)
        /// `09`, watch to phone.
        case writeBack(WatchRecord)
        /// `0A`, watch to phone: all changes of this one were written.
        case syncDone(BlobDBDatabase)
        /// `0B`, phone to watch. libpebble3 waits for the answer without limit.
        case version
        /// `0C`, phone to watch: everything counts as changed.
        case markAllDirty(BlobDBDatabase)
        /// An answer to a command, which is given without bit 7.
        case response(to: UInt8, BlobDBStatus, Detail)
        /// A command that does not exist: answered with ``BlobDBStatus/invalidOperation``.
        case unsupported(UInt8)
    }

    /// A record and where it comes from. Layout: database, time (UInt32, seconds since 1970), key and value.
    package struct WatchRecord: Equatable, Sendable {
        /// Where it belongs.
        package var database: BlobDBDatabase
        /// When it changed, in seconds since 1970.
        package var timestamp: UInt32
        /// Key and value.
        package var record: BlobDBRecord

        /// A record and where it comes from.
        package init(database: BlobDBDatabase, timestamp: UInt32, record: BlobDBRecord) {
            self.database = database
            self.timestamp = timestamp
            self.record = record
        }
    }

    /// What follows the status of an answer.
    package enum Detail: Equatable, Sendable {
        /// Nothing follows. So it is in refusals, and in the answers to all commands but the two below.
        case none
        /// To ``Command/dirtyDatabases``.
        case databases([BlobDBDatabase])
        /// To ``Command/version``.
        case version(UInt8)
    }

    /// The commands' numbers.
    package enum Command {
        /// Phone to watch: which databases have changes? Carries no more than the token.
        package static let dirtyDatabases: UInt8 = 0x06
        /// Phone to watch: write the changes of one database.
        package static let startSync: UInt8 = 0x07
        /// Watch to phone: a record that has changed.
        package static let write: UInt8 = 0x08
        /// Watch to phone: a record that has changed, as part of the sync of its whole database.
        package static let writeBack: UInt8 = 0x09
        /// Watch to phone: all changes of one database were written.
        package static let syncDone: UInt8 = 0x0A
        /// Phone to watch: which version of this protocol do you have? Carries no more than the token.
        package static let version: UInt8 = 0x0B
        /// Phone to watch: every record of one database counts as changed.
        package static let markAllDirty: UInt8 = 0x0C
    }

    private static let responseFlag: UInt8 = 0x80

    /// A message.
    package init(token: BlobDBToken, _ body: Body) {
        self.token = token
        self.body = body
    }

    package static var endpoint: Endpoint { .blobDB2 }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("blob_db2.command")
        token = BlobDBToken(rawValue: try reader.readLittleEndian("blob_db2.token"))
        switch command {
        case Command.dirtyDatabases: body = .dirtyDatabases
        case Command.startSync: body = .startSync(try Self.readDatabase(&reader))
        case Command.write: body = .write(try WatchRecord(reading: &reader))
        case Command.writeBack: body = .writeBack(try WatchRecord(reading: &reader))
        case Command.syncDone: body = .syncDone(try Self.readDatabase(&reader))
        case Command.version: body = .version
        case Command.markAllDirty: body = .markAllDirty(try Self.readDatabase(&reader))
        case _ where command & Self.responseFlag != 0:
            let answered = command & ~Self.responseFlag
            let status = try BlobDBStatus(reading: &reader, "blob_db2.status")
            body = .response(to: answered, status, try Self.readDetail(of: answered, &reader))
        default: body = .unsupported(command)
        }
    }

    fileprivate static func readDatabase(_ reader: inout ByteReader) throws(ByteDecodingError) -> BlobDBDatabase {
        BlobDBDatabase(rawValue: try reader.readUInt8("blob_db2.database"))
    }

    /// A refusal has no detail, whatever it refuses.
    private static func readDetail(
        of command: UInt8,
        _ reader: inout ByteReader
    ) throws(ByteDecodingError) -> Detail {
        switch command {
        case Command.dirtyDatabases where !reader.isEmpty:
            let count = Int(try reader.readUInt8("blob_db2.count"))
            return .databases(try reader.readBytes(count, "blob_db2.databases").map(BlobDBDatabase.init(rawValue:)))
        case Command.version where !reader.isEmpty:
            return .version(try reader.readUInt8("blob_db2.version"))
        default: return .none
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch body {
        case .dirtyDatabases: encode(Command.dirtyDatabases, to: &payload)
        case .startSync(let database): encode(Command.startSync, database, to: &payload)
        case .write(let record):
            encode(Command.write, to: &payload)
            record.encode(to: &payload)
        case .writeBack(let record):
            encode(Command.writeBack, to: &payload)
            record.encode(to: &payload)
        case .syncDone(let database): encode(Command.syncDone, database, to: &payload)
        case .version: encode(Command.version, to: &payload)
        case .markAllDirty(let database): encode(Command.markAllDirty, database, to: &payload)
        case .unsupported(let command): encode(command, to: &payload)
        case .response(let command, let status, let detail):
            encode(command | Self.responseFlag, to: &payload)
            payload.append(status.rawValue)
            switch detail {
            case .none: break
            case .databases(let databases):
                let fitting = databases.prefix(Int(UInt8.max))
                payload.append(UInt8(truncatingIfNeeded: fitting.count))
                payload += fitting.map { $0.rawValue }
            case .version(let version): payload.append(version)
            }
        }
    }

    private func encode(_ command: UInt8, _ database: BlobDBDatabase? = nil, to payload: inout [UInt8]) {
        payload.append(command)
        payload.appendLittleEndian(token.rawValue)
        if let database { payload.append(database.rawValue) }
    }
}

extension BlobDB2Message.WatchRecord {
    fileprivate init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        database = try BlobDB2Message.readDatabase(&reader)
        timestamp = try reader.readLittleEndian("blob_db2.timestamp")
        record = try BlobDBRecord(reading: &reader)
    }

    fileprivate func encode(to payload: inout [UInt8]) {
        payload.append(database.rawValue)
        payload.appendLittleEndian(timestamp)
        record.encode(to: &payload)
    }
}
