extension Duration {
    /// The longest time that a scenario may name.
    package static let longestInScenario: Duration = .seconds(7 * 24 * 3600)

    /// Reads `30 s`, `500 ms`, `2 min`, `1 h`, or a number of seconds; nil for what is none, is negative, or is longer than a
    /// week.
    package init?(scenario text: String) {
        let text = text.drop { $0 == " " }
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count).filter { $0 != " " }
        let units: [String: Double] = ["": 1, "s": 1, "ms": 0.001, "min": 60, "h": 3600]
        guard let number = Double(digits), let factor = units[unit] else { return nil }
        let milliseconds = (number * factor * 1000).rounded()
        guard milliseconds >= 0, milliseconds <= 7 * 24 * 3600 * 1000 else { return nil }
        self = .milliseconds(Int64(milliseconds))
    }

    /// For people: `30 s`, `0.5 s`.
    package var scenarioWords: String {
        let seconds = self / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    /// For the transcript: seconds with three decimals.
    var stamp: String {
        let milliseconds = Int((self / .milliseconds(1)).rounded(.down))
        let rest = "\(milliseconds % 1000)"
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}
