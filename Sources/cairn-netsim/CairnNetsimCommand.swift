import ArgumentParser
import Glibc
import LinuxBluetooth
import Netsim

/// The command line. The programs that need it are `cairn run` and `cairn air`, which start it.
@main
struct CairnNetsimCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "cairn-netsim",
        abstract: "Between Cairn and the radio of Android emulators, which speaks gRPC.",
        discussion: """
            cairn run --controller netsim and cairn air --netsim start it and end it: nobody needs to run it by hand.
            """,
        version: version,
        subcommands: [Connect.self, Serve.self]
    )

    struct Connect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                Carry the HCI packets of standard input, which is a socket, to and from a controller of netsim's.
                """
        )

        @Option(help: ArgumentHelp("What answers: netsim, or android-emulator.", valueName: "service"))
        var service: NetsimAddress.Service = .netsim

        @Option(help: ArgumentHelp("The host.", valueName: "host"))
        var host: String

        @Option(help: ArgumentHelp("Its port.", valueName: "port"))
        var port: UInt16

        @Option(help: ArgumentHelp("What netsim calls the device.", valueName: "name"))
        var name = NetsimAddress.defaultName

        func run() async throws {
            signal(SIGPIPE, SIG_IGN)
            let client = NetsimClient(
                service,
                at: .init(host: host, port: port),
                name: name,
                version: CairnNetsimCommand.version,
                report: .standardOutput
            )
            if await client.run(over: STDIN_FILENO) != nil { throw ExitCode(69) }
        }
    }

    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                Be a netsim with the socket that is descriptor \(NetsimHelper.listenerDescriptor), until standard input ends.
                """
        )

        @Option(help: ArgumentHelp("The port that the socket listens on.", valueName: "port"))
        var port: UInt16

        @Option(help: ArgumentHelp("The Unix socket where Cairn's air gives controllers.", valueName: "path"))
        var air: String

        func run() async throws {
            signal(SIGPIPE, SIG_IGN)
            let server = NetsimServer(port: port, airPath: air) { line in
                let bytes = Array("cairn-netsim: \(line)\n".utf8)
                _ = write(STDERR_FILENO, bytes, bytes.count)
            }
            do {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await server.run(listener: NetsimHelper.listenerDescriptor) }
                    group.addTask { await EndOfInput.wait() }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            } catch {
                HelperReport.standardOutput.ended(NetsimEnd(.lost, "the netsim at port \(port) broke: \(error)"))
                throw ExitCode(69)
            }
        }
    }
}

extension NetsimAddress.Service: ExpressibleByArgument {}
