import PebbleProtocol

/// What an app can see and do while it is being called.
public struct AppContext: Sendable {
    /// Time since the watch started.
    public let now: Duration
    /// What the clock shows.
    public var time: WatchTime { clock.localTime(at: now) }
    /// The screen.
    public let display: Display
    /// Whether the phone's Pebble app has a session with the watch.
    public let isConnected: Bool
    /// Largest dictionary the inbox can be opened for, in bytes: depends on the app and on the phone
    /// (`app_message_inbox_size_maximum`).
    public let inboxSizeMaximum: Int
    /// Largest dictionary the outbox can be opened for, in bytes (`app_message_outbox_size_maximum`).
    public let outboxSizeMaximum: Int

    /// The app's running state, which the calls below change.
    var state: AppState
    /// How long the app was held up, or slept, in this call.
    private(set) var slept = Duration.zero
    /// What the app logged in this call.
    private(set) var logged: [LogLine] = []
    private let clock: WatchClock

    init(state: AppState, environment: AppEnvironment) {
        self.state = state
        now = environment.now
        clock = environment.clock
        display = environment.display
        isConnected = environment.isConnected
        inboxSizeMaximum = environment.inboxSizeMaximum
        outboxSizeMaximum = environment.outboxSizeMaximum
    }
}

// MARK: - AppMessage

extension AppContext {
    /// Opens the inbox and the outbox; each size is clipped to its maximum, and zero leaves that box closed.
    /// - Returns: `.invalidState` if either is open.
    public mutating func open(inboxSize: Int, outboxSize: Int) -> AppMessageResult {
        guard !state.inbox.isOpen, !state.outbox.isOpen else { return .invalidState }
        guard inboxSize >= 0, outboxSize >= 0 else { return .invalidArguments }
        state.outbox.open(capacity: min(outboxSize, outboxSizeMaximum))
        state.inbox.open(capacity: min(inboxSize, inboxSizeMaximum), limit: inboxSizeMaximum)
        return .ok
    }

    /// Closes both. What is in the inbox is lost, and a message that is under way ends without a callback.
    public mutating func close() {
        state.outbox.close()
        state.inbox.close()
    }

    /// Begins a message: write its tuples into what this returns, and hand that to ``outboxSend(_:)``.
    /// - Throws: `.busy` while a message is under way, in which case the app is also held up for a moment, longer each time;
    ///   `.invalidState` when the outbox is closed or a message was begun already.
    public mutating func outboxBegin() throws(AppMessageResult) -> AppMessageDictionaryWriter {
        let result = state.outbox.begin()
        if result == .busy { slept += state.outbox.nextThrottle() }
        guard result == .ok else { throw result }
        return AppMessageDictionaryWriter(limit: state.outbox.capacity)
    }

    /// Sends the message that was begun; how it went comes later, as `outboxSent` or `outboxFailed`.
    /// - Returns: `.ok` when it is under way, even if no phone is connected.
    public mutating func outboxSend(_ writer: AppMessageDictionaryWriter) -> AppMessageResult {
        outboxSend(writer.dictionary)
    }

    /// Sends a whole dictionary: begins it, unless one was begun already, and sends it.
    /// - Returns: `.ok` when it is under way, even if no phone is connected; how it went comes later, as `outboxSent` or
    ///   `outboxFailed`.
    public mutating func send(_ message: AppMessageDictionary) -> AppMessageResult {
        let result = state.outbox.begin()
        if result == .busy { slept += state.outbox.nextThrottle() }
        guard result != .busy else { return .busy }
        return outboxSend(message)
    }

    /// Refuses the message that the app is being called for: the phone gets a NACK in place of the ACK, as for an inbox without
    /// room, and may send it again. Only in ``WatchApp/inboxReceived(_:_:)``. The SDK has no such call: there, an app that does
    /// not take a message in time makes its inbox refuse the next ones.
    public mutating func refuseMessage() { state.isMessageRefused = true }

    private mutating func outboxSend(_ message: AppMessageDictionary) -> AppMessageResult {
        let ticket = state.nextTicket
        do {
            let transactionID = try state.outbox.send(message, as: ticket, at: now)
            state.nextTicket = AppMessageTicket(number: ticket.number + 1)
            state.outgoing.append(
                AppState.Outgoing(ticket: ticket, transactionID: transactionID, message: message)
            )
            return .ok
        } catch {
            return error
        }
    }
}

// MARK: - Time, screen and log

extension AppContext {
    /// Has the app told when one of these parts of the time of day changes, instead of those asked for before; none ends that.
    public mutating func subscribeToTicks(_ units: TickUnits) { state.tickUnits = units }

    /// Has ``WatchApp/timerFired(_:_:)`` called after a while.
    /// - Returns: nil when `AppState/timerLimit` timers run already.
    public mutating func registerTimer(after delay: Duration) -> AppTimer? { state.registerTimer(at: now + delay) }

    /// Keeps a timer from firing.
    public mutating func cancelTimer(_ timer: AppTimer) { state.timers.removeAll { $0.timer == timer } }

    /// Sleeps once the current call returns (`psleep`): until then the app hears of nothing, and its inbox fills.
    public mutating func sleep(for duration: Duration) { slept += max(.zero, duration) }

    /// Asks to be drawn.
    public mutating func markDirty() { state.isDirty = true }

    /// Ends the app once the current call returns; the watchface comes back.
    public mutating func exit() { state.isExiting = true }

    /// Logs a line, which a phone that asked for logs is sent.
    public mutating func log(
        _ level: LogLevel,
        _ message: String,
        file: String = #fileID,
        line: Int = #line
    ) {
        guard logged.count < AppState.logLimit else { return }
        let name = file.split(separator: "/").last.map(String.init) ?? file
        logged.append(
            LogLine(
                timestamp: clock.seconds(at: now),
                level: level,
                line: UInt16(clamping: line),
                file: name,
                message: message
            )
        )
    }
}
