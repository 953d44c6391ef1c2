import ArgumentParser
import Control

// Subcommands that are made of the declarations of control alone.

/// The subcommand of a command without fields.
struct PlainSubcommand<Command: ControlCommand>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: Command.name, abstract: Command.help, discussion: Command.discussion)
    }

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask(Command.blank) }
}

/// The subcommand of a command with one field, which is typed after its name.
struct FieldSubcommand<Command: ControlCommand>: ParsableCommand {
    static var configuration: CommandConfiguration { PlainSubcommand<Command>.configuration }

    @Argument(help: Self.help, completion: Self.completion)
    var value: String

    @OptionGroup var watch: WatchReference

    private static var field: ControlField? { Command.fields.first }

    private static var help: ArgumentHelp {
        guard let field else { return "" }
        let words = field.words.map { ": \($0.joined(separator: ", "))" } ?? ""
        return ArgumentHelp(
            "\(field.help.prefix(1).uppercased())\(field.help.dropFirst())\(words).",
            valueName: field.name
        )
    }

    private static var completion: CompletionKind { field?.words.map { .list($0) } ?? .default }

    private var words: [String: String] { Self.field.map { [$0.name: value] } ?? [:] }

    func validate() throws {
        do throws(ControlRequest.Invalid) {
            _ = try Command(words: words)
        } catch {
            throw ValidationError(error.description)
        }
    }

    func run() throws { try watch.ask(words: words, as: Command.self) }
}

extension ControlCommands {
    /// The subcommands that the commands of a group have by their declarations.
    static func subcommands(in group: ControlSubcommandGroup) -> [any ParsableCommand.Type] {
        all.filter { $0.subcommandGroup == group }.map { $0.subcommand }
    }
}

extension ControlCommand {
    fileprivate static var subcommand: any ParsableCommand.Type {
        fields.isEmpty ? PlainSubcommand<Self>.self : FieldSubcommand<Self>.self
    }
}
