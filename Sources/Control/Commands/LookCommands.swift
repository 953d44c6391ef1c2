import PebbleProtocol
import PebbleWatch

// What can be seen of the watch without changing anything: its screen, apps, notifications, settings, clock, links and messages.

extension ControlCommands {
    /// `screenshot`
    package struct Screenshot: ControlCommand {
        package typealias Answer = ControlAnswers.Screen

        package var format = ControlScreen.Format.png

        package static let name = "screenshot"
        package static let onlyReads = true
        package static let help = "Give the picture that the screen shows."
        package static let discussion = "No phone hears of it, and no session is touched."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted(
                "format",
                &format,
                .one(of: ["png": .png, "raw": .raw]),
                "a PNG file; or a byte a pixel, row by row from the top left, as the watch has its colours: aarrggbb"
            )
        }

        package func request() -> ControlRequest { .screenshot(format) }
    }

    /// `apps`
    package struct Apps: ControlCommand {
        package typealias Answer = ControlAnswers.Apps

        package static let name = "apps"
        package static let onlyReads = true
        package static let help = "List the apps that can be launched."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .look(.apps) }
    }

    /// `inbox`
    package struct Inbox: ControlCommand {
        package typealias Answer = ControlAnswers.Messages

        package var app: PebbleUUID?
        package var since: UInt64?

        package static let name = "inbox"
        package static let onlyReads = true
        package static let help = "List the AppMessages that companions have sent and apps have taken."
        package static let discussion = "The last 256 are kept, fewer if they are large."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.chosenMessages(&app, &since)
        }

        package func request() -> ControlRequest { .messages(.received, app: app, after: since) }
    }

    /// `outbox`
    package struct Outbox: ControlCommand {
        package typealias Answer = ControlAnswers.Messages

        package var app: PebbleUUID?
        package var since: UInt64?

        package static let name = "outbox"
        package static let onlyReads = true
        package static let help = "List the AppMessages that apps have sent to companions, or could not send."
        package static let discussion =
            "The last 256 are kept, fewer if they are large. One that waits for its answer is not there yet."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.chosenMessages(&app, &since)
        }

        package func request() -> ControlRequest { .messages(.sent, app: app, after: since) }
    }

    /// `notifications`
    package struct Notifications: ControlCommand {
        package typealias Answer = ControlAnswers.Notifications

        package static let name = "notifications"
        package static let onlyReads = true
        package static let help = "List the notifications that are shown, oldest first."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .look(.notifications) }
    }

    /// `settings`
    package struct Settings: ControlCommand {
        package typealias Answer = ControlAnswers.Settings

        package static let name = "settings"
        package static let onlyReads = true
        package static let help = "List the settings that a phone or the watch has set."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .look(.settings) }
    }

    /// `time`
    package struct Time: ControlCommand {
        package typealias Answer = ControlAnswers.Time

        package static let name = "time"
        package static let onlyReads = true
        package static let help = "Say what the watch's clock shows."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .look(.time) }
    }

    /// `links`
    package struct Links: ControlCommand {
        package typealias Answer = ControlAnswers.Links

        package static let name = "links"
        package static let onlyReads = true
        package static let help =
            "List the links to phones: their parameters, their security, and what has gone over them."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .look(.links) }
    }

    /// `wait`
    package struct Wait: ControlCommand {
        package typealias Answer = ControlAnswers.Awaited

        /// A condition or the name of an event.
        package var goal = ControlCondition.ready.rawValue
        package var since: UInt64?
        package var seconds = 30.0

        package static let name = "wait"
        package static let onlyReads = true
        package static let help = "Answer when the watch is as it should be, or when something has happened on it."
        package static let discussion =
            "ready, connected, session and paired are what the watch is now; with `since`, connected and paired are events. "
            + "Of an event, one counts that has happened since the watch was started, or after the one of the number `since`. "
            + "Without it in time, the `code` is timed-out. What is asked after it on the same connection waits as well."

        /// The longest that can be waited.
        package static let longest = 86_400

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            let names = Set(ControlCondition.allCases.map(\.rawValue) + ControlEventName.allCases.map(\.rawValue))
            try fields.required(
                "for",
                &goal,
                .one(of: Dictionary(uniqueKeysWithValues: names.map { ($0, $0) })),
                "what to wait for"
            )
            try fields.optional("since", &since, .serial, "only an event after the one of this number counts")
            try fields.defaulted("seconds", &seconds, .number(in: 0...Self.longest).in(.seconds), "how long to wait")
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            let event = ControlEventName(rawValue: goal)
            if let condition = ControlCondition(rawValue: goal), since == nil || event == nil {
                guard since == nil else {
                    throw ControlRequest.Invalid(
                        description: "“since” goes with events; \(goal) holds now or does not"
                    )
                }
                return .wait(ControlWait(goal: .condition(condition), duration: .seconds(seconds)))
            }
            guard let event else { throw ControlRequest.Invalid(description: "“for” is nothing to wait for") }
            return .wait(ControlWait(goal: .event(event, after: since ?? 0), duration: .seconds(seconds)))
        }
    }
}

extension FieldVisitor {
    /// Which messages are wanted.
    fileprivate mutating func chosenMessages(_ app: inout PebbleUUID?, _ since: inout UInt64?) throws(Failure) {
        try optional("app", &app, .uuid, "only those of this app")
        try optional("since", &since, .serial, "only those after the event of this number")
    }
}
