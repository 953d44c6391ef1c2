import ArgumentParser
import Settings
import Daemon
import Glibc
import HCIRuntime

/// `cairn config`: looks at board files without running anything.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check a board file, or show what a watch would run with.",
        subcommands: [Check.self, Show.self]
    )

    /// `cairn config check`
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Find everything that is wrong with board files.",
            discussion: """
                Each error has its file, line and setting, and what would be right. The status is 0 if nothing is wrong, and \
                78 if something is. Whether the controller, the lines and the files that it names are there is not looked at.
                """
        )

        @Argument(help: ArgumentHelp("The board files. (default: $CAIRN_BOARD)", valueName: "file"))
        var files: [String] = []

        func run() throws {
            let paths = files.isEmpty ? [Environment.directory("CAIRN_BOARD")].compactMap(\.self) : files
            guard !paths.isEmpty else { throw ValidationError("name a board file, or set CAIRN_BOARD") }
            var worst = ExitStatus.success
            for path in paths {
                do throws(SettingError) {
                    let file = try BoardFile(path: path)
                    let problems = SettingsCheck.problems(in: file)
                    for problem in problems { Console.printError("\(problem)") }
                    if problems.isEmpty {
                        Console.print("\(path): nothing is wrong with its \(file.settingCount) settings")
                    } else if worst == .success {
                        worst = .configuration
                    }
                } catch {
                    let status = error.isUnreadable ? ExitStatus.unavailable : .configuration
                    let advice =
                        error.isUnreadable ? "name a board file that is there" : "Docs/boards.md has an example"
                    worst = Console.report(ProgramError(status, "\(error)", advice: advice))
                }
            }
            guard worst == .success else { throw ExitCode(worst.rawValue) }
        }
    }

    /// `cairn config show`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show every setting, its value, and who made it.",
            usage: "cairn config show [<options of cairn run>]",
            discussion: """
                Takes the options of cairn run, and shows what a watch would run with: from the command line, the \
                environment, the board file, or by default.

                EXAMPLES

                  cairn config show --board Boards/virtual/board.yaml
                  cairn config show --board Boards/virtual/board.yaml --phones 2
                """
        )

        @OptionGroup(visibility: .hidden) var command: RunCommand

        func run() throws {
            let configuration = try Console.value { () throws(ProgramError) in
                try RunConfiguration(board: command.board, words: CommandLine.arguments.dropFirst(3))
            }
            let settings = Dictionary(configuration.settings.map { ($0.key, $0) }) { first, _ in first }
            let rows = RunSetting.all.map { known in
                let setting = settings[known.key]
                return (
                    name: known.key.name, value: setting?.values.joined(separator: ", ") ?? "",
                    origin: setting.map { "\($0.origin)" } ?? ""
                )
            }
            let nameWidth = rows.map(\.name.count).max() ?? 0
            // One long value does not push all origins out of sight.
            let valueWidth = min(rows.map(\.value.count).max() ?? 0, 32)
            for row in rows {
                let line =
                    row.name.padded(to: nameWidth) + "  " + row.value.printable.padded(to: valueWidth) + "  "
                    + row.origin
                Console.print(String(line.reversed().drop { $0 == " " }.reversed()))
            }
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
