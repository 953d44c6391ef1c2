import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime

/// `cairn recorder`
struct RecorderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recorder",
        abstract: "Save what the flight recorder has of a running watch.",
        subcommands: [Save.self]
    )

    /// `cairn recorder save`
    struct Save: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "save",
            abstract: ControlCommands.RecorderSave.help,
            discussion: """
                Every watch keeps in memory what it was given, with the last minute in it in any case, and as a rule hours. The \
                watch's process writes the file. Keys are among what it holds, so only the user who started the watch, and root, may \
                save it, and the file is for its owner alone. A file that exists is replaced.

                  cairn recorder save watch.cairnrec --state ~/.cairn
                  cairn replay watch.cairnrec
                """
        )

        @Argument(help: "The file.", transform: pathArgument)
        var file: String

        @OptionGroup var watch: WatchReference

        func run() throws {
            let path = Self.wholePath(file)
            try watch.ask(ControlCommands.RecorderSave { $0.path = path }) { reply in
                let saved = reply.content
                let span = "\(saved.size) bytes, \(Int(saved.seconds.rounded(.up))) seconds"
                return saved.isWhole
                    ? "\(span): all since the watch was started"
                    : "\(span): its end only, which cairn replay can show, and not run again"
            }
        }

        /// The path as the watch's process understands it, which may run in another directory.
        private static func wholePath(_ path: String) -> String {
            guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
            defer { free(directory) }
            return String(cString: directory) + "/" + path
        }
    }
}
