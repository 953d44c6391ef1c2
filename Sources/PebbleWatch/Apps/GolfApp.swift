import PebbleProtocol

/// The Golf app: a companion shows the distances to the green, and is told which hole the player looks at.
public struct GolfApp: WatchApp {
    /// The UUID that companions know: cf1e816a-9db0-4511-bbb8-f60c48ca8fac.
    public static let identifier = PebbleUUID(upperHalf: 0xCF1E_816A_9DB0_4511, lowerHalf: 0xBBB8_F60C_48CA_8FAC)

    /// What the tuples of its messages are. All but the command are texts from the companion.
    public enum Key {
        /// The distance to the front of the green.
        public static let front: UInt32 = 0
        /// The distance to the middle of the green.
        public static let mid: UInt32 = 1
        /// The distance to the back of the green.
        public static let back: UInt32 = 2
        /// The number of the hole.
        public static let hole: UInt32 = 3
        /// The par of the hole.
        public static let par: UInt32 = 4
        /// To the companion: see ``Command``.
        public static let command: UInt32 = 5
    }

    /// What the player asks for.
    public enum Command: UInt8, Sendable {
        /// The hole before: the up button.
        case previous = 1
        /// The hole after: the down button.
        case next = 2
        /// The select button; the companion decides what it means.
        case select = 3
    }

    public let uuid = Self.identifier
    public let name = "Golf"
    public let flags: AppFlags = .shownOnlyWhenCommunicating

    /// What the companion has said, the latest of each key.
    public private(set) var values: [UInt32: AppMessageValue] = [:]

    private var queue = OutboxQueue()

    /// A round that has not begun.
    public init() {}

    public mutating func didLaunch(_ context: inout AppContext) {
        _ = context.open(
            inboxSize: AppMessageLimits.guaranteedInboxSize,
            outboxSize: AppMessageLimits.guaranteedOutboxSize
        )
    }

    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
        for tuple in message where tuple.key <= Key.par { values[tuple.key] = tuple.value }
        context.markDirty()
    }

    public mutating func connectionChanged(isConnected: Bool, _ context: inout AppContext) {
        // Old distances would mislead.
        if !isConnected { values = [:] }
        context.markDirty()
    }

    public mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {
        let command: Command
        switch button {
        case .up: command = .previous
        case .down: command = .next
        case .select: command = .select
        case .back: return
        }
        guard
            let message = try? AppMessageDictionary([
                AppMessageTuple(key: Key.command, value: .uint8(command.rawValue))
            ])
        else { return }
        if !queue.send(message, &context) {
            context.log(.warning, "too many messages wait for the phone; the button is ignored")
        }
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        queue.outboxIsFree(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        queue.outboxIsFree(&context)
    }

    public func draw(on frame: inout FrameBuffer) {
        let hole = "HOLE " + text(Key.hole) + "  PAR " + text(Key.par)
        SportsApp.drawRows(
            [("BACK", text(Key.back)), ("MID", text(Key.mid)), ("FRONT / " + hole, text(Key.front))],
            on: &frame
        )
    }

    private func text(_ key: UInt32) -> String { values[key]?.text ?? "-" }
}
