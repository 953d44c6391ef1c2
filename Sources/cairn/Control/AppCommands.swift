import ArgumentParser
import Control
import PebbleProtocol

// The running watchapp, by hand: which one it is, and what it says to its companion.

/// `cairn launch`
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "launch", abstract: ControlCommands.Launch.help)

    @Argument(help: "Its UUID, as the phone and the app's package have it.", transform: PebbleUUID.argument)
    var app: PebbleUUID

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask(ControlCommands.Launch { $0.app = app }) }
}

/// `cairn send`
struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: ControlCommands.Send.help,
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
        try watch.ask(ControlCommands.Send { $0.entries = tuples }) { reply in
            let app = reply.content.app
            let outcome =
                switch reply.content.delivery {
                case .sent: "Sent to the companion of \(app)"
                case .waits: "Waits for the companion of \(app), which has no session now"
                case .queued: "Queued for the companion of \(app)"
                }
            let last = reply.sequence.map { " --since \($0)" } ?? ""
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
