/// The outcome of an AppMessage call, with the SDK's names and numbers.
///
/// Some exist in the SDK's documentation only and no firmware produces them any more; they are kept so that numbers from
/// logs and control programs can be named.
public enum AppMessageResult: Int, Sendable, Equatable, Error, CaseIterable {
    /// The call succeeded, or the phone acknowledged the message.
    case ok = 0
    /// The phone did not answer the message in time (`AppMessageOutbox.acknowledgementTimeout`).
    case sendTimeout = 2
    /// The phone refused the message with a NACK.
    case sendRejected = 4
    /// No session took the message: no companion of the app is connected.
    case notConnected = 8
    /// In the SDK: the app does not run. This watch never produces it.
    case appNotRunning = 16
    /// A size that the app asked for is negative.
    case invalidArguments = 32
    /// Sending: the message before is still under way. In ``WatchApp/inboxDropped(_:_:)``: the inbox could not take a message.
    case busy = 64
    /// The dictionary is larger than the outbox was opened for.
    case bufferOverflow = 128
    /// In the SDK: the resource was released before. This watch never produces it.
    case alreadyReleased = 512
    /// In the SDK: the callback is registered already. This watch never produces it.
    case callbackAlreadyRegistered = 1024
    /// In the SDK: no such callback is registered. This watch never produces it.
    case callbackNotRegistered = 2048
    /// In the SDK: the app has too little memory left. This watch never produces it.
    case outOfMemory = 4096
    /// In the SDK: AppMessage was closed. This watch never produces it.
    case closed = 8192
    /// In the SDK: the system failed. This watch never produces it.
    case internalError = 16384
    /// The call does not fit what went before: AppMessage is open already, the outbox is closed, no message was begun, or one
    /// was begun already.
    case invalidState = 32768
}

extension AppMessageResult: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    public var description: String {
        switch self {
        case .ok: "ok"
        case .sendTimeout: "sendTimeout"
        case .sendRejected: "sendRejected"
        case .notConnected: "notConnected"
        case .appNotRunning: "appNotRunning"
        case .invalidArguments: "invalidArguments"
        case .busy: "busy"
        case .bufferOverflow: "bufferOverflow"
        case .alreadyReleased: "alreadyReleased"
        case .callbackAlreadyRegistered: "callbackAlreadyRegistered"
        case .callbackNotRegistered: "callbackNotRegistered"
        case .outOfMemory: "outOfMemory"
        case .closed: "closed"
        case .internalError: "internalError"
        case .invalidState: "invalidState"
        }
    }
}
