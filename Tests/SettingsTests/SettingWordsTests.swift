import ArgumentParser
import SeededRandomness
import Testing

@testable import Settings

/// Command lines read without ArgumentParser, which is the judge of what they mean.
@Suite struct SettingWordsTests {
    private typealias LampCommand = SettingDeclarationTests.LampCommand

    private static func read(_ words: [String]) -> SettingWords? {
        SettingWords(words, of: SettingDeclarationTests.LampSettings.settings, besides: ["house"])
    }

    @Test func optionsWithTheirValuesAreRead() throws {
        let words = [
            "--brightness", "70", "--no-on", "--color=cold", "--room", "hall", "--room", "attic", "--hours", "7,19",
            "--port", "--dimming", "-3", "--house", "blue", "--brightness=71",
        ]
        let line = try #require(Self.read(words))
        let command = try LampCommand.parse(words)
        #expect(line.typed == command.typed && line.others == ["house": "blue"])
        #expect(line.typed.count == 7 && line.typed[SettingKey("lamp.brightness")] == ["71"])
    }

    @Test(arguments: [
        ["--help"], ["-h"], ["--version"], ["word"], ["--brightness"], ["--brightness", "--on"], ["--on=true"], ["--"],
        ["--brightness", "7", "--"], ["--nothing", "3"], ["--brightness="], ["--house", ""], ["--brightness", "-3"],
        ["--dimming", "--"], ["-brightness", "3"], ["--room", "a", "b"], ["--port=9"],
    ])
    func whatIsNoneOrCouldBeAMistakeIsLeftToArgumentParser(words: [String]) {
        #expect(Self.read(words) == nil)
    }

    /// Where both read a command line, they read the same in it.
    @Test func argumentParserReadsTheSame() {
        var random = SplitMix64(seed: 31)
        let names = [
            "brightness", "fade", "color", "on", "no-on", "owner", "room", "hours", "port", "dimming", "house", "off",
        ]
        let values = ["1", "70", "-3", "a,b", ",", "cold", "--", "-", "", "x=y", "--on", "-x", "ü", "hall"]
        var bothCount = 0
        for round in 0..<4000 {
            var words: [String] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let name = names.randomElement(using: &random) ?? ""
                let value = values.randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<6, using: &random) {
                case 0: words.append("--\(name)")
                case 1: words.append("--\(name)=\(value)")
                case 2: words.append(value)
                default: words += ["--\(name)", value]
                }
            }
            guard let line = Self.read(words) else { continue }
            guard let command = try? LampCommand.parse(words) else {
                Issue.record("seed 31, round \(round): ArgumentParser refuses \(words), read as \(line)")
                continue
            }
            bothCount += 1
            #expect(line.typed == command.typed, "seed 31, round \(round): \(words)")
            #expect(line.others["house"] == command.house, "seed 31, round \(round): \(words)")
        }
        #expect(bothCount > 400, "seed 31: of 4000 command lines \(bothCount) were compared")
    }
}
