/// A command line of settings, read without ArgumentParser.
///
/// ArgumentParser has Swift make types for each kind of option while the program runs: two fifths of the work of a watch's start.
/// A command line that has nothing but options with their values is read here instead. Of all others ArgumentParser decides
/// what they mean, which has the words for help and for mistakes. Where this reads a command line, ArgumentParser reads the
/// same in it: `SettingWordsTests` compares them.
public struct SettingWords: Sendable {
    /// For each setting that was typed, its words.
    public private(set) var typed: [SettingKey: [String]] = [:]
    /// For each other option that was typed, its value.
    public private(set) var others: [String: String] = [:]

    /// How an option takes its value.
    private enum Taking {
        case word(SettingKey, SettingForm, allowsDash: Bool)
        case flag(SettingKey, Bool)
        case other(String)
    }

    /// Reads a command line.
    /// - Parameters:
    ///   - words: without the program and the command.
    ///   - settings: those that have options.
    ///   - others: names of options besides, each of which takes one value.
    /// - Returns: nil if it has anything else, or anything that could be a mistake.
    public init?<Target>(_ words: [String], of settings: [Setting<Target>], besides others: [String]) {
        let options = Self.options(settings, others)
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { return nil }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let taking = options[parts[0]] else { return nil }
            var value = parts.dropFirst().first
            switch taking {
            case .flag(let key, let isSet):
                guard value == nil else { return nil }
                typed[key] = ["\(isSet)"]
            case .word(let key, let form, let allowsDash):
                // ArgumentParser takes no value behind “=” for what can stand alone.
                if case .optionalWord = form, value != nil { return nil }
                if value == nil, let next = rest.first, allowsDash || !next.hasPrefix("-") { value = rest.popFirst() }
                if value == nil, case .optionalWord(let alone) = form { value = alone }
                guard let value, !value.isEmpty, value != "--" else { return nil }
                take(value, for: key, form)
            case .other(let name):
                if value == nil, let next = rest.first, !next.hasPrefix("-") { value = rest.popFirst() }
                guard let value, !value.isEmpty else { return nil }
                self.others[name] = value
            }
        }
    }

    private mutating func take(_ value: String, for key: SettingKey, _ form: SettingForm) {
        switch form {
        case .word, .optionalWord, .flag: typed[key] = [value]
        case .list: typed[key] = form.words(of: value)
        case .repeated: typed[key, default: []].append(value)
        }
    }

    private static func options<Target>(_ settings: [Setting<Target>], _ others: [String]) -> [String: Taking] {
        var options: [String: Taking] = [:]
        for setting in settings {
            switch setting.form {
            case .flag:
                options["--\(setting.option)"] = .flag(setting.key, true)
                options["--no-\(setting.option)"] = .flag(setting.key, false)
            case .word, .optionalWord, .list, .repeated:
                options["--\(setting.option)"] = .word(setting.key, setting.form, allowsDash: setting.allowsDash)
            }
        }
        for name in others { options["--\(name)"] = .other(name) }
        return options
    }
}

extension SettingForm {
    /// The words of what was typed as one: those of a list stand between commas.
    func words(of text: String) -> [String] {
        guard self == .list else { return [text] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
}
