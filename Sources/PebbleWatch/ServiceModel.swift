import PebbleProtocol

/// What the watch's services know at one moment: everything that a phone has put there, and what goes on.
public struct ServiceModel: Sendable {
    /// The firmware that runs.
    public let firmware: WatchIdentity.FirmwareVersion
    /// Whether that is the recovery firmware.
    public let isRecovery: Bool
    /// What the watch says it can do.
    public let capabilities: Capabilities
    /// What the watch's clock shows, and the zone if a phone has set it.
    public let clock: WatchClock
    /// Everything in the databases.
    public let databases: BlobDatabases
    /// Whether what a phone believes to be in them is true.
    public let isFaithful: Bool
    /// The apps that the phone installed.
    public let apps: InstalledApps
    /// The app that is being fetched.
    public let fetchedApp: PebbleUUID?
    /// The launcher's order.
    public let appOrder: [PebbleUUID]
    /// What is shown, oldest first: neither dismissed nor removed.
    public let notifications: [TimelineItem]
    /// What plays on the phone.
    public let music: MusicService
    /// The calls that go on, and those that were missed.
    public let phoneControl: PhoneControlService
    /// What apps have logged and the phone does not have.
    public let logging: [LoggingSessionID: LoggingSpool]
    /// What of a firmware update is there.
    public let update: [FirmwarePart: StoredFirmwareImage]
    /// Files by name, such as the language pack.
    public let files: [String: StoredObject]
    /// Whether an upload goes on.
    public let isUploading: Bool
    /// What the watch has logged of itself.
    public let log: SystemLog
    /// What the watch left behind when it was last told to dump its core; nil if there is none.
    public let coreDump: CoreDump?
}

extension Watch {
    /// What the services know.
    public var model: ServiceModel {
        let services = core.system.services
        let store = services.store
        return ServiceModel(
            firmware: core.system.isRecovery
                ? configuration.identity.recoveryFirmware : configuration.identity.firmware,
            isRecovery: core.system.isRecovery,
            capabilities: core.system.capabilities,
            clock: core.system.clock,
            databases: store.databases,
            isFaithful: store.isFaithful,
            apps: store.apps,
            fetchedApp: services.fetch.application,
            appOrder: store.appOrder,
            notifications: notifications,
            music: services.music,
            phoneControl: services.phoneControl,
            logging: store.spools,
            update: store.images,
            files: store.files,
            isUploading: store.isUploading,
            log: store.log,
            coreDump: store.coreDump
        )
    }
}
