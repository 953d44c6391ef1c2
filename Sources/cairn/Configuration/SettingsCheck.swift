import ArgumentParser
import Settings

/// Finds everything that is wrong with settings, not only the first thing.
struct SettingsCheck {
    /// In the order in which a person reads.
    let problems: [SettingError]
    /// Whether what is wrong was typed on the command line.
    let isUsage: Bool
    /// The command that they make, if nothing is wrong.
    let command: RunCommand?

    init(_ settings: [SettingValue]) {
        var problems: [SettingError] = []
        var words: [String] = []
        for setting in settings {
            do throws(SettingError) {
                words += try Self.words(for: setting)
            } catch {
                problems.append(error)
            }
        }
        var isUsage = false
        var command: RunCommand?
        // All at once, since nearly always nothing is wrong. Only a failure is worth the time to look at each.
        do {
            let parsed = try RunCommand.parse(words)
            try parsed.checkTogether()
            command = problems.isEmpty ? parsed : nil
        } catch {
            problems += settings.compactMap(Self.problem(with:))
            if problems.isEmpty {
                let problem = Self.problem(RunCommand.message(for: error), among: settings)
                isUsage = problem.place.isEmpty
                problems = [problem]
            }
        }
        self.problems = problems.inReadingOrder
        self.isUsage = isUsage
        self.command = command
    }

    /// Everything that is wrong with a file, if there were nothing besides it.
    static func problems(in file: BoardFile) -> [SettingError] {
        let keys = RunSetting.all.map(\.key)
        let problems = file.problems(against: keys)
        // Those have been told already, whose value cannot be read.
        let faulty = Set(problems.compactMap(\.key))
        var layers = SettingLayers()
        layers.file = file
        let check = SettingsCheck(layers.settings(keys.filter { !faulty.contains($0.name) }))
        // With settings missing, nothing can be said about those that need them.
        guard problems.isEmpty || check.command == nil else { return problems }
        return (problems + check.problems).inReadingOrder
    }

    private static func words(for setting: SettingValue) throws(SettingError) -> [String] {
        guard let known = RunSetting.all.first(where: { $0.key == setting.key }) else { return [] }
        // What is usual anyway needs no words.
        return known.isUsual(setting) ? [] : try known.arguments(for: setting)
    }

    /// What is wrong with a setting by itself. What was typed is left to ArgumentParser, which has the words for it.
    private static func problem(with setting: SettingValue) -> SettingError? {
        switch setting.origin {
        case .commandLine, .standard: return nil
        case .environment, .file: break
        }
        guard let known = RunSetting.all.first(where: { $0.key == setting.key }),
            let words = try? known.arguments(for: setting)
        else { return nil }
        do {
            _ = try RunCommand.parse(words)
            return nil
        } catch {
            return SettingError(setting, explanation(RunCommand.message(for: error), of: known, for: setting.values))
        }
    }

    /// ArgumentParser's words for a value that an option refuses, without the option, which was not typed.
    private static func explanation(_ message: String, of setting: RunSetting, for values: [String]) -> String {
        guard message.hasPrefix("The value '"), let middle = message.range(of: "' is invalid for '--") else {
            let takes = message.hasPrefix("--\(setting.option) takes")
            return takes ? misunderstood(values.joined(separator: ","), setting) : message.mentioningSettings
        }
        // After the option's name in quotes there may be a reason of our own.
        let rest = message[middle.upperBound...]
        if let reason = rest.range(of: "': ") { return String(rest[reason.upperBound...]).mentioningSettings }
        let value = message[..<middle.lowerBound].dropFirst("The value '".count)
        return misunderstood(value, setting)
    }

    private static func misunderstood(_ value: some StringProtocol, _ setting: RunSetting) -> String {
        "“\(value)” is not understood: this takes \(setting.takes)"
    }

    /// What is wrong with several settings together is said of the first that it names.
    private static func problem(_ message: String, among settings: [SettingValue]) -> SettingError {
        let named = settings.first { setting in
            guard setting.origin != .standard else { return false }
            return RunSetting.all.contains { $0.key == setting.key && message.mentions(option: $0.option) }
        }
        guard let named, named.origin != .commandLine else { return SettingError(ofCommandLine: message) }
        return SettingError(named, message.mentioningSettings)
    }
}

extension String {
    /// The text with options replaced by the names of their settings.
    fileprivate var mentioningSettings: String {
        // The longest first: --beacon is the beginning of --beacon-power.
        RunSetting.all.sorted { $0.option.count > $1.option.count }.reduce(self) { text, setting in
            text.replacing("--\(setting.option)", with: setting.key.name)
        }
    }

    fileprivate func mentions(option: String) -> Bool {
        ranges(of: "--\(option)").contains { range in
            guard range.upperBound < endIndex else { return true }
            return !(self[range.upperBound].isLetter || self[range.upperBound] == "-")
        }
    }
}
