extension String {
    /// How much of a text that may be long goes into a line, in characters.
    static let lineLength = 120

    /// The text, or its beginning and how much there is more.
    package var inOneLine: String {
        // No text has more characters than bytes, and those are counted already.
        guard utf8.count > Self.lineLength else { return self }
        let rest = count - Self.lineLength
        return rest > 20 ? "\(prefix(Self.lineLength))… and \(rest) more characters" : self
    }
}
