import ArgumentParser
import ControlServer
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
        "CAIRN_BOARD", "CAIRN_BINARY", "CAIRN_GUEST_CACHE", "CAIRN_IMAGE", "CAIRN_KILLS", "CAIRN_KILL_ROUNDS",
        "CAIRN_MUTATIONS",
        "CAIRN_PACKAGE", "CAIRN_PACKAGE_ROOT", "CAIRN_RIG", "CAIRN_SEED", "CAIRN_STRICT",
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

    /// Has one thing done, and prints the result.
    /// - Parameters:
    ///   - fields: the request, as an object's fields.
    ///   - describe: what to print, if anything.
    func ask(
        _ command: String,
        _ fields: [String: RequestValue] = [:],
        _ describe: (ControlAnswer) -> String? = { _ in nil }
    ) throws {
        try Console.run { () throws(ProgramError) in
            var client = try connect()
            let answer = try client.ask(RequestValue.line(command, fields))
            if let text = describe(answer) { Console.print(text) }
            return .success
        }
    }
}

/// A value in a request.
enum RequestValue {
    case text(String)
    case number(Double)
    case integer(UInt64)
    case flag(Bool)
    case list([RequestValue])
    case object([String: RequestValue])

    private var json: String {
        switch self {
        case .text(let text): Self.quoted(text)
        case .number(let number): number == number.rounded() ? "\(Int(number))" : "\(number)"
        case .integer(let integer): "\(integer)"
        case .flag(let flag): "\(flag)"
        case .list(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
        case .object(let fields): Self.object(fields.map { ($0.key, $0.value.json) })
        }
    }

    /// A request as JSON.
    static func line(_ command: String, _ fields: [String: RequestValue]) -> String {
        object([("command", quoted(command))] + fields.map { ($0.key, $0.value.json) })
    }

    private static func object(_ fields: [(name: String, json: String)]) -> String {
        "{" + fields.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                quoted += "\\u00" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
