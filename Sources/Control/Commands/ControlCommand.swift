import Foundation

/// A command: its name, its fields, what it has the watch do, and what it is answered with.
///
/// Everything else that there is about a command comes from here: how a line is read and refused, its schema, its row in the
/// reference, and its subcommand of `cairn`, if it wants one. `ControlCommands.all` lists the commands.
package protocol ControlCommand: ControlObject {
    /// What the answer has when it was carried out.
    associatedtype Answer: ControlObject = ControlAnswers.Done

    /// Its `command` on the wire, and the name of its subcommand.
    static var name: String { get }

    /// What it does, in one sentence.
    static var help: String { get }

    /// More about it, for `cairn help` and the reference; empty for nothing more.
    static var discussion: String { get }

    /// Where `cairn help` lists the subcommand that is made of this declaration alone; nil for a command without one, or with
    /// one of its own. Only a command with at most one field can have it, and that field is required.
    static var subcommandGroup: ControlSubcommandGroup? { get }

    /// Whether its answer has the number of the last event before it.
    static var isNumbered: Bool { get }

    /// What the watch is asked for.
    func request() throws(ControlRequest.Invalid) -> ControlRequest

    /// What its subcommand prints; nil for nothing.
    static func words(for answer: Answer) -> String?
}

extension ControlCommand {
    package static var discussion: String { "" }
    package static var subcommandGroup: ControlSubcommandGroup? { nil }
    package static var isNumbered: Bool { true }
    package static func words(for answer: Answer) -> String? { nil }

    /// The request as a line.
    package var line: [UInt8] {
        JSONLine.bytes(values.merging(["command": .text(Self.name)]) { $1 })
    }

    /// Reads what a person typed.
    /// - Parameter words: the values by the names of their fields.
    package init(words: [String: String]) throws(ControlRequest.Invalid) {
        var values: [String: ControlValue] = [:]
        for field in Self.fields {
            guard let word = words[field.name] else { continue }
            values[field.name] =
                switch field.schema.keywords["type"] {
                case "boolean": Bool(word).map { .flag($0) } ?? .text(word)
                case "integer": Int64(word).map { .integer($0) } ?? .text(word)
                case "number": Double(word).map { .number($0) } ?? .text(word)
                default: .text(word)
                }
        }
        self = try ControlRequest.Invalid.explaining {
            try JSONDecoder().decode(Self.self, from: JSONEncoder().encode(values))
        }
    }
}

/// The groups of `cairn help`.
package enum ControlSubcommandGroup: Sendable {
    /// At a running watch.
    case watch
    /// Its phones.
    case phones
}

/// The commands.
package enum ControlCommands {
    /// All of them, in the order in which they are listed.
    package static let all: [any ControlCommand.Type] = [
        Status.self, Events.self,
        Press.self, Hold.self, Tap.self, Battery.self, Compass.self, Accelerometer.self, TimeFormat.self,
        Screenshot.self, Wait.self,
        Apps.self, InstallPart.self, Install.self, Remove.self, Launch.self, Stop.self, Send.self, Inbox.self,
        Outbox.self,
        OpenPairing.self, ClosePairing.self, Confirm.self, Refuse.self, EnterPasskey.self,
        MakeOutOfBandData.self, TakeOutOfBandData.self,
        Forget.self, ForgetAll.self, Disconnect.self, Advertise.self,
        OfferBattery.self, Publish.self, Withdraw.self,
        Music.self, AnswerCall.self, EndCall.self, Act.self, Notifications.self, ChangeSetting.self, Settings.self,
        Time.self, SetTime.self, LogData.self, Links.self,
        CaptureStart.self, CaptureStop.self, Packets.self, SetLogLevel.self,
        Restart.self, Reset.self, Backup.self, BackupPart.self,
    ]

    /// By name.
    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
