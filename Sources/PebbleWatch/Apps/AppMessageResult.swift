/// The outcome of an AppMessage call, with the SDK's names and numbers.
///
/// Some exist in the SDK's documentation only and no firmware produces them any more; they are kept so that numbers from
/// logs and control programs can be named.
public enum AppMessageResult: Int, Sendable, Equatable, Error, CaseIterable {
    case ok = 0
    case sendTimeout = 2
    case sendRejected = 4
    case notConnected = 8
    case appNotRunning = 16
    case invalidArguments = 32
    case busy = 64
    case bufferOverflow = 128
    case alreadyReleased = 512
    case callbackAlreadyRegistered = 1024
    case callbackNotRegistered = 2048
    case outOfMemory = 4096
    case closed = 8192
    case internalError = 16384
    case invalidState = 32768
}
