import Faults
import PebbleWatch

// What events of the watch as a whole, of its controller, and of pairing have beside `event`, `sequence`, `at` and `text`.

/// The fields of events.
package enum ControlEvents {
    /// No fields of its own.
    package struct Nothing: ControlObject {
        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
    }

    /// `fault`
    package struct Fault: ControlObject {
        package var number = 0
        package var name = ""
        package var effect = ""
        package var firings = 0
        package var connection: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("number", &number, .count, "the number that the fault goes by")
            try fields.required("name", &name, .text, "its name")
            try fields.required("effect", &effect, .text, "what it did")
            try fields.required("firings", &firings, .count, "how often it has fired, with this time")
            try fields.optional("connection", &connection, .integer, "the handle of the link that it is about")
        }
    }

    /// A phone by its address.
    package struct Phone: ControlObject {
        package var phone = ""
        package var addressType = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phone", &phone, .address, "the phone's address")
            try fields.required("addressType", &addressType, .word(Self.types), "which type of address that is")
        }

        static let types = ["public", "random", "publicIdentity", "randomIdentity"]
    }

    /// A phone on a link.
    package struct PhoneOnLink: ControlObject {
        package var connection = 0
        package var phone = Phone()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try phone.declare(&fields)
        }
    }

    /// A reason of the controller's.
    package struct Reason: ControlObject {
        package var reason = ""
        package var status = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "why, in words of the Core Specification")
            try fields.required("status", &status, .count, "the controller's code of that")
        }
    }

    /// A number of something.
    package struct Count: ControlObject {
        package var count = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("count", &count, .count, "how many")
        }
    }

    /// `started`
    package struct Started: ControlObject {
        package var hciVersion: String?
        package var bufferCount = 0
        package var bufferLength = 0
        package var advertisingSetCount = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("hciVersion", &hciVersion, .text, "the controller's version of HCI")
            try fields.required("bufferCount", &bufferCount, .count, "how many ACL data packets it buffers")
            try fields.required("bufferLength", &bufferLength, .count.in(.octets), "how long each may be")
            try fields.required("advertisingSetCount", &advertisingSetCount, .count, "how many advertising sets it has")
        }
    }

    /// `failed`
    package struct Failed: ControlObject {
        package var reason = ""
        package var command: String?
        package var status: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "why")
            try fields.optional("command", &command, .text, "the command that it is about")
            try fields.optional("status", &status, .count, "the controller's code")
        }
    }

    /// `advertising`
    package struct Advertising: ControlObject {
        package var advertisements: [Advertisement] = []
        package var silence: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("advertisements", &advertisements, .list(of: .object), "as `status` has them")
            try fields.optional(
                "silence",
                &silence,
                .word("controller-not-ready", "connected", "changing-address"),
                "why there are none"
            )
        }
    }

    /// An advertisement of which it is not said for how long it has been there.
    package struct Advertisement: ControlObject {
        package var advertisement = ControlStatus.Advertisement()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try advertisement.declareWithoutTime(&fields)
        }
    }

    /// `controller-restarting`
    package struct ControllerRestarting: ControlObject {
        package var reason = ""
        package var code: Int?
        package var command: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "why")
            try fields.optional("code", &code, .count, "of a hardware error")
            try fields.optional("command", &command, .text, "the command that was not answered")
        }
    }

    /// `restarting`
    package struct Restarting: ControlObject {
        package var cause = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "cause",
                &cause,
                .word("reboot", "core-dump", "factory-reset", "recovery", "firmware-update"),
                "why"
            )
        }
    }

    /// `pairable`
    package struct Pairable: ControlObject {
        package var isOpen = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isOpen", &isOpen, .flag, "whether a phone without a bond may pair")
        }
    }

    /// `pairing-waits`
    package struct PairingWaits: ControlObject {
        package var connection = 0
        package var question = ""
        package var number: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try fields.required(
                "question",
                &question,
                .word("confirm", "compare", "show", "type"),
                "what a person is asked, as in `status`"
            )
            try fields.optional("number", &number, .text, "what the watch's screen shows with it")
        }
    }

    /// `paired`
    package struct Paired: ControlObject {
        package var connection = 0
        package var model = ""
        package var displayedBy: String?
        package var usesSecureConnections = false
        package var isAuthenticated = false
        package var isBonded = false
        package var keySize = 0
        package var phone: String?
        package var addressType: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try fields.required(
                "model",
                &model,
                .word("just-works", "numeric-comparison", "passkey-entry", "out-of-band"),
                "the association model"
            )
            try fields.optional("displayedBy", &displayedBy, .word("initiator", "responder"), "who showed the passkey")
            try fields.required("usesSecureConnections", &usesSecureConnections, .flag, "or it is legacy pairing")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether the key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the keys are kept")
            try fields.required("keySize", &keySize, .count.in(.octets), "of the encryption key")
            try fields.optional("phone", &phone, .address, "the identity address of a bonded phone")
            try fields.optional("addressType", &addressType, .word(Phone.types), "which type of address that is")
        }
    }

    /// `pairing-refused`
    package struct PairingRefused: ControlObject {
        package var connection = 0
        package var phone = Phone()
        package var reason = ""
        package var advice = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try phone.declare(&fields)
            try fields.required("reason", &reason, .word(RefusedPairing.Reason.self), "why")
            try fields.required("advice", &advice, .text, "what to do if it should pair")
        }
    }

    /// `pairing-failed`, `transport-given-up`
    package struct ReasonOnLink: ControlObject {
        package var connection = 0
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try fields.required("reason", &reason, .text, "why")
        }
    }

    /// `security`
    package struct Security: ControlObject {
        package var connection = 0
        package var isEncrypted = false
        package var isAuthenticated = false
        package var isBonded = false
        package var keySize = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try fields.required("isEncrypted", &isEncrypted, .flag, "whether the link is encrypted")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the phone is bonded")
            try fields.required("keySize", &keySize, .count.in(.octets), "of the encryption key; 0 for none")
        }
    }

    /// `button`
    package struct Button: ControlObject {
        package var button = WatchButton.up
        package var isLong = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("button", &button, .name(of: "button"), "the button")
            try fields.required("isLong", &isLong, .flag, "whether it was held")
        }
    }
}

extension FieldVisitor {
    /// The link that an event is about.
    mutating func connection(_ value: inout Int) throws(Failure) {
        try required("connection", &value, .count, "the controller's handle of the link")
    }

    /// The session that an event is about.
    mutating func session(_ value: inout UInt64) throws(Failure) {
        try required("session", &value, .serial, "the session's number")
    }

    /// The app that an event is about.
    mutating func app(_ value: inout String) throws(Failure) {
        try required("app", &value, .uuid, "the app's UUID")
    }
}

extension ControlEvents.Fault {
    init(_ firing: FaultFiring) {
        self = .blank
        number = firing.id.rawValue
        name = firing.name
        effect = firing.effect
        firings = firing.number
        connection = firing.connection.map { Int($0.rawValue) }
    }
}
