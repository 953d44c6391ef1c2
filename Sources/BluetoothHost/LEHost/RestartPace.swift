/// How soon a controller that failed is started again: at once, and, if it goes on failing, later each time, so that a broken
/// one costs neither the processor nor the log.
struct RestartPace: Sendable {
    /// So many failures in a row are forgiven.
    static let patience = 10
    /// How long the controller is left alone after the next one; after each that follows, twice as long.
    static let firstRest: Duration = .milliseconds(500)
    static let longestRest: Duration = .seconds(30)
    /// A controller that did not fail for so long is well: the next failure is a new one.
    static let recovery: Duration = .seconds(60)

    private var failureCount = 0
    private var lastFailure: Duration?

    /// The controller has failed.
    /// - Returns: how long it is left alone.
    mutating func failed(at now: Duration) -> Duration {
        if let lastFailure, now - lastFailure >= Self.recovery { failureCount = 0 }
        lastFailure = now
        failureCount += 1
        guard failureCount > Self.patience else { return .zero }
        // Beyond six doublings it is the longest one anyway.
        return min(Self.firstRest * (1 << min(failureCount - Self.patience - 1, 6)), Self.longestRest)
    }
}
