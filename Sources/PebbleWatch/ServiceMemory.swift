import PebbleProtocol

/// What the services of the watch remember from one run to the next.
public struct ServiceMemory: Sendable, Equatable {
    /// The firmware that was installed by an update, if any: as an image's metadata.
    public var firmware: FirmwareMetadata?
    /// The recovery firmware that was installed by an update, if any.
    public var recoveryFirmware: FirmwareMetadata?
    /// What of an update has been uploaded.
    public var update: [FirmwarePart: StoredFirmwareImage]
    /// Which parts of which apps have been uploaded.
    public var appParts: [AppPart: StoredObject]
    /// Files, such as the language pack, by name.
    public var files: [String: StoredObject]
    /// What the phone has written into the databases, in the order in which keys were first written.
    public var records: [StoredRecord]
    /// Whether what a phone believes to be in them is true.
    public var isFaithful: Bool
    /// The launcher's order.
    public var appOrder: [PebbleUUID]
    /// What apps have logged and the phone does not have.
    public var logging: [LoggingSessionID: LoggingSpool]
    /// Whether the phone wants logged data at all.
    public var isDataLoggingEnabled: Bool
    /// What the watch left behind when it was told to dump its core.
    public var coreDump: CoreDump?

    /// A memory; without arguments that of a watch fresh from the factory.
    public init(
        firmware: FirmwareMetadata? = nil,
        recoveryFirmware: FirmwareMetadata? = nil,
        update: [FirmwarePart: StoredFirmwareImage] = [:],
        appParts: [AppPart: StoredObject] = [:],
        files: [String: StoredObject] = [:],
        records: [StoredRecord] = [],
        isFaithful: Bool = false,
        appOrder: [PebbleUUID] = [],
        logging: [LoggingSessionID: LoggingSpool] = [:],
        isDataLoggingEnabled: Bool = true,
        coreDump: CoreDump? = nil
    ) {
        self.firmware = firmware
        self.recoveryFirmware = recoveryFirmware
        self.update = update
        self.appParts = appParts
        self.files = files
        self.records = records
        self.isFaithful = isFaithful
        self.appOrder = appOrder
        self.logging = logging
        self.isDataLoggingEnabled = isDataLoggingEnabled
        self.coreDump = coreDump
    }
}

/// The images of a firmware update; the numbers are those of the uploads.
public enum FirmwarePart: UInt8, Sendable, CaseIterable {
    /// The firmware that normally runs.
    case firmware = 1
    /// The firmware that the watch recovers with.
    case recoveryFirmware = 2
    /// The firmware's resources, such as its fonts. New firmware is started only together with them.
    case systemResources = 3
}

/// An image of a firmware update: all of it, or what has come so far.
public struct StoredFirmwareImage: Sendable, Equatable {
    /// The image from its beginning: all of it once it is committed, before that what has come.
    public var bytes: [UInt8]
    /// Whether the image is whole, and whether the next boot starts it.
    public var progress: Progress

    /// How far the image is.
    public enum Progress: UInt8, Sendable, Comparable {
        /// Its upload was interrupted and may be resumed.
        case partial = 0
        /// It is whole: its checksum was right.
        case committed = 1
        /// The phone wants it started at the next boot.
        case installed = 2

        public static func < (left: Progress, right: Progress) -> Bool { left.rawValue < right.rawValue }
    }

    /// An image.
    public init(bytes: [UInt8], progress: Progress = .partial) {
        self.bytes = bytes
        self.progress = progress
    }
}

/// Names one of the uploads that make an app.
public struct AppPart: Hashable, Sendable {
    /// The app that it is a part of.
    public var application: PebbleUUID
    /// Which part it is.
    public var kind: Kind

    /// The parts of an app; the numbers are those of the uploads.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// The resource pack. Every app needs it.
        case resources = 4
        /// The executable with its header. Every app needs it.
        case binary = 5
        /// The background worker. An app needs it if its flags say so.
        case worker = 7
    }

    /// A part of an app.
    public init(of application: PebbleUUID, _ kind: Kind) {
        self.application = application
        self.kind = kind
    }
}

/// What the watch itself keeps of an upload whose bytes are in the store.
public struct StoredObject: Sendable, Equatable {
    /// In bytes.
    public var size: Int
    /// The first bytes, at most ``headLength``: an app binary's header says what the app is.
    public var head: [UInt8]

    /// As long as the longest header that is looked at.
    public static let headLength = 130

    /// An upload by what is kept of it.
    public init(size: Int, head: [UInt8]) {
        self.size = size
        self.head = head
    }

    /// What is kept of some bytes.
    public init(_ bytes: [UInt8]) {
        self.init(size: bytes.count, head: Array(bytes.prefix(Self.headLength)))
    }
}

/// One change of what the services remember, which a store carries out whole or not at all.
public enum ServiceChange: Sendable, Equatable {
    /// An app's part was uploaded; it replaces an older one.
    case appPart(AppPart, [UInt8])
    /// All uploads of an app are to go.
    case appPartsRemoved(of: PebbleUUID)
    /// All uploads of all apps are to go.
    case allAppPartsRemoved
    /// A file was uploaded; it replaces an older one.
    case file(name: String, [UInt8])
    /// The next bytes of an image, which begin at `offset`. What was there from that place on goes.
    case updateBytes(FirmwarePart, offset: Int, [UInt8])
    /// How far an image is.
    case updateProgress(FirmwarePart, StoredFirmwareImage.Progress)
    /// An image is to go.
    case updateDiscarded(FirmwarePart)
    /// The firmware that starts from now on.
    case firmware(FirmwareMetadata)
    /// The recovery firmware that is there from now on.
    case recoveryFirmware(FirmwareMetadata)
    /// A database's key has a value from now on.
    case record(StoredRecord)
    /// A key is to go.
    case recordRemoved(BlobDBDatabase, key: [UInt8])
    /// All of a database is to go.
    case databaseCleared(BlobDBDatabase)
    /// All of a database counts as changed by the watch.
    case allRecordsDirty(BlobDBDatabase)
    /// Whether what a phone believes to be in the databases is true.
    case isFaithful(Bool)
    /// The launcher's order.
    case appOrder([PebbleUUID])
    /// An app logs data of a new description.
    case loggingSession(LoggingSessionID, DataLoggingMessage.Session)
    /// An app logged items; `offset` is how many bytes were logged before them.
    case loggingData(LoggingSessionID, offset: Int, [UInt8])
    /// The phone has everything up to this place.
    case loggingConsumed(LoggingSessionID, upTo: Int)
    /// An app logs no more.
    case loggingFinished(LoggingSessionID)
    /// The phone has everything, and there will be no more.
    case loggingEnded(LoggingSessionID)
    /// Whether the phone wants logged data at all.
    case isDataLoggingEnabled(Bool)
    /// The watch dumped its core.
    case coreDump([UInt8])
    /// A phone has had the core dump.
    case coreDumpRead
    /// Everything goes but the firmware.
    case factoryReset
    /// All of these or none.
    case several([ServiceChange])
}
