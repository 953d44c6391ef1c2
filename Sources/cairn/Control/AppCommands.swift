import ArgumentParser
import ControlServer
import PebbleProtocol

// The running watchapp, by hand: which one it is, and what it says to its companion.

/// `cairn launch`
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "launch", abstract: "Start an installed watchapp.")

    @Argument(help: "Its UUID, as the phone and the app's package have it.", transform: PebbleUUID.argument)
    var app: PebbleUUID

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("launch", ["app": .text("\(app)")]) }
}

/// `cairn stop`
struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Leave the running watchapp for the watchface."
    )

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("stop") }
}

/// `cairn send`
struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Have the running watchapp send an AppMessage.",
        discussion: """
            Says whether it was sent, and ends with status 75 if it was not. The companion's answer is an event, which the \
            command that is printed waits for.

            Example: cairn send 0=uint8:1 1=string:hello 2=bytes:00ff10
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A tuple of the dictionary. The types are \(ControlEntry.types); bytes are hexadecimal.",
            valueName: "key=type:value"
        ),
        transform: ControlEntry.argument
    )
    var tuples: [ControlEntry]

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.ask("send", ["entries": .list(tuples.map(RequestValue.init))]) { answer in
            let outcome =
                switch answer.delivery {
                case "sent": "Sent to the companion of \(answer.app ?? "the app")"
                case "waits": "Waits for the companion of \(answer.app ?? "the app"), which has no session now"
                default: "Queued for the companion of \(answer.app ?? "the app")"
                }
            let last = answer.sequence.map { " --since \($0)" } ?? ""
            return "\(outcome). Its answer: cairn wait app-message-sent\(last)"
        }
    }
}

extension ControlEntry {
    static func argument(_ text: String) throws -> ControlEntry {
        guard let entry = ControlEntry(text) else {
            throw ValidationError(
                "“\(text)” is no tuple; write KEY=TYPE:VALUE, as in 0=uint8:1, with a type of \(types) that has room for it"
            )
        }
        return entry
    }
}

extension RequestValue {
    fileprivate init(_ entry: ControlEntry) {
        var fields: [String: RequestValue] = ["key": .number(Double(entry.key)), "type": .text(entry.type)]
        fields["number"] = entry.number.map { .number(Double($0)) }
        fields["string"] = entry.string.map { .text($0) }
        fields["bytes"] = entry.bytes.map { .text($0) }
        self = .object(fields)
    }
}
