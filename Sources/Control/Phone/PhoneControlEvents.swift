import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol

/// Something that happened on a phone.
package typealias PhoneControlEvent = NamedControlEvent<PhoneControlEventName>

/// What has happened to a phone.
package typealias PhoneEventHistory = NamedEventHistory<PhoneControlEventName>

/// What happened on a phone, by name.
package enum PhoneControlEventName: String, ControlEventNaming {
    // The controller and the air.
    case ready, failed
    case controllerLost = "controller-lost"
    case scanning
    case watchHeard = "watch-heard"
    case watchFound = "watch-found"
    // The link.
    case connecting, connected
    case connectionFailed = "connection-failed"
    case linkParameters = "link-parameters"
    case disconnected, dropped
    case mtu
    case databaseDiscovered = "database-discovered"
    case deviceInformation = "device-information"
    case connectivity, battery
    // Pairing.
    case pairingQuestion = "pairing-question"
    case pairingWanted = "pairing-wanted"
    case bonded, paired
    case pairingFailed = "pairing-failed"
    case security
    // The session.
    case transportOpened = "transport-opened"
    case transportClosed = "transport-closed"
    case message
    case watchVersion = "watch-version"
    case watchColor = "watch-color"
    case timeSet = "time-set"
    case runningApp = "running-app"
    case session
    case sessionFailed = "session-failed"
    // What it is for.
    case pong
    case pingTimedOut = "ping-timed-out"
    case appMessageReceived = "app-message-received"
    case appMessageEnded = "app-message-ended"
    /// Events that the program did not take in time.
    case lost

    package static let speaker = "the phone"

    /// What the event has beside its name, number, time and text, and what it says.
    var declaration: ControlEventDeclaration {
        switch self {
        case .ready: .init(ControlEvents.Nothing.self, "The controller is ready.")
        case .failed: .init(PhoneControlEvents.Why.self, "The controller cannot be used.")
        case .controllerLost: .init(PhoneControlEvents.Why.self, "The controller is lost, or is started again.")
        case .scanning: .init(ControlEvents.Nothing.self, "The phone looks for a watch to connect to.")
        case .watchHeard: .init(PhoneControlStatus.Sighting.self, "A scan has heard a watch for the first time.")
        case .watchFound: .init(PhoneControlStatus.Sighting.self, "The watch that is to be connected to was heard.")
        case .connecting: .init(PhoneControlEvents.Watch.self, "The phone tries to connect.")
        case .connected: .init(PhoneControlEvents.Watch.self, "A link is up.")
        case .connectionFailed: .init(PhoneControlEvents.ConnectionFailed.self, "A watch could not be connected to.")
        case .linkParameters: .init(PhoneControlEvents.Parameters.self, "The link's parameters have changed.")
        case .disconnected: .init(ControlEvents.Reason.self, "The link has ended.")
        case .dropped: .init(PhoneControlEvents.Watch.self, "The link was left without a word.")
        case .mtu: .init(PhoneControlEvents.MTU.self, "The ATT_MTU is agreed on.")
        case .databaseDiscovered: .init(PhoneControlEvents.Database.self, "The watch's GATT database is known.")
        case .deviceInformation:
            .init(PhoneControlEvents.Information.self, "What the watch's Device Information service says.")
        case .connectivity: .init(PhoneControlEvents.Connectivity.self, "What the watch says of this link.")
        case .battery: .init(PhoneControlEvents.Battery.self, "What the watch says of its battery.")
        case .pairingQuestion: .init(PhoneControlStatus.Question.self, "A pairing waits for an answer.")
        case .pairingWanted: .init(ControlEvents.Nothing.self, "The watch asks to be paired with.")
        case .bonded: .init(PhoneControlEvents.Watch.self, "There are keys of a watch.")
        case .paired: .init(PhoneControlEvents.Paired.self, "The devices have paired.")
        case .pairingFailed:
            .init(PhoneControlEvents.Why.self, "A pairing has failed, or the link cannot be encrypted.")
        case .security: .init(PhoneControlEvents.Security.self, "The security of the link has changed.")
        case .transportOpened: .init(PhoneControlEvents.Transport.self, "The Pebble transport is open.")
        case .transportClosed: .init(PhoneControlEvents.Why.self, "The Pebble transport is closed.")
        case .message: .init(PhoneControlEvents.Message.self, "A message of the Pebble Protocol came in or went out.")
        case .watchVersion: .init(PhoneControlStatus.Watch.self, "The watch has said what it is.")
        case .watchColor: .init(PhoneControlEvents.Color.self, "The watch has said its colour.")
        case .timeSet: .init(PhoneControlEvents.Time.self, "The watch was told the time.")
        case .runningApp: .init(PhoneControlEvents.App.self, "The watch has said which app runs.")
        case .session: .init(ControlEvents.Nothing.self, "The session is open.")
        case .sessionFailed: .init(PhoneControlEvents.Why.self, "The watch is not accepted, and the link is given up.")
        case .pong: .init(PhoneControlAnswers.Pong.self, "The watch has answered a ping.")
        case .pingTimedOut: .init(ControlEvents.Nothing.self, "The watch has not answered a ping.")
        case .appMessageReceived:
            .init(
                ControlEvents.AppMessageReceived.self,
                "An app has sent a dictionary, and the phone has acknowledged it."
            )
        case .appMessageEnded:
            .init(PhoneControlEvents.MessageEnded.self, "A dictionary was acknowledged, refused or given up.")
        case .lost: .init(ControlEvents.Count.self, "Events were lost, because the program did not read them in time.")
        }
    }
}

/// The fields of a phone's events.
package enum PhoneControlEvents {
    /// A watch.
    package struct Watch: ControlObject {
        package var watch = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.watch(&watch)
        }
    }

    /// A reason in words.
    package struct Why: ControlObject {
        package var reason = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "why")
        }
    }

    /// `connection-failed`
    package struct ConnectionFailed: ControlObject {
        package var watch = ""
        package var reason = ControlEvents.Reason()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.watch(&watch)
            try reason.declare(&fields)
        }
    }

    /// `link-parameters`
    package struct Parameters: ControlObject {
        package var intervalMilliseconds = 0.0
        package var latency = 0
        package var timeoutMilliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.parameters(&intervalMilliseconds, &latency, &timeoutMilliseconds)
        }
    }

    /// `mtu`
    package struct MTU: ControlObject {
        package var mtu = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("mtu", &mtu, .count.in(.octets), "how long an ATT PDU may be")
        }
    }

    /// `database-discovered`
    package struct Database: ControlObject {
        package var services = 0
        package var attributes = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("services", &services, .count, "how many services it has")
            try fields.required("attributes", &attributes, .count, "how many attributes it has")
        }
    }

    /// `device-information`
    package struct Information: ControlObject {
        package var manufacturer: String?
        package var model: String?
        package var serialNumber: String?
        package var firmware: String?
        package var hardware: String?
        package var software: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("manufacturer", &manufacturer, .text, "Manufacturer Name")
            try fields.optional("model", &model, .text, "Model Number")
            try fields.optional("serialNumber", &serialNumber, .text, "Serial Number")
            try fields.optional("firmware", &firmware, .text, "Firmware Revision")
            try fields.optional("hardware", &hardware, .text, "Hardware Revision")
            try fields.optional("software", &software, .text, "Software Revision")
        }
    }

    /// `connectivity`
    package struct Connectivity: ControlObject {
        package var isBonded = false
        package var isEncrypted = false
        package var hasGateway = false
        package var isReversedPPoGATT = false
        package var lastPairingResult = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isBonded", &isBonded, .flag, "whether the watch has stored the phone's keys")
            try fields.required("isEncrypted", &isEncrypted, .flag, "whether the link is encrypted")
            try fields.required("hasGateway", &hasGateway, .flag, "whether the watch has a bond with some phone")
            try fields.required(
                "isReversedPPoGATT",
                &isReversedPPoGATT,
                .flag,
                "whether the watch hosts PPoGATT for it"
            )
            try fields.required(
                "lastPairingResult",
                &lastPairingResult,
                .count,
                "the Pairing Failed reason; 0 for none"
            )
        }
    }

    /// `battery`
    package struct Battery: ControlObject {
        package var percent = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("percent", &percent, .count.in(.percent), "how much charge is left")
        }
    }

    /// `paired`
    package struct Paired: ControlObject {
        package var model = ""
        package var isAuthenticated = false
        package var isBonded = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("model", &model, .text, "how the devices made sure of each other")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether the key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the keys are kept")
        }
    }

    /// `security`
    package struct Security: ControlObject {
        package var isEncrypted = false
        package var isAuthenticated = false
        package var isBonded = false
        package var keySize = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isEncrypted", &isEncrypted, .flag, "whether the link is encrypted")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the phone is paired with the watch")
            try fields.required("keySize", &keySize, .count.in(.bytes), "of the key; 0 without encryption")
        }
    }

    /// `transport-opened`
    package struct Transport: ControlObject {
        package var transport = ""
        package var version: Int?
        package var transmitWindow: Int?
        package var receiveWindow: Int?
        package var psm: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("transport", &transport, .word(PhoneTransport.self), "what carries the Pebble Protocol")
            try fields.optional("version", &version, .count, "of PPoGATT")
            try fields.optional("transmitWindow", &transmitWindow, .count, "packets to the watch at once")
            try fields.optional("receiveWindow", &receiveWindow, .count, "packets from the watch at once")
            try fields.optional("psm", &psm, .count, "of the stream")
        }
    }

    /// `message`
    package struct Message: ControlObject {
        package var isFromWatch = false
        package var endpoint = 0
        package var name = ""
        package var length = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("fromWatch", &isFromWatch, .flag, "or the phone has sent it")
            try fields.required("endpoint", &endpoint, .count, "the number of its endpoint")
            try fields.required("name", &name, .text, "the endpoint's name")
            try fields.required("length", &length, .count.in(.bytes), "of its payload")
        }
    }

    /// `watch-color`
    package struct Color: ControlObject {
        package var color: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("color", &color, .text, "the colour; nothing for one without a name")
        }
    }

    /// `time-set`
    package struct Time: ControlObject {
        package var secondsSince1970: UInt32 = 0
        package var zone = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("secondsSince1970", &secondsSince1970, .integer.in(.seconds), "the time, UTC")
            try fields.required("zone", &zone, .text, "the name of the time zone")
        }
    }

    /// `running-app`
    package struct App: ControlObject {
        package var app = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
        }
    }

    /// `app-message-ended`
    package struct MessageEnded: ControlObject {
        package var transaction = 0
        package var outcome = ""
        package var milliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("transaction", &transaction, .count, "the number of the message in its session")
            try fields.required(
                "outcome",
                &outcome,
                .word("acknowledged", "refused", "timedOut", "cancelled"),
                "what became of it"
            )
            try fields.required("milliseconds", &milliseconds, .amount.in(.milliseconds), "since it was sent")
        }
    }
}
