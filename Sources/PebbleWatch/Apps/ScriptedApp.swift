import DequeModule
import PebbleProtocol

/// An installed app that answers by the rules of a script.
public struct ScriptedApp: WatchApp {
    /// How many dictionaries wait for the outbox before new ones are dropped.
    public static let queueLimit = 32

    public let uuid: PebbleUUID
    public let name: String
    public let flags: AppFlags
    public let sdk: SDKVersion
    private let script: AppScript
    private var waiting: Deque<AppMessageDictionary> = []
    private var delayed: [AppTimer: AppMessageDictionary] = [:]
    private var isSending = false

    /// An app under the name of an installed one.
    public init(_ metadata: AppMetadata, _ script: AppScript) {
        uuid = metadata.uuid
        name = metadata.name
        flags = metadata.flags
        sdk = metadata.sdk
        self.script = script
    }

    public mutating func didLaunch(_ context: inout AppContext) {
        _ = context.open(
            inboxSize: script.inboxSize ?? context.inboxSizeMaximum,
            outboxSize: script.outboxSize ?? context.outboxSizeMaximum
        )
        perform(script.onLaunch, on: .empty, &context)
    }

    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
        guard let rule = script.rules.first(where: { $0.matches(message) }) else { return }
        perform(rule.actions, on: message, &context)
    }

    public mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {
        context.log(.warning, "a message was dropped: \(reason)")
    }

    public mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {
        perform(script.onButton[button] ?? [], on: .empty, &context)
    }

    public mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext) {
        guard let message = delayed.removeValue(forKey: timer) else { return }
        send(message, &context)
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        isSending = false
        sendNext(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        context.log(.warning, "a message was not delivered: \(reason)")
        isSending = false
        sendNext(&context)
    }

    private mutating func perform(
        _ actions: [AppScript.Action],
        on received: AppMessageDictionary,
        _ context: inout AppContext
    ) {
        for action in actions {
            guard let message = try? AppMessageDictionary(action.tuples.compactMap { $0.tuple(from: received) }) else {
                context.log(.error, "a message of the script is too long")
                continue
            }
            if action.delay <= .zero {
                send(message, &context)
            } else if let timer = context.registerTimer(after: action.delay) {
                delayed[timer] = message
            } else {
                context.log(.warning, "too many messages wait for their time; one is dropped")
            }
        }
    }

    private mutating func send(_ message: AppMessageDictionary, _ context: inout AppContext) {
        guard waiting.count < Self.queueLimit else {
            context.log(.warning, "too many messages wait for the phone; one is dropped")
            return
        }
        waiting.append(message)
        sendNext(&context)
    }

    private mutating func sendNext(_ context: inout AppContext) {
        while !isSending, let next = waiting.popFirst() {
            let result = context.send(next)
            isSending = result == .ok
            if result != .ok { context.log(.warning, "a message was not sent: \(result)") }
        }
    }
}

extension AppScript.Rule {
    func matches(_ message: AppMessageDictionary) -> Bool { conditions.allSatisfy { $0.isMet(by: message) } }
}

extension AppScript.Condition {
    func isMet(by message: AppMessageDictionary) -> Bool {
        switch self {
        case .has(let key): message.first(forKey: key) != nil
        case .equals(let key, let wanted):
            if let number = wanted.integer {
                message.first(forKey: key)?.integer == number
            } else if let text = wanted.text {
                message.first(forKey: key)?.text == text
            } else {
                message.first(forKey: key) == wanted
            }
        }
    }
}

extension AppScript.Tuple {
    func tuple(from received: AppMessageDictionary) -> AppMessageTuple? {
        switch source {
        case .value(let value): AppMessageTuple(key: key, value: value)
        case .received(let other): received.first(forKey: other).map { AppMessageTuple(key: key, value: $0) }
        }
    }
}
