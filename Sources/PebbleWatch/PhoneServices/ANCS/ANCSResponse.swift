import ByteCoding

/// Puts a response together that comes over the Data Source in as many parts as the phone likes.
///
/// A response says neither how long it is nor when it ends: it has ended when everything that was asked for is there. What is
/// kept is bounded by the longest response that is allowed.
struct ANCSResponse: Sendable {
    /// What was asked, and so what the answer has to look like.
    enum Request: Sendable {
        case notification(ANCSNotificationUID)
        case appName(String)
    }

    /// An answer that is whole.
    enum Answer: Sendable {
        case attributes([ANCSAttributeID: ArraySlice<UInt8>])
        case appName(ArraySlice<UInt8>)
    }

    /// The most bytes of an app's identifier and of the labels, whose lengths cannot be asked for.
    static let identifierLimit = 255
    static let labelLimit = 128
    static let appNameLimit = 255

    private static let limits: [ANCSAttributeID: Int] = [
        .appIdentifier: identifierLimit, .title: ANCSCommand.longestTitle, .subtitle: ANCSCommand.subtitleLimit,
        .message: ANCSCommand.messageLimit, .date: identifierLimit, .positiveActionLabel: labelLimit,
        .negativeActionLabel: labelLimit,
    ]
    /// Some phones leave the labels out where there are no actions.
    private static let required: Set<ANCSAttributeID> = [.appIdentifier, .title, .subtitle, .message, .date]

    private let request: Request
    private var bytes: [UInt8] = []

    init(to request: Request) { self.request = request }

    /// Takes the next part.
    /// - Returns: the answer once it is whole.
    /// - Throws: when it can be no answer to what was asked; then nothing more is to be given.
    mutating func receive(_ part: ArraySlice<UInt8>) throws(ByteDecodingError) -> Answer? {
        bytes += part
        switch request {
        case .notification(let uid): return try notification(uid)
        case .appName(let app): return try appName(app)
        }
    }

    private func notification(_ uid: ANCSNotificationUID) throws(ByteDecodingError) -> Answer? {
        var reader = ByteReader(bytes)
        guard try Self.isNext([ANCSCommand.ID.getNotificationAttributes], in: &reader, "data_source.command_id"),
            try Self.isNext(Self.littleEndian(uid), in: &reader, "data_source.notification_uid")
        else { return nil }
        var found: [ANCSAttributeID: ArraySlice<UInt8>] = [:]
        while !reader.isEmpty {
            let id = ANCSAttributeID(rawValue: try reader.readUInt8("data_source.attribute_id"))
            guard let limit = Self.limits[id], found[id] == nil else {
                throw ByteDecodingError("data_source.attribute_id", .invalidValue(UInt64(id.rawValue)))
            }
            guard let value = try Self.value(from: &reader, limit: limit) else { return nil }
            found[id] = value
        }
        return Self.required.isSubset(of: found.keys) ? .attributes(found) : nil
    }

    private func appName(_ app: String) throws(ByteDecodingError) -> Answer? {
        var reader = ByteReader(bytes)
        guard try Self.isNext([ANCSCommand.ID.getAppAttributes], in: &reader, "data_source.command_id"),
            try Self.isNext(Array(app.utf8) + [0], in: &reader, "data_source.app_identifier"),
            try Self.isNext([ANCSCommand.displayName], in: &reader, "data_source.attribute_id"),
            let name = try Self.value(from: &reader, limit: Self.appNameLimit)
        else { return nil }
        try reader.expectEnd("data_source.app_attributes")
        return .appName(name)
    }

    /// Reads a length and as many bytes; nil if they are not all there yet.
    private static func value(
        from reader: inout ByteReader,
        limit: Int
    ) throws(ByteDecodingError) -> ArraySlice<UInt8>? {
        guard reader.count >= 2 else { return nil }
        let length = Int(try reader.readLittleEndian("data_source.attribute_length", as: UInt16.self))
        guard length <= limit else { throw ByteDecodingError("data_source.attribute_length", .invalidLength(length)) }
        guard reader.count >= length else { return nil }
        return try reader.readBytes(length, "data_source.attribute")
    }

    /// Whether these bytes are next; false if there are only the first of them yet.
    private static func isNext(
        _ expected: [UInt8],
        in reader: inout ByteReader,
        _ field: String
    ) throws(ByteDecodingError) -> Bool {
        let available = try reader.readBytes(min(expected.count, reader.count), field)
        for (found, expected) in zip(available, expected) where found != expected {
            throw ByteDecodingError(field, .invalidValue(UInt64(found)))
        }
        return available.count == expected.count
    }

    private static func littleEndian(_ uid: ANCSNotificationUID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(uid.rawValue)
        return bytes
    }
}

extension String {
    /// A text from a phone: without what is not UTF-8 at its end, where it may have been cut through a character, without
    /// NUL, and without the marks of writing direction that iOS puts around names.
    init(phoneText bytes: ArraySlice<UInt8>) {
        self.init(String.UnicodeScalarView(String(decoding: bytes, as: UTF8.self).unicodeScalars.filter(\.isShown)))
        while unicodeScalars.last == "\u{FFFD}" { unicodeScalars.removeLast() }
    }
}

extension Unicode.Scalar {
    fileprivate var isShown: Bool {
        switch value {
        case 0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
