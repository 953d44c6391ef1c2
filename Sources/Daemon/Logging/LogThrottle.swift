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
            defer { budgets[kind] = budget }
            switch budget.take(at: now) {
            case .tell(let leftOut): if let leftOut { counts.append(Count(leftOut, of: kind)) }
            case .leaveOut: return (counts, false)
            }
        }
        return (counts, true)
    }

    /// The counts of what may be told again.
    mutating func reopened(at now: Duration) -> [Count] {
        budgets.keys.compactMap { kind in budgets[kind]?.reopened(at: now).map { Count($0, of: kind) } }
    }

    /// All counts, for the last words of a process.
    mutating func takeCounts() -> [Count] {
        budgets.keys.compactMap { kind in budgets[kind]?.takeLeftOut().map { Count($0, of: kind) } }
    }

    /// How many kinds are kept apart at the moment.
    var kindCount: Int { budgets.count }

    /// When there is a count to be told.
    var nextDeadline: Duration? { budgets.values.compactMap(\.opening).min() }

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
    /// A longer word is from a phone or a person.
    private static let longestWord = 24

    /// The words that a line begins with, and the link that it is about.
    ///
    /// Numbers do not count, and behind punctuation are particulars. A line may begin with its link or its session.
    static func beginning(of text: String) -> String {
        var words: [Substring] = []
        var link: Substring = ""
        for word in text.split(separator: " ", maxSplits: 24) {
            let bare = word.prefix { $0 != "," && $0 != ":" && $0 != ";" }
            if bare.isConnectionHandle {
                link = bare
                if words == ["connection"], bare.count < word.count { words = [] }
                continue
            }
            guard words.count < wordsOfKind else { continue }
            let isOrdinary =
                bare.count <= longestWord && bare.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "'" || $0 == "-") }
            words.append(isOrdinary ? bare : "#")
            guard bare.count < word.count else { continue }
            // “session 3:” says whose line it is, and is no part of the kind.
            if words == ["session", "#"] {
                words = []
                continue
            }
            // What follows is looked through only for the link.
            while words.count < wordsOfKind { words.append("") }
        }
        return (words.filter { !$0.isEmpty } + (link.isEmpty ? [] : ["on", link])).joined(separator: " ")
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
