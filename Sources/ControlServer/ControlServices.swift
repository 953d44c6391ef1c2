import ByteCoding
import PebbleProtocol
import PebbleWatch

/// What a phone has put on the watch, and what goes on between them, as programs are told.
public struct ControlServices: Codable, Sendable, Equatable {
    /// An app that the phone installed.
    public struct App: Codable, Sendable, Equatable {
        public let uuid: String
        public let name: String
        public let id: Int
        /// Whether everything that it needs is there.
        public let isCached: Bool
    }

    /// Something that is shown.
    public struct Notification: Codable, Sendable, Equatable {
        public let id: String
        /// The app that it is from, as the phone calls it.
        public let app: String?
        public let title: String?
        public let subtitle: String?
        public let body: String?
        /// The numbers of what can be done with it, and what that is called.
        public let actions: [String: String]
    }

    /// A call.
    public struct Call: Codable, Sendable, Equatable {
        public let state: String
        public let name: String?
        public let number: String?
    }

    /// What plays.
    public struct Music: Codable, Sendable, Equatable {
        public let artist: String?
        public let title: String?
        public let state: String?
        public let volume: Int?
    }

    /// What an app has logged and the phone does not have.
    public struct Spool: Codable, Sendable, Equatable {
        public let session: Int64
        public let app: String
        public let tag: Int
        public let byteCount: Int
        /// How many bytes were logged before those.
        public let start: Int
    }

    /// An image of a firmware update.
    public struct Image: Codable, Sendable, Equatable {
        public let byteCount: Int
        /// The checksum of PutBytes, over those.
        public let crc: UInt32
        /// `partial`, `committed` or `installed`.
        public let progress: String
    }

    public let isRecovery: Bool
    public let isFaithful: Bool
    /// How many records each database has, by its number.
    public let databases: [String: Int]
    public let apps: [App]
    public let fetchedApp: String?
    public let appOrder: [String]
    public let notifications: [Notification]
    public let calls: [Call]
    public let music: Music
    public let logging: [Spool]
    public let update: [String: Image]
    public let isUploading: Bool
}

extension ControlServices {
    /// The same for programs.
    init(_ model: ServiceModel) {
        isRecovery = model.isRecovery
        isFaithful = model.isFaithful
        databases = Dictionary(
            uniqueKeysWithValues: model.databases.databases.map { ("\($0.rawValue)", model.databases.count(of: $0)) }
        )
        apps = model.apps.all.map { app in
            App(uuid: "\(app.metadata.uuid)", name: app.metadata.name, id: Int(app.id.rawValue), isCached: app.isCached)
        }
        fetchedApp = model.fetchedApp.map { "\($0)" }
        appOrder = model.appOrder.map { "\($0)" }
        notifications = model.notifications.map(Notification.init)
        calls = model.phoneControl.calls.map { call in
            Call(state: "\(call.state)", name: call.caller?.name, number: call.caller?.number)
        }
        music = Music(
            artist: model.music.track?.artist,
            title: model.music.track?.title,
            state: model.music.playState.map { "\($0.state)" },
            volume: model.music.volume.map(Int.init)
        )
        logging = model.logging.sorted { $0.key < $1.key }.map { id, spool in
            Spool(
                session: id.rawValue,
                app: "\(spool.session.application)",
                tag: Int(spool.session.tag),
                byteCount: spool.bytes.count,
                start: spool.start
            )
        }
        update = Dictionary(
            uniqueKeysWithValues: model.update.map { part, image in
                let crc = LegacyChecksum.checksum(of: image.bytes)
                return ("\(part)", Image(byteCount: image.bytes.count, crc: crc, progress: "\(image.progress)"))
            }
        )
        isUploading = model.isUploading
    }
}

extension ControlServices.Notification {
    init(_ item: TimelineItem) {
        func text(_ id: TimelineAttribute.ID, of attributes: [TimelineAttribute]) -> String? {
            attributes.first { $0.id == id }?.text
        }
        id = "\(item.id)"
        app = text(.appName, of: item.attributes)
        title = text(.title, of: item.attributes)
        subtitle = text(.subtitle, of: item.attributes)
        body = text(.body, of: item.attributes)
        actions = Dictionary(
            item.actions.map { ("\($0.id)", text(.title, of: $0.attributes) ?? "") }
        ) { first, _ in first }
    }
}
