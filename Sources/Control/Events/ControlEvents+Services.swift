// What the event `service` has beside the `name` of what a service did.

/// What services do, by name.
enum ControlServiceEvent: String, ControlEventVariant {
    case uploadBegan = "upload-began"
    case uploaded
    case uploadFailed = "upload-failed"
    case uploadInstalled = "upload-installed"
    case updateBegan = "update-began"
    case updateCompleted = "update-completed"
    case updateFailed = "update-failed"
    case appInstalled = "app-installed"
    case appRemoved = "app-removed"
    case appFetchBegan = "app-fetch-began"
    case appFetchFailed = "app-fetch-failed"
    case appOrderChanged = "app-order-changed"
    case notificationShown = "notification-shown"
    case notificationRemoved = "notification-removed"
    case recordChanged = "record-changed"
    case recordRemoved = "record-removed"
    case databaseCleared = "database-cleared"
    case actionSent = "action-sent"
    case actionNotSent = "action-not-sent"
    case actionAnswered = "action-answered"
    case nowPlaying = "now-playing"
    case playState = "play-state"
    case volume, call
    case callEnded = "call-ended"
    case callMissed = "call-missed"
    case appLogsWanted = "app-logs-wanted"
    case screenshotTaken = "screenshot-taken"
    case dataLogged = "data-logged"
    case dataNotLogged = "data-not-logged"
    case dataSent = "data-sent"
    case dataDropped = "data-dropped"
    case healthSyncRequested = "health-sync-requested"

    static let event = ControlEventName.service

    var fields: any ControlObject.Type {
        switch self {
        case .uploadBegan, .uploaded: ControlEvents.Uploaded.self
        case .uploadFailed: ControlEvents.UploadFailed.self
        case .uploadInstalled: ControlEvents.Upload.self
        case .updateBegan, .updateCompleted, .screenshotTaken, .healthSyncRequested: ControlEvents.Nothing.self
        case .updateFailed: ControlEvents.UpdateFailed.self
        case .appInstalled, .appFetchBegan: ControlEvents.NamedApp.self
        case .appRemoved: ControlEvents.App.self
        case .appFetchFailed: ControlEvents.AppFailed.self
        case .appOrderChanged: ControlEvents.AppOrder.self
        case .notificationShown: ControlEvents.NotificationShown.self
        case .notificationRemoved: ControlEvents.Item.self
        case .recordChanged: ControlEvents.RecordChanged.self
        case .recordRemoved: ControlEvents.Record.self
        case .databaseCleared: ControlEvents.Database.self
        case .actionSent, .actionNotSent: ControlEvents.Action.self
        case .actionAnswered: ControlEvents.ActionAnswered.self
        case .nowPlaying: ControlEvents.Track.self
        case .playState: ControlEvents.PlayState.self
        case .volume: ControlEvents.Volume.self
        case .call, .callEnded: ControlEvents.Call.self
        case .callMissed: ControlEvents.CallMissed.self
        case .appLogsWanted: ControlEvents.AppLogsWanted.self
        case .dataLogged, .dataSent, .dataDropped: ControlEvents.Spooled.self
        case .dataNotLogged: ControlEvents.NotSpooled.self
        }
    }
}

extension ControlEvents {
    /// `upload-installed`
    package struct Upload: ControlObject {
        package var object = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("object", &object, .word(Self.objects), "what the phone uploads")
        }

        private static let objects = [
            "firmware", "recovery-firmware", "system-resources", "app-resources", "app-binary", "file", "app-worker",
        ]
    }

    /// `upload-began`, `uploaded`
    package struct Uploaded: ControlObject {
        package var upload = Upload()
        package var byteCount = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try upload.declare(&fields)
            try fields.byteCount(&byteCount)
        }
    }

    /// `upload-failed`
    package struct UploadFailed: ControlObject {
        package var upload = Upload()
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try upload.declare(&fields)
            try fields.reason(&reason)
        }
    }

    /// `update-failed`
    package struct UpdateFailed: ControlObject {
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.reason(&reason)
        }
    }

    /// `app-removed`
    package struct App: ControlObject {
        package var app = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
        }
    }

    /// `app-installed`, `app-fetch-began`
    package struct NamedApp: ControlObject {
        package var app = ""
        package var name = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required("appName", &name, .text, "its name")
        }
    }

    /// `app-fetch-failed`
    package struct AppFailed: ControlObject {
        package var app = ""
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.reason(&reason)
        }
    }

    /// `app-order-changed`
    package struct AppOrder: ControlObject {
        package var apps: [String] = []
        package var count = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("apps", &apps, .list(of: .uuid), "the launcher's order")
            try fields.required("count", &count, .count, "how many they are")
        }
    }

    /// `notification-removed`
    package struct Item: ControlObject {
        package var item = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.item(&item)
        }
    }

    /// `notification-shown`
    package struct NotificationShown: ControlObject {
        package var item = ""
        package var app: String?
        package var title: String?
        package var subtitle: String?
        package var body: String?
        package var actions: [String: String] = [:]

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.item(&item)
            try fields.content(&app, &title, &subtitle, &body, &actions)
        }
    }

    /// `database-cleared`
    package struct Database: ControlObject {
        package var database = 0
        package var name = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("database", &database, .count, "the database's number")
            try fields.required("databaseName", &name, .text, "what it is for")
        }
    }

    /// `record-removed`
    package struct Record: ControlObject {
        package var database = Database()
        package var key: [UInt8] = []
        package var keyText: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try database.declare(&fields)
            try fields.required("key", &key, .bytes, "the record's key, in hexadecimal")
            try fields.optional("keyText", &keyText, .text, "the key, if it is text")
        }
    }

    /// `record-changed`
    package struct RecordChanged: ControlObject {
        package var record = Record()
        package var byteCount = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try record.declare(&fields)
            try fields.byteCount(&byteCount)
        }
    }

    /// `action-sent`, `action-not-sent`
    package struct Action: ControlObject {
        package var item = ""
        package var action = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.item(&item)
            try fields.required("action", &action, .count, "the action's number")
        }
    }

    /// `action-answered`
    package struct ActionAnswered: ControlObject {
        package var item = ""
        package var action: Int?
        package var code = 0
        package var isAccepted = false
        package var answer: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.item(&item)
            try fields.optional("action", &action, .count, "the action's number")
            try fields.required("code", &code, .count, "the phone's answer")
            try fields.required("isAccepted", &isAccepted, .flag, "whether it agrees")
            try fields.optional("answer", &answer, .text, "what it says")
        }
    }

    /// `now-playing`
    package struct Track: ControlObject {
        package var artist = ""
        package var album = ""
        package var title = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("artist", &artist, .text, "who plays")
            try fields.required("album", &album, .text, "the album")
            try fields.required("title", &title, .text, "what is played")
        }
    }

    /// `play-state`
    package struct PlayState: ControlObject {
        package var state = ""
        package var positionMilliseconds = 0
        package var ratePercent = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("state", &state, .text, "what the player does")
            try fields.required(
                "positionMilliseconds",
                &positionMilliseconds,
                .integer.in(.milliseconds),
                "where in the track it is"
            )
            try fields.required("ratePercent", &ratePercent, .integer.in(.percent), "its speed; 100 is the usual one")
        }
    }

    /// `volume`
    package struct Volume: ControlObject {
        package var percent = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("percent", &percent, .count.in(.percent), "the volume")
        }
    }

    /// `call`, `call-ended`
    package struct Call: ControlObject {
        package var state = ""
        package var caller: String?
        package var number: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("state", &state, .word("incoming", "outgoing", "active"), "what the call does")
            try fields.optional("caller", &caller, .text, "the caller's name")
            try fields.optional("number", &number, .text, "the caller's number")
        }
    }

    /// `call-missed`
    package struct CallMissed: ControlObject {
        package var caller = ""
        package var number = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("caller", &caller, .text, "the caller's name")
            try fields.required("number", &number, .text, "the caller's number")
        }
    }

    /// `app-logs-wanted`
    package struct AppLogsWanted: ControlObject {
        package var isWanted = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isWanted", &isWanted, .flag, "whether a tool wants what apps log")
        }
    }

    /// `data-logged`, `data-sent`, `data-dropped`
    package struct Spooled: ControlObject {
        package var spool: Int64 = 0
        package var byteCount = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.spool(&spool)
            try fields.byteCount(&byteCount)
        }
    }

    /// `data-not-logged`
    package struct NotSpooled: ControlObject {
        package var spool: Int64 = 0
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.spool(&spool)
            try fields.reason(&reason)
        }
    }
}

extension FieldVisitor {
    fileprivate mutating func reason(_ value: inout String) throws(Failure) {
        try required("reason", &value, .text, "why")
    }

    fileprivate mutating func byteCount(_ value: inout Int) throws(Failure) {
        try required("byteCount", &value, .count.in(.bytes), "how much")
    }

    fileprivate mutating func item(_ value: inout String) throws(Failure) {
        try required("item", &value, .uuid, "the notification's id")
    }

    fileprivate mutating func spool(_ value: inout Int64) throws(Failure) {
        try required("spool", &value, .integer, "the number of the data logging session")
    }
}
