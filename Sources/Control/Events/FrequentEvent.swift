import ByteCoding
import PebbleProtocol
import PebbleWatch

/// An event of which there are many: what its words and its fields are made of when somebody reads them. Of most of them, nobody does.
package enum FrequentEvent: Sendable {
    /// A message of the Pebble Protocol came in or went out; of its payload, only the length is kept.
    case message(SessionID, MessageDirection, Endpoint, byteCount: Int)
    /// The running app got a dictionary.
    case appMessageReceived(PebbleUUID, AppMessageDictionary)
    /// A dictionary of the running app's was acknowledged, refused or given up.
    case appMessageSent(PebbleUUID, AppMessageDictionary, AppMessageResult)

    /// The event's name for programs.
    var name: ControlEventName {
        switch self {
        case .message: .message
        case .appMessageReceived: .appMessageReceived
        case .appMessageSent: .appMessageSent
        }
    }

    /// The event's fields for programs.
    var fields: ControlEventFields {
        switch self {
        case .message(let session, let direction, let endpoint, let byteCount):
            .init(
                .message,
                ControlEvents.Message(
                    session: session.number,
                    isFromPhone: direction == .fromPhone,
                    endpoint: Int(endpoint.rawValue),
                    name: "\(endpoint)",
                    length: byteCount
                )
            )
        case .appMessageReceived(let app, let dictionary):
            .init(.appMessageReceived, ControlEvents.AppMessageReceived(app, dictionary))
        case .appMessageSent(let app, let dictionary, let result):
            .init(
                .appMessageSent,
                ControlEvents.AppMessageSent(message: .init(app, dictionary), result: "\(result)")
            )
        }
    }

    /// How many bytes words and fields take, roughly.
    var size: Int {
        switch self {
        case .message: 192
        case .appMessageReceived(_, let dictionary), .appMessageSent(_, let dictionary, _):
            // Numbers take more than in the dictionary.
            256 + 4 * dictionary.encoded.count
        }
    }

    // MARK: Words

    /// The event in words.
    package var text: String {
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The words without what people say and do: for AppMessages, the dictionary's size stands for the dictionary.
    package var discreetText: String {
        var text: [UInt8] = []
        appendSubject(to: &text)
        if let dictionary {
            text += Self.comma
            text.append(decimal: dictionary.encoded.count)
            text += Self.bytes
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the words as UTF-8, for those who have a buffer for them.
    package func appendText(to text: inout [UInt8]) {
        appendSubject(to: &text)
        guard let dictionary else { return }
        text += Self.colon
        let start = text.count
        dictionary.appendText(to: &text)
        guard text.count - start > String.lineLength else { return }
        let words = String(decoding: text[start...], as: UTF8.self).inOneLine
        text.removeSubrange(start...)
        text.append(text: words)
    }

    // Bytes already: these words are written with every message.
    private static let session = Array("session ".utf8)
    private static let fromPhone = Array(" < ".utf8)
    private static let toPhone = Array(" > ".utf8)
    private static let toApp = Array("AppMessage to app ".utf8)
    private static let fromApp = Array("AppMessage from app ".utf8)
    private static let bytes = Array(" bytes".utf8)
    private static let comma = Array(", ".utf8)
    private static let colon = Array(": ".utf8)

    private func appendSubject(to text: inout [UInt8]) {
        switch self {
        case .message(let session, let direction, let endpoint, let byteCount):
            text += Self.session
            text.append(decimal: session.number)
            text += direction == .fromPhone ? Self.fromPhone : Self.toPhone
            endpoint.appendText(to: &text)
            text += Self.comma
            text.append(decimal: byteCount)
            text += Self.bytes
        case .appMessageReceived(let app, _):
            text += Self.toApp
            app.appendShort(to: &text)
        case .appMessageSent(let app, _, let result):
            text += Self.fromApp
            app.appendShort(to: &text)
            text += Self.comma
            text.append(text: result.description)
        }
    }

    private var dictionary: AppMessageDictionary? {
        switch self {
        case .message: nil
        case .appMessageReceived(_, let dictionary), .appMessageSent(_, let dictionary, _): dictionary
        }
    }
}

extension WatchEvent {
    /// The event, if it is one of which there are many.
    package var frequent: FrequentEvent? {
        if case .message(let session, let direction, let message) = self {
            return .message(session, direction, message.endpoint, byteCount: message.payload.count)
        }
        if case .appMessageReceived(let app, let dictionary) = self { return .appMessageReceived(app, dictionary) }
        if case .appMessageSent(let app, let dictionary, let result) = self {
            return .appMessageSent(app, dictionary, result)
        }
        return nil
    }
}

extension PebbleUUID {
    /// Enough to tell apps apart in a line: the first eight digits.
    package var short: String {
        var text: [UInt8] = []
        appendShort(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether one of those digits is a number: nearly always.
    package var shortIsNumber: Bool {
        stride(from: UInt64(32), through: 60, by: 4).contains { upperHalf >> $0 & 15 < 10 }
    }

    fileprivate func appendShort(to text: inout [UInt8]) {
        for shift in stride(from: UInt64(56), through: 32, by: -8) {
            text.appendHexadecimal(UInt8(truncatingIfNeeded: upperHalf >> shift))
        }
    }
}
