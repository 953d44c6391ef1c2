import FoundationEssentials

/// A command: its name, its fields, what it has the watch do, and what it is answered with.
///
/// Everything else that there is about a command comes from here: how a line is read and refused, its schema, its row in the
/// reference, and its subcommand of `cairn`, if it wants one. `ControlCommands.all` lists the commands.
package protocol ControlCommand: NamedCommand {
    /// Where `cairn help` lists the subcommand that is made of this declaration alone; nil for a command without one, or with
    /// one of its own. Only a command with at most one field can have it, and that field is required.
    static var subcommandGroup: ControlSubcommandGroup? { get }

    /// What the watch is asked for.
    func request() throws(ControlRequest.Invalid) -> ControlRequest
}

extension ControlCommand {
    package static var subcommandGroup: ControlSubcommandGroup? { nil }

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
                case "number": Double(word).flatMap { $0.isFinite ? .number($0) : nil } ?? .text(word)
                default: .text(word)
                }
        }
        // Nothing in it fails to be encoded: no number is infinite.
        let json = (try? JSONEncoder().encode(values)) ?? Data()
        self = try ControlRequest.Invalid.decode(Self.self, from: json)
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
        CaptureStart.self, CaptureStop.self, Packets.self, RecorderSave.self, SetLogLevel.self,
        FaultAdd.self, FaultList.self, FaultNames.self, FaultClear.self,
        Restart.self, Reset.self, Backup.self, BackupPart.self,
    ]

    /// By name.
    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
