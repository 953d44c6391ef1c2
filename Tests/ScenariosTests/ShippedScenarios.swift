import Foundation
import HCIRuntime
import PebblePhone
import Testing

@testable import Daemon
@testable import Scenarios
@testable import cairn

/// The scenarios that come with Cairn.
enum ShippedScenarios {
    /// Where they are in a checkout.
    static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/Scenarios/Shipped").path

    static let paths = ScenarioLibrary.files(in: directory)

    /// Reads one, with less of what takes its time and shows nothing more.
    static func read(_ path: String) throws -> Scenario {
        let usual = try ScenarioLibrary.read(path)
        guard usual.parameters["away"] != nil else { return usual }
        return try ScenarioLibrary.read(path, parameters: ["away": "300 s"])
    }

    /// Runs one in virtual time.
    static func run(_ path: String, seed: UInt64 = 1, defects: Set<PhoneDefect> = []) throws -> ScenarioResult {
        try run(read(path), seed: seed, defects: defects)
    }

    static func run(_ scenario: Scenario, seed: UInt64 = 1, defects: Set<PhoneDefect> = []) throws -> ScenarioResult {
        let plan = try RunPlan(of: scenario)
        let run = try VirtualScenario(scenario, seed: seed, defects: defects) { plan.watch(at: $0) }
        return run.run(command: "cairn scenario run --seed \(seed) \(scenario.path)")
    }
}

@Suite struct ShippedScenarioTests {
    /// A name that is said when a test fails.
    struct Case: CustomTestStringConvertible {
        let path: String
        var testDescription: String { URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent }
    }

    static let cases = ShippedScenarios.paths.map { Case(path: $0) }

    @Test func thereAreEnoughAndEachSaysWhatItIsAbout() throws {
        let scenarios = try ShippedScenarios.paths.map { try ScenarioLibrary.read($0) }
        #expect(scenarios.count { !$0.modelledOn.isEmpty } >= 25)
        for scenario in scenarios {
            #expect(!scenario.description.isEmpty && !scenario.goodCompanion.isEmpty, "\(scenario.name)")
            #expect(scenario.defect != nil, "\(scenario.name)")
            #expect(scenario.modelledOn.allSatisfy { $0.hasPrefix("https://github.com/") }, "\(scenario.name)")
        }
    }

    @Test(arguments: cases)
    func aCompanionThatBehavesPasses(_ shipped: Case) throws {
        let result = try ShippedScenarios.run(shipped.path)
        #expect(result.outcome.isPassed, "\(result.story?.joined(separator: "\n") ?? "")")
    }

    @Test(arguments: cases)
    func aCompanionWithTheDefectFails(_ shipped: Case) throws {
        let scenario = try ShippedScenarios.read(shipped.path)
        let defect = try #require(scenario.defect)
        let result = try ShippedScenarios.run(scenario, defects: [defect])
        #expect(!result.outcome.isPassed, "seed \(result.seed), \(defect.rawValue): \(result.transcript.suffix(30))")
    }

    @Test(arguments: cases)
    func theSameSeedGivesTheSameTranscript(_ shipped: Case) throws {
        let first = try ShippedScenarios.run(shipped.path, seed: 7)
        let second = try ShippedScenarios.run(shipped.path, seed: 7)
        #expect(first.transcript == second.transcript)
        #expect(first.transcript.count > 5)
    }

    @Test func everyDefectIsFoundByAScenario() throws {
        let found = try Set(ShippedScenarios.paths.compactMap { try ScenarioLibrary.read($0).defect })
        #expect(found == Set(PhoneDefect.allCases))
    }
}
