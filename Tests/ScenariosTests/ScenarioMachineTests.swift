import Control
import Testing

@testable import Scenarios

/// The machine alone: events and times in, orders and an outcome out.
@Suite struct ScenarioMachineTests {
    private static func machine(_ steps: String, isReal: Bool = false, patience: Double = 1) throws -> ScenarioMachine {
        let scenario = try ScenarioReader.read("steps:\n" + steps, path: "/tests/mine.yaml") { _ in "" }
        return ScenarioMachine(scenario, isReal: isReal, patience: patience)
    }

    private static func event(_ name: String, _ fields: [String: ControlValue] = [:]) throws -> ScenarioEvent {
        try #require(ScenarioEvent(.watch, fields.merging(["event": .text(name)]) { $1 }))
    }

    @Test func stepsFollowEachOther() throws {
        var machine = try Self.machine("  - do: watch restart\n  - expect: watch connected\n    within: 5 s")
        machine.start(at: .zero)
        guard case .give(let command, let id)? = machine.nextOrder() else {
            Issue.record("\(machine)")
            return
        }
        #expect(command.line == #"{"command":"restart"}"# && machine.nextDeadline == nil)
        // What happens before the answer counts: the command has begun.
        machine.receive(try Self.event("connected"), at: .seconds(1))
        #expect(machine.outcome == nil)
        machine.finish(id, .done([:]), at: .seconds(2))
        #expect(machine.outcome == .passed)
        #expect(machine.transcript.first == "0.000 do      watch restart")
    }

    @Test func anExpectationThatIsNotMetTellsWhatCame() throws {
        var machine = try Self.machine("  - do: watch restart\n  - expect: watch connected\n    within: 5 s")
        machine.start(at: .zero)
        machine.finish(1, .done([:]), at: .zero)
        machine.receive(try Self.event("disconnected"), at: .seconds(1))
        #expect(machine.nextDeadline == .seconds(5))
        machine.advance(to: .milliseconds(4999))
        #expect(machine.outcome == nil)
        machine.advance(to: .seconds(5))
        guard case .failed(let failure)? = machine.outcome else {
            Issue.record("\(machine)")
            return
        }
        #expect(failure.place == ScenarioPlace(file: "/tests/mine.yaml", line: 3, column: 5))
        #expect(failure.expected == "the watch's event “connected”")
        #expect(failure.instead.contains("disconnected") && failure.before.first?.contains("watch restart") == true)
        let story = failure.story(runAgain: "cairn scenario run mine.yaml")
        #expect(story.last == "  again     cairn scenario run mine.yaml")
    }

    @Test func anEventMeetsOneExpectation() throws {
        var machine = try Self.machine(
            "  - do: watch restart\n  - expect: watch connected\n  - expect: watch connected\n    within: 5 s"
        )
        machine.start(at: .zero)
        machine.finish(1, .done([:]), at: .zero)
        machine.receive(try Self.event("connected"), at: .zero)
        #expect(machine.outcome == nil)
        machine.receive(try Self.event("connected"), at: .seconds(1))
        #expect(machine.outcome == .passed)
    }

    @Test func whatMustNotComeFails() throws {
        let steps = "  - do: watch restart\n  - never: watch connected\n    with: {connection: 3}\n    for: 5 s"
        var machine = try Self.machine(steps)
        machine.start(at: .zero)
        machine.finish(1, .done([:]), at: .zero)
        machine.receive(try Self.event("connected", ["connection": .integer(2)]), at: .seconds(1))
        #expect(machine.outcome == nil)
        var other = machine
        machine.receive(try Self.event("connected", ["connection": .integer(3)]), at: .seconds(2))
        #expect(machine.outcome?.isPassed == false)
        other.advance(to: .seconds(5))
        #expect(other.outcome == .passed)
    }

    @Test func aRefusalIsAFailureUnlessItIsWanted() throws {
        var machine = try Self.machine("  - do: watch restart")
        machine.start(at: .zero)
        machine.finish(1, .refused(code: "busy", "it is busy"), at: .zero)
        guard case .failed(let failure)? = machine.outcome else {
            Issue.record("\(machine)")
            return
        }
        #expect(failure.instead == "it is busy")
        for (fails, code, passes) in [("true", "busy", true), ("busy", "busy", true), ("busy", "no-phones", false)] {
            var wanting = try Self.machine("  - do: watch restart\n    fails: \(fails)")
            wanting.start(at: .zero)
            wanting.finish(1, .refused(code: code, "no"), at: .zero)
            #expect(wanting.outcome?.isPassed == passes, "\(fails) \(code)")
        }
    }

    @Test func aLookIsRepeatedUntilItIsSo() throws {
        var machine = try Self.machine(
            "  - until: watch apps\n    gives: {apps: {count: 1}}\n    within: 5 s"
        )
        machine.start(at: .zero)
        guard case .give(_, let first)? = machine.nextOrder() else {
            Issue.record("\(machine)")
            return
        }
        machine.finish(first, .done(["apps": .list([])]), at: .zero)
        let next = try #require(machine.nextDeadline)
        #expect(next > .zero && next < .seconds(5))
        machine.advance(to: next)
        guard case .give(_, let second)? = machine.nextOrder() else {
            Issue.record("\(machine)")
            return
        }
        machine.finish(second, .done(["apps": .list([.text("one")])]), at: next)
        #expect(machine.outcome == .passed)
    }

    @Test func timesOfSteps() throws {
        var machine = try Self.machine("  - at: 10 s\n    do: watch restart\n  - after: 5 s\n    do: watch restart")
        machine.start(at: .seconds(100))
        #expect(machine.nextDeadline == .seconds(110) && machine.nextOrder() == nil)
        machine.advance(to: .seconds(110))
        #expect(machine.nextOrder() != nil)
        machine.finish(1, .done([:]), at: .seconds(112))
        #expect(machine.nextDeadline == .seconds(117))
        machine.advance(to: .seconds(117))
        #expect(machine.nextOrder() != nil)
    }

    /// A person is told what the phone would be, and what only a phone of Cairn's can say is passed over.
    @Test func aRealPhone() throws {
        let steps = """
              - do: phone connect
                person: Open the app.
              - expect: phone session
              - expect: watch session-opened
                within: 10 s
            """
        var machine = try Self.machine(steps, isReal: true, patience: 3)
        machine.start(at: .zero)
        #expect(machine.nextOrder() == .tell("Open the app.", id: 1))
        machine.finish(1, .done([:]), at: .seconds(20))
        #expect(machine.nextDeadline == .seconds(50))
        machine.receive(try Self.event("session-opened"), at: .seconds(45))
        #expect(machine.outcome == .passed)
    }

    @Test func matches() throws {
        let value: ControlValue = .object([
            "a": .integer(3), "b": .list([.object(["c": .text("hello"), "d": .flag(true)])]), "e": .number(2.5),
        ])
        let fitting: [ControlValue] = [
            .object(["a": .number(3)]), .object(["b": .list([.object(["c": .object(["contains": .text("ell")])])])]),
            .object(["e": .object(["at-least": .integer(2), "at-most": .integer(3)])]),
            .object(["b": .object(["count": .integer(1)])]), .object(["x": .object(["not": .integer(1)])]),
        ]
        for match in fitting { #expect(ScenarioMatch(match)?.matches(value) == true, "\(match)") }
        let others: [ControlValue] = [
            .object(["a": .integer(4)]), .object(["x": .integer(1)]), .object(["b": .list([.text("hello")])]),
            .object(["b": .object(["count": .integer(2)])]), .object(["e": .object(["at-least": .integer(3)])]),
        ]
        for match in others { #expect(ScenarioMatch(match)?.matches(value) == false, "\(match)") }
    }

    @Test func reportsAreWellFormed() throws {
        var scenario = Scenario(name: "a<b>&\"c\"")
        scenario.description = "x"
        let failure = ScenarioFailure(
            place: ScenarioPlace(file: "f", line: 1, column: 2),
            time: .seconds(3),
            expected: "<&>",
            instead: "\u{1}nothing",
            before: ["one"]
        )
        let results = [
            ScenarioResult(scenario, .passed, seed: 1, duration: .seconds(2), transcript: ["a"], command: "run"),
            ScenarioResult(scenario, .failed(failure), seed: 2, duration: .seconds(2), transcript: [], command: "run"),
        ]
        let report = ScenarioReports.junit(results)
        #expect(report.contains(#"tests="2" failures="1""#) && report.contains("expected &lt;&amp;&gt;; nothing"))
        #expect(!report.unicodeScalars.contains("\u{1}"))
        #expect(ScenarioReports.scoreCard(results).last == "1 of 2 scenarios passed.")
    }
}
