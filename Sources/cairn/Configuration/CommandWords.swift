import Settings

/// The words of a command line as a layer of settings.
struct CommandWords {
    /// For each setting that was typed, its values.
    private(set) var settings: [SettingKey: [String]] = [:]

    /// Reads words that ArgumentParser has accepted already; what is no setting's option is passed over.
    init(_ words: some Sequence<String>) {
        var rest = Array(words)[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { continue }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? ""
            let value = parts.count > 1 ? String(parts[1]) : nil
            if let setting = RunSetting.byOption[name] {
                take(setting, value, from: &rest)
            } else if name.hasPrefix("no-"), let setting = RunSetting.byOption[String(name.dropFirst(3))] {
                settings[setting.key] = ["false"]
            }
        }
    }

    private mutating func take(_ setting: RunSetting, _ value: String?, from rest: inout ArraySlice<String>) {
        switch setting.form {
        case .flag: settings[setting.key] = ["true"]
        case .each: settings[setting.key, default: []].append(value ?? rest.popFirst() ?? "")
        case .value:
            let text = value ?? rest.popFirst() ?? ""
            settings[setting.key] = setting.key.isList ? text.split(separator: ",").map(String.init) : [text]
        case .optionalValue(let alone):
            var following: String?
            if value == nil, let next = rest.first, !next.hasPrefix("-") { following = rest.popFirst() }
            settings[setting.key] = [value ?? following ?? alone]
        }
    }
}
