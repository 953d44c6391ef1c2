import PebbleProtocol

/// What a service did that a person would want to see.
public enum ServiceEvent: Sendable, Equatable {
    /// An upload began, of so many bytes.
    case uploadBegan(PutBytesObject.Kind, byteCount: Int)
    /// An upload is whole, checked and stored.
    case uploaded(PutBytesObject.Kind, byteCount: Int)
    /// An upload came to nothing, and why.
    case uploadFailed(PutBytesObject.Kind, reason: String)
    /// The phone wants an upload used from now on.
    case uploadInstalled(PutBytesObject.Kind)
    /// The phone began a firmware update.
    case updateBegan
    /// The update is over, and the watch restarts.
    case updateCompleted
    /// The update came to nothing, and why.
    case updateFailed(reason: String)
}
