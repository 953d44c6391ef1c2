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

        /// The level makes no difference here: its hash is that of its name.
        func hash(into hasher: inout Hasher) {
            hasher.combine(label)
            hasher.combine(beginning)
        }
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

    /// Counts a line of a kind that is left out at the moment, as `admit` would.
    /// - Returns: whether it is one.
    mutating func leavesOut(_ kind: Kind, at now: Duration) -> Bool {
        guard let place = budgets.index(forKey: kind), budgets.values[place].isClosed(at: now) else { return false }
        let opening = budgets.values[place].opening
        _ = budgets.values[place].take(at: now)
        if budgets.values[place].opening != opening { keepDeadline() }
        return true
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
        // Bytes and not characters: this is done for every line, and what is ordinary is ASCII.
        var text = text
        return text.withUTF8 { String(decoding: beginning(of: $0), as: UTF8.self) }
    }

    private typealias Word = Slice<UnsafeBufferPointer<UInt8>>

    private static func beginning(of line: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var kind: [UInt8] = []
        kind.reserveCapacity((wordsOfKind + 2) * (longestWord + 1))
        var wordsLeft = wordsOfKind
        var link: Word?
        var rest = line[...]
        var wordCount = 0
        // Word by word, and not all at once.
        while let word = takeWord(of: &rest, isLast: wordCount == wordsLookedAt) {
            wordCount += 1
            let bare = word.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }
            if isConnectionHandle(bare) {
                link = bare
                if bare.count < word.count, wordsLeft == wordsOfKind - 1, kind.elementsEqual("connection".utf8) {
                    kind.removeAll(keepingCapacity: true)
                    wordsLeft = wordsOfKind
                }
                continue
            }
            guard wordsLeft > 0 else { continue }
            wordsLeft -= 1
            if isOrdinary(bare) {
                append(bare, to: &kind)
            } else {
                append(CollectionOfOne(UInt8(ascii: "#")), to: &kind)
            }
            guard bare.count < word.count else { continue }
            if wordsLeft == wordsOfKind - 2, kind.elementsEqual("session #".utf8) {
                // “session 3:” says whose line it is, and is no part of the kind.
                kind.removeAll(keepingCapacity: true)
                wordsLeft = wordsOfKind
            } else {
                // What follows is looked through only for the link.
                wordsLeft = 0
            }
        }
        if let link {
            append("on".utf8, to: &kind)
            append(link, to: &kind)
        }
        return kind
    }

    private static func append(_ word: some Collection<UInt8>, to kind: inout [UInt8]) {
        guard !word.isEmpty else { return }
        if !kind.isEmpty { kind.append(UInt8(ascii: " ")) }
        kind += word
    }

    /// - Parameter isLast: whether all that is left counts as one word.
    /// - Returns: the next word; nil if there is none.
    private static func takeWord(of rest: inout Word, isLast: Bool) -> Word? {
        rest = rest.drop { $0 == UInt8(ascii: " ") }
        guard !rest.isEmpty else { return nil }
        let word = isLast ? rest : rest.prefix { $0 != UInt8(ascii: " ") }
        rest = rest[word.endIndex...]
        return word
    }

    private static func isOrdinary(_ word: Word) -> Bool {
        word.count <= longestWord
            && word.allSatisfy { $0.isASCIILetter || $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "-") }
    }

    /// Whether it is how links are named, such as `0x0040`.
    private static func isConnectionHandle(_ word: Word) -> Bool {
        word.count == 6 && word.starts(with: "0x".utf8) && word.dropFirst(2).allSatisfy { $0.isASCIIHexDigit }
    }
}

extension LogThrottle.Count {
    fileprivate init(_ leftOut: Int, of kind: LogThrottle.Kind) {
        let lines = leftOut == 1 ? "1 line was" : "\(leftOut) lines were"
        let which = kind.beginning.map { " like “\($0)”" } ?? ""
        self.init(label: kind.label, level: kind.level, text: "\(lines) left out here\(which)")
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (0x41...0x5A).contains(self & ~0x20) }

    fileprivate var isASCIIHexDigit: Bool { (0x30...0x39).contains(self) || (0x41...0x46).contains(self & ~0x20) }
}
