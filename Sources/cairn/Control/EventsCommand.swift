import ArgumentParser
import ControlServer
import Daemon
import PebbleWatch

/// `cairn events`
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print what happens on the watch, until Ctrl-C or until it ends.",
        discussion: """
            A script waits for something with --until, and ends with status 75 if it does not happen within --for:

              cairn events --until session-opened --for 30
            """
    )

    @Flag(help: "As JSON, an object a line, for programs.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "End, with status 0, after an event of this name; Docs/control.md lists them.",
            valueName: "event"
        )
    )
    var until: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "seconds"))
    var seconds: Double?

    @OptionGroup var watch: WatchReference

    func validate() throws {
        if let seconds, !(0.1...Self.longest).contains(seconds) {
            throw ValidationError("--for takes a number of seconds from 0.1 to \(Int(Self.longest))")
        }
    }

    func run() throws {
        try Console.run { () throws(DaemonError) in
            let clock = ContinuousClock()
            let end = seconds.map { clock.now + .seconds($0) }
            var client = try watch.connect()
            _ = try client.ask(RequestValue.line("events", [:]))
            while true {
                switch try client.nextLine(within: end.map { max(.zero, $0 - clock.now) }) {
                case .line(let line):
                    guard let event = ControlEventLine(parsing: line) else { continue }
                    show(event, line)
                    if event.event == until { return .success }
                case .nothingYet: return try outcome(missing: "in \(seconds ?? 0) seconds")
                case .ended: return try outcome(missing: "before the watch ended")
                }
            }
        }
    }

    private static let longest = 86_400.0

    private func show(_ event: ControlEventLine, _ line: [UInt8]) {
        if json {
            Console.print(String(decoding: line, as: UTF8.self))
        } else {
            let milliseconds = Int64(event.at * 1000)
            let fraction = String(1000 + milliseconds % 1000).dropFirst()
            Console.print("\(milliseconds / 1000).\(fraction)  \(event.text.printable)")
        }
    }

    private func outcome(missing why: String) throws(DaemonError) -> ExitStatus {
        guard let until else { return .success }
        throw DaemonError(.refused, "no event “\(until)” came \(why)", advice: "Docs/control.md lists the events")
    }
}
