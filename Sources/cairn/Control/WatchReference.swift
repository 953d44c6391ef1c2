import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime

/// What the environment says.
enum Environment {
    /// Where the watch's state is, if no option says so.
    static var stateDirectory: String? { directory("CAIRN_STATE") }

    /// Where a running watch takes commands, if no option says so.
    static var controlPath: String? { directory("CAIRN_CONTROL") }

    /// Variables that begin like settings and are none: what names the board file, and what Cairn's own builds and tests take,
    /// which a shell that has run them may still have.
    static let others: Set = [
        "CAIRN_BINARY", "CAIRN_BOARD", "CAIRN_BRIDGE_MATRIX", "CAIRN_EMULATOR_LOSSES", "CAIRN_EMULATOR_SPEED",
        "CAIRN_FUZZ_COSTS", "CAIRN_FUZZ_RUNS", "CAIRN_FUZZ_TARGET", "CAIRN_GUEST_CACHE", "CAIRN_IMAGE", "CAIRN_KILLS",
        "CAIRN_KILL_ROUNDS", "CAIRN_LONG_RUN_DAYS", "CAIRN_MATRIX_NETSIM", "CAIRN_MUTATIONS", "CAIRN_NETSIM_CUTS",
        "CAIRN_PACKAGE", "CAIRN_PACKAGE_ROOT", "CAIRN_READINGS", "CAIRN_READINGS_SEED", "CAIRN_RECORDED_KILLS",
        "CAIRN_RECORDED_RUNS", "CAIRN_RIG", "CAIRN_SCENARIOS", "CAIRN_SCHEDULES", "CAIRN_SEED", "CAIRN_SSHD",
        "CAIRN_STRANGER_SEEDS", "CAIRN_STRICT", "CAIRN_WEB_BINARY", "CAIRN_WEB_PACKAGE", "CAIRN_WEB_REQUESTS",
        "CAIRN_WEB_SECONDS",
    ]

    /// A path; the first, if there are several with colons between, as systemd writes them.
    static func directory(_ variable: String) -> String? {
        guard let text = getenv(variable) else { return nil }
        return String(cString: text).split(separator: ":").first.map(String.init)
    }
}

/// Which running watch a command is for.
struct WatchReference: ParsableArguments {
    @Option(
        help: ArgumentHelp("The state directory that the watch was started with.", valueName: "directory"),
        transform: pathArgument
    )
    var state: String?

    @Option(
        help: ArgumentHelp("The socket where it takes commands, if it was given one.", valueName: "path"),
        transform: pathArgument
    )
    var control: String?

    func validate() throws {
        guard address == nil else { return }
        throw ValidationError(
            "which watch? Name the directory that it was started with, with --state or in CAIRN_STATE, or its socket with "
                + "--control or in CAIRN_CONTROL"
        )
    }

    /// The watch that is named, or else the one that runs as a service.
    private var address: ControlAddress? {
        if let control { return ControlAddress(path: control) }
        if let state { return ControlAddress(stateDirectory: state) }
        if let path = Environment.controlPath { return ControlAddress(path: path) }
        if let directory = Environment.stateDirectory { return ControlAddress(stateDirectory: directory) }
        return ControlAddress.service.exists ? .service : nil
    }

    /// The state directory, if that is what names the watch.
    var stateDirectory: String? {
        guard control == nil else { return nil }
        return state ?? (Environment.controlPath == nil ? Environment.stateDirectory : nil)
    }

    /// Connects to it.
    func connect() throws(ProgramError) -> ControlClient {
        try ControlClient(address ?? .service)
    }

    /// Gives a command, and prints what its declaration has to say about the answer.
    func ask<Command: ControlCommand>(_ command: Command) throws {
        try ask(command) { Command.words(for: $0.content) }
    }

    /// Sends a command whose fields were typed, and prints what its declaration has to say about the answer.
    func ask<Command: ControlCommand>(words: [String: String], as type: Command.Type) throws {
        try Console.run { () throws(ProgramError) in
            var client = try connect()
            let command: Command
            do throws(ControlRequest.Invalid) {
                command = try Command(words: words)
            } catch {
                throw ProgramError(
                    .refused,
                    error.description,
                    advice: "cairn status shows how the watch is doing"
                )
            }
            if let text = Command.words(for: try client.ask(command).content) { Console.print(text) }
            return .success
        }
    }

    /// Gives a command, and prints the result.
    /// - Parameter describe: what to print, if anything.
    func ask<Command: ControlCommand>(
        _ command: Command,
        _ describe: (ControlReply<Command.Answer>) -> String?
    ) throws {
        try Console.run { () throws(ProgramError) in
            var client = try connect()
            if let text = describe(try client.ask(command)) { Console.print(text) }
            return .success
        }
    }
}
