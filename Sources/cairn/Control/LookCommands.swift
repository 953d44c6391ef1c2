import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime
import PebbleProtocol

// What can be seen of the watch, as tables for a person or as JSON for a program.

extension WatchReference {
    /// Gives a command whose answer has one field, and prints that.
    /// - Parameters:
    ///   - json: whether it is printed as JSON, on one line.
    ///   - describe: the lines for a person.
    fileprivate func show<Command: ControlCommand>(
        _ command: Command,
        json: Bool,
        _ describe: (Command.Answer) -> [String]
    ) throws {
        try ask(command) { reply in
            if json, let value = reply.content.values.first?.value { return value.json }
            return describe(reply.content).map(\.printable).joined(separator: "\n")
        }
    }
}

/// Rows of cells, in columns that stand one below the other.
enum Columns {
    /// A line for each row, or one that says that there is none.
    static func lines(_ rows: [[String]], none: String) -> [String] {
        guard !rows.isEmpty else { return [none] }
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let line = row.enumerated().map { column, cell in
                cell + String(repeating: " ", count: widths[column] - cell.count)
            }.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

/// `cairn apps`
struct AppsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "apps", abstract: ControlCommands.Apps.help)

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.show(ControlCommands.Apps.blank, json: json) { answer in
            Columns.lines(answer.apps.map(\.cells), none: "no app can be launched")
        }
    }
}

extension ControlApp {
    fileprivate var cells: [String] {
        var facts = [isWatchface ? "watchface" : "app"]
        if isBuiltIn { facts.append("came with the watch") }
        if !isInstalled { facts.append("the phone has its parts") }
        if isRunning { facts.append("runs") }
        return [uuid, name, version ?? "", facts.joined(separator: ", ")]
    }
}

/// What the lists of messages have in common.
struct MessageChoice: ParsableArguments {
    @Option(help: ArgumentHelp("Only those of this app.", valueName: "uuid"), transform: PebbleUUID.argument)
    var app: PebbleUUID?

    @Option(help: ArgumentHelp("Only those after the event of this number.", valueName: "number"))
    var since: UInt64?

    @Flag(help: "As JSON, for programs.")
    var json = false

    static func lines(_ messages: [ControlMessage]) -> [String] {
        Columns.lines(
            messages.map { message in
                let sent = message.message
                let time = "\((message.at * 1000).rounded() / 1000) s"
                let entries = sent.message.entries.map(\.words).joined(separator: " ")
                return ["\(message.sequence)", time, sent.message.app, sent.result, entries]
            },
            none: "no AppMessage is kept"
        )
    }
}

extension ControlEntry {
    /// As `cairn send` takes it.
    fileprivate var words: String { "\(key)=\(type):\(string ?? bytes ?? number.map { "\($0)" } ?? "")" }
}

/// `cairn inbox`
struct InboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: ControlCommands.Inbox.help,
        discussion: """
            The columns are the number of the event, when it was, the app, what became of it, and the dictionary.
            \(ControlCommands.Inbox.discussion)
            """
    )

    @OptionGroup var choice: MessageChoice

    @OptionGroup var watch: WatchReference

    func run() throws {
        let command = ControlCommands.Inbox {
            $0.app = choice.app
            $0.since = choice.since
        }
        try watch.show(command, json: choice.json) { MessageChoice.lines($0.messages) }
    }
}

/// `cairn outbox`
struct OutboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: ControlCommands.Outbox.help,
        discussion: """
            The columns are the number of the event, when it was, the app, what became of it, and the dictionary.
            \(ControlCommands.Outbox.discussion)
            """
    )

    @OptionGroup var choice: MessageChoice

    @OptionGroup var watch: WatchReference

    func run() throws {
        let command = ControlCommands.Outbox {
            $0.app = choice.app
            $0.since = choice.since
        }
        try watch.show(command, json: choice.json) { MessageChoice.lines($0.messages) }
    }
}

/// `cairn notifications`
struct NotificationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: ControlCommands.Notifications.help
    )

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.show(ControlCommands.Notifications.blank, json: json) { answer in
            guard !answer.notifications.isEmpty else { return ["no notification is shown"] }
            return answer.notifications.flatMap(\.lines)
        }
    }
}

extension ControlServices.Notification {
    fileprivate var lines: [String] {
        let head = [CivilTime.text(time), app, title, subtitle].compactMap(\.self).filter { !$0.isEmpty }
        let choices = actions.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        let rest = [body ?? "", choices.isEmpty ? "" : "actions \(choices)", "id \(id)"].filter { !$0.isEmpty }
        return [head.joined(separator: "  ")] + rest.map { "    \($0)" }
    }
}

/// `cairn settings`
struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: ControlCommands.Settings.help,
        discussion: "The values are hexadecimal."
    )

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.show(ControlCommands.Settings.blank, json: json) { answer in
            Columns.lines(
                answer.settings.map { setting in
                    [setting.key, setting.data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()]
                },
                none: "no setting was set"
            )
        }
    }
}

/// `cairn time`
struct TimeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "time",
        abstract: ControlCommands.Time.help,
        discussion: "cairn ask '{\"command\":\"set-time\",\"seconds\":1700000000,\"offsetMinutes\":60}' sets it."
    )

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.show(ControlCommands.Time.blank, json: json) { answer in
            let time = answer.time
            let local = time.clock.seconds + (time.clock.offsetMinutes ?? 0) * 60
            let zone = time.clock.zone.map { "in \($0)" } ?? "local time, of an unknown zone"
            let hours = time.is24Hour ? "24 hours" : "12 hours"
            let origin = time.isSet ? "set since the watch was started" : "as at the start: not set since"
            return ["\(CivilTime.text(local)), \(zone), \(hours), \(origin)"]
        }
    }
}

/// A date and a time as people read them.
enum CivilTime {
    /// Such as `2023-11-14 22:13:20`.
    /// - Parameter seconds: since 1970-01-01 00:00, without a zone of this machine's.
    static func text(_ seconds: Int) -> String {
        var clock = seconds
        var parts = tm()
        gmtime_r(&clock, &parts)
        func digits(_ value: Int32) -> String { (value < 10 ? "0" : "") + String(value) }
        let date = "\(parts.tm_year + 1900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
        return "\(date) \(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))"
    }
}

/// `cairn links`
struct LinksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "links", abstract: ControlCommands.Links.help)

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.show(ControlCommands.Links.blank, json: json) { answer in
            guard !answer.links.isEmpty else { return ["no phone is connected"] }
            return answer.links.flatMap(\.lines)
        }
    }
}

extension ControlLink {
    fileprivate var lines: [String] {
        let lock =
            security.isEncrypted
            ? "encrypted with \(security.keySize * 8) bits\(security.isAuthenticated ? ", authenticated" : "")"
            : "not encrypted"
        let rows = traffic.map { layer in
            [
                "    \(layer.layer)", "\(layer.receivedPackets) received", "\(layer.receivedBytes) bytes",
                "\(layer.sentPackets) sent", "\(layer.sentBytes) bytes",
            ]
        }
        return [
            "\(phone.phone) (\(phone.addressType)), connection \(security.connection), \(lock)"
                + (security.isBonded ? ", bonded" : ", not bonded"),
            "    interval \(parameters.intervalMilliseconds) ms, latency \(parameters.latency), supervision timeout "
                + "\(parameters.supervisionTimeoutMilliseconds) ms, MTU \(mtu.mtu)"
                + (parameters.subrateFactor == 1
                    ? "" : ", subrated: 1 in \(parameters.subrateFactor) connection events"),
            "    sends \(dataLength.transmitOctets) octets at \(phys.transmitPHY), receives "
                + "\(dataLength.receiveOctets) octets at \(phys.receivePHY)",
        ] + Columns.lines(rows, none: "")
    }
}
