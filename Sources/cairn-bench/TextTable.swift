/// A table for people: Markdown, with columns that line up.
struct TextTable {
    let header: [String]
    private(set) var rows: [[String]] = []

    init(_ header: [String]) { self.header = header }

    mutating func append(_ row: [String]) { rows.append(row) }

    var text: String {
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].count }.max() ?? 0
        }
        var lines = [
            line(header, widths),
            "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|",
        ]
        lines += rows.map { line($0, widths) }
        return lines.joined(separator: "\n")
    }

    /// The first column begins at the left, the others end at the right.
    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells.indices, zip(cells, widths)).map { index, cell in
            let space = String(repeating: " ", count: cell.1 - cell.0.count)
            return index == 0 ? cell.0 + space : space + cell.0
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }
}
