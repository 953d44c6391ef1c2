/// How a scenario ended.
package enum ScenarioOutcome: Sendable, Equatable {
    case passed
    case failed(ScenarioFailure)
    /// It needs a fault that this watch does not take, and why.
    case skipped(String)

    /// Whether it passed.
    package var isPassed: Bool { self == .passed }

    /// Whether it failed.
    package var isFailed: Bool { if case .failed = self { true } else { false } }

    /// In one word, for people.
    package var word: String {
        switch self {
        case .passed: "passed"
        case .failed: "FAILED"
        case .skipped: "skipped"
        }
    }
}

/// What did not go as it was to.
package struct ScenarioFailure: Sendable, Equatable {
    /// The step's.
    package let place: ScenarioPlace
    /// When, since the beginning.
    package let time: Duration
    /// What was to happen.
    package let expected: String
    /// What came in its place.
    package let instead: String
    /// What happened since the last thing that was done, and that thing itself: lines of the transcript.
    package let before: [String]
    /// The last packets between the watch and its controller; filled in by what runs the scenario.
    package var packets: [String] = []

    /// The story for a person.
    /// - Parameter command: what runs the scenario in the same way again.
    package func story(runAgain command: String) -> [String] {
        var lines = [
            "\(place), \(time.scenarioWords) after the beginning:", "  expected  \(expected)", "  instead   \(instead)",
        ]
        if !before.isEmpty { lines += ["  before that:"] + before.map { "    " + $0 } }
        if !packets.isEmpty { lines += ["  the watch's last packets:"] + packets.map { "    " + $0 } }
        return lines + ["  again     \(command)"]
    }
}
