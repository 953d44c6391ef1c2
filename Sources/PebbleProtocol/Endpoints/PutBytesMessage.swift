import ByteCoding

/// Names an upload; the watch chooses it.
public struct PutBytesToken: RawRepresentable, Hashable, Sendable {
    /// The number on the wire. 0 and 0xFFFFFFFF mean "none" to some clients: never give them out.
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// What a refusal names when there is no upload.
    package static let none = PutBytesToken(rawValue: 0)
}

/// Endpoint 0xBEEF, phone to watch: uploads an object. Big-endian throughout.
public enum PutBytesRequest: EndpointMessage {
    /// `01`: an upload begins.
    case begin(PutBytesObject)
    /// `02`, token, length, data: the next piece.
    case put(PutBytesPiece)
    /// `03`, token, checksum of the whole object: the upload is complete.
    case commit(PutBytesToken, crc: UInt32)
    /// `04`, token: the upload is given up.
    case abort(PutBytesToken)
    /// `05`, token: use the object.
    case install(PutBytesToken)

    public static var endpoint: Endpoint { .putBytes }

    /// The longest message that the firmware has a buffer for: a piece of 2044 bytes.
    package static let maximumLength = 2053

    /// The token that a message names, whatever else is wrong with it; none in a beginning. Missing bytes count as zeros.
    package static func token(of payload: [UInt8]) -> PutBytesToken {
        guard payload.first != Command.begin else { return .none }
        let bytes = payload.dropFirst().prefix(4)
        return PutBytesToken(rawValue: bytes.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(4 - bytes.count)))
    }

    /// Whether a message is a piece, or was to be one.
    package static func isPiece(_ payload: [UInt8]) -> Bool { payload.first == Command.put }

    private enum Command {
        static let begin: UInt8 = 0x01
        static let put: UInt8 = 0x02
        static let commit: UInt8 = 0x03
        static let abort: UInt8 = 0x04
        static let install: UInt8 = 0x05
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("put_bytes.command")
        switch command {
        case Command.begin: self = .begin(try PutBytesObject(reading: &reader))
        case Command.put:
            let token = try Self.readToken(&reader)
            let length: UInt32 = try reader.readBigEndian("put_bytes.length")
            self = .put(PutBytesPiece(token: token, declaredLength: length, data: reader.readRemaining()))
        case Command.commit: self = .commit(try Self.readToken(&reader), crc: try reader.readBigEndian("put_bytes.crc"))
        case Command.abort: self = .abort(try Self.readToken(&reader))
        case Command.install: self = .install(try Self.readToken(&reader))
        default: throw ByteDecodingError("put_bytes.command", .invalidValue(UInt64(command)))
        }
    }

    private static func readToken(_ reader: inout ByteReader) throws(ByteDecodingError) -> PutBytesToken {
        PutBytesToken(rawValue: try reader.readBigEndian("put_bytes.token"))
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .begin(let object):
            payload.append(Command.begin)
            object.encode(to: &payload)
        case .put(let piece):
            payload.append(Command.put)
            payload.appendBigEndian(piece.token.rawValue)
            payload.appendBigEndian(piece.declaredLength)
            payload += piece.data
        case .commit(let token, let crc):
            payload.append(Command.commit)
            payload.appendBigEndian(token.rawValue)
            payload.appendBigEndian(crc)
        case .abort(let token):
            payload.append(Command.abort)
            payload.appendBigEndian(token.rawValue)
        case .install(let token):
            payload.append(Command.install)
            payload.appendBigEndian(token.rawValue)
        }
    }
}

/// A piece of an upload.
public struct PutBytesPiece: Equatable, Sendable {
    /// The upload.
    public var token: PutBytesToken
    /// What the message says of its length: a watch takes so many bytes, and refuses the piece if there are fewer.
    public var declaredLength: UInt32
    /// The bytes. They share the message's storage.
    public var data: ArraySlice<UInt8>

    /// A piece as it was received.
    package init(token: PutBytesToken, declaredLength: UInt32, data: ArraySlice<UInt8>) {
        self.token = token
        self.declaredLength = declaredLength
        self.data = data
    }

    /// A piece that says the truth.
    public init(token: PutBytesToken, data: ArraySlice<UInt8>) {
        self.init(token: token, declaredLength: UInt32(clamping: data.count), data: data)
    }
}

/// What is uploaded, and where to.
///
/// Layout: size (UInt32), type (UInt8), then with bit 7 of the type set an app id (UInt32), else a bank (UInt8) and
/// an optional file name with NUL; then optionally the eight bytes that resume an upload.
public struct PutBytesObject: Equatable, Sendable {
    /// How many bytes will come: of a resumed upload, those that are missing.
    public var size: UInt32
    /// What they are.
    public var kind: Kind
    /// Where they go.
    public var target: Target
    /// How many bytes of it the watch has already; the final checksum covers them too.
    public var resumeOffset: UInt32?

    /// The kinds of objects.
    public enum Kind: UInt8, Sendable {
        /// The firmware that the watch is to run.
        case firmware = 1
        /// The recovery firmware.
        case recoveryFirmware = 2
        /// The resources of the firmware, a pack of the kind `ResourcePack.Kind.system`.
        case systemResources = 3
        /// The resources of an app, a pack of the kind `ResourcePack.Kind.app`.
        case appResources = 4
        /// The executable of an app; its first bytes are a `ProcessHeader`.
        case appBinary = 5
        /// A file of the name that the target gives, such as `lang` for a language pack.
        case file = 6
        /// The executable of an app's background worker.
        case appWorker = 7
    }

    /// Where an object goes.
    public enum Target: Equatable, Sendable {
        /// To an app, by the cookie of its fetch. Gadgetbridge uses this with 0 even for firmware.
        case app(AppID)
        /// To a bank or a file. Clients differ in whether they send an empty name (`""`) or none (nil).
        case bank(UInt8, fileName: String?)
    }

    /// How many banks the firmware has, for clients that do not name an app.
    package static let bankCount: UInt8 = 8

    private static let appFlag: UInt8 = 0x80
    /// `BE 43 54 EF`, before the offset.
    private static let resumeMagic: [UInt8] = [0xBE, 0x43, 0x54, 0xEF]
    private static let resumeBlockLength = 8
    /// Of size, type and the longest form without name: only what is longer can hold the block.
    private static let longestPlainLength = 9

    /// An object by its fields.
    public init(size: UInt32, kind: Kind, target: Target, resumeOffset: UInt32? = nil) {
        self.size = size
        self.kind = kind
        self.target = target
        self.resumeOffset = resumeOffset
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        var body = ByteReader(reader.readRemaining())
        if body.count > Self.longestPlainLength {
            var block = ByteReader(body.remaining.suffix(Self.resumeBlockLength))
            if block.remaining.starts(with: Self.resumeMagic) {
                _ = try block.readBytes(Self.resumeMagic.count, "put_bytes.resume_magic")
                resumeOffset = try block.readBigEndian("put_bytes.append_offset")
                body = ByteReader(body.remaining.dropLast(Self.resumeBlockLength))
            }
        }
        size = try body.readBigEndian("put_bytes.size")
        let type = try body.readUInt8("put_bytes.type")
        // The firmware takes a message that ends here, and reads zeros.
        guard let kind = Kind(rawValue: type & ~Self.appFlag) else {
            throw ByteDecodingError("put_bytes.type", .invalidValue(UInt64(type)))
        }
        self.kind = kind
        if type & Self.appFlag != 0 {
            let bytes = Array(body.readRemaining().prefix(4))
            var cookie = ByteReader(bytes + [UInt8](repeating: 0, count: 4 - bytes.count))
            target = .app(AppID(rawValue: try cookie.readBigEndian("put_bytes.app_id")))
        } else {
            let bank = body.isEmpty ? 0 : try body.readUInt8("put_bytes.bank")
            let name = body.isEmpty ? nil : try body.readFixedString(width: body.count, "put_bytes.filename")
            target = .bank(bank, fileName: name)
        }
    }

    func encode(to payload: inout [UInt8]) {
        payload.appendBigEndian(size)
        switch target {
        case .app(let id):
            payload.append(kind.rawValue | Self.appFlag)
            payload.appendBigEndian(id.rawValue)
        case .bank(let bank, let fileName):
            payload += [kind.rawValue, bank]
            if let fileName {
                payload += fileName.utf8
                payload.append(0)
            }
        }
        if let resumeOffset {
            payload += Self.resumeMagic
            payload.appendBigEndian(resumeOffset)
        }
    }
}

/// Endpoint 0xBEEF, watch to phone: one answer for every request. Layout: `01` or `02`, token.
public enum PutBytesResponse: EndpointMessage {
    /// `01`: the request was carried out.
    case acknowledgement(PutBytesToken)
    /// `02`: the request was refused. The token is 0 where there is none to name.
    case negativeAcknowledgement(PutBytesToken)

    public static var endpoint: Endpoint { .putBytes }

    /// The upload that it is about, or 0.
    public var token: PutBytesToken {
        switch self {
        case .acknowledgement(let token), .negativeAcknowledgement(let token): token
        }
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let result = try reader.readUInt8("put_bytes.result")
        let token = PutBytesToken(rawValue: try reader.readBigEndian("put_bytes.token"))
        switch result {
        case 0x01: self = .acknowledgement(token)
        case 0x02: self = .negativeAcknowledgement(token)
        default: throw ByteDecodingError("put_bytes.result", .invalidValue(UInt64(result)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .acknowledgement(let token):
            payload.append(0x01)
            payload.appendBigEndian(token.rawValue)
        case .negativeAcknowledgement(let token):
            payload.append(0x02)
            payload.appendBigEndian(token.rawValue)
        }
    }
}
