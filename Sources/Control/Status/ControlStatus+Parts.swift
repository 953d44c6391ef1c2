import PebbleWatch

// What the status of a watch consists of.

extension ControlStatus {
    /// A phone on a link.
    package struct Link: ControlObject {
        package var connection = 0
        package var phone = ""
        package var isEncrypted = false
        package var isAuthenticated = false
        package var isBonded = false
        package var mtu = 0
        package var services: [String] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("connection", &connection, .count, "the controller's handle of the link")
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required("isEncrypted", &isEncrypted, .flag, "whether the link is encrypted")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the phone is bonded")
            try fields.required("mtu", &mtu, .count.in(.octets), "the ATT_MTU")
            try fields.required(
                "services",
                &services,
                .list(of: .text),
                "the phone's own services that the watch uses: notifications, media, time"
            )
        }
    }

    /// A companion's session.
    package struct Session: ControlObject {
        package var session: UInt64 = 0
        package var kind = ""
        package var transport = ""
        package var app = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("session", &session, .serial, "its number")
            try fields.required("kind", &kind, .text, "system, app or hybrid")
            try fields.required("transport", &transport, .text, "what carries it")
            try fields.required("app", &app, .uuid, "the app that it is for")
        }
    }

    /// A stream that phones can open.
    package struct Stream: ControlObject {
        package var stream = ""
        package var psm = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("stream", &stream, .word(WatchStream.self), "its name")
            try fields.required("psm", &psm, .count, "where it can be opened")
        }
    }

    /// A phone that is remembered.
    package struct Phone: ControlObject {
        package var phone = ""
        package var isConnected = false
        package var isStored = false
        package var isAuthenticated = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required("isConnected", &isConnected, .flag, "whether it is connected")
            try fields.required("isStored", &isStored, .flag, "whether its bond is stored")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
        }
    }

    /// How the last link ended that did.
    package struct Disconnection: ControlObject {
        package var phone = ""
        package var reason = ""
        package var cause: String?
        package var secondsAgo = 0.0
        package var linkSeconds = 0.0
        package var remedy = ""
        package var absenceSeconds: Double?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required("reason", &reason, .text, "the controller's, in words of the Core Specification")
            try fields.optional("cause", &cause, .text, "why the watch wanted it; nothing if it did not")
            try fields.required("secondsAgo", &secondsAgo, .amount.in(.seconds), "how long ago the link ended")
            try fields.required("linkSeconds", &linkSeconds, .amount.in(.seconds), "how long it had lasted")
            try fields.required("remedy", &remedy, .text, "what the watch did about it")
            try fields.optional(
                "absenceSeconds",
                &absenceSeconds,
                .amount.in(.seconds),
                "how long the phone was away; nothing while it is"
            )
        }
    }

    /// A pairing that waits for a person.
    package struct Waiting: ControlObject {
        package var connection = 0
        package var phone = ""
        package var question = ""
        package var number: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("connection", &connection, .count, "the controller's handle of the link")
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required(
                "question",
                &question,
                .word("confirm", "compare", "show", "type"),
                "confirm: may it pair? compare: does it show this number? show: this number is to be typed there. type: which "
                    + "number does it show?"
            )
            try fields.optional("number", &number, .text, "what the watch's screen shows with it")
        }
    }

    /// Who may pair.
    package struct Pairing: ControlObject {
        package var mode = ""
        package var isBondable = false
        package var isOpen = false
        package var windowSeconds: Double?
        package var waiting: [Waiting] = []
        package var refused: Refused?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("mode", &mode, .word(PairingPolicy.Mode.self), "who may pair")
            try fields.required("isBondable", &isBondable, .flag, "whether the watch keeps keys")
            try fields.required(
                "isOpen",
                &isOpen,
                .flag,
                "whether a phone may pair now that has not proved who it is: at once, or if a person says yes"
            )
            try fields.optional(
                "windowSeconds",
                &windowSeconds,
                .amount.in(.seconds),
                "how long the window that somebody opened stays open"
            )
            try fields.required("waiting", &waiting, .list(of: .object), "pairings that wait for a person")
            try fields.optional(
                "refused",
                &refused,
                .object,
                "the phone that was refused last; none once one has paired, or pairing was opened"
            )
        }
    }

    /// A phone that was refused.
    package struct Refused: ControlObject {
        package var phone = ""
        package var reason = ""
        package var secondsAgo = 0.0
        package var text = ""
        package var advice = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required("reason", &reason, .word(RefusedPairing.Reason.self), "why")
            try fields.required("secondsAgo", &secondsAgo, .amount.in(.seconds), "how long ago that was")
            try fields.required("text", &text, .text, "what happened, in words")
            try fields.required("advice", &advice, .text, "what to do if the phone is to be let in")
        }
    }

    /// An advertisement that is on the air, or has its turns there.
    package struct Advertisement: ControlObject {
        package var role = ""
        package var intervalMilliseconds = 0.0
        package var address = ""
        package var data = ""
        package var scanResponse = ""
        package var reason = ""
        package var sinceSeconds = 0.0
        package var remainingSeconds: Double?
        package var nextIntervalMilliseconds: Double?
        package var turnSeconds: Double?
        package var state = ""
        package var refusal: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try declareWithoutTime(&fields)
            try fields.required("sinceSeconds", &sinceSeconds, .amount.in(.seconds), "for how long it has")
        }

        /// Without what changes as time passes.
        mutating func declareWithoutTime<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("role", &role, .word("discovery", "reconnection", "beacon"), "what it is for")
            try fields.required(
                "intervalMilliseconds",
                &intervalMilliseconds,
                .amount.in(.milliseconds),
                "its interval"
            )
            try fields.required("address", &address, .address, "the address that it has")
            try fields.required("data", &data, .hexadecimal, "AD structures, in hexadecimal")
            try fields.required(
                "scanResponse",
                &scanResponse,
                .hexadecimal,
                "AD structures of the scan response, in hexadecimal"
            )
            try fields.required("reason", &reason, .text, "why the watch advertises at this interval")
            try fields.optional(
                "remainingSeconds",
                &remainingSeconds,
                .amount.in(.seconds),
                "how much longer on the air it does; nothing for ever"
            )
            try fields.optional(
                "nextIntervalMilliseconds",
                &nextIntervalMilliseconds,
                .amount.in(.milliseconds),
                "the interval that follows"
            )
            try fields.optional(
                "turnSeconds",
                &turnSeconds,
                .amount.in(.seconds),
                "how long it is on the air before something else has its turn; nothing if it does not share"
            )
            try fields.required(
                "state",
                &state,
                .word("on-air", "starting", "waiting", "refused"),
                "whether it is on the air, is being started, waits for its turn, or is refused by the controller"
            )
            try fields.optional("refusal", &refusal, .text, "why the controller refused it")
        }
    }

    /// The battery.
    package struct Battery: ControlObject {
        package var percent = 0
        package var isCharging = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("percent", &percent, .count.in(.percent), "its charge")
            try fields.required("isCharging", &isCharging, .flag, "whether the charger is connected")
        }
    }

    /// The app that runs.
    package struct App: ControlObject {
        package var uuid = ""
        package var name = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("uuid", &uuid, .uuid, "its UUID")
            try fields.required("name", &name, .text, "its name")
        }
    }

    /// What other sensors said last.
    package struct Sensors: ControlObject {
        package var taps = 0
        package var lastTap: String?
        package var compassDegrees: Double?
        package var acceleration: [Int]?
        package var is24Hour = false
        package var showsTimelinePeek = false
        package var contentSize = 0
        package var phoneConnection: Bool?
        package var heartRate: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("taps", &taps, .count, "how often the watch was tapped")
            try fields.optional("lastTap", &lastTap, .text, "the axis and the direction of the last tap, such as x+")
            try fields.optional("compassDegrees", &compassDegrees, .number.in(.degrees), "the heading")
            try fields.optional(
                "acceleration",
                &acceleration,
                .list(of: .integer.in(.milligravity)),
                "the last sample: x, y, z"
            )
            try fields.required("is24Hour", &is24Hour, .flag, "whether hours are counted to 24")
            try fields.required(
                "showsTimelinePeek",
                &showsTimelinePeek,
                .flag,
                "whether the timeline peek covers the bottom of the screen"
            )
            try fields.required("contentSize", &contentSize, .count, "the size of texts, from 0")
            try fields.optional(
                "phoneConnection",
                &phoneConnection,
                .flag,
                "what apps are told of the phone, if somebody has said so"
            )
            try fields.optional("heartRate", &heartRate, .count.in(.beatsPerMinute), "the heart rate")
        }
    }
}
