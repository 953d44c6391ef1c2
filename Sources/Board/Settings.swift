import Configuration
import FoundationEssentials

/// The name of a setting in a board file.
public struct SettingKey: Hashable, Sendable {
    /// Such as `advertising.policy`.
    public let name: String
    /// Whether it takes a list.
    public let isList: Bool

    /// Names a setting.
    public init(_ name: String, isList: Bool = false) {
        self.name = name
        self.isList = isList
    }

    /// The environment variable that says the same, such as `CAIRN_ADVERTISING_POLICY`.
    public var variable: String {
        "CAIRN_" + name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" }
    }
}

/// A setting that somebody made outside of the command line.
public struct Setting: Sendable {
    /// Where it was made.
    public enum Origin: Hashable, Sendable, CustomStringConvertible {
        case environment(variable: String)
        case file(path: String, line: Int)

        public var description: String {
            switch self {
            case .environment(let variable): "the environment variable \(variable)"
            case .file(let path, let line): "\(path):\(line)"
            }
        }
    }

    public let key: SettingKey
    /// One value, or those of a list.
    public let values: [String]
    public let origin: Origin
}

extension [Setting] {
    /// The environment variables that can be settings; one that is empty is none.
    public static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("CAIRN_") && !$0.value.isEmpty }
    }

    /// The settings that were made, each from the first of the layers that has it: the environment, then the board file.
    /// The command line lies above them, and what Cairn does by itself below.
    public init(_ keys: [SettingKey], environment: [String: String], file: BoardFile?) {
        let variables = EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "cairn")
        var providers: [any ConfigProvider] = [variables]
        if let file { providers.append(file.provider) }
        let layers = ConfigReader(providers: providers)
        let top = ConfigReader(provider: variables)
        self = keys.compactMap { key in
            let name = ConfigKey(key.name)
            let values = key.isList ? layers.stringArray(forKey: name) : layers.string(forKey: name).map { [$0] }
            guard let values else { return nil }
            let isVariable = key.isList ? top.stringArray(forKey: name) != nil : top.string(forKey: name) != nil
            let origin: Setting.Origin =
                if !isVariable, let file, let line = file.entries[key.name]?.line {
                    .file(path: file.path, line: line)
                } else {
                    .environment(variable: key.variable)
                }
            return Setting(key: key, values: values, origin: origin)
        }
    }
}
