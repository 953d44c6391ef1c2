import ArgumentParser
import Control
import Daemon
import HCIRuntime

/// Which running phone a command is for, and how its answer is printed.
struct PhoneReference: ParsableArguments {
    @Option(
        help: ArgumentHelp("The state directory that the phone was started with.", valueName: "directory"),
        transform: pathArgument
    )
    var state: String?

    @Option(
        help: ArgumentHelp("The socket where it takes commands, if it was given one.", valueName: "path"),
        transform: pathArgument
    )
    var control: String?

    @Flag(help: "Print the answer as a JSON object, for programs.")
    var json = false

    func validate() throws {
        guard address == nil else { return }
        throw ValidationError(
            "which phone? Name the directory that it was started with, with --state or in CAIRN_STATE, or its socket with "
                + "--control"
        )
    }

    private var address: ControlAddress? {
        if let control { return ControlAddress(phonePath: control) }
        return (state ?? Environment.stateDirectory).map { ControlAddress(phoneStateDirectory: $0) }
    }

    /// Connects to it.
    func connect() throws(ProgramError) -> ControlClient {
        guard let address else {
            throw ProgramError(.usage, "no phone is named", advice: "add --state or --control")
        }
        return try ControlClient(address)
    }

    /// Gives a command, and prints the answer.
    /// - Parameter seconds: how long the phone has for the command.
    func ask<Command: PhoneControlCommand>(_ command: Command, for seconds: Double = 0) throws {
        try Console.run { () throws(ProgramError) in
            var client = try connect()
            show(try client.ask(command, for: seconds), to: Command.self)
            return .success
        }
    }

    /// Prints an answer.
    func show<Command: PhoneControlCommand>(_ reply: ControlReply<Command.Answer>, to command: Command.Type) {
        if json {
            let line = ControlAnswer(reply.content, after: reply.sequence).line
            Console.print(String(decoding: line.dropLast(), as: UTF8.self))
        } else if let text = Command.words(for: reply.content) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            Console.print(lines.joined(separator: "\n"))
        }
    }
}

extension ControlClient {
    /// Gives a command that has a time of its own, and waits for its end.
    mutating func ask<Command: PhoneControlCommand>(
        _ command: Command,
        for seconds: Double
    ) throws(ProgramError) -> ControlReply<Command.Answer> {
        try ask(command, within: .seconds(seconds) + Self.longestAnswer)
    }

    /// How long the phone may take where the command does not say: an installation goes on while the watch takes its pieces.
    private static var longestAnswer: Duration { .seconds(3600) }
}

/// How long a command of a phone may take.
struct PhonePatience: ParsableArguments {
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long it may take, from 1 to 3600. (default: what the reference says)",
            valueName: "seconds"
        )
    )
    var seconds: Double?

    func validate() throws {
        guard let seconds, !(1...Double(PhoneControlCommands.longest)).contains(seconds) else { return }
        throw ValidationError("--for takes a number of seconds from 1 to \(PhoneControlCommands.longest)")
    }

    /// Sets the time of a command, if one was typed.
    func set(_ time: inout Double) { time = seconds ?? time }
}
