import ByteCoding

/// Names a database write; the answer repeats its two bytes, in whatever order the sender meant them.
public struct BlobDBToken: RawRepresentable, Hashable, Sendable {
    /// The two bytes as a little-endian number; libpebble3 means them big-endian.
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// What the answer names when a message was too short to have a token.
    package static let none = BlobDBToken(rawValue: 0)
}

/// One of the watch's databases.
public struct BlobDBDatabase: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// 0: for tests of the firmware itself. A released firmware does not have it, and answers ``BlobDBStatus/dataStale``.
    package static let test = BlobDBDatabase(rawValue: 0)
    /// 1: the timeline's pins. The value is a ``TimelineItem``; the key is a UUID, not always the item's.
    public static let pins = BlobDBDatabase(rawValue: 1)
    /// 2: the installed apps. The value is an ``AppMetadata``, and its UUID names the app, whatever the key.
    public static let apps = BlobDBDatabase(rawValue: 2)
    /// 3: reminders. The value is a ``TimelineItem``; the key is a UUID, not always the item's.
    public static let reminders = BlobDBDatabase(rawValue: 3)
    /// 4: notifications. The value is a ``TimelineItem``; the key is a UUID, not always the item's.
    public static let notifications = BlobDBDatabase(rawValue: 4)
    /// 5: the weather of places. The key is the place's UUID.
    package static let weather = BlobDBDatabase(rawValue: 5)
    /// 6: notification preferences, which say how notifications of single apps are treated, and canned messages. The key is
    /// a text.
    package static let cannedMessages = BlobDBDatabase(rawValue: 6)
    /// 7: the preferences, those of health among them. The key is a name in ASCII without NUL.
    package static let healthPreferences = BlobDBDatabase(rawValue: 7)
    /// 8: contacts. The key is the contact's UUID.
    package static let contacts = BlobDBDatabase(rawValue: 8)
    /// 9: the preferences of the firmware's own apps. The key is `weatherApp`, `sendTextApp` or `remindersApp`.
    package static let watchAppPreferences = BlobDBDatabase(rawValue: 9)
    /// 10: statistics of health. The key is a name with `_`; the value is whole words of 4 bytes.
    package static let healthStatistics = BlobDBDatabase(rawValue: 10)
    /// 11: what apps say in the launcher. The key is the app's UUID.
    package static let appGlances = BlobDBDatabase(rawValue: 11)
    /// 12: the settings, of which changes on the watch are written back to the phone. The key is a name in ASCII.
    package static let settings = BlobDBDatabase(rawValue: 12)
    /// No database; libpebble3 does clear it.
    package static let invalid = BlobDBDatabase(rawValue: 0xFF)
}

/// How a database command ended.
public enum BlobDBStatus: UInt8, Sendable {
    /// The command was carried out.
    case success = 0x01
    /// The command failed for a reason that has no number below, such as a store that could not write.
    case generalFailure = 0x02
    /// The command does not exist, or is not one for this side.
    case invalidOperation = 0x03
    /// No database has this number.
    case invalidDatabase = 0x04
    /// The message is malformed, or the database does not take this key or this value.
    case invalidData = 0x05
    /// There is no record under the key, or none of what the record belongs to, such as the app of a glance.
    case keyDoesNotExist = 0x06
    /// There is no room for the record.
    case databaseFull = 0x07
    /// The record is too old, or the database does not do what was asked. libpebble3 takes it for a success.
    case dataStale = 0x08
    /// The command is not for this database: only `BlobDBDatabase.settings` can count as changed, for example.
    case notSupported = 0x09
    /// The database cannot be changed now. The firmware knows the number, and does not send it.
    case locked = 0x0A
    /// The watch is busy; the phone may send the command again.
    case tryLater = 0x0B

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let code = try reader.readUInt8(field)
        guard let status = BlobDBStatus(rawValue: code) else {
            throw ByteDecodingError(field, .invalidValue(UInt64(code)))
        }
        self = status
    }
}

/// A key and a value on their way into a database. Layout: key length (UInt8), key, value length (UInt16), value.
public struct BlobDBRecord: Equatable, Sendable {
    /// At most 255 bytes are sent. Shares the message's storage.
    public var key: ArraySlice<UInt8>
    /// At most 65535 bytes are sent. Shares the message's storage.
    public var value: ArraySlice<UInt8>

    /// A record.
    public init(key: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        self.key = key
        self.value = value
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        key = try Self.readKey(&reader)
        let length: UInt16 = try reader.readLittleEndian("blob_db.value_size")
        value = try reader.readBytes(Int(length), "blob_db.value")
    }

    static func readKey(_ reader: inout ByteReader) throws(ByteDecodingError) -> ArraySlice<UInt8> {
        let length = Int(try reader.readUInt8("blob_db.key_size"))
        return try reader.readBytes(length, "blob_db.key")
    }

    func encode(to payload: inout [UInt8]) {
        Self.encode(key: key, to: &payload)
        let fitting = value.prefix(Int(UInt16.max))
        payload.appendLittleEndian(UInt16(truncatingIfNeeded: fitting.count))
        payload += fitting
    }

    static func encode(key: ArraySlice<UInt8>, to payload: inout [UInt8]) {
        let fitting = key.prefix(Int(UInt8.max))
        payload.append(UInt8(truncatingIfNeeded: fitting.count))
        payload += fitting
    }
}

/// Endpoint 0xB1DB, phone to watch: changes a database. Layout: command, token, then by the command; little-endian.
public struct BlobDBRequest: EndpointMessage {
    /// What the answer repeats.
    public var token: BlobDBToken
    /// What is to be done.
    public var command: Command

    /// What can be asked for.
    public enum Command: Equatable, Sendable {
        /// `01`, or `0D` with a time (UInt32, seconds since 1970) between database and key.
        case insert(BlobDBDatabase, BlobDBRecord, timestamp: UInt32?)
        /// `04`.
        case delete(BlobDBDatabase, key: ArraySlice<UInt8>)
        /// `05`.
        case clear(BlobDBDatabase)
        /// Anything else, reading and updating among it: answered with ``BlobDBStatus/invalidOperation``.
        case unsupported(UInt8)
        /// One of the above whose lengths are wrong: answered with ``BlobDBStatus/invalidData``.
        case malformed(UInt8)
    }

    private enum Code {
        static let insert: UInt8 = 0x01
        static let delete: UInt8 = 0x04
        static let clear: UInt8 = 0x05
        static let insertWithTimestamp: UInt8 = 0x0D
    }

    /// The shortest messages that the firmware looks at, without the command byte.
    private enum MinimumLength {
        static let insert = 8
        static let insertWithTimestamp = 12
        static let delete = 5
    }

    /// A request.
    public init(token: BlobDBToken, command: Command) {
        self.token = token
        self.command = command
    }

    public static var endpoint: Endpoint { .blobDB }

    /// What is too short for a token is an error; it is answered with ``BlobDBStatus/invalidData`` and `BlobDBToken.none`.
    /// Anything else that is wrong makes a ``Command/malformed(_:)``, so that the answer has the token.
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let code = try reader.readUInt8("blob_db.command")
        let length = reader.count
        token = BlobDBToken(rawValue: try reader.readLittleEndian("blob_db.token"))
        do {
            command = try Self.readCommand(code, &reader, length: length)
        } catch {
            command = .malformed(code)
        }
    }

    /// Lengths are never zero, and nothing may follow the last field, but of a clear.
    private static func readCommand(
        _ code: UInt8,
        _ reader: inout ByteReader,
        length: Int
    ) throws(ByteDecodingError) -> Command {
        switch code {
        case Code.insert, Code.insertWithTimestamp:
            let hasTimestamp = code == Code.insertWithTimestamp
            try expect(hasTimestamp ? MinimumLength.insertWithTimestamp : MinimumLength.insert, of: length)
            let database = BlobDBDatabase(rawValue: try reader.readUInt8("blob_db.database"))
            let timestamp: UInt32? = hasTimestamp ? try reader.readLittleEndian("blob_db.timestamp") : nil
            let record = try BlobDBRecord(reading: &reader)
            try expect(1, of: min(record.key.count, record.value.count))
            try reader.expectEnd("blob_db.value")
            return .insert(database, record, timestamp: timestamp)
        case Code.delete:
            try expect(MinimumLength.delete, of: length)
            let database = BlobDBDatabase(rawValue: try reader.readUInt8("blob_db.database"))
            let key = try BlobDBRecord.readKey(&reader)
            try expect(1, of: key.count)
            try reader.expectEnd("blob_db.key")
            return .delete(database, key: key)
        case Code.clear:
            return .clear(BlobDBDatabase(rawValue: try reader.readUInt8("blob_db.database")))
        default:
            return .unsupported(code)
        }
    }

    private static func expect(_ minimum: Int, of length: Int) throws(ByteDecodingError) {
        guard length >= minimum else {
            throw ByteDecodingError("blob_db", .truncated(needed: minimum, available: length))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch command {
        case .insert(let database, let record, let timestamp):
            payload.append(timestamp == nil ? Code.insert : Code.insertWithTimestamp)
            payload.appendLittleEndian(token.rawValue)
            payload.append(database.rawValue)
            if let timestamp { payload.appendLittleEndian(timestamp) }
            record.encode(to: &payload)
        case .delete(let database, let key):
            payload.append(Code.delete)
            payload.appendLittleEndian(token.rawValue)
            payload.append(database.rawValue)
            BlobDBRecord.encode(key: key, to: &payload)
        case .clear(let database):
            payload.append(Code.clear)
            payload.appendLittleEndian(token.rawValue)
            payload.append(database.rawValue)
        case .unsupported(let code), .malformed(let code):
            payload.append(code)
            payload.appendLittleEndian(token.rawValue)
        }
    }
}

/// Endpoint 0xB1DB, watch to phone: one answer for every request, in order. Layout: token, status.
public struct BlobDBResponse: EndpointMessage {
    /// The request's.
    public var token: BlobDBToken
    /// How it ended.
    public var status: BlobDBStatus

    /// An answer.
    public init(token: BlobDBToken, status: BlobDBStatus) {
        self.token = token
        self.status = status
    }

    public static var endpoint: Endpoint { .blobDB }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        token = BlobDBToken(rawValue: try reader.readLittleEndian("blob_db.token"))
        status = try BlobDBStatus(reading: &reader, "blob_db.status")
    }

    public func encodePayload(to payload: inout [UInt8]) {
        payload.appendLittleEndian(token.rawValue)
        payload.append(status.rawValue)
    }
}
