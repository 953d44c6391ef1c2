import PebbleWatch

/// What answers have beside `ok` and `sequence`.
package enum ControlAnswers {
    /// Nothing more: it is done.
    package struct Done: ControlObject {
        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
    }

    /// The answer to `open-pairing`.
    package struct PairingOpen: ControlObject {
        package var pairingSeconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("pairingSeconds", &pairingSeconds, .amount.in(.seconds), "how long phones may pair now")
        }
    }

    /// The answer to `oob`.
    package struct Secrets: ControlObject {
        package var data: [UInt8] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "what to hand to the phone: AD structures, in hexadecimal")
        }
    }

    /// The answer to `backup-part`.
    package struct BackupPart: ControlObject {
        package var data: [UInt8] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "the bytes, in hexadecimal; none after the last")
        }
    }

    /// The answer to `forget`, `forget-all` and `disconnect`.
    package struct Phones: ControlObject {
        package var phones: [String] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phones", &phones, .list(of: .address), "the phones that were concerned")
        }
    }

    /// The answer to `send`.
    package struct Delivery: ControlObject {
        package var app = ""
        package var delivery = AppMessageDelivery.sent

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "the app whose message it is")
            try fields.required(
                "delivery",
                &delivery,
                .one(of: ["sent": .sent, "waits": .waits, "queued": .queued]),
                "sent to its companion, which has not answered yet; waits until its companion is back; or queued until the app "
                    + "is awake"
            )
        }
    }

    /// The answer to `recorder-save`.
    package struct SavedRecording: ControlObject {
        package var size = 0
        package var seconds = 0.0
        package var isWhole = true

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("size", &size, .count.in(.bytes), "how large the file is")
            try fields.required("seconds", &seconds, .amount.in(.seconds), "how far back it goes")
            try fields.required(
                "whole",
                &isWhole,
                .flag,
                "whether it goes back to the watch's start: only then can it be run again; else it can be shown"
            )
        }
    }

    /// The answer to `screenshot`.
    package struct Screen: ControlObject {
        package var screen = ControlScreen()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("screen", &screen, .object, "what the screen shows")
        }
    }

    /// The answer to `apps`.
    package struct Apps: ControlObject {
        package var apps: [ControlApp] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "apps",
                &apps,
                .list(of: .object),
                "those that came with the watch, then those that were installed, in that order"
            )
        }
    }

    /// The answer to `install`.
    package struct App: ControlObject {
        package var app = ControlApp()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .object, "the app that is there now")
        }
    }

    /// The answer to `install-part`.
    package struct PackageSize: ControlObject {
        package var byteCount = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("byteCount", &byteCount, .count.in(.bytes), "how much of the package is there")
        }
    }

    /// The answer to `inbox` and `outbox`.
    package struct Messages: ControlObject {
        package var messages: [ControlMessage] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("messages", &messages, .list(of: .object), "the messages, oldest first")
        }
    }

    /// The answer to `notifications`.
    package struct Notifications: ControlObject {
        package var notifications: [ControlServices.Notification] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("notifications", &notifications, .list(of: .object), "what is shown, oldest first")
        }
    }

    /// The answer to `settings`.
    package struct Settings: ControlObject {
        package var settings: [ControlSetting] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "settings",
                &settings,
                .list(of: .object),
                "the settings, in the order of their first change"
            )
        }
    }

    /// The answer to `time`.
    package struct Time: ControlObject {
        package var time = ControlTime()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("time", &time, .object, "what the clock shows")
        }
    }

    /// The answer to `links`.
    package struct Links: ControlObject {
        package var links: [ControlLink] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("links", &links, .list(of: .object), "the links, in the order of their handles")
        }
    }

    /// The answer to `wait`.
    package struct Awaited: ControlObject {
        package var event: [String: ControlValue]?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("event", &event, .event, "the event, if one was waited for")
        }
    }

    /// The answer to `packets`.
    package struct PacketStream: ControlObject {
        package var startedAt = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "startedAt",
                &startedAt,
                .amount.in(.seconds),
                "when the watch was started, since 1970: `at` of a packet counts from there"
            )
        }
    }

    /// The answer to `log-level`.
    package struct LogLevels: ControlObject {
        package var levels = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("levels", &levels, .text, "the levels in force, as --log-level takes them")
        }
    }

    /// The answer to `status`.
    package struct Status: ControlObject {
        package var status = ControlStatus()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("status", &status, .object, "what `cairn status --json` prints")
        }
    }

    /// The answer to `backup`.
    package struct Backup: ControlObject {
        package var backup = ControlBackup()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("backup", &backup, .object, "what the copy has, of which `backup-part` gives the bytes")
        }
    }
}
