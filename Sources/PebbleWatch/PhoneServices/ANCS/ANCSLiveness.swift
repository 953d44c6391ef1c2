import BluetoothHost

/// Finds out whether the phone's notification service is still there: iOS can forget a subscription without a word.
///
/// Every quarter of an hour the watch asks about a notification that there is not, which a service that is alive refuses. A
/// service that does not, or that has said nothing of its own accord for hours, is subscribed to again.
struct ANCSLiveness: Sendable {
    static let interval: Duration = .seconds(15 * 60)
    static let answerTimeout: Duration = .seconds(5)
    static let longestSilence: Duration = .seconds(6 * 60 * 60)

    enum Verdict: Sendable {
        case wait
        case subscribeAnew
    }

    private var nextProbe: Duration?
    private var answerDeadline: Duration?
    private var lastWord: Duration = .zero
    /// Whether it is to be asked as soon as nothing else is.
    private(set) var isProbeDue = false

    var nextDeadline: Duration? { answerDeadline ?? (isProbeDue ? nil : nextProbe) }

    /// The watch has subscribed.
    mutating func start(at now: Duration) {
        self = ANCSLiveness()
        nextProbe = now + Self.interval
        lastWord = now
    }

    mutating func stop() { self = ANCSLiveness() }

    /// The service said something of its own accord.
    mutating func sourceSpoke(at now: Duration) { lastWord = now }

    mutating func advance(to now: Duration) -> Verdict {
        if let answerDeadline {
            guard answerDeadline <= now else { return .wait }
            return .subscribeAnew
        }
        guard let nextProbe, nextProbe <= now, !isProbeDue else { return .wait }
        if now - lastWord >= Self.longestSilence { return .subscribeAnew }
        isProbeDue = true
        return .wait
    }

    mutating func probeBegan(at now: Duration) {
        isProbeDue = false
        answerDeadline = now + Self.answerTimeout
    }

    /// The service is alive if it refuses the question as it should, or takes it for one.
    mutating func probeEnded(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) -> Verdict {
        answerDeadline = nil
        nextProbe = now + Self.interval
        switch result {
        case .success: return .wait
        case .failure(.refused(let refusal)) where refusal.error == .ancsInvalidParameter: return .wait
        case .failure: return .subscribeAnew
        }
    }
}
