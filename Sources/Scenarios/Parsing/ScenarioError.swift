/// What is wrong with a file, and where.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    package let place: ScenarioPlace
    /// What is wrong, and what would be right.
    package let problem: String

    package init(_ place: ScenarioPlace, _ problem: String) {
        self.place = place
        self.problem = problem
    }

    package var description: String { "\(place): \(problem)" }
}

/// Everything that is wrong with a scenario, in the order in which a person reads.
package struct ScenarioErrors: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    package let errors: [ScenarioError]

    package init(_ errors: [ScenarioError]) { self.errors = errors }

    package var description: String { errors.map(\.description).joined(separator: "\n") }
}
