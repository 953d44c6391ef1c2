import DequeModule
import PebbleProtocol

/// The dictionaries that came from the watch and that no command has taken: the newest, in the order in which they came.
///
/// A program that asks for a dictionary which it has caused finds it here, however late it asks.
struct AppMessageInbox: Sendable {
    /// How many are kept at most; beyond it the oldest go.
    static let countLimit = 64
    /// How many bytes they take at most.
    static let byteLimit = 128 * 1024

    private var messages: Deque<AppMessagePush> = []
    private var byteCount = 0

    /// How many there are.
    var count: Int { messages.count }

    /// Puts one at the end. One that is longer than all together may be is kept alone.
    mutating func put(_ push: AppMessagePush) {
        messages.append(push)
        byteCount += push.dictionary.encoded.count
        while messages.count > 1, messages.count > Self.countLimit || byteCount > Self.byteLimit {
            byteCount -= messages.removeFirst().dictionary.encoded.count
        }
    }

    /// Takes the oldest that is wanted; nil if none is.
    mutating func take(_ isWanted: (AppMessagePush) -> Bool) -> AppMessagePush? {
        guard let index = messages.firstIndex(where: isWanted) else { return nil }
        let push = messages.remove(at: index)
        byteCount -= push.dictionary.encoded.count
        return push
    }
}

extension AppMessagePush {
    /// Whether it is of an app, or of any, and has all of these entries, whatever else it has.
    func matches(_ entries: [AppMessageTuple], from wanted: PebbleUUID?) -> Bool {
        guard wanted == nil || wanted == application else { return false }
        return entries.allSatisfy { entry in
            dictionary.contains { $0.key == entry.key && $0.value.says(the: entry.value) }
        }
    }
}

extension AppMessageValue {
    /// Whether it says the same: numbers may have any width and sign, as senders choose them freely.
    fileprivate func says(the other: AppMessageValue) -> Bool {
        if let number = integer { return number == other.integer }
        if let text { return text == other.text }
        return self == other
    }
}
