import ArgumentParser

/// `cairn scenario`: what a companion does when…
struct ScenarioTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Put a companion through what users report: lost bonds, restarts, uploads that break off.",
        discussion: """
            A scenario is a YAML file: what the watch and the phone are like, what happens step by step, and what has to come of it. \
            Docs/scenarios.md shows how to write one; those that come with Cairn are each modelled on a public report.

            Without a watch that runs, the watch and the phone are on a virtual air in virtual time, and the seed determines \
            everything. With --state or --control it is the watch that runs there; its phone is one that runs (--phone-state, \
            --phone-control), or a real one (--phone real), whose user is told what to do.

              cairn scenario list
              cairn scenario run bond-lost-by-watch
              cairn scenario run --defect keeps-lost-bond bond-lost-by-watch
              cairn scenario suite --state ~/.cairn --phone real

            The status is 0 when no scenario failed, 70 when one did, 78 when a file is wrong, and 69 when there is no watch or \
            no phone.
            """,
        subcommands: [
            ScenarioCheckCommand.self, ScenarioRunCommand.self, ScenarioListCommand.self, ScenarioSuiteCommand.self,
        ]
    )
}
