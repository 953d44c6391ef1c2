import ArgumentParser
import Control

/// `cairn control`: what there is to say to a watch, for programs and for the documentation.
struct VocabularyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract: "Print the vocabulary of the control socket.",
        subcommands: [Schema.self, Reference.self]
    )

    /// `cairn control schema`
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema",
            abstract: "Print the JSON Schema of requests, answers, events and errors.",
            discussion: "Docs/control.schema.json is what it prints."
        )

        func run() throws { Console.print(String(ControlSchemaDocument.text.dropLast())) }
    }

    /// `cairn control reference`
    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reference",
            abstract: "Print every command, event and error as tables in Markdown.",
            discussion: "Docs/control-reference.md is what it prints."
        )

        func run() throws { Console.print(String(ControlReference.text.dropLast())) }
    }
}
