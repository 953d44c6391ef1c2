extension Fault {
    /// The longest text that is read, in UTF-8 octets.
    public static let textLimit = 1024

    /// Reads `NAME key=value…`, with blanks in between.
    /// - Throws: `FaultError`, which says what would be right.
    public init(parsing text: String) throws(FaultError) {
        let words = text.utf8.prefix(Self.textLimit + 1).count > Self.textLimit ? [] : text.split(separator: " ")
        guard let name = words.first else { throw .noName }
        try self.init(named: String(name), words.dropFirst().map { String($0) })
    }

    /// Reads a name and words that are `key=value` each.
    /// - Throws: `FaultError`, which says what would be right.
    public init(named name: String, _ words: [String]) throws(FaultError) {
        guard !name.isEmpty else { throw .noName }
        guard let definition = FaultDefinition(named: name) else {
            throw .unknownName(name, nearest: nearest(to: name, of: FaultDefinition.all.map(\.name)))
        }
        let parameters = definition.parameters + FaultParameter.options
        var values: [FaultKey: FaultValue] = [:]
        for word in words {
            guard let sign = word.firstIndex(of: "="), sign > word.startIndex else { throw .noPair(word) }
            let key = String(word[..<sign])
            let text = String(word[word.index(after: sign)...])
            guard let parameter = parameters.first(where: { $0.key.rawValue == key }) else {
                let keys = parameters.map(\.key.rawValue)
                throw .unknownKey(key, fault: name, nearest: nearest(to: key, of: keys), keys: keys)
            }
            guard values[parameter.key] == nil else { throw .twice(key) }
            guard let value = parameter.form.value(text) else {
                throw .badValue(text, key: key, expected: parameter.form.description)
            }
            values[parameter.key] = value
        }
        try self.init(definition.kind, values)
    }
}

/// The word that differs least from a mistyped one; nil if none is near.
private func nearest(to word: String, of words: [String]) -> String? {
    var best: (word: String, distance: Int)?
    for candidate in words {
        let distance = distance(Array(word.utf8.prefix(64)), Array(candidate.utf8))
        // The part behind the full stop is what is remembered of a name.
        let isPart = word.utf8.count > 2 && candidate.split(separator: ".").last.map { $0 == word } == true
        let found = isPart ? 0 : distance
        if found <= max(2, candidate.utf8.count / 3), found < best?.distance ?? .max { best = (candidate, found) }
    }
    return best?.word
}

/// How many letters must be added, left out or changed to make one word of the other (Levenshtein's distance).
private func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (index, letter) in one.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in other.indices {
            let changed = diagonal + (letter == other[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(changed, row[column] + 1, diagonal + 1)
        }
    }
    return row[other.count]
}
