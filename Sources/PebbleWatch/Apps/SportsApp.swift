import PebbleProtocol

/// The Sports app, which running and cycling companions fill with their figures.
///
/// The companion pushes texts and numbers; the select button starts and pauses the activity, which the companion is told
/// under ``Key/activityState``.
public struct SportsApp: WatchApp {
    /// The UUID that companions know: 4dab81a6-d2fc-458a-992c-7a1f3b96a970.
    public static let identifier = PebbleUUID(upperHalf: 0x4DAB_81A6_D2FC_458A, lowerHalf: 0x992C_7A1F_3B96_A970)
    /// The largest dictionary that it takes, in bytes, as on the watch.
    public static let inboxSize = 114
    /// The largest dictionary that it sends, in bytes; it only ever sends the state.
    public static let outboxSize = 16

    /// What the tuples of its messages are.
    public enum Key {
        /// Text.
        public static let time: UInt32 = 0
        /// Text.
        public static let distance: UInt32 = 1
        /// Text: pace or speed, as ``label`` says.
        public static let data: UInt32 = 2
        /// 0 imperial, 1 metric.
        public static let units: UInt32 = 3
        /// Both ways: see ``ActivityState``.
        public static let activityState: UInt32 = 4
        /// What the data are: 0 speed, 1 pace.
        public static let label: UInt32 = 5
        /// Beats a minute; 0 for none.
        public static let heartRate: UInt32 = 6
        /// Text: what the companion's own figure is called.
        public static let customLabel: UInt32 = 7
        /// Text: the companion's own figure.
        public static let customValue: UInt32 = 8
    }

    /// What the activity does.
    public enum ActivityState: UInt8, Sendable {
        /// The activity has not begun.
        case initial = 0
        /// The activity goes on; the select button pauses it.
        case running = 1
        /// The activity is paused; the select button continues it.
        case paused = 2
        /// The activity is over. Only the companion says so; the select button begins it again.
        case ended = 3
    }

    public let uuid = Self.identifier
    public let name = "Sports"
    public let flags: AppFlags = .shownOnlyWhenCommunicating

    /// Everything the companion has said, the latest of each key.
    public private(set) var values: [UInt32: AppMessageValue] = [
        Key.time: .string("00:00"),
        Key.distance: .string("0.0"),
        Key.data: .string("0:00"),
        Key.units: .uint8(0),
        Key.label: .uint8(1),
        Key.activityState: .uint8(ActivityState.initial.rawValue),
    ]

    private var queue = OutboxQueue()
    /// The state that the player asked for last, until the companion has heard of it or could not.
    private var wantedState: ActivityState?

    /// An activity that has not begun.
    public init() {}

    public mutating func didLaunch(_ context: inout AppContext) {
        _ = context.open(inboxSize: Self.inboxSize, outboxSize: Self.outboxSize)
    }

    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
        take(message, &context)
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        // The new state counts once the companion knows of it.
        take(message, &context)
        sendNext(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        sendNext(&context)
    }

    public mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {
        guard button == .select else { return }
        let known = values[Key.activityState]?.integer.flatMap { ActivityState(rawValue: UInt8(clamping: $0)) }
        let state: ActivityState = (wantedState ?? known) == .running ? .paused : .running
        guard
            let message = try? AppMessageDictionary([
                AppMessageTuple(key: Key.activityState, value: .uint8(state.rawValue))
            ])
        else { return }
        if queue.send(message, &context) {
            wantedState = state
        } else {
            context.log(.warning, "too many messages wait for the phone; the button is ignored")
        }
    }

    private mutating func sendNext(_ context: inout AppContext) {
        if queue.isEmpty { wantedState = nil }
        queue.outboxIsFree(&context)
    }

    public func draw(on frame: inout FrameBuffer) {
        let isPace = values[Key.label]?.integer != 0
        let isMetric = values[Key.units]?.integer != 0
        SportsApp.drawRows(
            [
                ("TIME", text(Key.time)),
                (isMetric ? "KM" : "MI", text(Key.distance)),
                (isPace ? "PACE" : "SPEED", text(Key.data)),
            ],
            on: &frame
        )
    }

    private mutating func take(_ message: AppMessageDictionary, _ context: inout AppContext) {
        for tuple in message where tuple.key <= Key.customValue { values[tuple.key] = tuple.value }
        context.markDirty()
    }

    private func text(_ key: UInt32) -> String { values[key]?.text ?? "-" }

    /// Three figures with their names, one below the other.
    static func drawRows(_ rows: [(label: String, value: String)], on frame: inout FrameBuffer) {
        frame.fill(.black)
        let rowHeight = frame.display.height / max(1, rows.count)
        for (index, row) in rows.enumerated() {
            let top = index * rowHeight + rowHeight / 8
            PixelFont.drawCentered(row.label, y: top, scale: 1, .lightGray, on: &frame)
            let scale = min(4, PixelFont.scale(for: row.value, width: frame.display.width * 5 / 8))
            let below = top + PixelFont.characterHeight + 4
            PixelFont.drawCentered(row.value, y: below, scale: scale, .white, on: &frame)
        }
    }
}
