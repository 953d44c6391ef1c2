import PebbleProtocol

/// What the services remember from one run to the next, and what several of them share.
///
/// A service finds it in its context. What is remembered is on the disk too: a service that changes it here also hands the change
/// over (``ServiceContext/remember(_:)``).
struct ServiceStore: Sendable {
    // MARK: Remembered

    /// The firmware that was installed by an update, if any.
    private(set) var firmware: FirmwareMetadata?
    /// The recovery firmware that was installed by an update, if any.
    private(set) var recoveryFirmware: FirmwareMetadata?
    /// What of a firmware update has been uploaded, whole or in part.
    var images: [FirmwarePart: StoredFirmwareImage] = [:]
    /// The apps that the phone installed, and which of their parts are there.
    var apps = InstalledApps()
    /// Files by name, such as the language pack.
    var files: [String: StoredObject] = [:]
    /// The databases that the phone fills.
    var databases = BlobDatabases()
    /// Whether what the phone believes to be in the databases is true. It is not on a watch that has lost them; a phone that
    /// has cleared one starts again.
    var isFaithful = false
    /// The order of apps in the launcher.
    var appOrder: [PebbleUUID] = []
    /// What apps have logged and the phone does not have.
    var spools: [LoggingSessionID: LoggingSpool] = [:]
    /// Whether the phone wants logged data at all.
    var isDataLoggingEnabled = true
    /// What the watch left behind when it was last told to dump its core.
    var coreDump: CoreDump?

    // MARK: Shared as long as the watch runs

    /// What the watch has logged of itself.
    var log = SystemLog()
    /// The session that has a firmware update under way, which allows it to upload images.
    var updateSession: SessionID?
    /// Whether an upload goes on. Nothing is to be said then that was not asked for: some clients take any message for the
    /// answer to an upload.
    var isUploading = false

    /// A store of nothing, which costs no memory.
    init() {}

    /// What was remembered.
    init(_ memory: ServiceMemory) {
        firmware = memory.firmware
        recoveryFirmware = memory.recoveryFirmware
        images = memory.update
        files = memory.files
        databases = BlobDatabases(memory.records)
        isFaithful = memory.isFaithful
        appOrder = memory.appOrder
        spools = memory.logging
        isDataLoggingEnabled = memory.isDataLoggingEnabled
        coreDump = memory.coreDump
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
            update: images,
            appParts: parts,
            files: files,
            records: databases.all,
            isFaithful: isFaithful,
            appOrder: appOrder,
            logging: spools,
            isDataLoggingEnabled: isDataLoggingEnabled,
            coreDump: coreDump
        )
    }
}
