import Configuration
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
            return SettingValue(key: key, values: values, origin: layer.origin(key))
        }
    }

    private struct Layer {
        let provider: any ConfigProvider
        let origin: (SettingKey) -> SettingValue.Origin

        init(_ provider: some ConfigProvider, origin: @escaping (SettingKey) -> SettingValue.Origin) {
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
