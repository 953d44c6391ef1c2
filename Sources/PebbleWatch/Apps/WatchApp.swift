import PebbleProtocol

/// A program that runs on the watch.
///
/// It is told what happens and answers through the context: nothing it does blocks, and it reads no clock. The names
/// are those of the SDK's AppMessage functions.
public protocol WatchApp: Sendable {
    /// The app's own UUID: messages for any other are not for it.
    var uuid: PebbleUUID { get }
    /// What the launcher shows.
    var name: String { get }
    /// The app starts; it opens AppMessage here if it wants messages.
    mutating func didLaunch(_ context: inout AppContext)
    /// A message came in. It is acknowledged when this returns.
    mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext)
    /// A message was lost before the app could see it.
    mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext)
    /// The phone acknowledged a message of this app's.
    mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext)
    /// A message of this app's was refused, not answered, or could not be sent.
    mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    )
}

extension WatchApp {
    public mutating func didLaunch(_ context: inout AppContext) {}
    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {}
    public mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {}
    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {}
    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {}
}

/// What an app can do while it is being called.
public struct AppContext: Sendable {
    /// Time since the watch started.
    public let now: Duration
    /// Largest dictionary the inbox can be opened for, in bytes: depends on the phone.
    public let inboxSizeMaximum: Int
    /// Largest dictionary the outbox can be opened for, in bytes: depends on the phone.
    public let outboxSizeMaximum: Int

    var mailbox: AppMailbox

    /// Opens the inbox and the outbox; each size is clipped to its maximum, and zero leaves that box closed.
    public mutating func open(inboxSize: Int, outboxSize: Int) -> AppMessageResult {
        guard !mailbox.isOpen else { return .invalidState }
        guard inboxSize >= 0, outboxSize >= 0 else { return .invalidArguments }
        mailbox.inboxSize = min(inboxSize, inboxSizeMaximum)
        mailbox.outbox.open(capacity: min(outboxSize, outboxSizeMaximum))
        mailbox.isOpen = true
        return .ok
    }

    /// Sends a dictionary; how it went comes later, as `outboxSent` or `outboxFailed`.
    /// - Returns: `.ok` when it is under way, even if no phone is connected.
    public mutating func send(_ message: AppMessageDictionary) -> AppMessageResult {
        do {
            let transactionID = try mailbox.outbox.begin(message, at: now)
            mailbox.outgoing.append(AppMailbox.Outgoing(transactionID: transactionID, message: message))
            return .ok
        } catch {
            return error
        }
    }
}

/// The running app's AppMessage boxes.
struct AppMailbox: Sendable {
    struct Outgoing: Sendable {
        let transactionID: AppMessageTransactionID
        let message: AppMessageDictionary
    }

    var isOpen = false
    /// Largest dictionary that the inbox takes, in bytes; zero while it is closed.
    var inboxSize = 0
    var outbox = AppMessageOutbox()
    /// What the outbox took while the app was being called, to be sent when it returns: at most one message.
    var outgoing: [Outgoing] = []
}
