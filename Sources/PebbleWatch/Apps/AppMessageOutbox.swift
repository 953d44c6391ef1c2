import PebbleProtocol

/// Names one message that an app has sent, among all that any app has: transaction ids start again with every app.
struct AppMessageTicket: Hashable, Sendable {
    let number: UInt64
}

/// The sending half of AppMessage: one message at a time, each answered or given up after ten seconds.
///
/// Two things must happen before the next message may be sent: the lower layer has taken the bytes, and the phone has
/// answered (or the time is up). They can happen in either order.
struct AppMessageOutbox: Sendable {
    /// How long the phone has to acknowledge a message.
    static let acknowledgementTimeout: Duration = .seconds(10)
    /// The longest that an app is made to wait when it insists.
    private static let longestThrottle: Duration = .milliseconds(100)

    /// A message that is done with, and how it ended.
    struct Finished: Sendable, Equatable {
        let message: AppMessageDictionary
        let result: AppMessageResult
    }

    private enum Phase: Sendable {
        case closed
        case accepting
        case writing
        case awaiting(Outstanding)
    }

    private struct Outstanding: Sendable {
        let message: AppMessageDictionary
        let ticket: AppMessageTicket
        /// When it is given up; nil when it will not be any more.
        var deadline: Duration?
        /// Whether a session has taken its bytes; what that session lost counts as taken all the same.
        var isConsumed = false
        /// Whether it waits for a companion that has no session now.
        var isHeld = false
        /// How it ends, once that is known.
        var result: AppMessageResult?
    }

    private var phase = Phase.closed
    /// Largest dictionary, in bytes.
    private(set) var capacity = 0
    /// Incremented before use, so that ids run 1, 2, … 255, 0, 1.
    private var lastTransactionID: AppMessageTransactionID = 0
    private var throttle = Duration.zero

    /// Whether it is open.
    var isOpen: Bool {
        if case .closed = phase { false } else { true }
    }

    /// When the message that is under way is given up.
    var nextDeadline: Duration? {
        if case .awaiting(let outstanding) = phase { outstanding.deadline } else { nil }
    }

    /// Opens for dictionaries of up to `capacity` bytes; zero leaves it closed.
    mutating func open(capacity: Int) {
        guard capacity > 0 else { return }
        self.capacity = capacity
        lastTransactionID = 0
        phase = .accepting
    }

    /// Closes it; what is under way ends without a callback.
    mutating func close() {
        capacity = 0
        phase = .closed
    }

    /// Begins a message.
    mutating func begin() -> AppMessageResult {
        switch phase {
        case .closed, .writing: return .invalidState
        case .awaiting: return .busy
        case .accepting:
            phase = .writing
            return .ok
        }
    }

    /// Sends what was begun; when it is too long it stays begun.
    /// - Returns: the transaction id to send it with.
    /// - Throws: `.busy` while one is under way, `.invalidState` when none was begun, `.bufferOverflow`.
    mutating func send(
        _ message: AppMessageDictionary,
        as ticket: AppMessageTicket,
        at now: Duration
    ) throws(AppMessageResult)
        -> AppMessageTransactionID
    {
        switch phase {
        case .closed, .accepting: throw .invalidState
        case .awaiting: throw .busy
        case .writing: break
        }
        guard message.encoded.count <= capacity else { throw .bufferOverflow }
        lastTransactionID = lastTransactionID.next
        phase = .awaiting(
            Outstanding(message: message, ticket: ticket, deadline: now + Self.acknowledgementTimeout)
        )
        return lastTransactionID
    }

    /// How long the app is held up for beginning when it may not, or with no phone connected: longer each time.
    mutating func nextThrottle() -> Duration {
        throttle = throttle == .zero ? .milliseconds(1) : min(throttle * 2, Self.longestThrottle)
        return throttle
    }

    /// The lower layer has taken the message's bytes.
    mutating func consumed(_ ticket: AppMessageTicket) -> Finished? {
        throttle = .zero
        return update(ticket) { $0.isConsumed = true }
    }

    /// The lower layer had no session for the message: it will not be answered, and waits for ``fail(_:)``.
    mutating func stopTimer(_ ticket: AppMessageTicket) {
        _ = update(ticket) { $0.deadline = nil }
    }

    /// Ends a message that no session took. One that already had an end keeps it.
    mutating func fail(_ ticket: AppMessageTicket) -> Finished? {
        update(ticket) {
            $0.isConsumed = true
            $0.result = $0.result ?? .notConnected
        }
    }

    /// The phone answered. Wrong or late transaction ids are ignored.
    mutating func replied(_ transactionID: AppMessageTransactionID, with result: AppMessageResult) -> Finished? {
        guard transactionID == lastTransactionID, case .awaiting(let outstanding) = phase else { return nil }
        return end(outstanding.ticket, with: result)
    }

    /// The message waits for its companion, within the time that it has anyway.
    /// - Returns: false if it is over, or has its answer.
    mutating func hold(_ ticket: AppMessageTicket) -> Bool {
        guard case .awaiting(let outstanding) = phase, outstanding.ticket == ticket, outstanding.result == nil,
            outstanding.deadline != nil
        else { return false }
        _ = update(ticket) { $0.isHeld = true }
        return true
    }

    /// The companion is back: the message goes out now.
    /// - Returns: false if it is over.
    mutating func release(_ ticket: AppMessageTicket) -> Bool {
        guard case .awaiting(let outstanding) = phase, outstanding.ticket == ticket, outstanding.isHeld,
            outstanding.deadline != nil
        else { return false }
        _ = update(ticket) { $0.isHeld = false }
        return true
    }

    /// Whether a message waits for its companion.
    func isHolding(_ ticket: AppMessageTicket) -> Bool {
        guard case .awaiting(let outstanding) = phase else { return false }
        return outstanding.ticket == ticket && outstanding.isHeld
    }

    /// Whether no session has taken a message's bytes yet.
    func isUntaken(_ ticket: AppMessageTicket) -> Bool {
        guard case .awaiting(let outstanding) = phase else { return false }
        return outstanding.ticket == ticket && !outstanding.isConsumed
    }

    /// Ten seconds have passed without an answer. A message that no session ever took had no receiver.
    mutating func timedOut(_ ticket: AppMessageTicket) -> Finished? {
        guard case .awaiting(let outstanding) = phase, outstanding.ticket == ticket, outstanding.isHeld else {
            return end(ticket, with: .sendTimeout)
        }
        return update(ticket) {
            $0.result = $0.result ?? ($0.isConsumed ? .sendTimeout : .notConnected)
            $0.isConsumed = true
            $0.isHeld = false
        }
    }

    /// The message whose time is up, once.
    mutating func takeExpired(at now: Duration) -> AppMessageTicket? {
        guard case .awaiting(let outstanding) = phase, let deadline = outstanding.deadline, deadline <= now else {
            return nil
        }
        stopTimer(outstanding.ticket)
        return outstanding.ticket
    }

    private mutating func end(_ ticket: AppMessageTicket, with result: AppMessageResult) -> Finished? {
        update(ticket) {
            guard $0.result == nil else { return }
            $0.result = result
            $0.deadline = nil
        }
    }

    private mutating func update(_ ticket: AppMessageTicket, _ change: (inout Outstanding) -> Void) -> Finished? {
        guard case .awaiting(var outstanding) = phase, outstanding.ticket == ticket else { return nil }
        change(&outstanding)
        guard outstanding.isConsumed, let result = outstanding.result else {
            phase = .awaiting(outstanding)
            return nil
        }
        // Accepting before the app hears of it, so that its callback can send the next one.
        phase = .accepting
        return Finished(message: outstanding.message, result: result)
    }
}
