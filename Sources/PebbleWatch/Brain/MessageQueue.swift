import DequeModule
import PebbleProtocol

/// Messages that wait, whole and in order, and not more of them than there is room for.
struct MessageQueue: Sendable {
    /// How many bytes may wait.
    private let limit: Int
    private var messages: Deque<PebbleMessage> = []
    private var byteCount = 0

    /// A queue in which nothing waits.
    init(limit: Int) { self.limit = limit }

    /// Whether nothing waits.
    var isEmpty: Bool { messages.isEmpty }

    /// Queues a message.
    /// - Returns: false if there was no room, and it was not queued.
    mutating func append(_ message: PebbleMessage) -> Bool {
        guard byteCount + message.length <= limit else { return false }
        byteCount += message.length
        messages.append(message)
        return true
    }

    /// Takes the oldest message; nil when nothing waits.
    mutating func next() -> PebbleMessage? {
        guard let message = messages.popFirst() else { return nil }
        byteCount -= message.length
        return message
    }

    /// Forgets what waits.
    mutating func removeAll() { self = MessageQueue(limit: limit) }
}

extension PebbleMessage {
    /// How many bytes it is in the stream.
    fileprivate var length: Int { Self.headerLength + payload.count }
}
