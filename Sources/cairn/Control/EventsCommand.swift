import ArgumentParser
import Control
import Daemon
import HCIRuntime

/// `cairn events`
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print what happens on the watch, until Ctrl-C or until it ends.",
        discussion: """
            A script waits for something that may have happened already with cairn wait. With --until, events ends at the first \
            event of that name from now on, and with status 75 if there is none within --for:

              cairn events --until session-opened --for 30

            The events are \(ControlEventName.list).
            """
    )

    @Flag(help: "As JSON, an object a line, for programs.")
    var json = false

    @Option(
        help: ArgumentHelp("End, with status 0, after an event of this name.", valueName: "event"),
        transform: ControlEventName.argument
    )
    var until: ControlEventName?

    @Option(help: ArgumentHelp("Begin with what has happened after the event of this number.", valueName: "number"))
    var since: UInt64?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "seconds"))
    var seconds: Double?

    @OptionGroup var watch: WatchReference

    func validate() throws { try Patience.check(seconds) }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let patience = Patience(seconds: seconds)
            var client = try watch.connect()
            try client.listen(after: since)
            while true {
                switch try client.nextLine(within: patience.left) {
                case .line(let line):
                    guard let event = ControlEventLine(parsing: line) else { continue }
                    Console.print(json ? String(decoding: line, as: UTF8.self) : event.words)
                    if event.event == until?.rawValue { return .success }
                case .nothingYet: return try outcome(missing: "in \(seconds ?? 0) seconds")
                case .ended: return try outcome(missing: "before the watch ended")
                }
            }
        }
    }

    private func outcome(missing why: String) throws(ProgramError) -> ExitStatus {
        guard let until else { return .success }
        throw ProgramError(
            .refused,
            "no event “\(until.rawValue)” came \(why)",
            advice: "cairn wait \(until.rawValue) also takes one that came before"
        )
    }
}

extension ControlClient {
    /// Asks for events: those that come, and before them those after a number.
    mutating func listen(after sequence: UInt64?) throws(ProgramError) {
        _ = try ask(ControlCommands.Events { $0.since = sequence })
    }
}
