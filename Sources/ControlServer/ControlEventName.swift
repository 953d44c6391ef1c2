/// What happened, by name: the vocabulary of `cairn events`, `cairn wait` and the control socket. Docs/control.md has the
/// fields of each.
public enum ControlEventName: String, CaseIterable, Sendable {
    // The controller and the air.
    case started, failed, advertising
    case controllerRestarting = "controller-restarting"
    case controllerLost = "controller-lost"
    case restarting
    // Links.
    case connected, disconnected
    case linkEnded = "link-ended"
    case phoneBack = "phone-back"
    case link
    case churning, churned, strangers
    case strangersGone = "strangers-gone"
    case transportGivenUp = "transport-given-up"
    case transportStalled = "transport-stalled"
    case phoneService = "phone-service"
    // Pairing.
    case pairable
    case pairingWaits = "pairing-waits"
    case paired
    case keyReplaced = "key-replaced"
    case pairingRefused = "pairing-refused"
    case pairingFailed = "pairing-failed"
    case security, forgotten
    // Sessions and what they bring.
    case sessionOpened = "session-opened"
    case sessionMoved = "session-moved"
    case sessionClosed = "session-closed"
    case streamPublished = "stream-published"
    case streamWithdrawn = "stream-withdrawn"
    case streamOpened = "stream-opened"
    case streamClosed = "stream-closed"
    case message, service
    case clockSet = "clock-set"
    // Apps.
    case appLaunched = "app-launched"
    case appMessageReceived = "app-message-received"
    case appMessageSent = "app-message-sent"
    case appLogged = "app-logged"
    // The watch in the hand.
    case button, sensed
    /// Events that the program did not take in time.
    case lost
}
