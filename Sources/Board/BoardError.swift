/// What is wrong with a board's description, and where: for the person who wrote it.
public struct BoardError: Error, Sendable, CustomStringConvertible {
    /// File, and line if it is known; or the environment variable.
    public let place: String
    /// Which setting, if it is about one.
    public let key: String?
    /// What is wrong.
    public let problem: String
    /// Whether the file cannot be read at all.
    public let isUnreadable: Bool

    init(_ path: String, _ line: Int?, _ key: String?, _ problem: String, isUnreadable: Bool = false) {
        place = line.map { "\(path):\($0)" } ?? path
        self.key = key
        self.problem = problem
        self.isUnreadable = isUnreadable
    }

    /// Says of a setting what is wrong with it.
    public init(_ setting: Setting, _ problem: String) {
        place = "\(setting.origin)"
        key = setting.key.name
        self.problem = problem
        isUnreadable = false
    }

    public var description: String { place + ": " + (key.map { "\($0): " } ?? "") + problem }
}
