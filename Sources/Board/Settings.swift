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

    /// The section that it stands in; empty if in none.
    var section: String { name.split(separator: ".").dropLast().joined(separator: ".") }
}

/// A setting, what it was set to, and by whom.
public struct Setting: Sendable {
    /// Where it was made.
    public enum Origin: Hashable, Sendable, CustomStringConvertible {
        case commandLine
        case environment(variable: String)
        case file(path: String, line: Int)
        /// No file, variable or option sets it.
        case standard

        public var description: String {
            switch self {
            case .commandLine: "the command line"
            case .environment(let variable): "the environment variable \(variable)"
            case .file(let path, let line): "\(path):\(line)"
            case .standard: "default"
            }
        }
    }

    public let key: SettingKey
    /// One value, or those of a list.
    public let values: [String]
    public let origin: Origin
}

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

    /// The settings that have a value, in the order of the keys.
    public func settings(_ keys: [SettingKey]) -> [Setting] {
        let layers: [Layer] = [
            Layer(Self.provider("command line", commandLine)) { _ in .commandLine },
            Layer(EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "cairn")) {
                .environment(variable: $0.variable)
            },
            file.map { file in
                Layer(file.provider) { .file(path: file.path, line: file.entries[$0.name]?.line ?? 0) }
            },
            Layer(Self.provider("standard", standard)) { _ in .standard },
        ].compactMap(\.self)
        let all = ConfigReader(providers: layers.map(\.provider))
        return keys.compactMap { key in
            guard let values = all.values(of: key),
                let layer = layers.first(where: { ConfigReader(provider: $0.provider).values(of: key) != nil })
            else { return nil }
            return Setting(key: key, values: values, origin: layer.origin(key))
        }
    }

    private struct Layer {
        let provider: any ConfigProvider
        let origin: (SettingKey) -> Setting.Origin

        init(_ provider: some ConfigProvider, origin: @escaping (SettingKey) -> Setting.Origin) {
            self.provider = provider
            self.origin = origin
        }
    }

    private static func provider(_ name: String, _ values: [SettingKey: [String]]) -> InMemoryProvider {
        InMemoryProvider(name: name, values: Dictionary(values.map { ($0.configKey, $0.content($1)) }) { $1 })
    }
}

extension [String: String] {
    /// The environment variables that can be settings; one that is empty is none.
    public static var cairnEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("CAIRN_") && !$0.value.isEmpty }
    }
}

extension SettingKey {
    /// The variables that are no setting's: what is wrong with each.
    public static func problems(
        inEnvironment environment: [String: String],
        against keys: [SettingKey],
        besides others: Set<String>
    ) -> [BoardError] {
        let known = keys.map(\.variable)
        return environment.keys.sorted().filter { !known.contains($0) && !others.contains($0) }.map { variable in
            let hint =
                NearestName.of(variable, among: known + others.sorted()).map { "did you mean \($0)?" }
                ?? "the variables are CAIRN_ and the name of a setting, such as CAIRN_ADVERTISING_POLICY; unset it"
            return BoardError(ofEnvironment: variable, "Cairn has no such variable; \(hint)")
        }
    }

    /// As swift-configuration names it.
    var configKey: AbsoluteConfigKey { AbsoluteConfigKey(ConfigKey(name)) }

    /// Values as swift-configuration keeps them.
    func content(_ values: [String]) -> ConfigValue {
        ConfigValue(isList ? .stringArray(values) : .string(values.first ?? ""), isSecret: false)
    }
}

extension ConfigReader {
    fileprivate func values(of key: SettingKey) -> [String]? {
        let name = ConfigKey(key.name)
        return key.isList ? stringArray(forKey: name) : string(forKey: name).map { [$0] }
    }
}
