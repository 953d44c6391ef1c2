import ArgumentParser
import Daemon
import Glibc
import HCIRuntime
import Settings

/// `cairn config`: looks at board files without running anything.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check a board file, or show what a watch would run with, or what can be set.",
        subcommands: [Check.self, Show.self, Reference.self]
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
                    let problems = RunSettings.problems(in: file)
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
                try RunConfiguration(typed: command.typed, board: command.board)
            }
            let lines = SettingsTable.lines(configuration.values, of: RunSettings.settings, printable: \.printable)
            for line in lines { Console.print(line) }
        }
    }

    /// `cairn config reference`
    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reference",
            abstract: "Print the table of all settings, in Markdown.",
            discussion:
                "Docs/boards.md has it: for each setting its option, what it takes, its default and what it is for."
        )

        func run() { Console.print(SettingsTable.markdown(RunSettings.settings)) }
    }
}
