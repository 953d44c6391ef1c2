import ArgumentParser
import Daemon
import Glibc
import HCIRuntime
import PebblePhone
import Scenarios
import Settings

/// How scenarios are run, and what is written about it.
struct ScenarioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("What determines everything that is left to chance on a virtual air.", valueName: "number")
    )
    var seed: UInt64 = 1

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp("A parameter of the scenario; may be given more than once.", valueName: "name=value"),
        transform: Self.pair
    )
    var parameters: [Pair] = []

    @Option(
        name: .customLong("defect"),
        help: ArgumentHelp(
            "On a virtual air: what the phone does wrong; may be given more than once. cairn scenario list --defects lists them.",
            valueName: "name"
        ),
        transform: PhoneDefect.argument
    )
    var defects: [PhoneDefect] = []

    @Option(
        help: ArgumentHelp(
            "The state directory of a watch that runs, which is put through it.",
            valueName: "directory"
        ),
        transform: pathArgument
    )
    var state: String?

    @Option(help: ArgumentHelp("The socket of a watch that runs.", valueName: "path"), transform: pathArgument)
    var control: String?

    @Option(
        help: ArgumentHelp(
            "The state directory of a phone that runs (cairn phone run --companion).",
            valueName: "directory"
        ),
        transform: pathArgument
    )
    var phoneState: String?

    @Option(help: ArgumentHelp("The socket of a phone that runs.", valueName: "path"), transform: pathArgument)
    var phoneControl: String?

    @Option(help: "The phone in place of the scenario's: cairn; real, which is in your hand; or none.")
    var phone: ScenarioPhone.Kind?

    @Option(
        help: ArgumentHelp(
            "How much more time than a scenario says everything may take, from 0.1 to 100. (default: 1; with a real phone 3)",
            valueName: "factor"
        )
    )
    var patience: Double?

    @Option(
        help: ArgumentHelp("Write a report for CI systems, in JUnit's XML.", valueName: "file"),
        transform: pathArgument
    )
    var report: String?

    @Option(
        help: ArgumentHelp("Write everything that was done and has happened.", valueName: "file"),
        transform: pathArgument
    )
    var transcript: String?

    @Flag(
        help: """
            At a watch that runs: run scenarios as well that are about a watch with certain settings, which you have started it with.
            """
    )
    var asItRuns = false

    /// A parameter that was typed.
    struct Pair: Sendable {
        let name: String
        let value: String
    }

    private static func pair(_ text: String) throws -> Pair {
        let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty else {
            throw ValidationError("“\(text)” is no parameter with its value; write one as in minutes=10")
        }
        return Pair(name: String(halves[0]), value: String(halves[1]))
    }

    func validate() throws {
        if let patience, !(0.1...100).contains(patience) {
            throw ValidationError("--patience takes a number from 0.1 to 100")
        }
        guard watch == nil else {
            guard defects.isEmpty else {
                throw ValidationError(
                    "--defect is for the phone on a virtual air; give it to cairn phone run --companion, which has it then"
                )
            }
            return
        }
        guard phoneAddress == nil, phone != .real else {
            throw ValidationError("a phone of your own needs a watch that runs: name it with --state or --control")
        }
    }

    /// The watch that runs; nil for a virtual air.
    var watch: ControlAddress? {
        if let control { return ControlAddress(path: control) }
        return state.map { ControlAddress(stateDirectory: $0) }
    }

    private var phoneAddress: ControlAddress? {
        if let phoneControl { return ControlAddress(phonePath: phoneControl) }
        return phoneState.map { ControlAddress(phoneStateDirectory: $0) }
    }

    /// Reads a scenario that was named.
    func read(_ path: String) throws(ProgramError) -> Scenario {
        let chosen = Dictionary(parameters.map { ($0.name, $0.value) }) { $1 }
        do throws(ScenarioErrors) {
            var scenario = try ScenarioLibrary.read(path, parameters: chosen)
            if let phone { scenario.phone.kind = phone }
            return scenario
        } catch {
            throw ProgramError(
                .configuration,
                error.description,
                advice: "Docs/scenarios.md shows how scenarios are written"
            )
        }
    }

    /// Runs a scenario.
    func run(_ scenario: Scenario) throws(ProgramError) -> ScenarioResult {
        guard let watch else {
            let plan = try RunPlan(of: scenario)
            let run = try VirtualScenario(scenario, seed: seed, defects: Set(defects)) { plan.watch(at: $0) }
            return run.run(command: command(for: scenario))
        }
        guard asItRuns || scenario.watch.isEmpty else { return leftOut(scenario) }
        let isReal = scenario.phone.kind == .real
        var run = try LiveScenario(
            scenario,
            watch: watch,
            phone: isReal ? nil : phoneAddress,
            patience: patience ?? (isReal ? 3 : 1),
            tell: Self.tell
        )
        return try run.run(command: command(for: scenario))
    }

    /// A scenario about settings that the watch which runs may not have.
    private func leftOut(_ scenario: Scenario) -> ScenarioResult {
        let settings = scenario.watch.sorted { $0.key < $1.key }.map {
            "\($0.key): \($0.value.joined(separator: ", "))"
        }
        let reason =
            "it is about a watch with \(settings.joined(separator: "; ")); start the watch so, and say --as-it-runs"
        return ScenarioResult(
            scenario,
            .skipped(reason),
            seed: seed,
            duration: .zero,
            transcript: [],
            command: command(for: scenario)
        )
    }

    /// Tells a person what to do, and waits until they have.
    private static func tell(_ words: String) {
        Console.printError("\n  → \(words)")
        guard isatty(STDIN_FILENO) == 1 else { return }
        Console.printError("    Press Enter when that is done.")
        _ = readLine()
    }

    /// What runs a scenario in the same way again.
    private func command(for scenario: Scenario) -> String {
        var words = ["cairn scenario run"]
        if watch == nil { words.append("--seed \(seed)") }
        words += parameters.map { "--set \($0.name)=\($0.value)" } + defects.map { "--defect \($0.rawValue)" }
        words += [("state", state), ("control", control), ("phone-state", phoneState), ("phone-control", phoneControl)]
            .compactMap { name, value in value.map { "--\(name) \($0)" } }
        if let phone { words.append("--phone \(phone.rawValue)") }
        if let patience { words.append("--patience \(patience)") }
        return (words + [scenario.path]).joined(separator: " ")
    }

    /// Writes what was asked for about results.
    func write(_ results: [ScenarioResult]) throws(ProgramError) {
        if let report {
            try ResultFile.write(Array(ScenarioReports.junit(results).utf8), to: report, what: "report")
        }
        guard let transcript else { return }
        let lines = results.flatMap { result in
            ["# \(result.scenario.name), seed \(result.seed)"] + result.transcript + [""]
        }
        try ResultFile.write(Array(lines.joined(separator: "\n").utf8), to: transcript, what: "transcript")
    }

    /// Says how a scenario ended.
    func tell(_ result: ScenarioResult) {
        // The radio of a watch that runs has no seed.
        let chance = watch == nil ? ", seed \(result.seed)" : ""
        Console.printError(
            "\(result.outcome.word)  \(result.scenario.name)  (\(result.duration.scenarioWords)\(chance))"
        )
        for line in result.story ?? [] { Console.printError("  " + line.printable) }
    }
}

extension PhoneDefect {
    @Sendable
    static func argument(_ text: String) throws -> PhoneDefect {
        if let defect = PhoneDefect(rawValue: text) { return defect }
        let names = allCases.map(\.rawValue)
        throw ValidationError(
            "no phone has the defect “\(text)”\(NearestName.question(text, among: names)); there are "
                + names.joined(separator: ", ")
        )
    }
}

extension ScenarioPhone.Kind: ExpressibleByArgument {}
