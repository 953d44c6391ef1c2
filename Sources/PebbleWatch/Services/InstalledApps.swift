import PebbleProtocol

/// The apps that the phone has installed: what it said of them, and which of their parts it has uploaded.
public struct InstalledApps: Sendable, Equatable {
    /// An installed app.
    public struct App: Sendable, Equatable {
        /// What the phone said of it.
        public var metadata: AppMetadata
        /// Its number, by which uploads name it.
        public let id: AppID
        /// What has been uploaded of it.
        public var parts: [AppPart.Kind: StoredObject] = [:]

        /// What it needs to run and is not there: as on the real watch, its binary and its resources, and its background worker
        /// if it says that it has one.
        public var missingParts: [AppPart.Kind] {
            let needed: [AppPart.Kind] = [.binary, .resources] + (metadata.flags.contains(.hasWorker) ? [.worker] : [])
            return needed.filter { parts[$0] == nil }
        }

        /// Whether everything is there that it needs to run.
        public var isCached: Bool { missingParts.isEmpty }
    }

    private var apps: [PebbleUUID: App] = [:]
    private var applications: [AppID: PebbleUUID] = [:]
    private var lastID: Int32 = 0

    /// No apps.
    public init() {}

    /// In the order of installation.
    public var all: [App] { apps.values.sorted { $0.id.rawValue < $1.id.rawValue } }

    /// An app by its UUID; nil if it is not installed.
    public subscript(uuid: PebbleUUID) -> App? { apps[uuid] }

    /// The app that a number names; nil if there is none.
    public func application(_ id: AppID) -> PebbleUUID? { applications[id] }

    /// How many there are.
    public var count: Int { apps.count }

    /// Adds an app, or replaces it: its parts have to be uploaded again then, under the number that it has.
    mutating func insert(_ metadata: AppMetadata) {
        let id = apps[metadata.uuid]?.id ?? nextID()
        apps[metadata.uuid] = App(metadata: metadata, id: id)
        applications[id] = metadata.uuid
    }

    /// A part of an app has been uploaded.
    mutating func setPart(_ part: AppPart, _ object: StoredObject?) {
        apps[part.application]?.parts[part.kind] = object
    }

    /// The uploads of an app are of no use any more.
    mutating func removeParts(of uuid: PebbleUUID) {
        apps[uuid]?.parts = [:]
    }

    /// Removes an app.
    mutating func remove(_ uuid: PebbleUUID) {
        guard let id = apps.removeValue(forKey: uuid)?.id else { return }
        applications[id] = nil
    }

    /// Removes all apps.
    mutating func removeAll() {
        apps = [:]
        applications = [:]
    }

    /// Numbers are positive and, but for one watch that sees two thousand million installations, never used again.
    private mutating func nextID() -> AppID {
        repeat { lastID = lastID == .max ? 1 : lastID + 1 } while applications[AppID(rawValue: lastID)] != nil
        return AppID(rawValue: lastID)
    }
}
