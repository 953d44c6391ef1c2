import ByteCoding

/// Endpoint 0x1A7A: records that apps have spooled on the watch. Little-endian.
public enum DataLoggingMessage: EndpointMessage {
    /// `01`, watch to phone.
    case open(SessionID, Session)
    /// `02`, session, items left (UInt32), checksum of the data (UInt32), data; watch to phone.
    case data(SessionID, itemsLeft: UInt32, crc: UInt32, ArraySlice<UInt8>)
    /// `03`, watch to phone.
    case close(SessionID)
    /// `07`, watch to phone: the phone did not answer in time.
    case timeout(SessionID)
    /// `0A`, watch to phone.
    case sendEnableState(Bool)
    /// `84` and sessions, phone to watch: these it knows; open all of yours.
    case reportOpenSessions([SessionID])
    /// `85`, phone to watch.
    case acknowledgement(SessionID)
    /// `86`, phone to watch.
    case negativeAcknowledgement(SessionID)
    /// `88`, phone to watch: send what there is now.
    case emptySession(SessionID)
    /// `89`, phone to watch.
    case getSendEnable
    /// `8B`, phone to watch: without, the watch sends nothing but answers.
    case setSendEnable(Bool)

    /// Names a session on one connection.
    public struct SessionID: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    /// What a session's records are. Layout: UUID, time and tag (UInt32 each), item type (UInt8), item size (UInt16).
    public struct Session: Equatable, Sendable {
        /// Who logs.
        public var application: PebbleUUID
        /// Seconds since 1970.
        public var timestamp: UInt32
        /// Chosen by the app.
        public var tag: UInt32
        /// How to read an item.
        public var itemType: ItemType
        /// In bytes.
        public var itemSize: UInt16

        /// A session by its fields.
        public init(
            application: PebbleUUID,
            timestamp: UInt32,
            tag: UInt32,
            itemType: ItemType,
            itemSize: UInt16
        ) {
            self.application = application
            self.timestamp = timestamp
            self.tag = tag
            self.itemType = itemType
            self.itemSize = itemSize
        }
    }

    /// What an item is.
    public enum ItemType: UInt8, Sendable {
        /// An array of bytes, as long as the session's item size says.
        case bytes = 0
        /// An unsigned integer of 1, 2 or 4 bytes, as the session's item size says.
        case unsigned = 2
        /// A signed integer of 1, 2 or 4 bytes, as the session's item size says.
        case signed = 3
    }

    /// What hardware says instead of counting the items that are left.
    package static let unknownItemsLeft: UInt32 = 0xFFFF
    /// How many bytes of records a message may hold.
    package static let maximumDataLength = 646

    private enum Command {
        static let open: UInt8 = 0x01
        static let data: UInt8 = 0x02
        static let close: UInt8 = 0x03
        static let timeout: UInt8 = 0x07
        static let sendEnableState: UInt8 = 0x0A
        static let reportOpenSessions: UInt8 = 0x84
        static let acknowledgement: UInt8 = 0x85
        static let negativeAcknowledgement: UInt8 = 0x86
        static let emptySession: UInt8 = 0x88
        static let getSendEnable: UInt8 = 0x89
        static let setSendEnable: UInt8 = 0x8B
    }

    public static var endpoint: Endpoint { .dataLogging }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("data_logging.command")
        switch command {
        case Command.open: self = .open(try Self.readID(&reader), try Session(reading: &reader))
        case Command.data:
            let id = try Self.readID(&reader)
            let itemsLeft: UInt32 = try reader.readLittleEndian("data_logging.items_left")
            let crc: UInt32 = try reader.readLittleEndian("data_logging.crc")
            self = .data(id, itemsLeft: itemsLeft, crc: crc, reader.readRemaining())
        case Command.close: self = .close(try Self.readID(&reader))
        case Command.timeout: self = .timeout(try Self.readID(&reader))
        case Command.sendEnableState:
            self = .sendEnableState(try reader.readUInt8("data_logging.send_enable") != 0)
        case Command.reportOpenSessions:
            self = .reportOpenSessions(reader.readRemaining().map(SessionID.init(rawValue:)))
        case Command.acknowledgement: self = .acknowledgement(try Self.readID(&reader))
        case Command.negativeAcknowledgement: self = .negativeAcknowledgement(try Self.readID(&reader))
        case Command.emptySession: self = .emptySession(try Self.readID(&reader))
        case Command.getSendEnable: self = .getSendEnable
        case Command.setSendEnable: self = .setSendEnable(try reader.readUInt8("data_logging.send_enable") != 0)
        default: throw ByteDecodingError("data_logging.command", .invalidValue(UInt64(command)))
        }
    }

    private static func readID(_ reader: inout ByteReader) throws(ByteDecodingError) -> SessionID {
        SessionID(rawValue: try reader.readUInt8("data_logging.session"))
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .open(let id, let session):
            payload += [Command.open, id.rawValue]
            session.encode(to: &payload)
        case .data(let id, let itemsLeft, let crc, let data):
            payload += [Command.data, id.rawValue]
            payload.appendLittleEndian(itemsLeft)
            payload.appendLittleEndian(crc)
            payload += data
        case .close(let id): payload += [Command.close, id.rawValue]
        case .timeout(let id): payload += [Command.timeout, id.rawValue]
        case .sendEnableState(let isEnabled): payload += [Command.sendEnableState, isEnabled ? 1 : 0]
        case .reportOpenSessions(let ids):
            payload.append(Command.reportOpenSessions)
            payload += ids.map { $0.rawValue }
        case .acknowledgement(let id): payload += [Command.acknowledgement, id.rawValue]
        case .negativeAcknowledgement(let id): payload += [Command.negativeAcknowledgement, id.rawValue]
        case .emptySession(let id): payload += [Command.emptySession, id.rawValue]
        case .getSendEnable: payload.append(Command.getSendEnable)
        case .setSendEnable(let isEnabled): payload += [Command.setSendEnable, isEnabled ? 1 : 0]
        }
    }
}

extension DataLoggingMessage.Session {
    fileprivate init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        application = try PebbleUUID(reading: &reader, "data_logging.uuid")
        timestamp = try reader.readLittleEndian("data_logging.timestamp")
        tag = try reader.readLittleEndian("data_logging.tag")
        let code = try reader.readUInt8("data_logging.item_type")
        guard let type = DataLoggingMessage.ItemType(rawValue: code) else {
            throw ByteDecodingError("data_logging.item_type", .invalidValue(UInt64(code)))
        }
        itemType = type
        itemSize = try reader.readLittleEndian("data_logging.item_size")
    }

    fileprivate func encode(to payload: inout [UInt8]) {
        application.encode(to: &payload)
        payload.appendLittleEndian(timestamp)
        payload.appendLittleEndian(tag)
        payload.append(itemType.rawValue)
        payload.appendLittleEndian(itemSize)
    }
}
