import ArgumentParser
import Testing

@testable import Settings

/// A setting is declared once: everything that knows settings then knows this one.
@Suite struct SettingDeclarationTests {
    struct Lamp: SettingTarget {
        var brightness = 40
        var fade = Duration.seconds(2)
        var color = Color.warm
        var isOn = true
        var owner: String?
        var rooms: [String] = []
        var hours: [Int] = []
        var port: UInt16?
        var dimming: Int8?
    }

    enum Color: String, CaseIterable, SettingChoice {
        case warm, cold
    }

    enum LightSettings: SettingGroup {
        static let title = "LIGHT"
        static let settings: [Setting<Lamp>] = [
            Setting(
                "lamp.brightness",
                option: "brightness",
                .number(1...100, of: "percent"),
                into: \.brightness,
                help: "How bright the lamp is.",
                page: "lamps.md"
            ),
            Setting(
                "lamp.fade",
                option: "fade",
                .duration(0...60, .seconds),
                into: \.fade,
                help: "How slowly it fades."
            ),
            Setting("lamp.color", option: "color", .choice, into: \.color, withBoardFile: .cold, help: "Its color."),
            Setting("lamp.on", option: "on", .flag, into: \.isOn, help: "Light it, or not."),
        ]
    }

    enum OtherSettings: SettingGroup {
        static let title = ""
        static let settings: [Setting<Lamp>] = [
            Setting(
                "owner",
                option: "owner",
                .path("a name"),
                ifGiven: \.owner,
                otherwise: "everybody",
                help: "Whose it is."
            ),
            Setting(
                "rooms",
                option: "room",
                .paths("names of rooms", placeholder: "name"),
                into: \.rooms,
                help: "Where."
            ),
            Setting(
                "hours",
                option: "hours",
                .list("hours such as [7, 19]", placeholder: "hours", print: { $0.map { "\($0)" } }) { words in
                    try words.map { word in
                        guard let hour = Int(word) else { throw SettingRefusal.because("“\(word)” is no hour") }
                        return hour
                    }
                },
                default: [],
                help: "When."
            ) { $0.hours = $1 },
            Setting(
                "port",
                option: "port",
                .optionalWord("a port", placeholder: "port", alone: 7) { text in
                    guard let port = UInt16(text) else { throw SettingRefusal.notUnderstood }
                    return port
                },
                ifGiven: \.port,
                needs: SettingNeed("an owner", from: "owner", "NAME") { $0.owner != nil },
                help: "Where it is switched."
            ),
            Setting("dimming", option: "dimming", .number(-9...9), ifGiven: \.dimming, help: "How much darker."),
        ]
    }

    enum LampSettings: SettingCatalog {
        static let groups: [AnySettingGroup<Lamp>] = [
            AnySettingGroup(LightSettings.self), AnySettingGroup(OtherSettings.self),
        ]

        static func conflict(in lamp: Lamp) -> SettingConflict? {
            guard lamp.brightness == 100, lamp.color == .cold else { return nil }
            return SettingConflict(of: "lamp.brightness") { "\($0("lamp.brightness")) 100 hurts the eyes" }
        }
    }

    struct LampCommand: SettingCommand {
        typealias Catalog = LampSettings
        static let configuration = CommandConfiguration(commandName: "lamp")
        var typed: [SettingKey: [String]] = [:]
        @Option var house: String?
        var otherOptions: [Mirror.Child] { [("_house", _house)] }

        mutating func takeOtherOptions(of container: KeyedDecodingContainer<SettingOptionKey>) throws {
            _house = try container.decode(Option<String?>.self, forKey: SettingOptionKey(stringValue: "house"))
        }
    }

    private func values(
        _ words: [String] = [],
        environment: [String: String] = [:],
        file text: String? = nil
    ) throws -> [SettingValue] {
        let typed = try LampCommand.parse(words).typed
        let file = try text.map { try BoardFile(text: $0, path: "board.yaml") }
        let layers = SettingLayers(of: LampSettings.settings, typed: typed, environment: environment, file: file)
        return layers.settings(LampSettings.settings.map(\.key))
    }

    private func lamp(
        _ words: [String] = [],
        environment: [String: String] = [:],
        file: String? = nil
    ) throws -> SettingsReading<Lamp> {
        LampSettings.read(try values(words, environment: environment, file: file))
    }

    @Test func theHelpKnowsIt() {
        let help = LampCommand.helpMessage(columns: 200)
        #expect(help.contains("LIGHT:\n"))
        #expect(help.contains("--brightness <percent>  How bright the lamp is. From 1 to 100. (default: 40)\n"))
        #expect(help.contains("How slowly it fades. From 0 to 60. (default: 2)\n"))
        #expect(
            help.contains(
                "Its color. With a board file that says nothing, it is cold. (values: warm, cold; default: warm)\n"
            )
        )
        #expect(help.contains("--on/--no-on            Light it, or not. (default: --on)\n"))
        #expect(help.contains("Whose it is. (default: everybody)\n"))
        #expect(help.contains("--port [<port>]"))
    }

    @Test(arguments: [CompletionShell.bash, .zsh, .fish]) func completionKnowsIt(shell: CompletionShell) {
        let script = LampCommand.completionScript(for: shell)
        #expect(script.contains("brightness"))
        #expect(script.contains("cold"), "the names that it takes")
    }

    @Test func theCommandLineSetsIt() throws {
        let words = [
            "--brightness", "70", "--no-on", "--color=cold", "--room", "hall", "--room", "attic", "--hours", "7,19",
            "--owner", "Ada", "--port", "--dimming", "-3",
        ]
        let lamp = try #require(try lamp(words).target)
        #expect(lamp.brightness == 70 && !lamp.isOn && lamp.color == .cold && lamp.owner == "Ada")
        #expect(lamp.rooms == ["hall", "attic"] && lamp.hours == [7, 19] && lamp.port == 7 && lamp.dimming == -3)
        #expect(try self.lamp(["--owner=Ada", "--port", "8"]).target?.port == 8)
        #expect(try self.lamp(["--owner=Ada", "--port=9"]).target?.port == 9)
        #expect(try self.lamp(["--fade", "1", "--fade", "3"]).target?.fade == .seconds(3), "the last one counts")
    }

    @Test func optionsThatAreNoSettingsStandBesideIt() throws {
        let command = try LampCommand.parse(["--house", "blue", "--brightness", "3"])
        #expect(command.house == "blue")
        #expect(command.typed == [SettingKey("lamp.brightness"): ["3"]])
        #expect(try LampCommand.parse([]).house == nil)
    }

    @Test func theEnvironmentAndAFileSetIt() throws {
        let file = "lamp: {brightness: 10, fade: 5, on: false}\nrooms: [hall]\n"
        let lamp = try #require(try lamp(["--fade=9"], environment: ["CAIRN_LAMP_BRIGHTNESS": "20"], file: file).target)
        #expect(lamp.brightness == 20 && lamp.fade == .seconds(9) && !lamp.isOn && lamp.rooms == ["hall"])
    }

    @Test func itsDefaultStandsOnlyInTheTarget() throws {
        let values = try values()
        #expect(values.first { $0.key.name == "lamp.brightness" }?.values == ["40"])
        #expect(values.first { $0.key.name == "lamp.fade" }?.values == ["2"])
        #expect(values.allSatisfy { $0.origin == .standard })
        let lamp = try #require(LampSettings.read(values).target)
        #expect(lamp.brightness == Lamp().brightness && lamp.fade == Lamp().fade && lamp.isOn == Lamp().isOn)
        #expect(try self.lamp(file: "").target?.color == .cold, "another default where there is a file")
        #expect(try self.lamp().target?.color == .warm)
    }

    @Test func whatIsShownHasIt() throws {
        let shown = SettingsTable.lines(
            try values(["--fade", "9"], file: "\nlamp: {brightness: 10}\n"),
            of: LampSettings.settings,
            printable: { $0 }
        )
        #expect(shown.contains("lamp.brightness  10    board.yaml:2"), "\(shown)")
        #expect(shown.contains("lamp.fade        9     the command line"), "\(shown)")
        #expect(shown.contains("lamp.on          true  default"), "\(shown)")
        #expect(shown.contains("owner"), "\(shown)")
    }

    @Test func theDocumentationHasIt() {
        let table = SettingsTable.markdown(LampSettings.settings)
        for row in [
            "| `lamp.brightness` | `--brightness` | a number of percent from 1 to 100 | `40` | How bright the lamp is. ([lamps.md](lamps.md)) |",
            "| `lamp.color` | `--color` | `warm`, `cold` | `cold` with a board file, else `warm` | Its color. |",
            "| `lamp.on` | `--no-on` | `true` or `false` | `true` | Light it, or not. |",
            "| `owner` | `--owner` | a name | everybody | Whose it is. |",
        ] { #expect(table.contains(row), "\(table)") }
    }

    /// ArgumentParser says which option has no value.
    @Test(arguments: [["--fade="], ["--owner="]])
    func anOptionWithoutItsValueIsRefused(words: [String]) { #expect(throws: (any Error).self) { try lamp(words) } }

    @Test(arguments: [
        (["--brightness", "0"], "“0” is not understood by --brightness: it takes a number of percent from 1 to 100"),
        (["--brightness", "101"], "“101” is not understood by --brightness"),
        (["--brightness", "99999999999999999999"], "“99999999999999999999” is not understood by --brightness"),
        (["--color", "clod"], "“clod” is not understood by --color: it takes one of warm, cold; did you mean cold?"),
        (["--hours", "7,noon"], "--hours: “noon” is no hour"),
        (["--port"], "--port needs an owner: add --owner NAME, or leave --port out"),
        (["--brightness=100", "--color=cold"], "--brightness 100 hurts the eyes"),
    ])
    func wrongWordsAreExplained(words: [String], explanation: String) throws {
        let reading = try lamp(words)
        #expect(reading.target == nil)
        #expect(reading.problems.count == 1 && reading.problems.first?.isTyped == true)
        #expect(reading.problems.first?.description.hasPrefix(explanation) == true, "\(reading.problems)")
    }

    @Test(arguments: [
        (
            "lamp:\n  brightness: 0",
            "board.yaml:2: lamp.brightness: “0” is not understood: this takes a number of percent"
        ),
        ("lamp: {on: perhaps}", "board.yaml:1: lamp.on: this takes true or false"),
        (
            "lamp: {color: clod}",
            "board.yaml:1: lamp.color: “clod” is not understood: this takes one of warm, cold; did you"
        ),
        ("port: 1", "board.yaml:1: port: port needs an owner: add owner NAME, or leave port out"),
        ("lamp: {brightness: 100, color: cold}", "board.yaml:1: lamp.brightness: lamp.brightness 100 hurts the eyes"),
        ("lamp: {colour: red}", "board.yaml:1: lamp.colour: there is no such setting; did you mean lamp.color?"),
        ("rooms: hall", "board.yaml:1: rooms: this takes a list"),
    ])
    func aWrongFileIsExplained(text: String, explanation: String) throws {
        let problems = LampSettings.problems(in: try BoardFile(text: text, path: "board.yaml"))
        #expect(problems.count == 1 && problems.first?.isTyped == false)
        #expect(problems.first?.description.hasPrefix(explanation) == true, "\(problems)")
    }

    @Test func everythingThatIsWrongIsTold() throws {
        let text = "port: 1\nlamp: {brightness: 0, fade: x, colour: y}\n"
        let problems = LampSettings.problems(in: try BoardFile(text: text, path: "b"))
        #expect(
            problems.map(\.key) == ["lamp.colour", "lamp.brightness", "lamp.fade"],
            "nothing of what they would need"
        )
        #expect(try lamp(["--fade=x", "--brightness=0"]).problems.count == 2)
    }

    /// A default that is written otherwise than it is read would be another one.
    @Test func everyDefaultIsUnderstood() throws {
        for setting in LampSettings.settings {
            for words in [setting.usual, setting.usualWithBoardFile].compactMap(\.self) {
                var lamp = Lamp()
                try setting.apply(words, &lamp)
            }
        }
    }
}
