import PebbleProtocol

/// The table of the watch's services: each is a machine of its own, and stands here twice, as a property and in
/// ``visitServices(_:in:)``.
///
/// What is done with all of them, or with one, is done by visitors (`WatchServices+Calls.swift`).
struct WatchServices: Sendable {
    private(set) var putBytes = PutBytesService()
    private(set) var update = FirmwareUpdateService()
    var fetch = AppFetchService()
    private(set) var blobDB = BlobDBService()
    var blobDB2 = BlobDB2Service()
    var appLog = AppLogService()
    var dataLogging: DataLoggingService
    private(set) var screenshot = ScreenshotService()
    private(set) var getBytes = GetBytesService()
    private(set) var logDump = LogDumpService()
    private(set) var appOrder = AppOrderService()
    var timeline = TimelineService()
    var music = MusicService()
    var phoneControl = PhoneControlService()
    private(set) var watchVersion = WatchVersionService()
    private(set) var phoneVersion = PhoneVersionService()
    private(set) var time = TimeService()
    private(set) var ping = PingService()
    private(set) var factoryRegistry = FactoryRegistryService()
    private(set) var reset = ResetService()
    private(set) var healthSync = HealthSyncService()
    private(set) var remoteInput = RemoteInputService()
    private(set) var appRunState = AppRunStateService()
    var launcher = LauncherService()
    /// The running app and those that can run; its endpoint is that of AppMessages.
    var apps: AppManager

    /// Notifications that come through ANCS, which is no endpoint.
    var appleNotifications = AppleNotificationService()
    /// What the services remember and share. It is empty while a step is made: the context has it then.
    private(set) var store: ServiceStore
    /// When ``advance(in:)`` has something to do, as of the last step.
    private(set) var nextDeadline: Duration?

    /// Shows every service to a visitor, in an order that holds for everything: uploads end before what waits for them goes on,
    /// and a fetch ends before the app that it was for is there, or gone.
    mutating func visitServices<Visitor: EndpointVisitor>(_ visitor: inout Visitor, in context: inout Visitor.Context) {
        visitor.visit(&putBytes, in: &context)
        visitor.visit(&update, in: &context)
        visitor.visit(&fetch, in: &context)
        visitor.visit(&blobDB, in: &context)
        visitor.visit(&blobDB2, in: &context)
        visitor.visit(&appLog, in: &context)
        visitor.visit(&dataLogging, in: &context)
        visitor.visit(&screenshot, with: &apps, in: &context)
        visitor.visit(&getBytes, in: &context)
        visitor.visit(&logDump, in: &context)
        visitor.visit(&appOrder, in: &context)
        visitor.visit(&timeline, in: &context)
        visitor.visit(&music, in: &context)
        visitor.visit(&phoneControl, in: &context)
        visitor.visit(&watchVersion, in: &context)
        visitor.visit(&phoneVersion, in: &context)
        visitor.visit(&time, in: &context)
        visitor.visit(&ping, in: &context)
        visitor.visit(&factoryRegistry, in: &context)
        visitor.visit(&reset, in: &context)
        visitor.visit(&healthSync, in: &context)
        visitor.visit(&remoteInput, in: &context)
        visitor.visit(&appRunState, with: &apps, in: &context)
        visitor.visit(&launcher, with: &apps, in: &context)
        visitor.visit(&apps, in: &context)
    }

    /// Services that remember.
    /// - Parameter apps: the apps that came with the watch; those that the phone installed are added.
    init(memory: ServiceMemory, apps: AppManager) {
        store = ServiceStore(memory)
        dataLogging = DataLoggingService(spools: memory.logging)
        self.apps = apps
        for app in store.apps.all { self.apps.restore(app) }
        noteDeadline()
    }

    /// What is worth remembering.
    var memory: ServiceMemory { store.memory }

    /// What the watch has logged of itself.
    var log: SystemLog { store.log }

    /// The log goes on with that of the watch that ran before, as of an earlier boot.
    mutating func continueLog(of old: WatchServices) {
        store.log = old.log
        store.log.beginGeneration()
    }
}

// MARK: - Steps

extension WatchServices {
    /// A step begins: the context has the store now.
    mutating func lendStore(to context: inout ServiceContext) { swap(&store, &context.store) }

    /// A step is over: takes the store back.
    mutating func takeStoreBack(from context: inout ServiceContext) { swap(&store, &context.store) }

    /// Something may have changed when something is to be done.
    mutating func noteDeadline() {
        var search = DeadlineSearch()
        var nothing: Void = ()
        visitServices(&search, in: &nothing)
        nextDeadline = search.earliest
    }
}

/// Finds the earliest deadline of all services.
private struct DeadlineSearch: WatchServiceVisitor {
    private(set) var earliest: Duration?

    mutating func call(_ service: inout some WatchService, in context: inout Void) {
        earliest.lower(to: service.nextDeadline)
    }
}
