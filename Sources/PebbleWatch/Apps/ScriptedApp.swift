import PebbleProtocol

/// An installed app that answers by the rules of a script.
///
/// What answers an acknowledged message is sent: a message whose answers find no room is refused.
public struct ScriptedApp: WatchApp {
    /// How many dictionaries wait for the outbox or for their time before more are refused.
    public static let queueLimit = OutboxQueue.limit

    public let uuid: PebbleUUID
    public let name: String
    public let flags: AppFlags
    public let sdk: SDKVersion
    private let script: AppScript
    private var queue = OutboxQueue()
    private var delayed: [AppTimer: Step] = [:]
    /// What it has drawn; nil as long as it has drawn nothing.
    private var canvas: FrameBuffer?

    /// An action whose time comes, or has come.
    private struct Step: Sendable {
        /// What it sends, if anything.
        var message: AppMessageDictionary?
        var drawings: [Drawing]
        /// The dictionary that it answers.
        var received: AppMessageDictionary
    }

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
        let messageCount = rule.actions.count { $0.tuples != nil }
        let delayedCount = rule.actions.count { $0.delay > .zero }
        guard messageCount <= room, delayed.count + delayedCount <= Self.queueLimit else {
            context.log(
                .warning,
                "too many messages wait for the phone, or for their time; the one that came is refused"
            )
            return context.refuseMessage()
        }
        perform(rule.actions, on: message, &context)
    }

    /// How many more messages there may be that have not left.
    private var room: Int { queue.room - delayed.values.count { $0.message != nil } }

    public mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {
        context.log(.warning, "a message was dropped: \(reason)")
    }

    public mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {
        perform(script.onButton[button] ?? [], on: .empty, &context)
    }

    public mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext) {
        guard let step = delayed.removeValue(forKey: timer) else { return }
        carryOut(step, &context)
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        queue.outboxIsFree(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        context.log(.warning, "a message was not delivered: \(reason)")
        queue.outboxIsFree(&context)
    }

    private mutating func perform(
        _ actions: [AppScript.Action],
        on received: AppMessageDictionary,
        _ context: inout AppContext
    ) {
        for action in actions {
            var step = Step(drawings: action.drawings, received: received)
            if let tuples = action.tuples {
                step.message = try? AppMessageDictionary(tuples.compactMap { $0.tuple(from: received) })
                if step.message == nil { context.log(.error, "a message of the script is too long") }
            }
            if action.delay <= .zero {
                carryOut(step, &context)
            } else if step.message == nil || room > 0, let timer = context.registerTimer(after: action.delay) {
                delayed[timer] = step
            } else {
                context.log(.warning, "too many actions wait for their time; one is dropped")
            }
        }
    }

    private mutating func carryOut(_ step: Step, _ context: inout AppContext) {
        if !step.drawings.isEmpty {
            var frame = canvas ?? FrameBuffer(context.display)
            canvas = nil
            for drawing in step.drawings { drawing.draw(on: &frame, received: step.received) }
            canvas = frame
            context.markDirty()
        }
        if let message = step.message { send(message, &context) }
    }

    public func draw(on frame: inout FrameBuffer) {
        if let canvas { frame = canvas } else { drawName(on: &frame) }
    }

    private mutating func send(_ message: AppMessageDictionary, _ context: inout AppContext) {
        guard room > 0, queue.send(message, &context) else {
            context.log(.warning, "too many messages wait for the phone; one is dropped")
            return
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
