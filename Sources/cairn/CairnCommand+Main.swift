import ArgumentParser
import Daemon
import Glibc
import PrivateFiles

extension CairnCommand {
    /// The program's beginning.
    ///
    /// A watch should be on the air soon, and ArgumentParser is two fifths of the work until then: so `run` is read without it
    /// (`SettingWords`). What cannot be read so takes the usual way, where the words for it are: help, other commands and
    /// mistakes.
    static func main() {
        TrustedUsers.keepFilesPrivate()
        // A reader that is gone is an error of the write, which every command tells in its own way.
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.first == RunCommand.name,
                let command = RunCommand.reading(Array(words.dropFirst()))
            {
                return try command.run()
            }
            try checkCommands(words)
            var command = try parseAsRoot(words)
            try command.run()
        } catch {
            end(error, words)
        }
    }

    /// Ends the process as an error says: help and versions on standard output, mistakes in our words.
    private static func end(_ error: any Error, _ words: [String]) -> Never {
        // A command has told already what is wrong; its status may be that of a mistake that ArgumentParser finds.
        if let status = error as? ExitCode { exit(withError: status) }
        guard exitCode(for: error) == .validationFailure else {
            let text = fullMessage(for: error)
            guard exitCode(for: error) == .success, !text.isEmpty else { exit(withError: error) }
            Console.print(text)
            exit(withError: ExitCode.success)
        }
        let usage = UsageError(fullMessage: fullMessage(for: error), words: words).error
        exit(withError: Console.ended(by: usage))
    }

    /// ArgumentParser passes over a word that is no command where help is asked for.
    private static func checkCommands(_ words: [String]) throws {
        var command: any ParsableCommand.Type = CairnCommand.self
        var path = configuration.commandName ?? "cairn"
        for word in words.first == "help" ? words.dropFirst() : words[...] {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !word.hasPrefix("-") else { return }
            guard let next = known.first(where: { $0.configuration.commandName == word }) else {
                let names = known.compactMap { $0.configuration.commandName }
                let usage = UsageError(unknownCommand: word, of: path, among: names).error
                throw Console.ended(by: usage)
            }
            command = next
            path += " \(word)"
        }
    }

    /// The command that a person calls `cairn config show`.
    static func type(of path: String) -> any ParsableCommand.Type {
        path.split(separator: " ").dropFirst().reduce(CairnCommand.self as any ParsableCommand.Type) { command, word in
            command.configuration.subcommands.first { $0.configuration.commandName == String(word) } ?? command
        }
    }
}
