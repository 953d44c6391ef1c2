import ArgumentParser
import Control
import HCIRuntime
import PebblePhone
import Scenarios

/// `cairn scenario check`
struct ScenarioCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say what is wrong with scenarios, without running them.",
        discussion:
            "Every error is told with its file, line and column. The status is 0 when nothing is wrong, and 78 otherwise."
    )

    @Argument(help: ArgumentHelp("Files, or names of scenarios that come with Cairn.", valueName: "file"))
    var files: [String]

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var errors: [ScenarioError] = []
            for file in files {
                let path = try ScenarioLibrary.path(of: file)
                do throws(ScenarioErrors) {
                    let scenario = try ScenarioLibrary.read(path)
                    Console.print("\(scenario.name): \(scenario.steps.count) steps")
                } catch {
                    errors += error.errors
                }
            }
            guard errors.isEmpty else {
                throw ProgramError(
                    .configuration,
                    ScenarioErrors(errors).description,
                    advice: "Docs/scenarios.md shows how scenarios are written"
                )
            }
            return .success
        }
    }
}

/// `cairn scenario run`
struct ScenarioRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run scenarios, and say what did not go as it was to.",
        discussion: """
              cairn scenario run ./mine.yaml --seed 7 --report junit.xml --transcript transcript.txt
              cairn scenario run --state ~/.cairn --phone-state ~/.cairn-phone bond-lost-by-watch
            """
    )

    @Argument(help: ArgumentHelp("Files, or names of scenarios that come with Cairn.", valueName: "file"))
    var files: [String]

    @OptionGroup var options: ScenarioOptions

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var scenarios: [Scenario] = []
            for file in files { scenarios.append(try options.read(ScenarioLibrary.path(of: file))) }
            var results: [ScenarioResult] = []
            for scenario in scenarios {
                let result = try options.run(scenario)
                options.tell(result)
                results.append(result)
            }
            try options.write(results)
            return results.contains(where: \.outcome.isFailed) ? .demonstrationFailed : .success
        }
    }
}

/// `cairn scenario list`
struct ScenarioListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the scenarios that come with Cairn, or those of a directory."
    )

    @Argument(help: ArgumentHelp("A directory with scenarios.", valueName: "directory"), transform: pathArgument)
    var directory: String?

    @Flag(help: "List what a phone on a virtual air can do wrong.")
    var defects = false

    func run() throws {
        try Console.run { () throws(ProgramError) in
            guard !defects else {
                for defect in PhoneDefect.allCases { Console.print("\(defect.rawValue)\n    \(defect.summary)") }
                return .success
            }
            for path in try ScenarioLibrary.all(in: directory) {
                do throws(ScenarioErrors) {
                    let scenario = try ScenarioLibrary.read(path)
                    Console.print("\(scenario.name)\n    \(scenario.description)")
                    for address in scenario.modelledOn { Console.print("    \(address)") }
                } catch {
                    throw ProgramError(.configuration, error.description, advice: "cairn scenario check says the same")
                }
            }
            return .success
        }
    }
}

/// `cairn scenario suite`
struct ScenarioSuiteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suite",
        abstract: "Run all scenarios of a directory, and print a score card.",
        discussion: """
            Without a directory they are those that come with Cairn. With --phone real, you are told what to do with the phone, step \
            by step.

              cairn scenario suite
              cairn scenario suite --state ~/.cairn --phone real --report junit.xml
            """
    )

    @Argument(help: ArgumentHelp("A directory with scenarios.", valueName: "directory"), transform: pathArgument)
    var directory: String?

    @OptionGroup var options: ScenarioOptions

    @Flag(help: "Print the score card as a JSON object, for programs.")
    var json = false

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var results: [ScenarioResult] = []
            for path in try ScenarioLibrary.all(in: directory) {
                let result = try options.run(options.read(path))
                options.tell(result)
                results.append(result)
            }
            try options.write(results)
            if json {
                Console.print(ScenarioReports.scoreCardJSON(results))
            } else {
                for line in ScenarioReports.scoreCard(results) { Console.print(line) }
            }
            return results.contains(where: \.outcome.isFailed) ? .demonstrationFailed : .success
        }
    }
}
