import PebbleProtocol
import PebbleWatch

// Which apps there are, and which runs.

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

    /// `install-part`
    package struct InstallPart: ControlCommand {
        package typealias Answer = ControlAnswers.PackageSize

        /// The most bytes that one request brings.
        package static let longest = 24 * 1024

        package var data: [UInt8] = []

        package static let name = "install-part"
        package static let help = "Bring the next bytes of an app's package (.pbw), 24 KiB at most."
        package static let discussion =
            "They are for `install` on this connection, and gone when it is. At most 16 MiB wait, of all programs together."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "the bytes, in hexadecimal")
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            guard data.count <= Self.longest else {
                throw ControlRequest.Invalid(
                    description: "“data” has \(data.count) bytes; bring at most \(Self.longest) at once"
                )
            }
            return .installPart(data)
        }
    }

    /// `install`
    package struct Install: ControlCommand {
        package typealias Answer = ControlAnswers.App

        package var launches = false

        package static let name = "install"
        package static let help = "Install the app whose package was brought, as a phone does."
        package static let discussion =
            "An app with the same UUID is replaced. The package that was brought is gone then."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted("launch", &launches, .flag, "whether it starts at once")
        }

        package func request() -> ControlRequest { .install(launches: launches) }
    }

    /// `remove`
    package struct Remove: ControlCommand {
        package var app = PebbleUUID.invalid

        package static let name = "remove"
        package static let help = "Remove an app that was installed."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "its UUID, as `apps` has it")
        }

        package func request() -> ControlRequest { .perform(.removeApp(app)) }
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
                .list(of: .entryOfRequest).describing(["maxItems": .whole(UInt8.max)]),
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
