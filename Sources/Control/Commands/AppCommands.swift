import PebbleProtocol
import PebbleWatch

// The running watchapp.

extension ControlCommands {
    /// `launch`
    package struct Launch: ControlCommand {
        package var app = PebbleUUID.invalid

        package static let name = "launch"
        package static let help = "Start an installed watchapp."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "its UUID, as the phone and the app's package have it")
        }

        package func request() -> ControlRequest { .perform(.launchApp(app)) }
    }

    /// `stop`
    package struct Stop: ControlCommand {
        package static let name = "stop"
        package static let help = "Leave the running watchapp for the watchface."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .perform(.stopApp) }
    }

    /// `send`
    package struct Send: ControlCommand {
        package typealias Answer = ControlAnswers.Delivery

        package var entries: [ControlEntry] = []

        package static let name = "send"
        package static let help = "Have the running watchapp send an AppMessage."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "entries",
                &entries,
                .list(of: .entryOfRequest).describing(["maxItems": .integer(UInt8.max)]),
                "the entries of the dictionary, each with `key`, `type`, and `bytes`, `string` or `number`"
            )
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            var tuples: [AppMessageTuple] = []
            for entry in entries {
                guard let tuple = entry.tuple else {
                    throw ControlRequest.Invalid(
                        description:
                            "the entry \(entry.key) is none: “type” is one of \(ControlEntry.types), with “number”, "
                            + "“string” or “bytes” to go with it"
                    )
                }
                tuples.append(tuple)
            }
            do {
                return .perform(.sendAppMessage(try AppMessageDictionary(tuples)))
            } catch {
                throw ControlRequest.Invalid(description: "“entries” make no dictionary: \(error)")
            }
        }
    }
}
