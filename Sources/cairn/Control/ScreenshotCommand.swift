import ArgumentParser
import Control
import Daemon
import HCIRuntime

/// `cairn screenshot`
struct ScreenshotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screenshot",
        abstract: "Write the picture that the watch's screen shows to a file.",
        discussion: """
            The file is a PNG; a file that exists is replaced. - stands for standard output.

              cairn screenshot watch.png --state ~/.cairn
              cairn screenshot - | display
            """
    )

    @Argument(help: "The file, or - for standard output.", transform: pathArgument)
    var file: String

    @Flag(help: "Bytes instead of a PNG: one for each pixel, row by row from the top left, aarrggbb.")
    var raw = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var client = try watch.connect()
            let screen = try client.ask(ControlCommands.Screenshot { $0.format = raw ? .raw : .png }).content.screen
            guard file != "-" else {
                Console.write(screen.data)
                return .success
            }
            try ResultFile.write(screen.data, to: file, what: "picture")
            return .success
        }
    }
}
