/// What came of one run of a scenario.
package struct ScenarioResult: Sendable, Equatable {
    package let scenario: Scenario
    package let outcome: ScenarioOutcome
    package let seed: UInt64
    /// How long it took: on a virtual air, the watch's time.
    package let duration: Duration
    package let transcript: [String]
    /// What runs it again in the same way.
    package let command: String

    package init(
        _ scenario: Scenario,
        _ outcome: ScenarioOutcome,
        seed: UInt64,
        duration: Duration,
        transcript: [String],
        command: String
    ) {
        self.scenario = scenario
        self.outcome = outcome
        self.seed = seed
        self.duration = duration
        self.transcript = transcript
        self.command = command
    }

    /// The story of a failure; nil for a scenario that passed.
    package var story: [String]? {
        switch outcome {
        case .passed: nil
        case .skipped(let reason): ["it is left out: \(reason)"]
        case .failed(let failure): failure.story(runAgain: command)
        }
    }
}
