import BluetoothHost
import ByteCoding

/// What went wrong between the watch and the phone's notification service. Notifications go on all the same.
public enum ANCSProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The phone refused the subscription twice: no notifications until the service is found again.
    case notSubscribed(GATTProcedureError)
    /// The phone refused to tell about a notification.
    case notTold(ANCSNotificationUID, GATTProcedureError)
    /// The phone refused to name an app.
    case notNamed(app: String, GATTProcedureError)
    /// The phone did not perform an action.
    case notPerformed(ANCSNotificationUID, ANCSAction, GATTProcedureError)
    /// The notification is not there any more.
    case noSuchNotification(ANCSNotificationUID)
    /// The phone took too long.
    case timedOut(ANCSNotificationUID)
    /// The phone sent something that is no word of a notification.
    case malformedEvent(ByteDecodingError)
    /// The phone's answer is none.
    case malformedResponse(ANCSNotificationUID, ByteDecodingError)
    /// A notification of no app.
    case noApp(ANCSNotificationUID)
    /// More came at once than the watch keeps: this one is not shown.
    case tooMany(ANCSNotificationUID)
    /// The service does not answer, or has been silent for hours: the watch subscribes again.
    case silent
    /// The service is gone, or was not there.
    case notAvailable

    public var description: String {
        switch self {
        case .notSubscribed(let error): "the phone refuses its notifications: \(error)"
        case .notTold(let uid, let error): "notification \(uid) could not be read: \(error)"
        case .notNamed(let app, let error): "the phone does not name \(app): \(error)"
        case .notPerformed(let uid, let action, let error):
            "the phone did not perform the \(action) action of notification \(uid): \(error)"
        case .noSuchNotification(let uid): "the phone has no notification \(uid) any more"
        case .timedOut(let uid): "the phone did not answer about notification \(uid) in time"
        case .malformedEvent(let error): "the phone's word of a notification cannot be read: \(error)"
        case .malformedResponse(let uid, let error): "the phone's answer about notification \(uid) is none: \(error)"
        case .noApp(let uid): "notification \(uid) belongs to no app"
        case .tooMany(let uid): "too many notifications at once: \(uid) is not shown"
        case .silent: "the phone's notifications are silent; subscribing again"
        case .notAvailable: "the phone's notifications are not available"
        }
    }
}
