import HCIRuntime
import Logging

/// Keeps a flood out of the log: it limits the lines of each kind and of each layer in a time, and counts what it leaves out.
///
/// Lines are of one kind if they are of one layer and level, about one link, and begin with the same words; what a phone
/// chooses stands behind those. Kinds that a phone makes up nevertheless end at their layer's budget.
struct LogThrottle: Sendable {
    /// Lines of one kind that are told at once; half of them come back in a minute.
    static let linesOfKind = 20
    /// The same for all of a layer and level together.
    static let linesOfLayer = 60
    /// The time in which they all come back.
    static let time: Duration = .seconds(120)
    /// How many kinds are kept apart. More than that have only their layer's budget.
    static let kindLimit = 256

    /// A line that says how many were left out.
    struct Count: Equatable, Sendable {
        var label: String
        var level: Logger.Level
        var text: String
    }

    /// What lines have in common that count together.
    struct Kind: Hashable, Sendable {
        var label: String
        var level: Logger.Level
        /// How they begin; nil for all lines of the layer and level.
        var beginning: String?
    }

    private var budgets: [Kind: LineBudget] = [:]
    /// When there is a count to be told. It is kept, since every turn of the loop asks for it.
    private(set) var nextDeadline: Duration?

    /// Decides about a line.
    /// - Returns: the lines to write before it, and whether to write it.
    mutating func admit(
        _ text: String,
        label: String,
        level: Logger.Level,
        at now: Duration
    ) -> (counts: [Count], isTold: Bool) {
        var counts: [Count] = []
        let kinds = [
            Kind(label: label, level: level, beginning: Self.beginning(of: text)),
            Kind(label: label, level: level, beginning: nil),
        ]
        for kind in kinds {
            guard var budget = budgets[kind] ?? newBudget(for: kind, at: now) else { continue }
            let opening = budget.opening
            defer {
                budgets[kind] = budget
                if budget.opening != opening { keepDeadline() }
            }
            switch budget.take(at: now) {
            case .tell(let leftOut): if let leftOut { counts.append(Count(leftOut, of: kind)) }
            case .leaveOut: return (counts, false)
            }
        }
        return (counts, true)
    }

    /// The counts of what may be told again.
    mutating func reopened(at now: Duration) -> [Count] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        defer { keepDeadline() }
        return budgets.keys.compactMap { kind in budgets[kind]?.reopened(at: now).map { Count($0, of: kind) } }
    }

    /// All counts, for the last words of a process.
    mutating func takeCounts() -> [Count] {
        defer { keepDeadline() }
        return budgets.keys.compactMap { kind in budgets[kind]?.takeLeftOut().map { Count($0, of: kind) } }
    }

    /// How many kinds are kept apart at the moment.
    var kindCount: Int { budgets.count }

    private mutating func keepDeadline() {
        nextDeadline = nil
        for budget in budgets.values {
            guard let opening = budget.opening else { continue }
            nextDeadline = nextDeadline.map { min($0, opening) } ?? opening
        }
    }

    private mutating func newBudget(for kind: Kind, at now: Duration) -> LineBudget? {
        guard kind.beginning != nil else { return LineBudget(lines: Self.linesOfLayer, each: Self.time) }
        if kindCount >= Self.kindLimit {
            for old in budgets.keys where old.beginning != nil && budgets[old]?.isUnused(at: now) == true {
                budgets[old] = nil
            }
        }
        return kindCount < Self.kindLimit ? LineBudget(lines: Self.linesOfKind, each: Self.time) : nil
    }

    /// How many words tell kinds of lines apart.
    private static let wordsOfKind = 5
    /// How many words are looked at for the link; what stands behind them counts as one.
    private static let wordsLookedAt = 24
    /// A longer word is from a phone or a person.
    private static let longestWord = 24

    /// The words that a line begins with, and the link that it is about.
    ///
    /// Numbers do not count, and behind punctuation are particulars. A line may begin with its link or its session.
    static func beginning(of text: String) -> String {
        var words: [Substring] = []
        words.reserveCapacity(wordsOfKind)
        var link: Substring = ""
        var rest = text[...]
        var wordCount = 0
        // Word by word, and not all at once: this is done for every line.
        while let word = takeWord(of: &rest, isLast: wordCount == wordsLookedAt) {
            wordCount += 1
            let bare = word.prefix { $0 != "," && $0 != ":" && $0 != ";" }
            if bare.isConnectionHandle {
                link = bare
                if words.count == 1, words[0] == "connection", bare.count < word.count { words.removeAll() }
                continue
            }
            guard words.count < wordsOfKind else { continue }
            let isOrdinary =
                bare.count <= longestWord && bare.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "'" || $0 == "-") }
            words.append(isOrdinary ? bare : "#")
            guard bare.count < word.count else { continue }
            // “session 3:” says whose line it is, and is no part of the kind.
            if words.count == 2, words[0] == "session", words[1] == "#" {
                words.removeAll()
                continue
            }
            // What follows is looked through only for the link.
            while words.count < wordsOfKind { words.append("") }
        }
        if !link.isEmpty { words += ["on", link] }
        var beginning = ""
        for word in words where !word.isEmpty {
            if !beginning.isEmpty { beginning += " " }
            beginning += word
        }
        return beginning
    }

    /// - Parameter isLast: whether all that is left counts as one word.
    /// - Returns: the next word; nil if there is none.
    private static func takeWord(of rest: inout Substring, isLast: Bool) -> Substring? {
        rest = rest.drop { $0 == " " }
        guard !rest.isEmpty else { return nil }
        let word = isLast ? rest : rest.prefix { $0 != " " }
        rest = rest[word.endIndex...]
        return word
    }
}

extension LogThrottle.Count {
    fileprivate init(_ leftOut: Int, of kind: LogThrottle.Kind) {
        let lines = leftOut == 1 ? "1 line was" : "\(leftOut) lines were"
        let which = kind.beginning.map { " like “\($0)”" } ?? ""
        self.init(label: kind.label, level: kind.level, text: "\(lines) left out here\(which)")
    }
}

extension Substring {
    /// Whether it is how links are named, such as `0x0040`.
    fileprivate var isConnectionHandle: Bool {
        count == 6 && hasPrefix("0x") && dropFirst(2).allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}
