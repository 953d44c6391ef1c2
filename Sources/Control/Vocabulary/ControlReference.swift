/// The commands, events and failures as tables: `Docs/control-reference.md`.
package enum ControlReference {
    /// The page, with its last line's end.
    package static var text: String { text(of: .watch) }

    /// The page of a vocabulary, with its last line's end.
    package static func text(of vocabulary: ControlVocabulary) -> String {
        var lines = vocabulary.preface
        lines += [
            "", "## Commands", "", "| `command` | does | fields | in the answer |", "|---|---|---|---|",
        ]
        lines += vocabulary.commands.map { row(of: $0) }
        lines += [
            "", "## Events", "",
            "Each has `event`, `sequence`, `at` in seconds since \(vocabulary.speaker) was started, and `text`; `lost` has no "
                + "`sequence`.",
            "", "| `event` | says | fields |", "|---|---|---|",
        ]
        for event in vocabulary.events {
            let help = event.declaration.help
            switch event.declaration.fields {
            case .fields(let type): lines.append(row(["`\(event.name)`", help, list(type.fields)]))
            case .variants(let variants):
                lines.append(row(["`\(event.name)`", help, "`name`: one of the next rows"]))
                lines += variants.map { variant in
                    row(["`\(event.name)`: `\(variant.name)`", "", list(variant.fields.fields)])
                }
            }
        }
        if !vocabulary.packets.isEmpty {
            lines += [
                "", "## Packets", "",
                "After `packets` a line has the one field `packet`, an object with these fields:", "",
                "| `packet` | fields |", "|---|---|",
            ]
            lines += vocabulary.packets.map { row([$0.words, list($0.fields.fields)]) }
        }
        lines += ["", "## Failures", "", "The `code` of an `error` is one of these:", ""]
        lines += vocabulary.failures.map { "- `\($0)`" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row<Command: NamedCommand>(of command: Command.Type) -> String {
        row(["`\(Command.name)`", Command.wholeHelp, list(Command.fields), list(Command.Answer.fields)])
    }

    private static func row(_ cells: [String]) -> String {
        "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private static func list(_ fields: [ControlField]) -> String {
        fields.map(words(of:)).joined(separator: "; ")
    }

    private static func words(of field: ControlField) -> String {
        let name = field.presence == .required ? "`\(field.name)`" : "[`\(field.name)`]"
        var facts: [String] = []
        if case .text(let unit)? = field.schema.keywords["x-unit"] { facts.append("in \(unit)") }
        if let words = field.words { facts.append(words.joined(separator: ", ")) }
        if case .defaulted(let usual) = field.presence { facts.append("usually \(usual.json)") }
        let more = facts.isEmpty ? "" : " (\(facts.joined(separator: "; ")))"
        return "\(name): \(field.help)\(more)"
    }
}
