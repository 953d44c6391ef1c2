import Control
import Testing

@testable import Scenarios

/// What is read, and what is refused with its line and column.
@Suite struct ScenarioReaderTests {
    private static func read(
        _ text: String,
        parameters: [String: String] = [:],
        files: [String: String] = [:]
    ) throws(ScenarioErrors) -> Scenario {
        try ScenarioReader.read(text, path: "/tests/mine.yaml", parameters: parameters) { path in
            struct Missing: Error {}
            guard let text = files[path] else { throw Missing() }
            return text
        }
    }

    private static func errors(
        _ text: String,
        parameters: [String: String] = [:],
        files: [String: String] = [:]
    ) -> [ScenarioError] {
        do throws(ScenarioErrors) {
            _ = try read(text, parameters: parameters, files: files)
            return []
        } catch {
            return error.errors
        }
    }

    @Test func aScenarioHasWhatItsFileSays() throws {
        let scenario = try Self.read(
            """
            name: mine
            description: Something happens.
            modelled-on: https://example.org/1
            good companion: It waits.
            defect: stays-away
            watch:
              pairing:
                answer: open
              name: Mine
            phone:
              platform: ios
              companion: false
            steps:
              - do: phone connect
                with:
                  seconds: 12
                person: Connect.
              - expect: watch session-opened
                with:
                  session: {at-least: 1}
                within: 2 min
              - never: watch notification-shown
                for: 500 ms
              - after: 3 s
                do: watch press
                with:
                  button: up
                fails: not-connected
            """
        )
        #expect(scenario.name == "mine" && scenario.modelledOn == ["https://example.org/1"])
        #expect(scenario.defect == .staysAway)
        #expect(scenario.watch == ["pairing.answer": ["open"], "name": ["Mine"]])
        #expect(scenario.phone.platform == .ios && !scenario.phone.isCompanion)
        try #require(scenario.steps.count == 4)
        guard case .give(let connect, .done) = scenario.steps[0].deed else {
            Issue.record("\(scenario.steps[0])")
            return
        }
        #expect(connect.side == .phone && connect.arguments == ["seconds": .integer(12)])
        #expect(connect.line == #"{"command":"connect","seconds":12}"# && scenario.steps[0].person == "Connect.")
        guard case .expect(let opened, within: .seconds(120)) = scenario.steps[1].deed else {
            Issue.record("\(scenario.steps[1])")
            return
        }
        #expect(opened.fields == .fields(["session": .atLeast(1)]))
        guard case .never(let shown, during: .milliseconds(500)) = scenario.steps[2].deed else {
            Issue.record("\(scenario.steps[2])")
            return
        }
        // A variant stands for the event with its name.
        #expect(shown.name == "service" && shown.fields == .fields(["name": .equal(.text("notification-shown"))]))
        #expect(scenario.steps[3].start == .after(.seconds(3)) && scenario.steps[3].place.line == 24)
        guard case .give(_, .refused("not-connected")) = scenario.steps[3].deed else {
            Issue.record("\(scenario.steps[3])")
            return
        }
    }

    @Test func parametersAndIncludes() throws {
        let text = """
            parameters:
              title: Hello
              times: 2
            steps:
              - repeat: ${times}
                steps:
                  - include: part.yaml
                    set:
                      words: ${title} there
            """
        let part = """
            parameters:
              words: nothing
            steps:
              - do: phone notify
                with:
                  title: ${words}
            """
        let files = ["/tests/part.yaml": part]
        let scenario = try Self.read(text, parameters: ["title": "Good day"], files: files)
        #expect(scenario.steps.count == 2)
        guard case .give(let command, _) = scenario.steps[1].deed else {
            Issue.record("\(scenario.steps)")
            return
        }
        #expect(command.arguments == ["title": .text("Good day there")])
        #expect(scenario.steps[1].place.file == "/tests/part.yaml")
        let unknown = Self.errors(text, parameters: ["titel": "x"], files: files)
        #expect(unknown.first?.problem.contains("did you mean title?") == true)
    }

    /// A file, where it is wrong, and a part of what is said about it.
    static let wrong: [(text: String, line: Int, column: Int, problem: String)] = [
        ("steps: [", 2, 1, "this is not YAML"),
        ("- a", 0, 0, "a scenario is a mapping"),
        ("name: mine", 0, 0, "“steps” is missing"),
        ("name: other\nsteps: []", 1, 7, "called as its file is: mine"),
        ("stepz: []\nsteps: []", 1, 1, "did you mean steps?"),
        ("defect: stays-awa\nsteps: []", 1, 9, "did you mean stays-away?"),
        ("phone: reel\nsteps: []", 1, 8, "did you mean real?"),
        ("phone: {stream: true, server: true}\nsteps: []", 1, 8, "both carry the session another way"),
        ("modelled-on: somewhere\nsteps: []", 1, 14, "which begins with https://"),
        ("steps: {}", 1, 8, "steps are a list"),
        ("steps:\n  - connect", 2, 5, "a step is a mapping"),
        ("steps:\n  - do: phone conect", 2, 9, "did you mean connect?"),
        ("steps:\n  - do: connect", 2, 9, "say watch or phone"),
        ("steps:\n  - do: watch press\n    with:\n      buton: up", 4, 7, "did you mean button?"),
        ("steps:\n  - do: watch press\n    with:\n      button: middle", 4, 7, "watch press:"),
        ("steps:\n  - do: watch packets", 2, 9, "no command that a scenario can give the watch"),
        ("steps:\n  - expect: watch sesion-opened", 2, 13, "did you mean session-opened?"),
        ("steps:\n  - expect: watch connected\n    with: {fone: 1}", 3, 12, "there are connection, phone, addressType"),
        ("steps:\n  - expect: watch connected\n    within: soon", 3, 13, "“soon” is no time"),
        ("steps:\n  - expect: watch connected\n    within: 8000000 s", 3, 13, "a week at most"),
        ("steps:\n  - never: watch connected", 2, 12, "“for” says how long"),
        ("steps:\n  - until: watch restart\n    gives: {}", 2, 12, "that only looks"),
        ("steps:\n  - until: watch status", 2, 12, "“gives” says"),
        ("steps:\n  - until: watch status\n    gives: {links: {count: many}}", 3, 12, "at-least"),
        ("steps:\n  - fault: ppogatt.ack-lots", 2, 12, "ppogatt.ack-lost"),
        ("steps:\n  - fault: radio.loss\n    with: {percent: 200}", 3, 11, "1 to 100"),
        ("steps:\n  - clear: radio.lss", 2, 12, "did you mean radio.loss?"),
        ("steps:\n  - do: watch restart\n    expect: watch connected", 2, 5, "a step does one thing"),
        ("steps:\n  - at: 1 s\n    after: 2 s\n    do: watch restart", 2, 5, "keep one of at, after"),
        ("steps:\n  - do: watch restart\n    within: 3 s", 3, 13, "“within” goes with"),
        ("steps:\n  - repeat: 1000\n    steps: []", 2, 13, "from 1 to 100"),
        ("steps:\n  - include: gone.yaml", 2, 14, "/tests/gone.yaml"),
        ("steps:\n  - tell: ${who}", 2, 11, "there is no parameter “who”"),
        ("steps:\n  - tell: ${who", 2, 11, "has no “}”"),
        ("phone: none\nsteps:\n  - do: phone connect", 3, 5, "needs a phone"),
        (
            "steps:\n  - do: phone upload\n    with: {path: a, name: b}\n    fails: true\n    wait: false", 5, 11,
            "ends in one way"
        ),
        ("steps:\n  - do: watch restart\n    fails: never-heard-of", 3, 12, "no command fails with"),
    ]

    @Test(arguments: wrong.indices)
    func whatIsWrongIsToldWithItsPlace(_ index: Int) throws {
        let (text, line, column, problem) = Self.wrong[index]
        let errors = Self.errors(text)
        let found = errors.first { $0.problem.contains(problem) }
        let told = try #require(found, "\(text): \(errors)")
        #expect(told.place.line == line && told.place.column == column, "\(text): \(told)")
        #expect(told.place.file == "/tests/mine.yaml")
    }

    @Test func everythingThatIsWrongIsToldInOrder() {
        let errors = Self.errors("defect: x\nphone: y\nsteps:\n  - do: z\n  - expect: a b")
        #expect(errors.map(\.place.line) == [1, 2, 4, 5])
    }

    @Test func filesThatIncludeEachOtherAreRefused() {
        let loop = "steps:\n  - include: mine.yaml"
        let errors = Self.errors(loop, files: ["/tests/mine.yaml": loop])
        #expect(errors.contains { $0.problem.contains("include each other") })
    }

    /// Twenty inclusions, eight deep, would be 25 billion. Found by the target `scenario`.
    @Test func filesThatAreIncludedAreCounted() throws {
        let many = "steps:\n" + String(repeating: "  - include: mine.yaml\n", count: 20)
        var loads = 0
        #expect(throws: ScenarioErrors.self) {
            try ScenarioReader.read(many, path: "/tests/mine.yaml") { _ in
                loads += 1
                return many
            }
        }
        #expect(loads <= ScenarioReader.inclusionLimit)
        let errors = Self.errors(many, files: ["/tests/mine.yaml": many])
        #expect(errors.count { $0.problem.contains("more than 100 files are included") } == 1)
        #expect(errors.count <= ScenarioReader.inclusionLimit + 1)
        let allowed = "steps:\n" + String(repeating: "  - include: part.yaml\n", count: 100)
        let part = "steps:\n  - do: watch restart\n"
        #expect(try Self.read(allowed, files: ["/tests/part.yaml": part]).steps.count == 100)
    }

    /// Six lines that stand for two million values. Found by the target `scenario`.
    @Test func whatAliasesRepeatIsCounted() {
        var text = "a: &a [x, x, x, x, x, x, x, x]\n"
        for (name, last) in zip(["b", "c", "d", "e", "f", "g"], ["a", "b", "c", "d", "e", "f"]) {
            text += "\(name): &\(name) [" + Array(repeating: "*\(last)", count: 8).joined(separator: ", ") + "]\n"
        }
        #expect(Self.errors(text + "steps:\n  - do: watch restart").contains { $0.problem.contains("values") })
    }

    @Test func stepsAreBounded() {
        let text = """
            steps:
              - repeat: 100
                steps:
                  - repeat: 100
                    steps:
                      - do: watch restart
            """
        #expect(Self.errors(text).contains { $0.problem.contains("10000 steps") })
    }

    @Test(arguments: [
        ("30 s", 30_000), ("30", 30_000), ("0.5 s", 500), ("500 ms", 500), ("2min", 120_000), ("1 h", 3_600_000),
        ("0", 0),
    ])
    func times(_ text: String, _ milliseconds: Int) { #expect(Duration(scenario: text) == .milliseconds(milliseconds)) }

    @Test(arguments: ["", "s", "-1 s", "1 day", "1e99", "1 s s", "nan", "inf"])
    func noTimes(_ text: String) { #expect(Duration(scenario: text) == nil) }
}
