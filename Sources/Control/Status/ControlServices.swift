import ByteCoding
import PebbleProtocol
import PebbleWatch

/// What a phone has put on the watch, and what goes on between them, as programs are told.
package struct ControlServices: ControlObject {
    /// An app that the phone installed.
    package struct App: ControlObject {
        package var uuid = ""
        package var name = ""
        package var id = 0
        package var isCached = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("uuid", &uuid, .uuid, "its UUID")
            try fields.required("name", &name, .text, "its name")
            try fields.required("id", &id, .integer, "its number in the phone's database")
            try fields.required("isCached", &isCached, .flag, "whether everything that it needs is there")
        }
    }

    /// Something that is shown.
    package struct Notification: ControlObject {
        package var id = ""
        package var app: String?
        package var title: String?
        package var subtitle: String?
        package var body: String?
        package var actions: [String: String] = [:]
        package var time = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("id", &id, .uuid, "its UUID")
            try fields.required("time", &time, .count.in(.seconds), "when it came, as the phone says: since 1970")
            try fields.content(&app, &title, &subtitle, &body, &actions)
        }
    }

    /// A call.
    package struct Call: ControlObject {
        package var state = ""
        package var name: String?
        package var number: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("state", &state, .word("incoming", "outgoing", "active"), "what the call does")
            try fields.optional("name", &name, .text, "the caller's name")
            try fields.optional("number", &number, .text, "the caller's number")
        }
    }

    /// What plays.
    package struct Music: ControlObject {
        package var artist: String?
        package var title: String?
        package var state: String?
        package var volume: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("artist", &artist, .text, "who plays")
            try fields.optional("title", &title, .text, "what is played")
            try fields.optional("state", &state, .text, "what the player does")
            try fields.optional("volume", &volume, .count.in(.percent), "the volume")
        }
    }

    /// What an app has logged and the phone does not have.
    package struct Spool: ControlObject {
        package var session: Int64 = 0
        package var app = ""
        package var tag = 0
        package var byteCount = 0
        package var start = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("session", &session, .integer, "the number of its data logging session")
            try fields.required("app", &app, .uuid, "the app that has logged")
            try fields.required("tag", &tag, .count, "what the app calls this kind of data")
            try fields.required("byteCount", &byteCount, .count.in(.bytes), "how much there is")
            try fields.required("start", &start, .count.in(.bytes), "how many bytes were logged before those")
        }
    }

    /// An image of a firmware update.
    package struct Image: ControlObject {
        package var byteCount = 0
        package var crc: UInt32 = 0
        package var progress = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("byteCount", &byteCount, .count.in(.bytes), "how much of it there is")
            try fields.required("crc", &crc, .integer, "the checksum of PutBytes, over those")
            try fields.required(
                "progress",
                &progress,
                .word("partial", "committed", "installed"),
                "how far its upload is"
            )
        }
    }

    package var isRecovery = false
    package var isFaithful = false
    package var databases: [String: Int] = [:]
    package var apps: [App] = []
    package var fetchedApp: String?
    package var appOrder: [String] = []
    package var notifications: [Notification] = []
    package var calls: [Call] = []
    package var music = Music()
    package var logging: [Spool] = []
    package var update: [String: Image] = [:]
    package var isUploading = false

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("isRecovery", &isRecovery, .flag, "whether the recovery firmware runs")
        try fields.required(
            "isFaithful",
            &isFaithful,
            .flag,
            "whether what a phone believes to be in the databases is true"
        )
        try fields.required(
            "databases",
            &databases,
            .dictionary(of: .count),
            "how many records each database has, by its number"
        )
        try fields.required("apps", &apps, .list(of: .object), "the apps that phones have installed")
        try fields.optional("fetchedApp", &fetchedApp, .uuid, "the app that the phone is asked for")
        try fields.required("appOrder", &appOrder, .list(of: .uuid), "the launcher's order, by UUID")
        try fields.required("notifications", &notifications, .list(of: .object), "what is shown")
        try fields.required("calls", &calls, .list(of: .object), "the calls")
        try fields.required("music", &music, .object, "what plays")
        try fields.required(
            "logging",
            &logging,
            .list(of: .object),
            "what apps have logged and the phone does not have"
        )
        try fields.required("update", &update, .dictionary(of: .object), "the images of a firmware update, by part")
        try fields.required("isUploading", &isUploading, .flag, "whether the phone uploads an object")
    }
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
        time = Int(item.timestamp)
        app = text(.appName, of: item.attributes)
        title = text(.title, of: item.attributes)
        subtitle = text(.subtitle, of: item.attributes)
        body = text(.body, of: item.attributes)
        actions = Dictionary(
            item.actions.map { ("\($0.id)", text(.title, of: $0.attributes) ?? "") }
        ) { first, _ in first }
    }
}

extension FieldVisitor {
    /// What a notification says, the same in the status and in an event.
    mutating func content(
        _ app: inout String?,
        _ title: inout String?,
        _ subtitle: inout String?,
        _ body: inout String?,
        _ actions: inout [String: String]
    ) throws(Failure) {
        try optional("app", &app, .text, "the app that it is from, as the phone calls it")
        try optional("title", &title, .text, "its title")
        try optional("subtitle", &subtitle, .text, "its subtitle")
        try optional("body", &body, .text, "its text")
        try required(
            "actions",
            &actions,
            .dictionary(of: .text),
            "the numbers of what can be done with it, and what that is called"
        )
    }
}
