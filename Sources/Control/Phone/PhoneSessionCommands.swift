import PebblePhone
import PebbleProtocol

// What a companion app does with a watch.

extension PhoneControlCommands {
    /// `launch`
    package struct Launch: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Running

        package var app = PebbleUUID.invalid
        package var seconds = 10.0

        package static let name = "launch"
        package static let help = "Have the watch run an app, and wait until it says that it does."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "its UUID")
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest { .perform(.launch(app, within: .seconds(seconds))) }

        package static func words(for answer: Answer) -> String? { answer.words }
    }

    /// `stop`
    package struct Stop: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Running

        package var seconds = 10.0

        package static let name = "stop"
        package static let help = "Have the watch leave the app that runs."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.patience(&seconds)
        }

        package func request() -> PhoneControlRequest { .perform(.stop(within: .seconds(seconds))) }

        package static func words(for answer: Answer) -> String? { answer.words }
    }

    /// `push`
    package struct Push: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Delivered

        package var app: PebbleUUID?
        package var entries: [ControlEntry] = []

        package static let name = "push"
        package static let help = "Send an AppMessage to an app, and wait until the watch acknowledges it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("app", &app, .uuid, "the app's UUID; the one that runs without it")
            try fields.entries(&entries, "the entries of the dictionary")
        }

        package func request() throws(ControlRequest.Invalid) -> PhoneControlRequest {
            let tuples = try entries.tuples
            do {
                return .perform(.push(try AppMessageDictionary(tuples), to: app))
            } catch {
                throw ControlRequest.Invalid(description: "“entries” make no dictionary: \(error)")
            }
        }

        package static func words(for answer: Answer) -> String? {
            "Acknowledged by \(answer.app) after \(answer.milliseconds.formatted) ms."
        }
    }

    /// `expect`
    package struct Expect: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Received

        package var app: PebbleUUID?
        package var entries: [ControlEntry] = []
        package var seconds = 30.0

        package static let name = "expect"
        package static let help = "Wait for an AppMessage that has these entries, whatever else it has."
        package static let discussion =
            "One that has come before and that no command has taken counts; the phone keeps the last 64. Numbers are equal "
            + "whatever their width."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("app", &app, .uuid, "the app's UUID; any app without it")
            try fields.entries(&entries, "what it has at least; with none, any message is taken")
            try fields.patience(&seconds)
        }

        package func request() throws(ControlRequest.Invalid) -> PhoneControlRequest {
            .perform(.expect(try entries.tuples, from: app, within: .seconds(seconds)))
        }

        package static func words(for answer: Answer) -> String? {
            "\(answer.message.app): \(answer.message.entries.map(\.words).joined(separator: " "))"
        }
    }

    /// `upload`
    package struct Upload: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Uploaded

        package var path = ""
        package var file = ""

        package static let name = "upload"
        package static let help = "Upload a file to the watch by PutBytes."
        package static let discussion = "Companions upload one file: a language pack, which is called lang."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("path", &path, .text, "a file of the machine that the phone runs on, by its whole path")
            try fields.required("name", &file, .text, "what it is called on the watch")
        }

        package func request() throws(ControlRequest.Invalid) -> PhoneControlRequest {
            guard (1...Self.nameLimit).contains(file.utf8.count), !file.utf8.contains(0) else {
                throw ControlRequest.Invalid(description: "“name” has 1 to \(Self.nameLimit) bytes, and no NUL")
            }
            return .upload(path: try path.wholePath(), name: file)
        }

        /// The longest name that the watch has room for, in bytes.
        private static let nameLimit = 64

        package static func words(for answer: Answer) -> String? {
            "Uploaded \(answer.size) bytes in \(answer.seconds.formatted) s."
        }
    }

    /// `install`
    package struct Install: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Running

        package var path = ""

        package static let name = "install"
        package static let help =
            "Install an app, give it to the watch when the watch fetches it, and wait until it runs."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("path", &path, .text, "a .pbw of the machine that the phone runs on, by its whole path")
        }

        package func request() throws(ControlRequest.Invalid) -> PhoneControlRequest {
            .install(path: try path.wholePath())
        }

        package static func words(for answer: Answer) -> String? { answer.words }
    }

    /// `notify`
    package struct Notify: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Notified

        package var title = ""
        package var body = ""

        package static let name = "notify"
        package static let help = "Show a notification on the watch."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("title", &title, .text, "its title")
            try fields.defaulted("body", &body, .text, "what it says at length")
        }

        package func request() throws(ControlRequest.Invalid) -> PhoneControlRequest {
            guard title.utf8.count + body.utf8.count <= Self.textLimit else {
                throw ControlRequest.Invalid(
                    description: "“title” and “body” have at most \(Self.textLimit) bytes together"
                )
            }
            return .perform(.notify(title: title, body: body))
        }

        /// How long both texts may be together, in bytes: far more than a watch shows.
        private static let textLimit = 4096

        package static func words(for answer: Answer) -> String? { "Notification \(answer.notification)." }
    }

    /// `ping`
    package struct Ping: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Pong

        package static let name = "ping"
        package static let help = "Ask whether the watch is alive."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> PhoneControlRequest { .perform(.ping) }

        package static func words(for answer: Answer) -> String? {
            "Answered after \(answer.milliseconds.formatted) ms."
        }
    }

    /// `time`
    package struct Time: PhoneControlCommand {
        package typealias Answer = PhoneControlAnswers.Clock

        package static let name = "time"
        package static let help = "Set the watch's clock by the phone's, and read it back."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> PhoneControlRequest { .perform(.setTime) }

        package static func words(for answer: Answer) -> String? {
            "The watch shows \(answer.watchSeconds) s since 1970, the phone \(answer.phoneSeconds)."
        }
    }
}

extension FieldVisitor {
    /// Entries of a dictionary.
    fileprivate mutating func entries(_ entries: inout [ControlEntry], _ help: String) throws(Failure) {
        try required(
            "entries",
            &entries,
            .list(of: .entryOfRequest).describing(["maxItems": .whole(UInt8.max)]),
            help + ", each with `key`, `type`, and `bytes`, `string` or `number`"
        )
    }
}

extension [ControlEntry] {
    /// The entries for the phone.
    fileprivate var tuples: [AppMessageTuple] {
        get throws(ControlRequest.Invalid) {
            guard count <= UInt8.max else {
                throw ControlRequest.Invalid(description: "“entries” has at most \(UInt8.max) entries")
            }
            var tuples: [AppMessageTuple] = []
            for entry in self {
                guard let tuple = entry.tuple else {
                    throw ControlRequest.Invalid(
                        description:
                            "the entry \(entry.key) is none: “type” is one of \(ControlEntry.types), with “number”, "
                            + "“string” or “bytes” to go with it"
                    )
                }
                tuples.append(tuple)
            }
            return tuples
        }
    }
}

extension String {
    /// The text as the path of a file, which means the same whatever directory the phone was started in.
    fileprivate func wholePath() throws(ControlRequest.Invalid) -> String {
        guard hasPrefix("/"), !utf8.contains(0) else {
            throw ControlRequest.Invalid(description: "“path” is a whole path, which begins with /")
        }
        return self
    }
}

extension Double {
    /// With as many decimals as it has, three at most.
    var formatted: String {
        let rounded = (self * 1000).rounded() / 1000
        return Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }
}
