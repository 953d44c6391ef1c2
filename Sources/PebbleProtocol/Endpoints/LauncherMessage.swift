import ByteCoding

/// Endpoint 0x0031: run state as phones and watches told it before firmware 3.0, in AppMessage's format.
public struct LauncherMessage: EndpointMessage {
    /// What travels: a push of one tuple, or its acknowledgement.
    public var message: AppMessage

    /// What a push says. The app is in the push's UUID.
    public enum Command: Equatable, Sendable {
        /// Key 1, value 1. To the watch: run this app. From the watch: it runs.
        case run
        /// Key 1, value 0. To the watch: kill this app. From the watch: it was killed.
        case kill
        /// Key 2, to the watch: tell whether this app runs.
        case fetchState
    }

    private enum Key {
        static let runState: UInt32 = 1
        static let fetchState: UInt32 = 2
    }

    /// Any message in AppMessage's format.
    public init(_ message: AppMessage) { self.message = message }

    /// A command from the phone; its value has one byte.
    public init(_ command: Command, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let tuple =
            switch command {
            case .run: AppMessageTuple(key: Key.runState, value: .uint8(1))
            case .kill: AppMessageTuple(key: Key.runState, value: .uint8(0))
            case .fetchState: AppMessageTuple(key: Key.fetchState, value: .uint8(1))
            }
        self.init(tuple, application: application, transaction: transaction)
    }

    /// A change of state announced by the watch; its value has four bytes.
    public init(isRunning: Bool, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let tuple = AppMessageTuple(key: Key.runState, value: .uint32(isRunning ? 1 : 0))
        self.init(tuple, application: application, transaction: transaction)
    }

    private init(_ tuple: AppMessageTuple, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let dictionary = (try? AppMessageDictionary(CollectionOfOne(tuple))) ?? .empty
        message = .push(
            AppMessagePush(transaction: transaction, application: application, dictionary: dictionary)
        )
    }

    /// What the push says; nil for anything else.
    public var command: Command? {
        guard case .push(let push) = message else { return nil }
        if let state = push.dictionary.first(forKey: Key.runState)?.integer { return state == 0 ? .kill : .run }
        return push.dictionary.first(forKey: Key.fetchState) == nil ? nil : .fetchState
    }

    public static var endpoint: Endpoint { .launcher }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        message = try AppMessage(reading: &reader)
    }

    public func encodePayload(to payload: inout [UInt8]) { message.encodePayload(to: &payload) }
}
