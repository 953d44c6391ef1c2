import Foundation

/// Everything that one run found out.
struct Report: Encodable {
    var measurements: [Measurement] = []
    var ratios: [Ratio] = []

    /// The worst grade of all; nil if nothing has a target.
    var worst: Grade? { (measurements.compactMap(\.grade) + ratios.map(\.grade)).max() }

    /// As one JSON object.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// Prints a report line by line, as it grows.
enum ReportTable {
    static let header =
        columns("benchmark", "ns/op", "(range)", "ns/byte", "allocs/op", "bytes/op", "target", "grade")

    static func line(_ measurement: Measurement) -> String {
        columns(
            measurement.name,
            number(measurement.nanoseconds, 1),
            "(\(number(measurement.fastestNanoseconds, 0))-\(number(measurement.slowestNanoseconds, 0)))",
            measurement.nanosecondsPerByte.map { number($0, 2) } ?? "",
            number(measurement.allocations, 2),
            number(measurement.allocatedBytes, 0),
            target(measurement),
            measurement.grade?.rawValue ?? "-"
        ) + "   \(measurement.operation)"
    }

    static func line(_ ratio: Ratio) -> String {
        columns(
            ratio.name,
            number(ratio.ratio, 2) + " x",
            "(\(number(ratio.smallest, 2))-\(number(ratio.largest, 2)))",
            "",
            "",
            "",
            "\(number(ratio.targetRatio, 2)) x",
            ratio.grade.rawValue
        ) + "   \(ratio.description)"
    }

    static let legend = """
        Medians over the repeats, with the fastest and the slowest. Grades: pass, at or below the target; near, less than \
        \(number(Grade.noteFactor, 0)) times the target; note, less than \(number(Grade.defectFactor, 0)) times; defect, \
        more.
        """

    private static func target(_ measurement: Measurement) -> String {
        var parts: [String] = []
        if let nanoseconds = measurement.targetNanoseconds { parts.append("\(number(nanoseconds, 0)) ns") }
        if let allocations = measurement.targetAllocations { parts.append("\(number(allocations, 0)) allocs") }
        return parts.isEmpty ? "-" : parts.joined(separator: ", ")
    }

    private static func columns(
        _ name: String,
        _ time: String,
        _ range: String,
        _ perByte: String,
        _ allocations: String,
        _ bytes: String,
        _ target: String,
        _ grade: String
    ) -> String {
        let right: [(String, Int)] = [
            (time, 11), (range, 18), (perByte, 9), (allocations, 11), (bytes, 10), (target, 18), (grade, 8),
        ]
        return name.padding(toLength: 24, withPad: " ", startingAt: 0)
            + right.map { text, width in String(repeating: " ", count: max(1, width - text.count)) + text }.joined()
    }

    private static func number(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }
}
