/// The latest time that a layer was told: one that is earlier than another before counts as that one.
struct LatestTime: Sendable {
    private(set) var now = Duration.zero

    /// - Returns: the time that counts.
    @discardableResult
    mutating func tell(_ now: Duration) -> Duration {
        if now > self.now { self.now = now }
        return self.now
    }
}
