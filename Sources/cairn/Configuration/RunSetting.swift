import Settings

/// A setting of a board file or of the environment, and the option of `cairn run` that it stands for.
struct RunSetting {
    enum Form {
        /// `--option VALUE`; a list is one value with commas.
        case value
        /// `--option VALUE` for each value of a list.
        case each
        /// `--option` and `--no-option`, for true and false.
        case flag
        /// `--option VALUE`, or `--option` alone, which means a value too.
        case optionalValue(alone: String)
    }

    let key: SettingKey
    /// The option's name, without dashes.
    let option: String
    let form: Form
    /// What it takes, in words.
    let takes: String
    /// What holds if no file, variable or option sets it; nil if that is nothing, or depends.
    let usual: String?

    private init(_ name: String, _ option: String, _ form: Form, isList: Bool = false, takes: String, usual: String?) {
        key = SettingKey(name, isList: isList)
        self.option = option
        self.form = form
        self.takes = takes
        self.usual = usual
    }

    static func value(_ name: String, _ option: String, takes: String, usual: String? = nil) -> RunSetting {
        RunSetting(name, option, .value, takes: takes, usual: usual)
    }

    static func choice(_ name: String, _ option: String, _ choices: [String], usual: String? = nil) -> RunSetting {
        RunSetting(name, option, .value, takes: "one of " + choices.joined(separator: ", "), usual: usual)
    }

    static func list(_ name: String, _ option: String, takes: String) -> RunSetting {
        RunSetting(name, option, .value, isList: true, takes: takes, usual: nil)
    }

    static func each(_ name: String, _ option: String, takes: String) -> RunSetting {
        RunSetting(name, option, .each, isList: true, takes: takes, usual: nil)
    }

    /// - Parameter alone: what the option means if no value follows it.
    static func optionalValue(_ name: String, _ option: String, takes: String, alone: String) -> RunSetting {
        RunSetting(name, option, .optionalValue(alone: alone), takes: takes, usual: nil)
    }

    static func flag(_ name: String, _ option: String, usual: Bool) -> RunSetting {
        RunSetting(name, option, .flag, takes: "true or false", usual: "\(usual)")
    }

    /// Whether a setting is what holds if no file, variable or option sets it.
    func isUsual(_ setting: SettingValue) -> Bool { setting.origin == .standard && setting.values.first == usual }

    /// The words of a command line that say the same.
    func arguments(for setting: SettingValue) throws(SettingError) -> [String] {
        switch form {
        case .value: return ["--\(option)=\(setting.values.joined(separator: ","))"]
        case .each: return setting.values.map { "--\(option)=\($0)" }
        // ArgumentParser takes the usual value for “--option=VALUE” if another option follows.
        case .optionalValue: return ["--\(option)"] + setting.values
        case .flag:
            switch setting.values.first {
            case "true": return ["--\(option)"]
            case "false": return ["--no-\(option)"]
            default: throw SettingError(setting, "this takes \(takes)")
            }
        }
    }
}

extension SettingValue {
    /// Whether the words of the command line alone mean it.
    var isTypedOrUsual: Bool {
        origin == .commandLine || RunSetting.all.contains { $0.key == key && $0.isUsual(self) }
    }
}
