import Testing

@testable import Board

/// Board files and the layers of settings.
@Suite struct BoardFileTests {
    private static let keys = [
        SettingKey("name"), SettingKey("advertising.policy"), SettingKey("advertising.steps", isList: true),
        SettingKey("beacon.hold-off"),
    ]

    private func file(_ text: String) throws -> BoardFile {
        let file = try BoardFile(text: text, path: "board.yaml")
        try file.check(against: Self.keys)
        return file
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
        let settings = [Setting](Self.keys, environment: [:], file: try file(text))
        #expect(settings.map(\.key.name) == ["name", "advertising.policy", "advertising.steps", "beacon.hold-off"])
        #expect(settings.map(\.values) == [["0x12"], ["custom"], ["20ms/30s", "1285ms"], ["020"]])
        #expect(settings.map(\.origin.description) == [2, 4, 5, 8].map { "board.yaml:\($0)" })
    }

    @Test func theEnvironmentComesBeforeTheFile() throws {
        let environment = [
            "CAIRN_ADVERTISING_STEPS": "20ms/1min,500ms", "CAIRN_BEACON_HOLD_OFF": "7", "CAIRN_OTHER": "x", "NAME": "y",
        ]
        let settings = [Setting](Self.keys, environment: environment, file: try file("beacon: {hold-off: 1}\nname: a"))
        #expect(settings.map(\.values) == [["a"], ["20ms/1min", "500ms"], ["7"]])
        #expect(
            settings.map(\.origin.description) == [
                "board.yaml:2", "the environment variable CAIRN_ADVERTISING_STEPS",
                "the environment variable CAIRN_BEACON_HOLD_OFF",
            ]
        )
        #expect([Setting](Self.keys, environment: [:], file: nil).isEmpty)
    }

    @Test func anEmptyFileSaysNothing() throws {
        for text in ["", "# nothing\n"] { #expect(try file(text).entries.isEmpty, "\(text)") }
    }

    @Test(arguments: [
        ("nam: x", "board.yaml:1: nam: there is no such setting; there are name, and sections"),
        ("\nbecon:\n  uuid: x", "board.yaml:3: becon.uuid: there is no such setting; the sections are"),
        ("advertising:\n  interval: 5", "in advertising there are policy, steps"),
        ("advertising:\n  policy: [a]", "board.yaml:2: advertising.policy: this takes one value, no list"),
        ("advertising:\n  steps: a", "board.yaml:2: advertising.steps: this takes a list"),
        ("advertising:\n  steps:\n    - a: b", "board.yaml:3: advertising.steps: a list holds plain values"),
        ("advertising:\n  steps:\n    more: b", "board.yaml:2: advertising.steps: sections have no sections"),
        ("[a, b]", "board.yaml:1: a board file is a list of settings"),
        ("just words", "board.yaml:1: a board file is a list of settings"),
        ("name: a\nname: b", "this is not YAML"),
        ("name: \"a", "this is not YAML"),
        ("name: a\n\tb: c", "board.yaml:2: this is not YAML"),
        ("a.b: c", "a setting's name is a word"),
    ])
    func whatIsWrongIsSaidWithItsPlace(text: String, words: String) throws {
        let error = #expect(throws: BoardError.self) { try file(text) }
        #expect(try #require(error).description.contains(words), "\(String(describing: error))")
    }

    @Test func aFileThatCannotBeReadIsTold() throws {
        let error = try #require(#expect(throws: BoardError.self) { try BoardFile(path: "/nowhere/board.yaml") })
        #expect(error.isUnreadable)
        #expect("\(error)" == "/nowhere/board.yaml: No such file or directory")
    }

    @Test func thereIsAnEndToSettings() {
        let many = (0...BoardFile.entryLimit).map { "k\($0): 1" }.joined(separator: "\n")
        #expect(throws: BoardError.self) { try BoardFile(text: many, path: "board.yaml") }
    }

    @Test func namesAndVariables() {
        #expect(SettingKey("beacon.hold-off").variable == "CAIRN_BEACON_HOLD_OFF")
    }
}
