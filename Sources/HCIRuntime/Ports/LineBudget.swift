/// How many lines of one kind may be told: a token bucket.
///
/// A line takes a token, and tokens come back at an even pace. When none is left, the budget closes: lines are left out, and
/// counted, until half of the tokens are back. So a flood is logged as a burst now and then, with a count between.
package struct LineBudget: Sendable {
    /// What is done with a line.
    package enum Decision: Equatable, Sendable {
        /// It is logged. Before it, say how many were left out since the last one, if any were.
        case tell(leftOut: Int?)
        case leaveOut
    }

    /// How many lines may be told at once.
    private let lines: Int
    /// The time in which one token comes back.
    private let interval: Duration
    private var tokens: Int
    /// Up to when tokens have been given back.
    private var filledUntil = Duration.zero
    /// When half of the tokens are back, while lines are left out.
    private var closedUntil: Duration?
    private var leftOut = 0

    /// A budget of which nothing has been used.
    /// - Parameters:
    ///   - lines: how many lines may be told at once, at least one.
    ///   - time: in which that many come back.
    package init(lines: Int, each time: Duration) {
        self.lines = lines
        interval = time / lines
        tokens = lines
    }

    /// Decides about a line.
    package mutating func take(at now: Duration) -> Decision {
        let told = reopened(at: now)
        guard closedUntil == nil else {
            leftOut += 1
            return .leaveOut
        }
        refill(at: now)
        if tokens == lines { filledUntil = now }
        tokens -= 1
        if tokens == 0 { closedUntil = filledUntil + interval * openingTokens }
        return .tell(leftOut: told)
    }

    /// Whether lines are left out at a moment.
    package func isClosed(at now: Duration) -> Bool { closedUntil.map { now < $0 } ?? false }

    /// Opens the budget again, if it is time.
    /// - Returns: how many lines were left out, if the budget has just opened again and there were some.
    package mutating func reopened(at now: Duration) -> Int? {
        guard closedUntil != nil, !isClosed(at: now) else { return nil }
        refill(at: now)
        guard tokens >= openingTokens else { return nil }
        closedUntil = nil
        defer { leftOut = 0 }
        return leftOut > 0 ? leftOut : nil
    }

    /// When the budget opens again, if something has been left out that is to be told then.
    package var opening: Duration? { leftOut > 0 ? closedUntil : nil }

    /// Whether nothing of it is used: it need not be kept.
    package mutating func isUnused(at now: Duration) -> Bool {
        refill(at: now)
        return tokens == lines && leftOut == 0
    }

    /// Takes the number of lines that have been left out so far, for the last words of a process.
    package mutating func takeLeftOut() -> Int? {
        defer { leftOut = 0 }
        return leftOut > 0 ? leftOut : nil
    }

    private var openingTokens: Int { max(1, lines / 2) }

    private mutating func refill(at now: Duration) {
        guard tokens < lines, now > filledUntil else { return }
        let count = Int(min((now - filledUntil) / interval, Double(lines - tokens)))
        tokens += count
        filledUntil += interval * count
    }
}
