/// A setting, what it was set to, and by whom.
public struct SettingValue: Sendable {
    /// Where it was made.
    public enum Origin: Hashable, Sendable, CustomStringConvertible {
        /// It was typed.
        case commandLine
        /// An environment variable.
        case environment(variable: String)
        /// A line of a board file, counted from 1.
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

    /// Which setting.
    public let key: SettingKey
    /// One value, or those of a list.
    public let values: [String]
    /// Who set it.
    public let origin: Origin
}
