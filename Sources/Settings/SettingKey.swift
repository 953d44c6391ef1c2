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

extension SettingKey {
    /// The variables that are no setting's: what is wrong with each.
    public static func problems(
        inEnvironment environment: [String: String],
        against keys: [SettingKey],
        besides others: Set<String>
    ) -> [SettingError] {
        guard !environment.isEmpty else { return [] }
        let known = keys.map(\.variable)
        return environment.keys.sorted().filter { !known.contains($0) && !others.contains($0) }.map { variable in
            let hint =
                NearestName.of(variable, among: known + others.sorted()).map { "did you mean \($0)?" }
                ?? "the variables are CAIRN_ and the name of a setting, such as CAIRN_ADVERTISING_POLICY; unset it"
            return SettingError(ofEnvironment: variable, "Cairn has no such variable; \(hint)")
        }
    }
}
