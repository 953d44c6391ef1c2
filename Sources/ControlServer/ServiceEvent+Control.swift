import ByteCoding
import PebbleProtocol
import PebbleWatch

extension ServiceEvent {
    /// What a service did stands in `name`.
    var controlFields: ControlFields {
        var fields = details
        fields["name"] = .text(controlName)
        return fields
    }

    private var controlName: String {
        switch self {
        case .uploadBegan: "upload-began"
        case .uploaded: "uploaded"
        case .uploadFailed: "upload-failed"
        case .uploadInstalled: "upload-installed"
        case .updateBegan: "update-began"
        case .updateCompleted: "update-completed"
        case .updateFailed: "update-failed"
        case .appInstalled: "app-installed"
        case .appRemoved: "app-removed"
        case .appFetchBegan: "app-fetch-began"
        case .appFetchFailed: "app-fetch-failed"
        case .appOrderChanged: "app-order-changed"
        case .notificationShown: "notification-shown"
        case .notificationRemoved: "notification-removed"
        case .recordChanged: "record-changed"
        case .recordRemoved: "record-removed"
        case .databaseCleared: "database-cleared"
        case .actionSent: "action-sent"
        case .actionNotSent: "action-not-sent"
        case .actionAnswered: "action-answered"
        case .nowPlaying: "now-playing"
        case .playState: "play-state"
        case .volume: "volume"
        case .call: "call"
        case .callEnded: "call-ended"
        case .callMissed: "call-missed"
        case .appLogsWanted: "app-logs-wanted"
        case .screenshotTaken: "screenshot-taken"
        case .dataLogged: "data-logged"
        case .dataNotLogged: "data-not-logged"
        case .dataSent: "data-sent"
        case .dataDropped: "data-dropped"
        case .healthSyncRequested: "health-sync-requested"
        }
    }

    private var details: ControlFields {
        switch self {
        case .uploadBegan(let kind, let byteCount), .uploaded(let kind, let byteCount):
            ["object": .text(kind.controlName), "byteCount": .integer(byteCount)]
        case .uploadFailed(let kind, let reason): ["object": .text(kind.controlName), "reason": .text(reason)]
        case .uploadInstalled(let kind): ["object": .text(kind.controlName)]
        case .updateFailed(let reason): ["reason": .text(reason)]
        case .appInstalled(let metadata): ["app": .text("\(metadata.uuid)"), "appName": .text(metadata.name)]
        case .appRemoved(let app): ["app": .text("\(app)")]
        case .appFetchBegan(let app, let name): ["app": .text("\(app)"), "appName": .text(name)]
        case .appFetchFailed(let app, let reason): ["app": .text("\(app)"), "reason": .text(reason)]
        case .appOrderChanged(let order):
            ["count": .integer(order.count), "apps": .list(order.map { .text("\($0)") })]
        case .notificationShown(let item): ControlServices.Notification(item).controlFields
        case .notificationRemoved(let item): ["item": .text("\(item)")]
        case .recordChanged(let database, let key, let value):
            database.controlFields(key).merging(["byteCount": .integer(value.count)]) { $1 }
        case .recordRemoved(let database, let key): database.controlFields(key)
        case .databaseCleared(let database): database.controlFields(nil)
        case .actionSent(let item, let action), .actionNotSent(let item, let action):
            ["item": .text("\(item)"), "action": .integer(action)]
        case .actionAnswered(let item, let action, let code, let text):
            [
                "item": .text("\(item)"), "action": action.map { .integer($0) }, "code": .integer(code.rawValue),
                "isAccepted": .flag(code == .acknowledgement), "answer": text.map { .text($0) },
            ]
        case .nowPlaying(let track):
            ["artist": .text(track.artist), "album": .text(track.album), "title": .text(track.title)]
        case .playState(let state):
            [
                "state": .text("\(state.state)"), "positionMilliseconds": .integer(state.positionMilliseconds),
                "ratePercent": .integer(state.ratePercent),
            ]
        case .volume(let percent): ["percent": .integer(percent)]
        case .call(let call), .callEnded(let call):
            [
                "state": .text("\(call.state)"), "caller": call.caller.map { .text($0.name) },
                "number": call.caller.map { .text($0.number) },
            ]
        case .callMissed(let caller): ["caller": .text(caller.name), "number": .text(caller.number)]
        case .appLogsWanted(let isWanted): ["isWanted": .flag(isWanted)]
        case .dataLogged(let id, let byteCount), .dataSent(let id, let byteCount), .dataDropped(let id, let byteCount):
            ["spool": .integer(id.rawValue), "byteCount": .integer(byteCount)]
        case .dataNotLogged(let id, let reason): ["spool": .integer(id.rawValue), "reason": .text(reason)]
        case .updateBegan, .updateCompleted, .screenshotTaken, .healthSyncRequested: [:]
        }
    }
}

extension ControlServices.Notification {
    fileprivate var controlFields: ControlFields {
        [
            "item": .text(id), "app": app.map { .text($0) }, "title": title.map { .text($0) },
            "subtitle": subtitle.map { .text($0) }, "body": body.map { .text($0) },
            "actions": .object(actions.mapValues { .text($0) }),
        ]
    }
}

extension BlobDBDatabase {
    fileprivate func controlFields(_ key: [UInt8]?) -> ControlFields {
        [
            "database": .integer(rawValue), "databaseName": .text(name), "key": key.map { .text($0.hexadecimal) },
            "keyText": key.flatMap(\.printableText).map { .text($0) },
        ]
    }

    /// What the database is for.
    public var name: String {
        switch self {
        case .test: "test database"
        case .pins: "pins"
        case .apps: "apps"
        case .reminders: "reminders"
        case .notifications: "notifications"
        case .weather: "weather"
        case .cannedMessages: "notification preferences"
        case .healthPreferences: "preferences"
        case .contacts: "contacts"
        case .watchAppPreferences: "watchapp preferences"
        case .healthStatistics: "health statistics"
        case .appGlances: "app glances"
        case .settings: "settings"
        default: "database \(rawValue)"
        }
    }
}

extension [UInt8] {
    /// A key of a database, if it is text.
    public var printableText: String? {
        allSatisfy { (0x20...0x7E).contains($0) } ? String(decoding: self, as: UTF8.self) : nil
    }
}

extension PutBytesObject.Kind {
    fileprivate var controlName: String {
        switch self {
        case .firmware: "firmware"
        case .recoveryFirmware: "recovery-firmware"
        case .systemResources: "system-resources"
        case .appResources: "app-resources"
        case .appBinary: "app-binary"
        case .file: "file"
        case .appWorker: "app-worker"
        }
    }
}
