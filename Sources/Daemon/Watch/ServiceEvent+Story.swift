import ByteCoding
import Control
import HCIRuntime
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
        case .appInstalled(let metadata):
            StoryLine(.session, .info, "the phone installs \(metadata.name), \(metadata.uuid)")
        case .appRemoved(let uuid):
            StoryLine(.session, .info, "the phone removes app \(uuid)")
        case .appFetchBegan(_, let name):
            StoryLine(.session, .info, "asks the phone for \(name)")
        case .appFetchFailed(let uuid, let reason):
            StoryLine(.session, .warning, "app \(uuid) does not start: \(reason)")
        case .appOrderChanged(let order):
            StoryLine(.session, .info, "the launcher has a new order of \(order.count) apps")
        case .notificationShown(let item):
            StoryLine(
                .session,
                .info,
                "notification: \(item.summary.inOneLine)",
                .contents("a notification is shown, \(item.attributes.reduce(0) { $0 + $1.value.count }) bytes")
            )
        case .notificationRemoved(let id):
            StoryLine(.session, .info, "notification \(id) is not shown any more")
        case .recordChanged(let database, let key, let value):
            StoryLine(
                .session,
                .info,
                "\(database.name): \(key.keyText) is set, \(value.count) bytes",
                .contents("\(database.name): a record is set, \(value.count) bytes")
            )
        case .recordRemoved(let database, let key):
            StoryLine(
                .session,
                .info,
                "\(database.name): \(key.keyText) is removed",
                .contents("\(database.name): a record is removed")
            )
        case .databaseCleared(let database):
            StoryLine(.session, .info, "\(database.name): everything is removed")
        case .actionSent(let item, let action):
            StoryLine(.session, .info, "action \(action) of item \(item) is sent to the phone")
        case .actionNotSent(let item, let action):
            StoryLine(.session, .warning, "action \(action) of item \(item): no phone is connected")
        case .actionAnswered(let item, _, let code, let text):
            Self.answered(
                "the phone \(code == .acknowledgement ? "agrees to" : "answers \(code.rawValue) to") an action of item "
                    + "\(item)",
                text
            )
        case .nowPlaying(let track):
            StoryLine(
                .session,
                .info,
                "plays: \("\(track.artist), \(track.title)".inOneLine)",
                .contents("another track plays")
            )
        case .playState(let state):
            StoryLine(.session, .info, "the player is \(state.state)")
        case .volume(let percent):
            StoryLine(.session, .info, "the volume is \(percent) %")
        case .call(let call):
            Self.about(call.caller, "call, \(call.state)")
        case .callEnded(let call):
            Self.about(call.caller, "call over")
        case .callMissed(let caller):
            Self.about(caller, "missed call")
        case .appLogsWanted(let isWanted):
            StoryLine(.session, .info, "the phone wants \(isWanted ? "" : "no more ")logs of apps")
        case .screenshotTaken:
            StoryLine(.session, .info, "the phone takes a screenshot")
        case .dataLogged(let id, let byteCount):
            StoryLine(.session, .info, "data logging session \(id.rawValue): \(byteCount) bytes spooled")
        case .dataNotLogged(let id, let reason):
            StoryLine(.session, .warning, "data logging session \(id.rawValue): nothing spooled: \(reason)")
        case .dataSent(let id, let byteCount):
            StoryLine(.session, .info, "data logging session \(id.rawValue): the phone has \(byteCount) bytes more")
        case .dataDropped(let id, let byteCount):
            StoryLine(.session, .warning, "data logging session \(id.rawValue): \(byteCount) bytes refused and dropped")
        case .healthSyncRequested:
            StoryLine(.session, .info, "the phone wants the health data")
        }
    }

    private static func about(_ caller: PhoneControlMessage.Caller?, _ what: String) -> StoryLine {
        StoryLine(.session, .info, "\(what): \((caller?.summary ?? "unknown").inOneLine)", .contents(what))
    }

    private static func answered(_ what: String, _ text: String?) -> StoryLine {
        StoryLine(.session, .info, what + (text.map { ": \($0.inOneLine)" } ?? ""), .contents(what))
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
        case .reboot: "it was told to"
        case .coreDump: "it was told to, and dumps its core"
        case .factoryReset: "it forgets everything"
        case .recovery: "into recovery firmware"
        case .firmwareUpdate: "new firmware is to start"
        }
    }
}

extension TimelineItem {
    /// Its title and its body.
    fileprivate var summary: String {
        let texts = [TimelineAttribute.ID.title, .body].compactMap { id in attributes.first { $0.id == id }?.text }
        return texts.isEmpty ? "\(id)" : texts.joined(separator: ": ")
    }
}

extension PhoneControlMessage.Caller {
    fileprivate var summary: String { name.isEmpty ? number : "\(name), \(number)" }
}

extension [UInt8] {
    /// A key of a database, as text if it is some.
    fileprivate var keyText: String { printableText ?? hexadecimal }
}
