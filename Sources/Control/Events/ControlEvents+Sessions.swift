import PebbleWatch

// What events of streams, sessions, apps and the clock have.

extension ControlEvents {
    /// `stream-withdrawn`
    package struct Stream: ControlObject {
        package var stream = WatchStream.pebble

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("stream", &stream, .name(of: "stream"), "the stream")
        }
    }

    /// `stream-published`
    package struct StreamPublished: ControlObject {
        package var stream = Stream()
        package var psm = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try stream.declare(&fields)
            try fields.required("psm", &psm, .count, "where it can be opened")
        }
    }

    /// `stream-closed`
    package struct StreamClosed: ControlObject {
        package var connection = 0
        package var stream = Stream()
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try stream.declare(&fields)
            try fields.required("reason", &reason, .text, "why")
        }
    }

    /// `session-opened`
    package struct SessionOpened: ControlObject {
        package var session: UInt64 = 0
        package var kind = ""
        package var transport = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.session(&session)
            try fields.required("kind", &kind, .text, "system, app or hybrid")
            try fields.required("transport", &transport, .text, "what carries it")
        }
    }

    /// `session-moved`
    package struct SessionMoved: ControlObject {
        package var session: UInt64 = 0
        package var transport = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.session(&session)
            try fields.required("transport", &transport, .text, "what carries it from now on")
        }
    }

    /// `session-closed`
    package struct SessionClosed: ControlObject {
        package var session: UInt64 = 0
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.session(&session)
            try fields.required("reason", &reason, .text, "why")
        }
    }

    /// `message`
    package struct Message: ControlObject {
        package var session: UInt64 = 0
        package var isFromPhone = false
        package var endpoint = 0
        package var name = ""
        package var length = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.session(&session)
            try fields.required("fromPhone", &isFromPhone, .flag, "or the watch has sent it")
            try fields.required("endpoint", &endpoint, .count, "the number of its endpoint")
            try fields.required("name", &name, .text, "the endpoint's name")
            try fields.required("length", &length, .count.in(.bytes), "of its payload")
        }
    }

    /// `app-launched`
    package struct AppLaunched: ControlObject {
        package var app = ""
        package var name = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required("name", &name, .text, "its name")
        }
    }

    /// `app-message-received`
    package struct AppMessageReceived: ControlObject {
        package var app = ""
        package var entries: [ControlEntry] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required("entries", &entries, .list(of: .entry), "the dictionary")
        }
    }

    /// `app-message-sent`
    package struct AppMessageSent: ControlObject {
        package var message = AppMessageReceived()
        package var result = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try message.declare(&fields)
            try fields.required("result", &result, .text, "ok, sendTimeout, sendRejected, notConnected...")
        }
    }

    /// `app-logged`
    package struct AppLogged: ControlObject {
        package var app = ""
        package var level = ""
        package var file = ""
        package var line = 0
        package var message = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required(
                "level",
                &level,
                .word("always", "error", "warning", "info", "debug", "verbose"),
                "the SDK's name for the level, or for the next that is more important"
            )
            try fields.required("file", &file, .text, "the name of the source file")
            try fields.required("line", &line, .count, "its line")
            try fields.required("message", &message, .text, "what was logged")
        }
    }

    /// `clock-set`
    package struct ClockSet: ControlObject {
        package var seconds = 0
        package var zone: String?
        package var offsetMinutes: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("seconds", &seconds, .integer.in(.seconds), "since 1970, in UTC if there is a zone")
            try fields.optional("zone", &zone, .text, "the name of the time zone")
            try fields.optional("offsetMinutes", &offsetMinutes, .integer.in(.minutes), "its offset from UTC")
        }
    }
}
