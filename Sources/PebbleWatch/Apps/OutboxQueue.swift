import DequeModule
import PebbleProtocol

/// What an app still has to send: its dictionaries leave one after the other, in their order, each when the outbox is free.
///
/// The outbox takes one message at a time, and a message that somebody else had the app send occupies it as well. The app
/// passes on ``WatchApp/outboxSent(_:_:)`` and ``WatchApp/outboxFailed(_:_:_:)``, which are called for that message too.
struct OutboxQueue: Sendable {
    /// How many dictionaries may wait.
    static let limit = 32

    private var waiting: Deque<AppMessageDictionary> = []
    /// Whether the outbox was seen to be taken, by this queue's own message or by another.
    private var isOutboxTaken = false

    /// How many more dictionaries may be added.
    var room: Int { Self.limit - waiting.count }
    /// Whether nothing waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// Adds a dictionary, and sends it if it is the first and the outbox is free.
    /// - Returns: false, with nothing changed, when no more may wait.
    mutating func send(_ message: AppMessageDictionary, _ context: inout AppContext) -> Bool {
        guard room > 0 else { return false }
        waiting.append(message)
        sendNext(&context)
        return true
    }

    /// The message that was under way is over: the next one leaves.
    mutating func outboxIsFree(_ context: inout AppContext) {
        isOutboxTaken = false
        sendNext(&context)
    }

    private mutating func sendNext(_ context: inout AppContext) {
        while !isOutboxTaken, let next = waiting.first {
            let result = context.send(next)
            // While it is busy the first stays the first: the app is told when the message that is under way ends.
            isOutboxTaken = result == .ok || result == .busy
            if result == .busy { return }
            waiting.removeFirst()
            // What is refused for another reason never goes: it is too long for this phone, or the outbox is closed.
            if result != .ok { context.log(.warning, "a message was not sent: \(result)") }
        }
    }
}
