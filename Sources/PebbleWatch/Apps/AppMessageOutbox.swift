import PebbleProtocol

/// The outcome of an AppMessage call, with the SDK's names and numbers.
public enum AppMessageResult: Int, Sendable, Equatable, Error {
    case ok = 0
    case sendTimeout = 2
    case sendRejected = 4
    case notConnected = 8
    case appNotRunning = 16
    case invalidArguments = 32
    case busy = 64
    case bufferOverflow = 128
    case outOfMemory = 4096
    case closed = 8192
    case internalError = 16384
    case invalidState = 32768
}

/// The sending half of AppMessage: one message at a time, each answered or given up after ten seconds.
///
/// Two things must happen before the next message may be sent: the lower layer has taken the bytes ("consumed"), and
/// the phone has answered (or the time is up). They can happen in either order.
public struct AppMessageOutbox: Sendable {
    private enum State: Sendable {
        case closed
        case accepting
        case awaiting(Outstanding)
    }

    private struct Outstanding: Sendable {
        let message: AppMessageDictionary
        let transactionID: AppMessageTransactionID
        /// When it ends without an answer, and how.
        var deadline: Duration
        var resultAtDeadline = AppMessageResult.sendTimeout
        var isConsumed = false
        var reply: AppMessageResult?
    }

    /// A message that is done with, and how it ended.
    public struct Finished: Sendable, Equatable {
        public let message: AppMessageDictionary
        public let result: AppMessageResult
    }

    /// How long the phone has to acknowledge a message.
    public static let acknowledgementTimeout: Duration = .seconds(10)
    /// How long after sending the app hears that nobody is connected: never from within its own call, so that an app
    /// that sends again at once does not spin.
    static let notConnectedDelay: Duration = .milliseconds(10)

    private var state = State.closed
    private var capacity = 0
    /// Incremented before use, so that ids run 1, 2, … 255, 0, 1.
    private var lastTransactionID: AppMessageTransactionID = 0

    /// A closed outbox.
    public init() {}

    /// When the message that is under way is given up.
    public var nextDeadline: Duration? {
        guard case .awaiting(let outstanding) = state, outstanding.reply == nil else { return nil }
        return outstanding.deadline
    }

    /// Opens for dictionaries of up to `capacity` bytes; zero leaves it closed.
    public mutating func open(capacity: Int) {
        self.capacity = capacity
        lastTransactionID = 0
        state = capacity > 0 ? .accepting : .closed
    }

    /// Closes it; what is under way ends without a callback.
    public mutating func close() {
        state = .closed
    }

    /// Takes a message for sending.
    /// - Returns: the transaction id to send it with.
    /// - Throws: `.busy` while one is under way, `.invalidState` when closed, `.bufferOverflow` when it is too long.
    public mutating func begin(
        _ message: AppMessageDictionary,
        at now: Duration
    ) throws(AppMessageResult)
        -> AppMessageTransactionID
    {
        switch state {
        case .closed: throw .invalidState
        case .awaiting: throw .busy
        case .accepting: break
        }
        guard message.encoded.count <= capacity else { throw .bufferOverflow }
        lastTransactionID = lastTransactionID.next
        state = .awaiting(
            Outstanding(
                message: message,
                transactionID: lastTransactionID,
                deadline: now + Self.acknowledgementTimeout
            )
        )
        return lastTransactionID
    }

    /// The lower layer has taken the message's bytes.
    public mutating func consumed(transactionID: AppMessageTransactionID) -> Finished? {
        update(transactionID) { $0.isConsumed = true }
    }

    /// There is no session that the message could go to.
    public mutating func notConnected(transactionID: AppMessageTransactionID, at now: Duration) {
        _ = update(transactionID) {
            $0.deadline = now + Self.notConnectedDelay
            $0.resultAtDeadline = .notConnected
        }
    }

    /// The phone answered. Wrong or late transaction ids are ignored.
    public mutating func replied(transactionID: AppMessageTransactionID, acknowledged: Bool) -> Finished? {
        update(transactionID) { $0.reply = $0.reply ?? (acknowledged ? .ok : .sendRejected) }
    }

    /// Lets time pass: a message without an answer is given up.
    public mutating func advance(to now: Duration) -> Finished? {
        guard let deadline = nextDeadline, deadline <= now, case .awaiting(let outstanding) = state else { return nil }
        state = .accepting
        return Finished(message: outstanding.message, result: outstanding.resultAtDeadline)
    }

    private mutating func update(
        _ transactionID: AppMessageTransactionID,
        _ change: (inout Outstanding) -> Void
    ) -> Finished? {
        guard case .awaiting(var outstanding) = state, outstanding.transactionID == transactionID else { return nil }
        change(&outstanding)
        guard outstanding.isConsumed, let result = outstanding.reply else {
            state = .awaiting(outstanding)
            return nil
        }
        // Accepting before the app hears of it, so that its callback can send the next one.
        state = .accepting
        return Finished(message: outstanding.message, result: result)
    }
}
