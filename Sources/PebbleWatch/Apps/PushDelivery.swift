import PebbleProtocol

/// The delivery of the running app's last AppMessage: the session that took it, or the wait for a companion that has none.
///
/// The owner, who knows the phones, gives the wait up unless one of them can bring the companion back; it ends with the
/// message's own time.
struct PushDelivery: Sendable {
    /// A message that waits for a companion without a session.
    struct Held: Sendable {
        let message: AppState.Outgoing
        /// Whether a session had taken it, and was lost with it.
        let hadBeenTaken: Bool
    }

    private var last: (session: SessionID, message: AppState.Outgoing)?
    private(set) var held: Held?
    /// Whether the companion that the message waits for is still to be woken.
    private var isWakingWanted = false

    /// A session has taken the message.
    mutating func sent(_ message: AppState.Outgoing, on session: SessionID) { last = (session, message) }

    /// Whether the last message went to a session.
    func hasGone(to session: SessionID) -> Bool { last?.session == session }

    /// The last message, if it is the one with a ticket and a session took it.
    func message(_ ticket: AppMessageTicket) -> AppState.Outgoing? {
        guard let message = last?.message, message.ticket == ticket else { return nil }
        return message
    }

    /// Lets a message wait for its companion.
    /// - Returns: false if the app does not wait for its end any more.
    mutating func hold(_ message: AppState.Outgoing, hadBeenTaken: Bool, _ apps: inout AppManager) -> Bool {
        guard apps.hold(message.ticket) else { return false }
        held = Held(message: message, hadBeenTaken: hadBeenTaken)
        isWakingWanted = true
        return true
    }

    /// Ends the wait.
    /// - Returns: the message that waited; nil if none did.
    mutating func takeHeld() -> Held? {
        defer { held = nil }
        return held
    }

    /// Whether the companion is to be woken: once for each message that waits.
    mutating func takeWakingWanted() -> Bool {
        defer { isWakingWanted = false }
        return isWakingWanted
    }
}
