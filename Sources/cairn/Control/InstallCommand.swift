import ArgumentParser
import Bundles
import Control
import Daemon
import HCIRuntime
import Progress

/// `cairn install`
struct InstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Install an app on the watch, as a phone does.",
        discussion: """
            The file is a package as the SDK builds it (.pbw). An app with the same UUID is replaced. What the app does is said when \
            the watch is started, with --behaviour.

              cairn install build/app.pbw --launch --state ~/.cairn
            """
    )

    @Argument(help: "The package.", transform: pathArgument)
    var file: String

    @Flag(help: "Start it at once.")
    var launch = false

    @OptionGroup var option: ProgressOption
    @OptionGroup var watch: WatchReference

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let bytes = try read()
            var client = try watch.connect()
            let progress = ProgressLine("Installing", of: bytes.count, option.progress)
            defer { progress.clear() }
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(ControlCommands.InstallPart.longest)
                _ = try client.ask(ControlCommands.InstallPart { $0.data = Array(part) })
                rest = rest.dropFirst(part.count)
                progress.add(part.count)
            }
            let app = try client.ask(ControlCommands.Install { $0.launches = launch }).content.app
            progress.clear()
            let version = app.version.map { " \($0)" } ?? ""
            Console.print("Installed \(app.name)\(version), \(app.uuid)\(app.isRunning ? "; it runs" : "").".printable)
            return .success
        }
    }

    private func read() throws(ProgramError) -> [UInt8] {
        do throws(BundleError) {
            return try BundleFile.read(file)
        } catch {
            throw ProgramError(
                error.isUnreadable ? .unavailable : .usage,
                "\(file) is not installed: \(error)",
                advice: "name a .pbw that you may read, as the SDK builds it"
            )
        }
    }
}
