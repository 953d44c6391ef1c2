/// What is wrong with a setting, and where: for the person who wrote it.
public struct SettingError: Error, Sendable, CustomStringConvertible {
    /// File, and line if it is known; or the environment variable.
    public let place: String
    /// The line in the file, if it is known.
    public let line: Int?
    /// Which setting, if it is about one.
    public let key: String?
    /// What is wrong.
    public let problem: String
    /// Whether the file cannot be read at all.
    public let isUnreadable: Bool
    /// Whether it is wrong only together with other settings.
    public let isConflict: Bool
    /// What the setting is for, if one was typed.
    public let help: String?

    init(_ path: String, _ line: Int?, _ key: String?, _ problem: String, isUnreadable: Bool = false) {
        place = line.map { "\(path):\($0)" } ?? path
        self.line = line
        self.key = key
        self.problem = problem
        self.isUnreadable = isUnreadable
        isConflict = false
        help = nil
    }

    /// Says of a setting what is wrong with it.
    public init(_ setting: SettingValue, _ problem: String, isConflict: Bool = false) {
        place = "\(setting.origin)"
        line = if case .file(_, let line) = setting.origin { line } else { nil }
        key = setting.key.name
        self.problem = problem
        isUnreadable = false
        self.isConflict = isConflict
        help = nil
    }

    /// An error of a variable as a whole.
    init(ofEnvironment variable: String, _ problem: String) {
        self.init("the environment variable \(variable)", nil, nil, problem)
    }

    /// Something that is wrong with what was typed.
    public init(ofCommandLine problem: String, isConflict: Bool = false, help: String? = nil) {
        place = ""
        line = nil
        key = nil
        self.problem = problem
        isUnreadable = false
        self.isConflict = isConflict
        self.help = help
    }

    /// Whether it is wrong with what was typed.
    public var isTyped: Bool { place.isEmpty }

    public var description: String { (place.isEmpty ? "" : place + ": ") + (key.map { "\($0): " } ?? "") + problem }
}

extension [SettingError] {
    /// In the order in which a person reads the file; what is not in the file comes first.
    public var inReadingOrder: [SettingError] {
        enumerated().sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }.map(\.element)
    }
}
