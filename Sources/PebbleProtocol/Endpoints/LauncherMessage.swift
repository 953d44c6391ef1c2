import ByteCoding

/// Endpoint 0x0031: run state as phones and watches told it before firmware 3.0, in AppMessage's format.
package struct LauncherMessage: EndpointMessage {
    /// What travels: a push of one tuple, or its acknowledgement.
    package var message: AppMessage

    /// What a push says. The app is in the push's UUID.
    package enum Command: Equatable, Sendable {
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
    package init(_ message: AppMessage) { self.message = message }

    /// A command from the phone; its value has one byte.
    package init(_ command: Command, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let tuple =
            switch command {
            case .run: AppMessageTuple(key: Key.runState, value: .uint8(1))
            case .kill: AppMessageTuple(key: Key.runState, value: .uint8(0))
            case .fetchState: AppMessageTuple(key: Key.fetchState, value: .uint8(1))
            }
        self.init(tuple, application: application, transaction: transaction)
    }

    /// A change of state announced by the watch; its value has four bytes.
    package init(isRunning: Bool, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let tuple = AppMessageTuple(key: Key.runState, value: .uint32(isRunning ? 1 : 0))
        self.init(tuple, application: application, transaction: transaction)
    }

    private init(_ tuple: AppMessageTuple, application: PebbleUUID, transaction: AppMessageTransactionID) {
        let dictionary = (try? AppMessageDictionary(CollectionOfOne(tuple))) ?? .empty
        message = .push(
            AppMessagePush(transaction: transaction, application: application, dictionary: dictionary)
        )
    }

    /// What the push says, in its order; nothing for anything else.
    package var commands: [Command] {
        guard case .push(let push) = message else { return [] }
        return push.dictionary.compactMap { tuple in
            switch tuple.key {
            // The firmware looks at the first byte of whatever value there is.
            case Key.runState:
                tuple.value.integer.map { UInt8(truncatingIfNeeded: $0) } == 1 ? .run : .kill
            case Key.fetchState: .fetchState
            default: nil
            }
        }
    }

    /// What of a message is readable, whatever else is wrong with it.
    package struct Header: Equatable, Sendable {
        /// What the answer names.
        package let transaction: AppMessageTransactionID
        /// Whether the watch answers: it does not answer answers.
        package let isToBeAnswered: Bool

        /// The first two bytes of a message.
        package init(payload: [UInt8]) throws(ByteDecodingError) {
            var reader = ByteReader(payload)
            let command = try reader.readUInt8("launcher.command")
            transaction = AppMessageTransactionID(rawValue: try reader.readUInt8("launcher.transaction_id"))
            isToBeAnswered = !AppMessage.isAnswer(command)
        }
    }

    package static var endpoint: Endpoint { .launcher }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        message = try AppMessage(reading: &reader)
    }

    package func encodePayload(to payload: inout [UInt8]) { message.encodePayload(to: &payload) }
}
