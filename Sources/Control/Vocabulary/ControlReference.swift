/// The commands, events and failures as tables: `Docs/control-reference.md`.
package enum ControlReference {
    /// The page, with its last line's end.
    package static var text: String {
        var lines = [
            "# Control: the reference", "",
            "Made by `cairn control reference` from the declarations in `Sources/Control`; do not edit it.",
            "[control.md](control.md) says how to use it, and [control.schema.json](control.schema.json) says the same to",
            "programs. A field in brackets may be left out.", "", "## Commands", "",
            "| `command` | does | fields | in the answer |", "|---|---|---|---|",
        ]
        lines += ControlCommands.all.map { row(of: $0) }
        lines += [
            "", "## Events", "",
            "Each has `event`, `sequence`, `at` in seconds since the watch was started, and `text`; `lost` has no `sequence`.",
            "", "| `event` | says | fields |", "|---|---|---|",
        ]
        for name in ControlEventName.allCases {
            let help = name.declaration.help
            switch name.declaration.fields {
            case .fields(let type): lines.append(row(["`\(name.rawValue)`", help, list(type.fields)]))
            case .variants(let variants):
                lines.append(row(["`\(name.rawValue)`", help, "`name`: one of the next rows"]))
                lines += variants.map { variant in
                    row(["`\(name.rawValue)`: `\(variant.name)`", "", list(variant.fields.fields)])
                }
            }
        }
        lines += [
            "", "## Packets", "",
            "After `packets` a line has the one field `packet`, an object with these fields:", "",
            "| `packet` | fields |", "|---|---|",
            row(["an HCI packet", list(ControlPacket.fields)]),
            row(["packets that were lost", list(ControlLostPackets.fields)]),
        ]
        lines += ["", "## Failures", "", "The `code` of an `error` is one of these:", ""]
        lines += ControlFailureCode.allCases.map { "- `\($0.rawValue)`" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row<Command: ControlCommand>(of command: Command.Type) -> String {
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
