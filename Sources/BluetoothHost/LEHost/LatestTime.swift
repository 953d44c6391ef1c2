/// The latest time that a layer was told: one that is earlier than another before counts as that one.
struct LatestTime: Sendable {
    private(set) var now = Duration.zero

    /// - Returns: the time that counts.
    @discardableResult
    mutating func tell(_ now: Duration) -> Duration {
        // Durations are compared by a function of the standard library, and their attoseconds here; every packet asks.
        if now.attoseconds > self.now.attoseconds { self.now = now }
        return self.now
    }
}
