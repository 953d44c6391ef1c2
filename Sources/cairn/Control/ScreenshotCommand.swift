import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime
import LinuxBluetooth

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
            try write(screen.data)
            return .success
        }
    }

    private func write(_ bytes: [UInt8]) throws(ProgramError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure(.last) }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw failure(.last) }
            rest = rest.dropFirst(max(0, count))
        }
    }

    private func failure(_ error: SystemError) -> ProgramError {
        ProgramError(
            .cannotCreate,
            "cannot write the picture to \(file): \(error)",
            advice: "name a file in a directory that you may write to, on a disk with room"
        )
    }
}
