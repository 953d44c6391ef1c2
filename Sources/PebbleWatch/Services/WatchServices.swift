import ByteCoding
import PebbleProtocol

/// The services that companions call, but for those that only concern the running app.
///
/// Each is a machine of its own; here messages, time and the store's answers find their way to it.
struct WatchServices: Sendable {
    private(set) var putBytes = PutBytesService()
    private(set) var update: FirmwareUpdateService
    private(set) var apps = InstalledApps()
    private(set) var fetch = AppFetchService()
    private(set) var files: [String: StoredObject]
    var blobDB: BlobDBService
    private(set) var blobDB2 = BlobDB2Service()
    private(set) var appOrder: AppOrderService
    private(set) var timeline = TimelineService()
    var appleNotifications = AppleNotificationService()
    var music = MusicService()
    var phoneControl = PhoneControlService()
    private(set) var appLog = AppLogService()
    private(set) var logDump = LogDumpService()
    private(set) var screenshot = ScreenshotService()
    private(set) var getBytes = GetBytesService()
    private(set) var dataLogging: DataLoggingService
    private(set) var coreDump: CoreDump?
    /// What the watch has logged of itself.
    var log = SystemLog()
    private let firmware: FirmwareMetadata?
    private let recoveryFirmware: FirmwareMetadata?

    /// Services that remember.
    init(memory: ServiceMemory) {
        update = FirmwareUpdateService(images: memory.update)
        files = memory.files
        let databases = BlobDatabases(memory.records)
        blobDB = BlobDBService(databases: databases, isFaithful: memory.isFaithful)
        appOrder = AppOrderService(order: memory.appOrder)
        dataLogging = DataLoggingService(spools: memory.logging, isSendEnabled: memory.isDataLoggingEnabled)
        coreDump = memory.coreDump
        firmware = memory.firmware
        recoveryFirmware = memory.recoveryFirmware
        for key in databases.keys(of: .apps) {
            guard let value = databases[.apps, key]?.value, let metadata = try? AppMetadata(value[...]) else {
                continue
            }
            apps.insert(metadata)
        }
        for (part, object) in memory.appParts { apps.setPart(part, object) }
    }

    /// What is worth remembering.
    var memory: ServiceMemory {
        var parts: [AppPart: StoredObject] = [:]
        for app in apps.all {
            for (kind, object) in app.parts { parts[AppPart(of: app.metadata.uuid, kind)] = object }
        }
        return ServiceMemory(
            firmware: firmware,
            recoveryFirmware: recoveryFirmware,
            update: update.images,
            appParts: parts,
            files: files,
            records: blobDB.databases.all,
            isFaithful: blobDB.isFaithful,
            appOrder: appOrder.order,
            logging: dataLogging.spools,
            isDataLoggingEnabled: dataLogging.isSendEnabled,
            coreDump: coreDump
        )
    }

    /// Whether nothing is to be said that was not asked for: some clients take any message for the answer to an upload.
    private var isQuiet: Bool { putBytes.isBusy }
}

// MARK: - Messages

extension WatchServices {
    /// Gives a message to the service that answers its endpoint.
    ///
    /// An endpoint that clients know but no service here answers is ignored without a word, since they take a
    /// refusal of it for a failure.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        frame: FrameBuffer,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        // An empty message is legal, and the firmware drops it without a word, but for uploads.
        guard !message.payload.isEmpty || message.endpoint == .putBytes else { return }
        defer { afterwards(in: &context) }
        switch message.endpoint {
        case .watchVersion:
            try WatchVersionService.receive(message, on: session, isFaithful: blobDB.isFaithful, in: &context)
        case .time: try TimeService.receive(message, on: session, in: &context)
        case .ping: try PingService.receive(message, on: session, in: &context)
        case .factoryRegistry: FactoryRegistryService.receive(message, on: session, in: &context)
        case .systemMessage: try update.receive(message, on: session, in: &context)
        case .reset: try ResetService.receive(message, on: session, in: &context)
        case .putBytes:
            putBytes.receive(message, on: session, apps: apps, files: files, update: &update, in: &context)
        case .appFetch: try fetch.receive(message, on: session, apps: &apps, in: &context)
        case .blobDB: blobDB.receive(message, on: session, in: &context)
        case .blobDB2: try blobDB2.receive(message, on: session, databases: &blobDB, in: &context)
        case .appOrder: appOrder.receive(message, on: session, in: &context)
        case .timelineAction:
            if let done = try timeline.receive(message, on: session, in: &context) { actionDone(done, in: &context) }
        case .music: try music.receive(message, on: session, in: &context)
        case .phoneControl: try phoneControl.receive(message, on: session, in: &context)
        case .appLog: try appLog.receive(message, on: session, in: &context)
        case .logDump: try logDump.receive(message, on: session, log: log, in: &context)
        case .screenshot: screenshot.receive(message, on: session, frame: frame, in: &context)
        case .getBytes:
            guard getBytes.receive(message, on: session, coreDump: coreDump, in: &context), coreDump?.isRead == false
            else { return }
            coreDump?.isRead = true
            context.remember(.coreDumpRead)
        case .dataLogging: try dataLogging.receive(message, on: session, isQuiet: isQuiet, in: &context)
        case .healthSync:
            guard try HealthSyncService.receive(message, on: session, in: &context) else { return }
            dataLogging.flush(HealthSyncService.tags, isQuiet: isQuiet, in: &context)
        case .remoteInput: RemoteInputService.receive(message, on: session, in: &context)
        default: context.log(.debug, .session, "\(message.endpoint): nothing here answers it")
        }
    }

    /// A phone has said what it is. One whose system can be asked for its music is asked.
    mutating func phoneAnnounced(_ phone: PhoneVersion, on session: SessionID, in context: inout ServiceContext) {
        guard session == context.systemSession, phone.platform.operatingSystem == .android else { return }
        music.sessionAnnounced(in: &context)
    }

    /// The next message of what is handed over piece by piece, as the session has room for it.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? {
        screenshot.nextMessage(on: session) ?? getBytes.nextMessage(on: session) ?? logDump.nextMessage(on: session)
    }

    /// A session is gone.
    mutating func sessionClosed(_ session: SessionID, wasSystem: Bool, in context: inout ServiceContext) {
        putBytes.sessionClosed(session, update: &update, in: &context)
        update.sessionClosed(session, in: &context)
        afterwards(in: &context)
        fetch.sessionClosed(session, apps: &apps, in: &context)
        blobDB.sessionClosed(session)
        blobDB2.sessionClosed(session)
        appLog.sessionClosed(session)
        logDump.sessionClosed(session)
        screenshot.sessionClosed(session)
        getBytes.sessionClosed(session)
        dataLogging.sessionClosed(session)
        guard wasSystem else { return }
        timeline.sessionClosed()
        music.sessionClosed()
        phoneControl.sessionClosed()
    }

    /// What uploads mean for a fetch, and what waited for them to end.
    private mutating func afterwards(in context: inout ServiceContext) {
        for step in context.uploads { fetch.uploadChanged(step, apps: &apps, in: &context) }
        guard !context.uploads.isEmpty else { return }
        context.uploads = []
        guard !isQuiet else { return }
        appLog.flush(in: &context)
        dataLogging.work(isQuiet: false, in: &context)
    }
}

// MARK: - The store

extension WatchServices {
    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, in context: inout ServiceContext) {
        defer { afterwards(in: &context) }
        switch owner {
        case .nobody: break
        case .update: update.changeFinished(failure: failure, in: &context)
        case .putBytes: uploadFinished(failure: failure, in: &context)
        case .blobDB:
            guard let effect = blobDB.changeFinished(failure: failure, in: &context) else { return }
            carryOut(effect, in: &context)
        case .appOrder: appOrder.changeFinished(failure: failure, in: &context)
        case .dataLogging: dataLogging.changeFinished(failure: failure, isQuiet: isQuiet, in: &context)
        }
    }

    private mutating func uploadFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard let (place, object) = putBytes.changeFinished(failure: failure, update: &update, in: &context) else {
            return
        }
        switch place {
        case .app(let part): apps.setPart(part, object)
        case .file(let name): files[name] = object
        case .update, .nowhere: break
        }
    }

    /// What a changed database means for the rest of the watch.
    private mutating func carryOut(_ effect: BlobDBService.Effect, in context: inout ServiceContext) {
        switch effect {
        case .inserted(.apps, _, let value):
            guard let metadata = try? AppMetadata(value[...]) else { return }
            apps.insert(metadata)
            fetch.appChanged(metadata.uuid, in: &context)
            context.appChanges.append(.installed(metadata))
            context.emit(.appInstalled(metadata))
        case .deleted(.apps, let key):
            guard let uuid = PebbleUUID(key) else { return }
            apps.remove(uuid)
            fetch.appChanged(uuid, in: &context)
            context.appChanges.append(.removed(uuid))
            context.emit(.appRemoved(uuid))
        case .cleared(.apps):
            for app in apps.all {
                fetch.appChanged(app.metadata.uuid, in: &context)
                context.appChanges.append(.removed(app.metadata.uuid))
            }
            apps.removeAll()
            context.emit(.databaseCleared(.apps))
        case .inserted(.notifications, _, let value):
            if let item = try? TimelineItem(value[...]) { context.emit(.notificationShown(item)) }
        case .notificationChanged(let item):
            var value: [UInt8] = []
            item.encode(to: &value)
            context.emit(.recordChanged(.notifications, key: item.id.key, value: value))
            if !item.isShown { context.emit(.notificationRemoved(item.id)) }
        case .deleted(.notifications, let key):
            if let id = PebbleUUID(key) { context.emit(.notificationRemoved(id)) }
        case .inserted(let database, let key, let value):
            context.emit(.recordChanged(database, key: key, value: value))
        case .deleted(let database, let key):
            context.emit(.recordRemoved(database, key: key))
        case .cleared(let database):
            context.emit(.databaseCleared(database))
        }
    }
}

// MARK: - What the watch does of its own accord

extension WatchServices {
    /// Asks the phone for an app that is to start. While another is being fetched, that is ignored.
    mutating func fetch(_ uuid: PebbleUUID, in context: inout ServiceContext) {
        guard let app = apps[uuid] else { return }
        fetch.begin(app, in: &context)
    }

    /// An app has logged a line.
    mutating func appLogged(_ record: AppLogRecord, in context: inout ServiceContext) {
        appLog.log(record, isQuiet: isQuiet, in: &context)
    }

    /// Does one of the actions of a notification, pin or reminder.
    /// - Returns: false if there is no such item or action.
    mutating func perform(
        _ action: UInt8,
        of item: PebbleUUID,
        text: String?,
        in context: inout ServiceContext
    ) -> Bool {
        guard let found = self.item(item)?.item, let action = found.actions.first(where: { $0.id == action }) else {
            return false
        }
        if found.isFromOwnANCS {
            performANCS(action, of: found, in: &context)
        } else {
            timeline.perform(action, of: found, text: text, in: &context)
        }
        return true
    }

    private func item(_ id: PebbleUUID) -> (database: BlobDBDatabase, key: [UInt8], item: TimelineItem)? {
        for database in [BlobDBDatabase.notifications, .pins, .reminders] {
            if let record = blobDB.databases.record(of: id, in: database) { return (database, record.key, record.item) }
        }
        return nil
    }

    /// The phone agreed to an action: what was dismissed or removed is not shown any more.
    private mutating func actionDone(_ done: TimelineService.Pending, in context: inout ServiceContext) {
        guard [.dismiss, .remove, .ancsNegative].contains(done.action.kind) else { return }
        dismiss(done.item, in: &context)
    }

    /// Something is not shown any more.
    mutating func dismiss(_ id: PebbleUUID, in context: inout ServiceContext) {
        guard let (database, key, found) = item(id), !found.status.contains(.dismissed),
            var record = blobDB.databases[database, key]
        else { return }
        var item = found
        item.status.insert(.dismissed)
        record.value = []
        item.encode(to: &record.value)
        blobDB.set(database, key, record, in: &context)
        context.emit(.notificationRemoved(id))
    }

    /// Asks the phone's player for something.
    mutating func send(_ command: MusicMessage.Command, in context: inout ServiceContext) -> Bool {
        music.send(command, in: &context)
    }

    /// Takes the call that rings, or ends the call there is.
    mutating func answerCall(_ isAccepted: Bool, in context: inout ServiceContext) -> Bool {
        isAccepted ? phoneControl.answer(in: &context) : phoneControl.hangUp(in: &context)
    }

    /// Changes a setting on the watch; a phone that keeps up with settings hears of it.
    /// - Returns: false if that is no setting.
    mutating func changeSetting(_ key: [UInt8], to value: [UInt8], in context: inout ServiceContext) -> Bool {
        guard let rules = DatabaseRules(.settings), let key = SettingKeys.setting(key[...]), !value.isEmpty,
            value.count <= rules.byteLimit,
            blobDB.databases[.settings, key] != nil || blobDB.databases.count(of: .settings) < rules.recordLimit
        else { return false }
        let record = BlobDatabases.Record(
            value: value,
            timestamp: context.clock.seconds(at: context.now),
            isDirty: true
        )
        blobDB.set(.settings, key, record, in: &context)
        context.emit(.recordChanged(.settings, key: key, value: value))
        blobDB2.settingChanged(databases: blobDB, in: &context)
        return true
    }

    /// Spools items that an app logs.
    mutating func log(
        _ items: [UInt8],
        as description: DataLoggingMessage.Session,
        in context: inout ServiceContext
    ) -> Bool {
        dataLogging.log(items, as: description, in: &context)
    }

    /// An app logs no more.
    mutating func finishLogging(_ id: LoggingSessionID, in context: inout ServiceContext) {
        dataLogging.finish(id, in: &context)
    }
}

// MARK: - Time

extension WatchServices {
    /// When `advance(in:)` has something to do.
    var nextDeadline: Duration? {
        putBytes.nextDeadline.earlier(update.nextDeadline).earlier(fetch.nextDeadline).earlier(blobDB2.nextDeadline)
            .earlier(dataLogging.nextDeadline)
    }

    /// Lets time pass.
    mutating func advance(in context: inout ServiceContext) {
        putBytes.advance(update: &update, in: &context)
        afterwards(in: &context)
        if update.advance(in: &context) { context.restart = .firmwareUpdate }
        fetch.advance(apps: &apps, in: &context)
        blobDB2.advance(databases: blobDB, in: &context)
        dataLogging.advance(isQuiet: isQuiet, in: &context)
    }
}
