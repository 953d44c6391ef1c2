/// Settings as a person reads them.
public enum SettingsTable {
    /// The longest value after which origins still stand in one column.
    private static let widestValue = 32

    /// A line for each setting: its name, its value and where that is from, in columns.
    /// - Parameter printable: makes text of any kind fit for a terminal.
    public static func lines<Target>(
        _ values: [SettingValue],
        of settings: [Setting<Target>],
        printable: (String) -> String
    ) -> [String] {
        let byKey = Dictionary(values.map { ($0.key, $0) }) { first, _ in first }
        let rows = settings.map { setting in
            let value = byKey[setting.key]
            return (
                name: setting.key.name, value: value.map { printable($0.values.joined(separator: ", ")) } ?? "",
                origin: value.map { "\($0.origin)" } ?? ""
            )
        }
        let nameWidth = rows.map(\.name.count).max() ?? 0
        // One long value does not push all origins out of sight.
        let valueWidth = min(rows.map(\.value.count).max() ?? 0, widestValue)
        return rows.map { row in
            let line = row.name.padded(to: nameWidth) + "  " + row.value.padded(to: valueWidth) + "  " + row.origin
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// A table in Markdown with a row for each setting: its names, what it takes, its default, and what it is for.
    public static func markdown<Target>(_ settings: [Setting<Target>]) -> String {
        let head = "| setting | option of `cairn run` | takes | by itself | what it is for |\n|---|---|---|---|---|"
        return ([head] + settings.map(\.markdownRow)).joined(separator: "\n")
    }
}

extension Setting {
    fileprivate var markdownRow: String {
        let dashes = form == .flag && usual == ["true"] ? "--no-" : "--"
        let more = page.map { " ([\($0)](\($0)))" } ?? ""
        let cells = ["`\(key.name)`", "`\(dashes)\(option)`", markdownTakes, markdownDefault, help + more]
        return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private var markdownTakes: String {
        switch form {
        case .flag: "`true` or `false`"
        case .word, .optionalWord: names.names.isEmpty ? takes : names.names.map { "`\($0)`" }.joined(separator: ", ")
        case .list, .repeated: "a list: \(takes)"
        }
    }

    private var markdownDefault: String {
        guard let usual else { return otherwise ?? "" }
        let code = "`\(usual.joined(separator: ", "))`"
        guard let usualWithBoardFile else { return code }
        return "`\(usualWithBoardFile.joined(separator: ", "))` with a board file, else \(code)"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
