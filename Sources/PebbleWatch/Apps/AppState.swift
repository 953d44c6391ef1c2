import PebbleProtocol

/// What the system keeps for a running app, and the app changes through its context.
struct AppState: Sendable {
    /// Timers that an app may have at once, as in the firmware.
    static let timerLimit = 32
    /// Lines that an app may log in one call.
    static let logLimit = 64

    /// A message that the app sent while it was being called.
    struct Outgoing: Sendable {
        let ticket: AppMessageTicket
        let transactionID: AppMessageTransactionID
        let message: AppMessageDictionary
    }

    struct RunningTimer: Sendable {
        let timer: AppTimer
        let deadline: Duration
    }

    var inbox = AppMessageInbox()
    var outbox = AppMessageOutbox()
    /// At most one at a time, since one message is under way at a time; more only if the app closes and opens again.
    var outgoing: [Outgoing] = []
    var nextTicket = AppMessageTicket(number: 1)
    var tickUnits: TickUnits = []
    var timers: [RunningTimer] = []
    private var lastTimer: UInt64 = 0
    var isDirty = false
    var isExiting = false
    /// Whether the app refused the message that it was called for last.
    var isMessageRefused = false

    /// What the app sent since this was last asked.
    mutating func takeOutgoing() -> [Outgoing] {
        var taken: [Outgoing] = []
        swap(&taken, &outgoing)
        return taken
    }

    mutating func registerTimer(at deadline: Duration) -> AppTimer? {
        guard timers.count < Self.timerLimit else { return nil }
        lastTimer += 1
        let timer = AppTimer(number: lastTimer)
        timers.append(RunningTimer(timer: timer, deadline: deadline))
        return timer
    }

    /// A timer whose time has come, the earliest first.
    mutating func takeTimer(at now: Duration) -> AppTimer? {
        guard let first = timers.indices.min(by: { timers[$0].deadline < timers[$1].deadline }),
            timers[first].deadline <= now
        else { return nil }
        return timers.remove(at: first).timer
    }
}

/// What an app sees of the watch while it is called.
struct AppEnvironment: Sendable {
    let now: Duration
    let clock: WatchClock
    let display: Display
    let isConnected: Bool
    let inboxSizeMaximum: Int
    let outboxSizeMaximum: Int

    /// What the clock shows.
    var time: WatchTime { clock.localTime(at: now) }
}
