import ByteCoding

/// Tells a push from the next, and which push an answer is for. Each direction counts for itself.
public struct AppMessageTransactionID: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The number on the wire.
    public let rawValue: UInt8

    /// Any number is legal; libpebble2 starts at 2, others at 0 or 1.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public init(integerLiteral value: UInt8) { rawValue = value }

    /// The number after this one; 0 follows 255.
    package var next: AppMessageTransactionID { AppMessageTransactionID(rawValue: rawValue &+ 1) }

    public var description: String { "\(rawValue)" }
}

/// Endpoint 0x0030: dictionaries between a watchapp and its companion on the phone, and their acknowledgements.
public enum AppMessage: EndpointMessage {
    /// `01`, transaction, UUID, dictionary.
    case push(AppMessagePush)
    /// `02`, transaction: defined, but never implemented by anyone; ignore it.
    case request(AppMessageTransactionID)
    /// `FF`, transaction. Bytes may follow (Gadgetbridge appends the UUID).
    case acknowledgement(AppMessageTransactionID)
    /// `7F`, transaction. Bytes may follow.
    case negativeAcknowledgement(AppMessageTransactionID)

    public static var endpoint: Endpoint { .appMessage }

    private enum Command {
        static let push: UInt8 = 0x01
        static let request: UInt8 = 0x02
        static let negativeAcknowledgement: UInt8 = 0x7F
        static let acknowledgement: UInt8 = 0xFF
    }

    /// A push shorter than `AppMessageLimits.minimumPushLength` is an error: a watch drops it without any answer.
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("app_message.command")
        let transaction = AppMessageTransactionID(rawValue: try reader.readUInt8("app_message.transaction_id"))
        switch command {
        case Command.push:
            let application = try PebbleUUID(reading: &reader, "app_message.uuid")
            guard !reader.isEmpty else {
                throw ByteDecodingError("app_message.dictionary", .truncated(needed: 1, available: 0))
            }
            let dictionary = AppMessageDictionary(encoded: reader.readRemaining())
            self = .push(AppMessagePush(transaction: transaction, application: application, dictionary: dictionary))
        case Command.request: self = .request(transaction)
        case Command.acknowledgement: self = .acknowledgement(transaction)
        case Command.negativeAcknowledgement: self = .negativeAcknowledgement(transaction)
        default: throw ByteDecodingError("app_message.command", .invalidValue(UInt64(command)))
        }
    }

    /// The transaction of a push, of which the first two bytes suffice: a push that cannot be read is refused all the same.
    package static func pushTransaction(of payload: [UInt8]) -> AppMessageTransactionID? {
        var reader = ByteReader(payload)
        guard let command = try? reader.readUInt8("app_message.command"), command == Command.push,
            let transaction = try? reader.readUInt8("app_message.transaction_id")
        else { return nil }
        return AppMessageTransactionID(rawValue: transaction)
    }

    /// Whether a message with this command is an answer.
    package static func isAnswer(_ command: UInt8) -> Bool {
        command == Command.acknowledgement || command == Command.negativeAcknowledgement
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .push(let push):
            payload.append(Command.push)
            payload.append(push.transaction.rawValue)
            push.application.encode(to: &payload)
            payload += push.dictionary.encoded
        case .request(let transaction):
            payload += [Command.request, transaction.rawValue]
        case .acknowledgement(let transaction):
            payload += [Command.acknowledgement, transaction.rawValue]
        case .negativeAcknowledgement(let transaction):
            payload += [Command.negativeAcknowledgement, transaction.rawValue]
        }
    }
}

/// A dictionary on its way to the other side.
public struct AppMessagePush: Equatable, Sendable {
    /// What the answer will name.
    public var transaction: AppMessageTransactionID
    /// The watchapp that it is for or from.
    public var application: PebbleUUID
    /// What is said.
    public var dictionary: AppMessageDictionary

    /// A push of a dictionary.
    public init(
        transaction: AppMessageTransactionID,
        application: PebbleUUID,
        dictionary: AppMessageDictionary
    ) {
        self.transaction = transaction
        self.application = application
        self.dictionary = dictionary
    }
}
