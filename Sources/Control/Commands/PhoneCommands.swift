import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch

// Pairing, and the phones that are known or connected.

extension ControlCommands {
    /// `open-pairing`
    package struct OpenPairing: ControlCommand {
        package typealias Answer = ControlAnswers.PairingOpen

        private static let longest = Int(WatchCommand.longestPairingWindow.components.seconds)

        package var seconds = Double(WatchCommand.pairingWindow.components.seconds)

        package static let name = "open-pairing"
        package static let help = "Let a new phone pair, for a while."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted("seconds", &seconds, .number(in: 1...Self.longest).in(.seconds), "how long")
        }

        package func request() -> ControlRequest { .perform(.openPairing(for: .seconds(seconds))) }

        package static func words(for answer: Answer) -> String? {
            "A new phone may pair for \(Int(answer.pairingSeconds.rounded())) seconds."
        }
    }

    /// `close-pairing`
    package struct ClosePairing: ControlCommand {
        package static let name = "close-pairing"
        package static let help = "Let no new phone pair any more."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.closePairing) }
    }

    /// `confirm`
    package struct Confirm: ControlCommand {
        package static let name = "confirm"
        package static let help = "Say yes to the pairing that waits for it."
        package static let discussion =
            "cairn status shows the number, if there is one: it must be the one that the phone shows."
        package static let subcommandGroup: ControlSubcommandGroup? = .phones

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.confirmPairing) }
    }

    /// `refuse`
    package struct Refuse: ControlCommand {
        package static let name = "refuse"
        package static let help = "Say no to the pairing that waits for an answer."
        package static let subcommandGroup: ControlSubcommandGroup? = .phones

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.refusePairing) }
    }

    /// `passkey`
    package struct EnterPasskey: ControlCommand {
        /// As digits: one is six, but zeros in front may be left out.
        package var passkey = ""

        package static let name = "passkey"
        package static let help = "Type the six digits that the phone shows."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "passkey",
                &passkey,
                .text.describing(["pattern": "^[0-9]{1,6}$"]),
                "the digits; zeros in front may be left out"
            )
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            guard let passkey = Passkey(digits: passkey) else {
                throw ControlRequest.Invalid(description: "“passkey” is a string of up to six digits")
            }
            return .perform(.enterPasskey(passkey))
        }
    }

    /// `oob`
    package struct MakeOutOfBandData: ControlCommand {
        package typealias Answer = ControlAnswers.Secrets

        package static let name = "oob"
        package static let help = "Make the watch's secrets for a pairing out of band."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.makeOutOfBandData) }

        package static func words(for answer: Answer) -> String? { answer.data.hexadecimal }
    }

    /// `take-oob`
    package struct TakeOutOfBandData: ControlCommand {
        package var data: [UInt8] = []

        package static let name = "take-oob"
        package static let help = "Take a phone's secrets for a pairing out of band."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "what the phone made: AD structures, in hexadecimal")
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            do {
                return .perform(.takeOutOfBandData(try OutOfBandBlock(parsing: data[...])))
            } catch {
                throw ControlRequest.Invalid(description: "“data” is no out of band block: \(error)")
            }
        }
    }

    /// `forget`
    package struct Forget: ControlCommand {
        package typealias Answer = ControlAnswers.Phones

        package var phone = DeviceAddress(0)

        package static let name = "forget"
        package static let help = "Forget a phone that has paired, and disconnect it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phone", &phone, .address, "its identity address, as `status` has it")
        }

        package func request() -> ControlRequest { .perform(.forget(phone)) }

        package static func words(for answer: Answer) -> String? {
            "Forgot \(answer.phones.joined(separator: ", "))."
        }
    }

    /// `forget-all`
    package struct ForgetAll: ControlCommand {
        package typealias Answer = ControlAnswers.Phones

        package static let name = "forget-all"
        package static let help = "Forget every phone that has paired, and disconnect them."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.forgetAll) }

        package static func words(for answer: Answer) -> String? { Forget.words(for: answer) }
    }

    /// `disconnect`
    package struct Disconnect: ControlCommand {
        package typealias Answer = ControlAnswers.Phones

        package static let name = "disconnect"
        package static let help = "End the links to all phones. They may come back at once."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.disconnect) }

        package static func words(for answer: Answer) -> String? {
            "Disconnecting \(answer.phones.joined(separator: ", "))."
        }
    }

    /// `advertise`
    package struct Advertise: ControlCommand {
        package static let name = "advertise"
        package static let help = "Advertise as fast as the watch ever does, for a phone that looks for it now."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.advertise) }
    }

    /// `offer-battery`
    package struct OfferBattery: ControlCommand {
        package var isOffered = true

        package static let name = "offer-battery"
        package static let help = "Show the battery service to phones, or hide it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("offered", &isOffered, .flag, "whether phones see it")
        }

        package func request() -> ControlRequest { .perform(.offerBattery(isOffered)) }
    }

    /// `publish`
    package struct Publish: ControlCommand {
        package var stream = WatchStream.pebble

        package static let name = "publish"
        package static let help = "Let phones open a stream, under a new PSM."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("stream", &stream, .name(of: "stream"), "the stream")
        }

        package func request() -> ControlRequest { .perform(.publish(stream, true)) }
    }

    /// `withdraw`
    package struct Withdraw: ControlCommand {
        package var stream = WatchStream.pebble

        package static let name = "withdraw"
        package static let help = "Close a stream, and let no phone open it any more."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("stream", &stream, .name(of: "stream"), "the stream")
        }

        package func request() -> ControlRequest { .perform(.publish(stream, false)) }
    }
}
