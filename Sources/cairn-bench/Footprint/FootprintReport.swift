/// What `cairn-bench footprint` found out.
struct FootprintReport {
    /// From execution to the first advertisement on a small board.
    static let startTarget: Duration = .milliseconds(200)
    /// Resident memory, with a phone connected too.
    static let memoryTarget = 12_000_000

    let boardParts: Int
    let makeup: BinaryMakeup
    var starts: [FootprintTrial.Findings] = []
    /// With a small board's part of a processor; empty where that could not be had.
    var boardStarts: [FootprintTrial.Findings] = []
    var life = FootprintTrial.Findings()

    /// Whether every target is met that could be measured.
    var isGood: Bool {
        let memory = [life.idle, life.connected].map { $0?.resident ?? .max }
        return (boardStart ?? .zero) <= Self.startTarget && memory.allSatisfy { $0 <= Self.memoryTarget }
    }

    var text: String { [figures.text, sizes.text, libraries.text].joined(separator: "\n\n") }

    private var boardStart: Duration? { median(boardStarts, \.firstAdvertisement) }

    private var figures: TextTable {
        var table = TextTable(["footprint", "measured", "target"])
        table.append(["exec to first advertisement", milliseconds(median(starts, \.firstAdvertisement)), ""])
        table.append(["of that, processor time", milliseconds(median(starts, \.startProcessor)), ""])
        table.append([
            "exec to first advertisement, 1/\(boardParts) of a processor", milliseconds(boardStart),
            milliseconds(Self.startTarget),
        ])
        table.append(["resident, advertising", megabytes(life.idle?.resident), megabytes(Self.memoryTarget)])
        table.append(["of that, no file's", megabytes(life.idle?.anonymous), ""])
        table.append(["resident, phone connected", megabytes(life.connected?.resident), megabytes(Self.memoryTarget)])
        table.append(["of that, no file's", megabytes(life.connected?.anonymous), ""])
        table.append(["wakeups a second, advertising", life.idleSleeps?.text(2) ?? "-", ""])
        table.append([
            "processor time a second, advertising",
            life.idleProcessor.map { ($0 / .microseconds(1)).text(0) + " µs" } ?? "-", "",
        ])
        return table
    }

    private var sizes: TextTable {
        var table = TextTable(["program", "MB"])
        table.append(["the file", megabytes(makeup.fileSize)])
        table.append(["without symbols and debugging information", megabytes(makeup.strippedSize)])
        for (name, size) in makeup.sections.prefix(8) { table.append(["section \(name)", megabytes(size)]) }
        return table
    }

    private var libraries: TextTable {
        var table = TextTable(["what its symbols belong to", "MB"])
        for (name, size) in makeup.owners { table.append([name, megabytes(size)]) }
        return table
    }

    private func median(
        _ findings: [FootprintTrial.Findings],
        _ value: (FootprintTrial.Findings) -> Duration?
    ) -> Duration? {
        let sorted = findings.compactMap(value).sorted()
        return sorted.isEmpty ? nil : sorted[sorted.count / 2]
    }

    private func milliseconds(_ duration: Duration?) -> String {
        duration.map { ($0 / .milliseconds(1)).text(1) + " ms" } ?? "-"
    }

    private func megabytes(_ bytes: Int?) -> String { bytes.map { (Double($0) / 1e6).text(1) + " MB" } ?? "-" }
}
