import BluetoothHCI
import PebblePhone

// The watches around the phone, the link to one, and pairing.

extension PhoneControlCommands {
    /// `status`
    package struct Status: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Status

        package static let name = "status"
        package static let help = "Show how a running phone is doing."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> PhoneControlRequest { .status }

        package static func words(for answer: Answer) -> String? { answer.status.lines.joined(separator: "\n") }
    }

    /// `events`
    package struct Events: PhoneControlCommand {
        package var since: UInt64?

        package static let name = "events"
        package static let help = "Say what happens from now on, a line for each event."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional(
                "since",
                &since,
                .serial,
                "what has happened after the event of this number comes first"
            )
        }

        package func request() -> PhoneControlRequest { .events(after: since) }
    }

    /// `scan`
    package struct Scan: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Watches

        package var seconds = 5.0

        package static let name = "scan"
        package static let help = "Listen for watches, and list those that were heard, the strongest first."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest { .perform(.scan(for: .seconds(seconds))) }

        package static func words(for answer: Answer) -> String? {
            answer.watches.isEmpty ? "No watch was heard." : answer.watches.map(\.words).joined(separator: "\n")
        }
    }

    /// `connect`
    package struct Connect: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Link

        package var watch: String?
        package var seconds = 30.0

        package static let name = "connect"
        package static let help = "Connect to a watch, and get to know it."
        package static let discussion =
            "Without a watch it is the one that the phone paired with last, or else the first one that is heard. A link to a "
            + "watch that the phone is paired with is encrypted when the command ends."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("watch", &watch, .text, "its address, its name, or first: the first one that is heard")
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest { .perform(.connect(target, within: .seconds(seconds))) }

        private var target: WatchTarget {
            switch watch {
            case nil: .known
            case "first"?: .selected(.any)
            case let text?: .selected(DeviceAddress(text).map { .address($0) } ?? .name(text))
            }
        }

        package static func words(for answer: Answer) -> String? { answer.link.words }
    }

    /// `disconnect`
    package struct Disconnect: PhoneControlCommand {
        package static let name = "disconnect"
        package static let help = "End the link, or the attempt to make one."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> PhoneControlRequest { .perform(.disconnect) }
    }

    /// `drop`
    package struct Drop: PhoneControlCommand {
        package static let name = "drop"
        package static let help = "Leave the link without a word, as a phone does that goes out of reach."
        package static let discussion = "The watch finds out when it has heard nothing for the supervision timeout."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> PhoneControlRequest { .perform(.drop) }
    }

    /// `pair`
    package struct Pair: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Pairing

        package var consent = PairingConsent.ask
        package var seconds = 60.0

        package static let name = "pair"
        package static let help = "Pair with the watch that is connected."
        package static let discussion =
            "With “ask”, the answer has the question and the number as soon as there is one, and `confirm` answers it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted("confirm", &consent, .name(of: "answer"), "who says whether the numbers are equal")
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest { .perform(.pair(consent, within: .seconds(seconds))) }

        package static func words(for answer: Answer) -> String? { answer.words }
    }

    /// `confirm`
    package struct Confirm: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Pairing

        package var isAccepted = true
        package var seconds = 60.0

        package static let name = "confirm"
        package static let help = "Answer the question that `pair` has left open, and wait for the pairing's end."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "accept",
                &isAccepted,
                .flag,
                "whether the numbers are equal, or the phone is to pair at all"
            )
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest {
            .perform(.confirm(isAccepted, within: .seconds(seconds)))
        }

        package static func words(for answer: Answer) -> String? { answer.words }
    }

    /// `forget`
    package struct Forget: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Watches.Forgotten

        package var watch: DeviceAddress?

        package static let name = "forget"
        package static let help = "Forget the keys of a watch, or of every watch."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("watch", &watch, .address, "its address; every watch without one")
        }

        package func request() -> PhoneControlRequest { .perform(.forget(watch)) }

        package static func words(for answer: Answer) -> String? {
            "Forgot \(answer.watches.joined(separator: ", "))."
        }
    }
}

extension FieldVisitor {
    /// How long a command may take.
    mutating func patience(_ seconds: inout Double) throws(Failure) {
        try defaulted(
            "seconds",
            &seconds,
            .number(in: 1...PhoneControlCommands.longest).in(.seconds),
            "how long it may take"
        )
    }
}
