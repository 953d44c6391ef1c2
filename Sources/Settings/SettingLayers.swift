import FoundationEssentials

/// Where settings come from, the first that has one decides: the command line, the environment, the board file, and what
/// is usual.
public struct SettingLayers: Sendable {
    /// What was typed: for each setting its values.
    public var commandLine: [SettingKey: [String]] = [:]
    /// The environment's variables.
    public var environment: [String: String] = [:]
    /// The board file, if there is one.
    public var file: BoardFile?
    /// The values that hold if no file, variable or option sets them.
    public var standard: [SettingKey: [String]] = [:]

    /// No layer at all.
    public init() {}

    /// The layers of a command's settings: what was typed, the environment, a file, and the defaults that settings declare.
    public init<Target>(
        of settings: [Setting<Target>],
        typed: [SettingKey: [String]],
        environment: [String: String] = [:],
        file: BoardFile? = nil
    ) {
        commandLine = typed
        self.environment = environment
        self.file = file
        for setting in settings {
            let usual = (file == nil ? nil : setting.usualWithBoardFile) ?? setting.usual
            standard[setting.key] = setting.fromServiceManager().map { [$0] } ?? usual
        }
    }

    /// The settings that have a value, in the order of the keys.
    public func settings(_ keys: [SettingKey]) -> [SettingValue] {
        keys.compactMap { key in
            guard let (values, origin) = first(key) else { return nil }
            // One that takes no list has one value, and be it empty.
            return SettingValue(key: key, values: key.isList ? values : [values.first ?? ""], origin: origin)
        }
    }

    /// What the first layer says that has the setting. A list is taken whole from one layer.
    private func first(_ key: SettingKey) -> (values: [String], origin: SettingValue.Origin)? {
        if let words = commandLine[key] { return (words, .commandLine) }
        if !environment.isEmpty, let text = environment[key.variable] {
            return (key.isList ? text.listElements : [text], .environment(variable: key.variable))
        }
        if let file, let entry = file.entries[key.name], entry.isList == key.isList {
            return (entry.values, .file(path: file.path, line: entry.line))
        }
        return standard[key].map { ($0, .standard) }
    }
}

extension String {
    /// The elements of a list in an environment variable: between commas, without the spaces around them.
    fileprivate var listElements: [String] {
        split(separator: ",", omittingEmptySubsequences: false).map { element in
            String(element.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        }
    }
}

extension [String: String] {
    /// The environment variables that can be settings; one that is empty is none.
    public static var cairnEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("CAIRN_") && !$0.value.isEmpty }
    }
}
