import ArgumentParser
import Glibc
import Logging
import PrivateFiles
import Web

/// The command line.
@main
struct CairnWebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cairn-web",
        abstract: "Watches of Cairn in a browser, and for programs that speak HTTP.",
        discussion: """
            It talks to the control sockets of running watches, and holds no key of theirs:

              cairn run --controller virtual --state ~/.cairn &
              cairn-web --watch bench="$HOME"/.cairn/control.sock

            It prints an address, which a browser opens once. Programs send the token of the token file:

              cd ~/.local/state/cairn-web
              curl -H "Authorization: Bearer $(cat token)" http://127.0.0.1:PORT/api/watches

            If no watch is named, those are meant that cairn finds: CAIRN_CONTROL, CAIRN_STATE, or the service in /run/cairn.

            It ends with status 0 when it was asked to end, 64 for a wrong command line, 69 if it cannot listen at its \
            address, 71 if its own files are not there, and 73 if the token or the certificate cannot be used.
            """,
        version: webVersion
    )

    @Option(
        name: .customLong("watch"),
        help: ArgumentHelp("A watch by its control socket; may be given again.", valueName: "name=path")
    )
    var watches: [String] = []

    @Option(
        name: .customLong("watches"),
        help: ArgumentHelp(
            "A directory whose sockets are watches, as NAME.sock, NAME-control.sock or NAME/control.sock.",
            valueName: "directory"
        )
    )
    var directories: [String] = []

    @Option(help: ArgumentHelp("Where to listen.", valueName: "address"))
    var address = "127.0.0.1"

    @Option(help: ArgumentHelp("The port; 0 is one that is free.", valueName: "number"))
    var port: UInt16 = 0

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp("Another name by which clients call this server; may be given again.", valueName: "name")
    )
    var allowedHosts: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Where the token is, made if it is not there; FILE.read-only is the token that may only look. \
            (default: token in $STATE_DIRECTORY, or in cairn-web in $XDG_STATE_HOME or ~/.local/state)
            """,
            valueName: "file"
        )
    )
    var tokenFile: String?

    @Option(help: ArgumentHelp("A certificate with its chain, in PEM: the server speaks TLS.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's key, in PEM.", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "How long a watch may take for an answer, from 0.1 to 60, before clients are told that it hangs.",
            valueName: "seconds"
        )
    )
    var patience = 0.9

    @Flag(help: "No client may change anything.")
    var readOnly = false

    @Flag(help: "Print the description of the API (OpenAPI 3.1), and end.")
    var openapi = false

    @Option(help: ArgumentHelp("What is logged: debug, info, warning or error.", valueName: "level"))
    var logLevel: Logger.Level = .warning

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("a certificate needs its key: name both --certificate and --key")
        }
        guard (0.1...60).contains(patience) else {
            throw ValidationError("--patience is from 0.1 to 60 seconds")
        }
    }

    func run() async throws {
        TrustedUsers.keepFilesPrivate()
        // A reader that is gone is an error of the write.
        signal(SIGPIPE, SIG_IGN)
        do {
            if openapi { return try printDescription() }
            try await serve()
        } catch let error as WebError {
            let text = Array("\(error)\n".utf8)
            _ = write(STDERR_FILENO, text, text.count)
            throw ExitCode(error.kind.status)
        }
    }

    /// Needs no watch.
    private func printDescription() throws {
        let text = Array(OpenAPIDocument(try Vocabulary()).text.utf8)
        var rest = text[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 else { throw ExitCode(errno == EPIPE ? 141 : 74) }
            rest = rest.dropFirst(count)
        }
    }

    private func serve() async throws {
        var logger = Logger(label: "cairn-web") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = logLevel
        let tokens = try Tokens(path: try tokenFile ?? usualTokenFile())
        var configuration = WebConfiguration()
        configuration.address = address
        configuration.port = Int(port)
        configuration.allowedHosts = allowedHosts
        configuration.isReadOnly = readOnly
        configuration.patience = .seconds(patience)
        if let certificate, let key { configuration.certificate = (certificate, key) }
        let server = try WebServer(configuration, watches: try places(), tokens: tokens, logger: logger)
        try await server.run { start in
            let token = tokens.makeOneTimeToken(readOnly ? .look : .change)
            let line = Array("cairn-web: \(start)/?token=\(token)\n".utf8)
            _ = write(STDOUT_FILENO, line, line.count)
        }
    }

    private func places() throws -> WatchPlaces {
        var places = WatchPlaces()
        for watch in watches { try places.add(watch: watch) }
        for directory in directories { places.add(directory: directory) }
        if watches.isEmpty, directories.isEmpty { try places.addUsual(environment: Self.environment) }
        return places
    }

    private func usualTokenFile() throws -> String {
        if let directory = Self.environment("STATE_DIRECTORY")?.split(separator: ":").first {
            return directory + "/token"
        }
        if let directory = Self.environment("XDG_STATE_HOME") { return directory + "/cairn-web/token" }
        guard let home = Self.environment("HOME") else {
            throw ValidationError("the token has no place, since HOME is not set: name a file with --token-file")
        }
        return home + "/.local/state/cairn-web/token"
    }

    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension WebError.Kind {
    /// What the process ends with. Source: sysexits(3head).
    fileprivate var status: Int32 {
        switch self {
        case .usage: 64
        case .installation: 71
        case .file: 73
        case .address: 69
        }
    }
}
