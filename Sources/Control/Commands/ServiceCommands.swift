import PebbleProtocol
import PebbleWatch

// Music, calls, notifications, settings, data logging, and the watch as a whole.

extension ControlCommands {
    /// `music`
    package struct Music: ControlCommand {
        package var key = MusicMessage.Command.playOrPause

        package static let name = "music"
        package static let help = "Press a key of the music app, which the phone gets."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "key",
                &key,
                .one(of: [
                    "play-pause": .playOrPause, "play": .play, "pause": .pause, "next": .next, "previous": .previous,
                    "volume-up": .volumeUp, "volume-down": .volumeDown,
                ]),
                "the key"
            )
        }

        package func request() -> ControlRequest { .perform(.service(.music(key))) }
    }

    /// `answer-call`
    package struct AnswerCall: ControlCommand {
        package static let name = "answer-call"
        package static let help = "Take the call."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.service(.answerCall)) }
    }

    /// `end-call`
    package struct EndCall: ControlCommand {
        package static let name = "end-call"
        package static let help = "End the call, or refuse it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.service(.endCall)) }
    }

    /// `act`
    package struct Act: ControlCommand {
        package var item = PebbleUUID.invalid
        package var action: UInt8 = 0
        package var text: String?

        package static let name = "act"
        package static let help = "Invoke an action of a notification."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("item", &item, .uuid, "the notification's id, as `status` has it")
            try fields.required("action", &action, .integer, "the number of one of its actions")
            try fields.optional("text", &text, .text, "a reply")
        }

        package func request() -> ControlRequest { .perform(.service(.act(on: item, action: action, text: text))) }
    }

    /// `set`
    package struct ChangeSetting: ControlCommand {
        package var key = ""
        package var data: [UInt8] = []

        package static let name = "set"
        package static let help = "Change a setting; a phone that keeps up with settings gets it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("key", &key, .text, "the setting's key")
            try fields.required("data", &data, .bytes, "its value, in hexadecimal")
        }

        package func request() -> ControlRequest { .perform(.service(.set(key, to: data))) }
    }

    /// `log-data`
    package struct LogData: ControlCommand {
        package var app = PebbleUUID.invalid
        package var tag: UInt32 = 0
        package var itemSize: UInt16 = 1
        package var data: [UInt8] = []

        package static let name = "log-data"
        package static let help = "Log items as an app does: they are spooled until a phone takes them."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "the app's UUID")
            try fields.required("tag", &tag, .integer, "what the app calls this kind of data")
            try fields.defaulted("itemSize", &itemSize, .integer.in(.bytes), "the length of an item")
            try fields.required("data", &data, .bytes, "whole items, in hexadecimal")
        }

        package func request() -> ControlRequest {
            let description = DataLoggingMessage.Session(
                application: app,
                timestamp: 0,
                tag: tag,
                itemType: .bytes,
                itemSize: itemSize
            )
            return .perform(.service(.log(data, as: description)))
        }
    }

    /// `restart`
    package struct Restart: ControlCommand {
        package var cause = RestartCause.reboot

        package static let name = "restart"
        package static let help = "Restart the watch."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted(
                "how",
                &cause,
                .one(of: [
                    "reboot": .reboot, "core-dump": .coreDump, "factory-reset": .factoryReset, "recovery": .recovery,
                ]),
                "the cause of the restart"
            )
        }

        package func request() -> ControlRequest { .perform(.service(.restart(cause))) }
    }

    /// `reset`
    package struct Reset: ControlCommand {
        package static let name = "reset"
        package static let help = "Restart the watch as it came from the factory."
        package static let discussion =
            "It forgets its phones, their keys, and everything that they have put there; its name, address and firmware stay."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.service(.restart(.factoryReset))) }
    }

    /// `set-time`
    package struct SetTime: ControlCommand {
        package var seconds: UInt32 = 0
        package var zone: String?
        package var offsetMinutes: Int16?

        package static let name = "set-time"
        package static let help = "Set the watch's clock, as a phone does."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "seconds",
                &seconds,
                .integer.in(.seconds),
                "since 1970: in UTC with a zone or an offset, else in local time"
            )
            try fields.optional("zone", &zone, .text, "the name of the time zone, such as Europe/Paris")
            try fields.optional(
                "offsetMinutes",
                &offsetMinutes,
                .integer.in(.minutes),
                "its offset from UTC; with a zone alone, the one that the watch has, or 0"
            )
        }

        package func request() -> ControlRequest {
            .perform(.setTime(seconds: seconds, offsetMinutes: offsetMinutes.map(Int.init), zone: zone))
        }
    }

    /// `backup`
    package struct Backup: ControlCommand {
        package typealias Answer = ControlAnswers.Backup

        package static let name = "backup"
        package static let help = "Copy everything that the watch keeps."
        package static let discussion = "Only for the user who started the watch, and root."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .backup }
    }

    /// `backup-part`
    package struct BackupPart: ControlCommand {
        package typealias Answer = ControlAnswers.BackupPart

        package var offset = 0

        package static let name = "backup-part"
        package static let help = "Give bytes of that copy, 24 KiB at most."
        package static let discussion = "The copy is gone when the connection is."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("offset", &offset, .count.in(.bytes), "the place of the first of the bytes")
        }

        package func request() -> ControlRequest { .backupPart(offset: offset) }
    }
}
