import ByteCoding
import PebbleProtocol
import PebbleWatch

extension ServiceEvent {
    /// What a service did, for programs.
    var control: ControlEventFields {
        func event(_ variant: ControlServiceEvent, _ fields: some ControlObject) -> ControlEventFields {
            ControlEventFields(variant, fields)
        }
        switch self {
        case .uploadBegan(let kind, let byteCount):
            return event(.uploadBegan, ControlEvents.Uploaded(upload: .init(kind), byteCount: byteCount))
        case .uploaded(let kind, let byteCount):
            return event(.uploaded, ControlEvents.Uploaded(upload: .init(kind), byteCount: byteCount))
        case .uploadFailed(let kind, let reason):
            return event(.uploadFailed, ControlEvents.UploadFailed(upload: .init(kind), reason: reason))
        case .uploadInstalled(let kind): return event(.uploadInstalled, ControlEvents.Upload(kind))
        case .updateBegan: return event(.updateBegan, ControlEvents.Nothing())
        case .updateCompleted: return event(.updateCompleted, ControlEvents.Nothing())
        case .updateFailed(let reason): return event(.updateFailed, ControlEvents.UpdateFailed(reason: reason))
        case .appInstalled(let metadata):
            return event(.appInstalled, ControlEvents.NamedApp(app: "\(metadata.uuid)", name: metadata.name))
        case .appRemoved(let app): return event(.appRemoved, ControlEvents.App(app: "\(app)"))
        case .appFetchBegan(let app, let name):
            return event(.appFetchBegan, ControlEvents.NamedApp(app: "\(app)", name: name))
        case .appFetchFailed(let app, let reason):
            return event(.appFetchFailed, ControlEvents.AppFailed(app: "\(app)", reason: reason))
        case .appOrderChanged(let order):
            return event(.appOrderChanged, ControlEvents.AppOrder(apps: order.map { "\($0)" }, count: order.count))
        case .notificationShown(let item):
            return event(.notificationShown, ControlEvents.NotificationShown(ControlServices.Notification(item)))
        case .notificationRemoved(let item): return event(.notificationRemoved, ControlEvents.Item(item: "\(item)"))
        case .recordChanged(let database, let key, let value):
            return event(
                .recordChanged,
                ControlEvents.RecordChanged(record: .init(database, key), byteCount: value.count)
            )
        case .recordRemoved(let database, let key): return event(.recordRemoved, ControlEvents.Record(database, key))
        case .databaseCleared(let database): return event(.databaseCleared, ControlEvents.Database(database))
        case .actionSent(let item, let action):
            return event(.actionSent, ControlEvents.Action(item: "\(item)", action: Int(action)))
        case .actionNotSent(let item, let action):
            return event(.actionNotSent, ControlEvents.Action(item: "\(item)", action: Int(action)))
        case .actionAnswered(let item, let action, let code, let text):
            return event(
                .actionAnswered,
                ControlEvents.ActionAnswered(
                    item: "\(item)",
                    action: action.map(Int.init),
                    code: Int(code.rawValue),
                    isAccepted: code == .acknowledgement,
                    answer: text
                )
            )
        case .nowPlaying(let track):
            return event(
                .nowPlaying,
                ControlEvents.Track(artist: track.artist, album: track.album, title: track.title)
            )
        case .playState(let state):
            return event(
                .playState,
                ControlEvents.PlayState(
                    state: "\(state.state)",
                    positionMilliseconds: Int(state.positionMilliseconds),
                    ratePercent: Int(state.ratePercent)
                )
            )
        case .volume(let percent): return event(.volume, ControlEvents.Volume(percent: Int(percent)))
        case .call(let call): return event(.call, ControlEvents.Call(call))
        case .callEnded(let call): return event(.callEnded, ControlEvents.Call(call))
        case .callMissed(let caller):
            return event(.callMissed, ControlEvents.CallMissed(caller: caller.name, number: caller.number))
        case .appLogsWanted(let isWanted):
            return event(.appLogsWanted, ControlEvents.AppLogsWanted(isWanted: isWanted))
        case .screenshotTaken: return event(.screenshotTaken, ControlEvents.Nothing())
        case .dataLogged(let id, let byteCount):
            return event(.dataLogged, ControlEvents.Spooled(spool: id.rawValue, byteCount: byteCount))
        case .dataNotLogged(let id, let reason):
            return event(.dataNotLogged, ControlEvents.NotSpooled(spool: id.rawValue, reason: reason))
        case .dataSent(let id, let byteCount):
            return event(.dataSent, ControlEvents.Spooled(spool: id.rawValue, byteCount: byteCount))
        case .dataDropped(let id, let byteCount):
            return event(.dataDropped, ControlEvents.Spooled(spool: id.rawValue, byteCount: byteCount))
        case .healthSyncRequested: return event(.healthSyncRequested, ControlEvents.Nothing())
        }
    }
}

extension ControlEvents.Upload {
    fileprivate init(_ kind: PutBytesObject.Kind) { self.init(object: kind.controlName) }
}

extension ControlEvents.NotificationShown {
    fileprivate init(_ notification: ControlServices.Notification) {
        self.init(
            item: notification.id,
            app: notification.app,
            title: notification.title,
            subtitle: notification.subtitle,
            body: notification.body,
            actions: notification.actions
        )
    }
}

extension ControlEvents.Database {
    fileprivate init(_ database: BlobDBDatabase) {
        self.init(database: Int(database.rawValue), name: database.name)
    }
}

extension ControlEvents.Record {
    fileprivate init(_ database: BlobDBDatabase, _ key: [UInt8]) {
        self.init(database: .init(database), key: key, keyText: key.printableText)
    }
}

extension ControlEvents.Call {
    fileprivate init(_ call: PhoneControlService.Call) {
        self.init(state: "\(call.state)", caller: call.caller?.name, number: call.caller?.number)
    }
}

extension BlobDBDatabase {
    /// What the database is for.
    package var name: String {
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
    package var printableText: String? {
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
