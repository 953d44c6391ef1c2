import PebbleProtocol
import PebbleWatch

extension ServiceEvent {
    /// The event in words.
    var storyLine: StoryLine {
        switch self {
        case .uploadBegan(let kind, let byteCount):
            StoryLine(.session, .info, "the phone uploads \(kind.name), \(byteCount) bytes")
        case .uploaded(let kind, let byteCount):
            StoryLine(.session, .info, "\(kind.name) is uploaded: \(byteCount) bytes, checked and stored")
        case .uploadFailed(let kind, let reason):
            StoryLine(.session, .warning, "the upload of \(kind.name) came to nothing: \(reason)")
        case .uploadInstalled(let kind):
            StoryLine(.session, .info, "\(kind.name) is installed")
        case .updateBegan:
            StoryLine(.watch, .notice, "the phone begins a firmware update")
        case .updateCompleted:
            StoryLine(.watch, .notice, "the firmware update is complete; the watch restarts")
        case .updateFailed(let reason):
            StoryLine(.watch, .warning, "the firmware update came to nothing: \(reason)")
        }
    }
}

extension PutBytesObject.Kind {
    fileprivate var name: String {
        switch self {
        case .firmware: "firmware"
        case .recoveryFirmware: "recovery firmware"
        case .systemResources: "system resources"
        case .appResources: "an app's resources"
        case .appBinary: "an app"
        case .file: "a file"
        case .appWorker: "an app's worker"
        }
    }
}

extension RestartCause {
    /// Why the watch restarts, in words.
    var reason: String {
        switch self {
        case .firmwareUpdate: "new firmware is to start"
        }
    }
}
