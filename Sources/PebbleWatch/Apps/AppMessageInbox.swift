import DequeModule
import PebbleProtocol

/// The receiving half of AppMessage: a buffer of fixed size into which the system writes messages and from which the app
/// takes them, with the firmware's arithmetic.
///
/// Pushes and the answers to the app's own messages go through the same buffer, each with its headers. Space is asked for
/// when a message's header arrives, and is free again when the app has handled a push, or everything that was there when it
/// began. A message for which there is no space is lost and counted; the app hears of it later.
struct AppMessageInbox: Sendable {
    /// A message in the buffer.
    struct Message: Sendable {
        /// Where it came from, and where the answer goes.
        let session: SessionID
        /// All of it, as it travelled after the Pebble Protocol's header.
        let payload: [UInt8]
    }

    /// What the app is called for: what was there when it was called.
    struct Batch: Sendable {
        var messageCount: Int
        var droppedCount: Int
    }

    /// The buffer's own header before every message.
    private static let messageHeaderLength = 8
    /// The session, which the receiver notes down before every message.
    private static let receiverHeaderLength = 12
    /// An acknowledgement: command and transaction.
    private static let acknowledgementLength = 2
    /// What the buffer has beyond the dictionary that the app asked for: one push of that size and one answer always fit.
    static let overhead =
        AppMessageLimits.pushHeaderLength + acknowledgementLength + 2 * (receiverHeaderLength + messageHeaderLength)

    /// What a message takes of the buffer.
    static func cost(payloadLength: Int) -> Int { messageHeaderLength + receiverHeaderLength + payloadLength }

    private(set) var isOpen = false
    private var size = 0
    /// The longest message that is taken at all.
    private var longestPayload = 0
    /// What whole messages take, with those that the app has handled and not yet given back.
    private var occupied = 0
    private var handled = 0
    private var messages: Deque<Message> = []
    /// Who writes a message that is not whole yet.
    private(set) var writer: SessionID?
    /// Messages and losses that the app has not been called for.
    private var newMessageCount = 0
    private var droppedCount = 0
    private var isAppToBeCalled = false

    /// Opens for dictionaries of up to `capacity` bytes; zero leaves it closed.
    ///
    /// While the buffer is empty, a push that is a little longer than `capacity` fits too, in the place of an answer; but
    /// none that is longer than `limit`, which is the most that the app could have asked for.
    mutating func open(capacity: Int, limit: Int) {
        self = AppMessageInbox()
        isOpen = capacity > 0
        size = isOpen ? capacity + Self.overhead : 0
        longestPayload = AppMessageLimits.pushHeaderLength + limit
    }

    /// Closes it; what is in it is lost, without a word.
    mutating func close() { self = AppMessageInbox() }

    /// A message's header has arrived.
    /// - Returns: whether the message will be written; otherwise the system refuses it in the app's name.
    mutating func begin(payloadLength: Int, from session: SessionID) -> Bool {
        guard isOpen else { return false }
        guard writer == nil else {
            // The app is called when the other message ends.
            droppedCount += 1
            return false
        }
        guard payloadLength <= longestPayload, occupied + Self.cost(payloadLength: payloadLength) <= size else {
            droppedCount += 1
            isAppToBeCalled = true
            return false
        }
        writer = session
        return true
    }

    /// The message is whole.
    /// - Returns: whether it was written: not if the buffer was closed, or opened again, since it began.
    mutating func end(_ payload: [UInt8], from session: SessionID) -> Bool {
        guard isOpen else { return false }
        isAppToBeCalled = true
        guard writer == session else {
            droppedCount += 1
            return false
        }
        writer = nil
        occupied += Self.cost(payloadLength: payload.count)
        messages.append(Message(session: session, payload: payload))
        newMessageCount += 1
        return true
    }

    /// The session ended in the middle of a message.
    mutating func cancel(from session: SessionID) {
        if writer == session { writer = nil }
    }

    /// Whether the app has to be called; asked once.
    mutating func takeCall() -> Bool {
        defer { isAppToBeCalled = false }
        return isAppToBeCalled
    }

    /// What the app is called for.
    mutating func takeBatch() -> Batch {
        defer {
            newMessageCount = 0
            droppedCount = 0
        }
        return Batch(messageCount: newMessageCount, droppedCount: droppedCount)
    }

    /// The oldest message that the app has not seen; its space stays taken.
    mutating func nextMessage() -> Message? {
        guard let message = messages.popFirst() else { return nil }
        handled += Self.cost(payloadLength: message.payload.count)
        return message
    }

    /// The app gives back the space of everything that it has seen.
    mutating func consume() {
        occupied -= handled
        handled = 0
    }
}
