import Testing

@testable import Settings

/// Board files and the layers of settings.
@Suite struct BoardFileTests {
    private static let keys = [
        SettingKey("name"), SettingKey("advertising.policy"), SettingKey("advertising.steps", isList: true),
        SettingKey("beacon.hold-off"),
    ]

    private func file(_ text: String) throws -> BoardFile {
        let file = try BoardFile(text: text, path: "board.yaml")
        try #require(file.problems(against: Self.keys).isEmpty)
        return file
    }

    private func settings(environment: [String: String] = [:], file: BoardFile? = nil) -> [SettingValue] {
        var layers = SettingLayers()
        layers.environment = environment
        layers.file = file
        return layers.settings(Self.keys)
    }

    @Test func settingsAreReadAsTheyAreWritten() throws {
        let text = """
            # A board.
            name: 0x12
            advertising:
              policy: custom
              steps:
                - 20ms/30s
                - 1285ms
            beacon: {hold-off: 020}
            """
        let settings = settings(file: try file(text))
        #expect(settings.map(\.key.name) == ["name", "advertising.policy", "advertising.steps", "beacon.hold-off"])
        #expect(settings.map(\.values) == [["0x12"], ["custom"], ["20ms/30s", "1285ms"], ["020"]])
        #expect(settings.map(\.origin.description) == [2, 4, 5, 8].map { "board.yaml:\($0)" })
    }

    @Test func theEnvironmentComesBeforeTheFile() throws {
        let environment = [
            "CAIRN_ADVERTISING_STEPS": "20ms/1min,500ms", "CAIRN_BEACON_HOLD_OFF": "7", "CAIRN_OTHER": "x", "NAME": "y",
        ]
        let settings = settings(environment: environment, file: try file("beacon: {hold-off: 1}\nname: a"))
        #expect(settings.map(\.values) == [["a"], ["20ms/1min", "500ms"], ["7"]])
        #expect(
            settings.map(\.origin.description) == [
                "board.yaml:2", "the environment variable CAIRN_ADVERTISING_STEPS",
                "the environment variable CAIRN_BEACON_HOLD_OFF",
            ]
        )
        #expect(self.settings().isEmpty)
    }

    /// Every subset of the layers: the first that says something decides.
    @Test(arguments: 0..<16) func theFirstLayerThatSaysSomethingDecides(bits: Int) throws {
        let name = SettingKey("name")
        let steps = SettingKey("advertising.steps", isList: true)
        var layers = SettingLayers()
        var expected: [(values: [String], origin: SettingValue.Origin)] = []
        if bits & 1 != 0 {
            layers.commandLine = [name: ["a"], steps: ["a", "b"]]
            expected.append((["a"], .commandLine))
        }
        if bits & 2 != 0 {
            layers.environment = ["CAIRN_NAME": "b", "CAIRN_ADVERTISING_STEPS": "c"]
            expected.append((["b"], .environment(variable: "CAIRN_NAME")))
        }
        if bits & 4 != 0 {
            layers.file = try file("advertising: {steps: [d]}\nname: c")
            expected.append((["c"], .file(path: "board.yaml", line: 2)))
        }
        if bits & 8 != 0 {
            layers.standard = [name: ["d"], steps: []]
            expected.append((["d"], .standard))
        }
        let found = layers.settings([name, steps])
        #expect(found.first?.values == expected.first?.values)
        #expect(found.first?.origin == expected.first?.origin)
        // A list is taken whole from one layer.
        let lists = [["a", "b"], ["c"], ["d"], []].enumerated().filter { bits & (1 << $0.offset) != 0 }.map(\.element)
        #expect(found.last?.values == (bits == 0 ? nil : lists.first))
    }

    @Test func anEmptyFileSaysNothing() throws {
        for text in ["", "# nothing\n"] { #expect(try file(text).entries.isEmpty, "\(text)") }
    }

    @Test(arguments: [
        ("nam: x", "board.yaml:1: nam: there is no such setting; did you mean name?"),
        ("colour: x", "board.yaml:1: colour: there is no such setting; there are name, and sections"),
        ("hold-off: 1", "board.yaml:1: hold-off: there is no such setting; did you mean beacon.hold-off?"),
        (
            "\nlights:\n  uuid: x",
            "board.yaml:3: lights.uuid: there is no such setting; the sections are advertising, beacon"
        ),
        ("advertising:\n  interval: 5", "in advertising there are policy, steps"),
        ("advertising:\n  policy: [a]", "board.yaml:2: advertising.policy: this takes one value, no list"),
        ("advertising:\n  steps: a", "board.yaml:2: advertising.steps: this takes a list"),
        ("advertising:\n  steps:\n    - a: b", "board.yaml:3: advertising.steps: a list holds plain values"),
        ("advertising:\n  steps:\n    more: b", "board.yaml:2: advertising.steps: sections have no sections"),
        ("[a, b]", "board.yaml:1: a board file is a list of settings"),
        ("just words", "board.yaml:1: a board file is a list of settings"),
        ("name: a\nname: b", "board.yaml:2: name stands more than once; keep one"),
        ("a: 1\nbeacon:\n  uuid: x\n  major: 1\n  uuid: y", "board.yaml:5: uuid stands more than once; keep one"),
        ("name: \"a", "this is not YAML"),
        ("name: a\n\tb: c", "board.yaml:2: this is not YAML"),
        ("a.b: c", "a setting's name is a word"),
    ])
    func whatIsWrongIsSaidWithItsPlace(text: String, words: String) {
        let problems: [SettingError]
        do throws(SettingError) {
            problems = try BoardFile(text: text, path: "board.yaml").problems(against: Self.keys)
        } catch {
            problems = [error]
        }
        #expect(problems.count == 1)
        #expect(problems.first?.description.contains(words) == true, "\(problems)")
    }

    /// Six lines that stand for two million values. Found by the target `board`.
    @Test func whatAliasesRepeatIsCounted() throws {
        var text = "a: &a [x, x, x, x, x, x, x, x]\n"
        for (name, last) in zip(["b", "c", "d", "e", "f", "g"], ["a", "b", "c", "d", "e", "f"]) {
            text += "\(name): &\(name) [" + Array(repeating: "*\(last)", count: 8).joined(separator: ", ") + "]\n"
        }
        do throws(SettingError) {
            _ = try BoardFile(text: text, path: "board.yaml")
            Issue.record("it was read")
        } catch {
            #expect(error.problem.contains("values"))
        }
        #expect(
            try file("name: &n Pebble\nadvertising:\n  steps: [*n, *n]").entries["advertising.steps"]?.values.count == 2
        )
    }

    @Test func everythingThatIsWrongIsTold() throws {
        let text = """
            nam: x
            advertising:
              policy: [a]
              steps: b
              extra: {c: d}
            a.b: c
            beacon: {hold-of: 1, hold: 2}
            """
        let problems = try BoardFile(text: text, path: "b").problems(against: Self.keys)
        #expect(
            problems.map { "\($0.line ?? 0) \($0.key ?? "")" } == [
                "1 nam", "3 advertising.policy", "4 advertising.steps", "5 advertising.extra", "6 ", "7 beacon.hold",
                "7 beacon.hold-of",
            ]
        )
    }

    /// Known values of the optimal string alignment distance.
    @Test(arguments: [
        ("", "", 0), ("ca", "abc", 3), ("kitten", "sitting", 3), ("polcy", "policy", 1), ("opwer", "power", 1),
        ("abc", "", 3), ("steps", "steps", 0),
    ])
    func typingErrorsAreCounted(first: String, second: String, count: Int) {
        #expect(NearestName.typingErrors(Array(first), Array(second)) == count)
        #expect(NearestName.typingErrors(Array(second), Array(first)) == count)
    }

    @Test func onlyWhatIsNearIsSuggested() {
        let names = ["name", "state", "beacon.power"]
        #expect(NearestName.of("Name", among: names) == "name")
        #expect(NearestName.of("nane", among: names) == "name")
        #expect(NearestName.of("stat", among: names) == "state")
        #expect(NearestName.of("becon.powr", among: names) == "beacon.power")
        #expect(NearestName.of("colour", among: names) == nil)
        #expect(NearestName.of("x", among: names) == nil)
    }

    @Test func aFileThatCannotBeReadIsTold() throws {
        let error = try #require(#expect(throws: SettingError.self) { try BoardFile(path: "/nowhere/board.yaml") })
        #expect(error.isUnreadable)
        #expect("\(error)" == "/nowhere/board.yaml: there is no such file")
    }

    @Test func thereIsAnEndToSettings() throws {
        let many = (0...BoardFile.entryLimit).map { "k\($0): 1" }.joined(separator: "\n")
        let file = try BoardFile(text: many, path: "board.yaml")
        #expect(file.settingCount == BoardFile.entryLimit)
        #expect(file.problems(against: []).contains { $0.problem == "there are too many settings" })
    }

    @Test func namesAndVariables() {
        #expect(SettingKey("beacon.hold-off").variable == "CAIRN_BEACON_HOLD_OFF")
    }
}
