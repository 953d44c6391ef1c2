import BluetoothHost
import PebbleProtocol

/// What a service sees of the watch while it handles a message, and where it leaves its answers.
struct ServiceContext: Sendable {
    /// A message to be sent when the service returns.
    struct Reply: Sendable {
        let session: SessionID
        let message: PebbleMessage
    }

    let now: Duration
    let identity: WatchIdentity
    var clock: WatchClock
    var replies: [Reply] = []
    var events: [WatchEvent] = []

    /// Answers on a session.
    mutating func reply(_ message: some EndpointMessage, on session: SessionID) {
        replies.append(Reply(session: session, message: PebbleMessage(message)))
    }

    /// Leaves a line for the log.
    mutating func log(_ severity: Diagnostic.Severity, _ layer: String, _ message: String) {
        events.append(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}
