/// Why the program does not start: what happened and where, and what to do next.
public struct WebError: Error, Sendable, CustomStringConvertible {
    /// Which kind of end it is.
    public enum Kind: Sendable {
        /// The command line is wrong.
        case usage
        /// A file that belongs to the program is not there.
        case installation
        /// A file cannot be read or made.
        case file
        /// The address cannot be listened at.
        case address
    }

    /// Which kind of end it is.
    public let kind: Kind
    /// What happened, and where.
    public let what: String
    /// What to do next.
    public let advice: String

    init(_ kind: Kind, _ what: String, advice: String) {
        self.kind = kind
        self.what = what
        self.advice = advice
    }

    public var description: String { "\(what)\n\(advice)" }
}

/// Cairn's version, which this program shares.
public let webVersion = "0.1.0"
