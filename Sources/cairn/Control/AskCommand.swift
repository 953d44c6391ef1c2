import ArgumentParser
import Control
import Daemon
import HCIRuntime

/// `cairn ask`
struct AskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Give the watch any command as JSON, and print its answer.",
        discussion: """
            What the other commands leave out is here too: sensors, music, calls, notifications' actions, changes of settings and of \
            the clock, data logging, restarts. Docs/control.md lists everything.

              cairn ask '{"command":"music","key":"next"}'
            """
    )

    @Argument(help: "A JSON object on one line.")
    var request: String

    @OptionGroup var watch: WatchReference

    func validate() throws {
        guard !request.contains(where: \.isNewline) else { throw ValidationError("a request is one line") }
        guard ControlRequest.isObject(request) else {
            throw ValidationError(
                "“\(request.inOneLine)” is no JSON object; write one such as {\"command\":\"status\"}, in single quotes for the shell"
            )
        }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var client = try watch.connect()
            Console.print(try client.answerLine(to: request))
            return .success
        }
    }
}
