import Control
import Scenarios
import Settings

/// What people write as YAML: descriptions of boards, and scenarios.
enum YAMLFiles {
    /// A setting of each kind goes into it.
    private struct Lamp: SettingTarget {
        var words: [String] = []
    }

    private enum Color: String, CaseIterable, SettingChoice {
        case warm, cold
    }

    private static func setting<Value>(
        _ name: String,
        _ syntax: SettingSyntax<Value>,
        default standard: Value? = nil
    ) -> Setting<Lamp> {
        Setting(name, option: name, syntax, default: standard, help: "") { lamp, value in lamp.words.append("\(value)")
        }
    }

    private static let settings: [Setting<Lamp>] = [
        setting("lamp.brightness", .number(1...100 as ClosedRange<Int>), default: 40),
        setting("lamp.fade", .duration(0...60, .seconds)), setting("lamp.color", SettingSyntax<Color>.choice),
        setting("lamp.on", SettingSyntax<Bool>.flag, default: true),
        setting("lamp.level", .decimal(-10...10, of: "dB")),
        setting("owner", .path("a name")), setting("rooms", .paths("names of rooms", placeholder: "room")),
    ]

    /// A board file, through all layers to the values of settings.
    static func board(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        let text = String(decoding: input, as: UTF8.self)
        let file: BoardFile
        do throws(SettingError) {
            file = try BoardFile(text: text, path: "board.yaml")
        } catch {
            try check(error, text)
            digest.add(error.description)
            return digest.value
        }
        let keys = settings.map(\.key)
        let strangers = file.problems(against: keys)
        for problem in strangers {
            try check(problem, text)
            digest.add(problem.description)
        }
        let values = SettingLayers(of: settings, typed: [:], file: file).settings(keys)
        let fromFile = values.count { if case .file = $0.origin { true } else { false } }
        // Every setting of the file is used, or a person is told why not.
        try expect(
            fromFile == file.settingCount || !strangers.isEmpty,
            "\(fromFile) settings are used of the \(file.settingCount) that are there"
        )
        let reading = SettingsReading(values, of: settings)
        for problem in reading.problems {
            try check(problem, text)
            digest.add(problem.description)
        }
        try expect(
            (reading.target == nil) == !reading.problems.isEmpty,
            "problems without a word, or a word for nothing"
        )
        for word in reading.target?.words ?? [] { digest.add(word) }
        return digest.value
    }

    private static func check(_ error: SettingError, _ text: String) throws {
        let lineCount = text.utf8.count { $0 == 0x0A || $0 == 0x0D } + 2
        guard let line = error.line else { return }
        // A line break of Unicode's own counts, too.
        let limit = lineCount + text.unicodeScalars.count { [0x85, 0x2028, 0x2029].contains($0.value) }
        try expect(0...limit ~= line, "line \(line) of \(limit): \(error)")
        try expect(!error.problem.isEmpty, "an error says nothing")
    }

    /// A scenario and the files that it includes: between two of them there is a zero. The first is the scenario, and the others
    /// are called 1, 2 and so on.
    static func scenario(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        let texts = input.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        var digest = FuzzDigest()
        var loads = 0
        do {
            let scenario = try ScenarioReader.read(texts.first ?? "", path: "fuzz.yaml") { path in
                loads += 1
                guard let number = Int(path), texts.indices.contains(number) else { throw FuzzFinding("no such file") }
                return texts[number]
            }
            try expect(scenario.steps.count <= ScenarioReader.stepLimit, "there are \(scenario.steps.count) steps")
            digest.add(scenario.steps.count)
            for case .give(let command, _) in scenario.steps.map(\.deed) {
                digest.add(command.line)
                try expect(isRequest(command), "no vocabulary has \(command.line)")
            }
        } catch let error as ScenarioErrors {
            for error in error.errors { digest.add(error.description) }
            try expect(!error.errors.isEmpty, "a scenario is refused and nothing is said")
        }
        try expect(loads <= ScenarioReader.inclusionLimit, "files were included \(loads) times")
        return digest.value
    }

    /// Whether what a step gives is a request of its side's vocabulary. Paths are as seen from the scenario; what runs it makes them whole.
    private static func isRequest(_ command: ScenarioCommand) -> Bool {
        var fields = command.arguments
        fields["command"] = .text(command.name)
        if fields["path"] != nil { fields["path"] = .text("/files/app.pbw") }
        let line = ControlValue.object(fields).json.utf8
        return switch command.side {
        case .watch: (try? ControlRequest(parsing: line)) != nil
        case .phone: (try? PhoneControlRequest(parsing: line)) != nil
        }
    }
}
