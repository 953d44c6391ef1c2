/// The table of faults as Markdown.
public enum FaultReference {
    /// A section for each group of names, with a table of its faults, and one with the options.
    public static var markdown: String {
        var lines: [String] = []
        var group = ""
        for definition in FaultDefinition.all {
            let own = String(definition.name.prefix { $0 != "." })
            if own != group {
                group = own
                lines += ["", "### \(group)", "", "| name | what it does | fires | needs | takes |"]
                lines.append("|---|---|---|---|---|")
            }
            let parameters = definition.parameters.map(cell).joined(separator: "<br>")
            lines.append(
                "| `\(definition.name)` | \(definition.help) | \(definition.occasion.name) | \(definition.need.name) | "
                    + "\(parameters.isEmpty ? "–" : parameters) |"
            )
        }
        lines += ["", "### Options", "", "| option | what | values | if left out |", "|---|---|---|---|"]
        for option in FaultParameter.options {
            let usual = option.fallback.map { "\($0)" } ?? "–"
            lines.append("| `\(option.key.rawValue)` | \(option.help) | \(option.form.description) | \(usual) |")
        }
        return lines.dropFirst().joined(separator: "\n")
    }

    private static func cell(_ parameter: FaultParameter) -> String {
        let usual = parameter.fallback.map { "; \($0) if left out" } ?? ""
        return "`\(parameter.key.rawValue)`: \(parameter.help) (\(parameter.form.description)\(usual))"
    }
}
