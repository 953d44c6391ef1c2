import ByteCoding

/// How important a log line is: the smaller, the more.
public struct LogLevel: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// 0: a line that is wanted at every level.
    package static let always = LogLevel(rawValue: 0)
    /// 1: something failed.
    package static let error = LogLevel(rawValue: 1)
    /// 50: something is wrong, and the watch goes on.
    package static let warning = LogLevel(rawValue: 50)
    /// 100: what is good to know.
    package static let info = LogLevel(rawValue: 100)
    /// 200: what helps to find a fault.
    package static let debug = LogLevel(rawValue: 200)
    /// 255: everything else.
    package static let verbose = LogLevel(rawValue: 255)
}

/// One line of a log. Layout: time (UInt32), level, length of the message, line (UInt16), file (16 bytes), message;
/// big-endian.
public struct LogLine: Equatable, Sendable {
    /// Seconds since 1970.
    public var timestamp: UInt32
    /// How important it is.
    public var level: LogLevel
    /// In the source file.
    public var line: UInt16
    /// Only the last 15 characters are sent.
    public var file: String
    /// Without NUL; cut to `maximumMessageLength` when sent.
    public var message: String

    private static let fileWidth = 16
    /// A record with its UUID has 128 bytes at most on hardware.
    package static let maximumMessageLength = 88

    /// A line.
    package init(timestamp: UInt32, level: LogLevel, line: UInt16, file: String, message: String) {
        self.timestamp = timestamp
        self.level = level
        self.line = line
        self.file = file
        self.message = message
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        timestamp = try reader.readBigEndian("log.timestamp")
        level = LogLevel(rawValue: try reader.readUInt8("log.level"))
        let length = Int(try reader.readUInt8("log.length"))
        line = try reader.readBigEndian("log.line")
        file = try reader.readFixedString(width: Self.fileWidth, "log.file")
        message = String(decoding: try reader.readBytes(length, "log.message"), as: UTF8.self)
    }

    func encode(to payload: inout [UInt8]) {
        let fitting = message.utf8Prefix(maximumLength: Self.maximumMessageLength)
        payload.appendBigEndian(timestamp)
        payload += [level.rawValue, UInt8(truncatingIfNeeded: fitting.count)]
        payload.appendBigEndian(line)
        payload.appendFixedString(String(file.suffix(Self.fileWidth - 1)), width: Self.fileWidth)
        payload += fitting
    }
}

/// Endpoint 0x07D6, phone to watch: whether live logs of apps are wanted. The state belongs to the session.
package struct AppLogControl: EndpointMessage {
    /// `01` or `00`.
    package var isEnabled: Bool

    /// Asks for logs, or for none.
    package init(isEnabled: Bool) { self.isEnabled = isEnabled }

    package static var endpoint: Endpoint { .appLog }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readUInt8("app_log.enable") != 0
    }

    package func encodePayload(to payload: inout [UInt8]) { payload.append(isEnabled ? 1 : 0) }
}

/// Endpoint 0x07D6, watch to phone: a line that an app has logged. Layout: UUID, ``LogLine``.
public struct AppLogRecord: EndpointMessage {
    /// Who logged it.
    public var application: PebbleUUID
    /// What was logged.
    public var line: LogLine

    /// A record.
    package init(application: PebbleUUID, line: LogLine) {
        self.application = application
        self.line = line
    }

    public static var endpoint: Endpoint { .appLog }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        application = try PebbleUUID(reading: &reader, "app_log.uuid")
        line = try LogLine(reading: &reader)
    }

    public func encodePayload(to payload: inout [UInt8]) {
        application.encode(to: &payload)
        line.encode(to: &payload)
    }
}

/// Endpoint 0x07D2: stored system logs, a generation for each boot. Layout: command, then for a request the
/// generation, then a cookie (UInt32) that answers repeat.
package enum LogDumpMessage: EndpointMessage {
    /// `10`, phone to watch: generation 0 is the current boot.
    case request(generation: UInt8, cookie: UInt32)
    /// `00` or `01` without a generation of its own, phone to watch: how old companions ask.
    case legacyRequest(generation: UInt8, cookie: UInt32)
    /// `80`, watch to phone.
    case line(cookie: UInt32, LogLine)
    /// `81`, watch to phone: the end.
    case done(cookie: UInt32)
    /// `82`, watch to phone: no such generation. Only to phones with ``Capabilities/infiniteLogDump``.
    case noLogs(cookie: UInt32)

    package static var endpoint: Endpoint { .logDump }

    private enum Command {
        static let newestLegacyGeneration: UInt8 = 0x01
        static let request: UInt8 = 0x10
        static let line: UInt8 = 0x80
        static let done: UInt8 = 0x81
        static let noLogs: UInt8 = 0x82
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("log_dump.command")
        switch command {
        case 0...Command.newestLegacyGeneration:
            self = .legacyRequest(generation: command, cookie: try reader.readBigEndian("log_dump.cookie"))
            try reader.expectEnd("log_dump.cookie")
        case Command.request:
            let generation = try reader.readUInt8("log_dump.generation")
            self = .request(generation: generation, cookie: try reader.readBigEndian("log_dump.cookie"))
            try reader.expectEnd("log_dump.cookie")
        case Command.line:
            let cookie: UInt32 = try reader.readBigEndian("log_dump.cookie")
            self = .line(cookie: cookie, try LogLine(reading: &reader))
        case Command.done: self = .done(cookie: try reader.readBigEndian("log_dump.cookie"))
        case Command.noLogs: self = .noLogs(cookie: try reader.readBigEndian("log_dump.cookie"))
        default: throw ByteDecodingError("log_dump.command", .invalidValue(UInt64(command)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .request(let generation, let cookie):
            payload += [Command.request, generation]
            payload.appendBigEndian(cookie)
        case .legacyRequest(let generation, let cookie):
            payload.append(min(generation, Command.newestLegacyGeneration))
            payload.appendBigEndian(cookie)
        case .line(let cookie, let line):
            payload.append(Command.line)
            payload.appendBigEndian(cookie)
            line.encode(to: &payload)
        case .done(let cookie):
            payload.append(Command.done)
            payload.appendBigEndian(cookie)
        case .noLogs(let cookie):
            payload.append(Command.noLogs)
            payload.appendBigEndian(cookie)
        }
    }
}
