import BluetoothHCI

/// Keeps a peer whose pairings fail from trying again at once: it waits, each time twice as long.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.6.
struct RepeatedAttempts: Sendable {
    private struct Record {
        let peer: LEAddress
        var failures: Int
        var lastFailure: Duration
    }

    /// Few, and in the order of their last failure, oldest first.
    private var records: [Record] = []
    private let limits: RepeatedAttemptLimits

    /// How many peers are remembered; beyond that the one that failed longest ago is forgotten.
    static let maximumRecords = 64

    init(_ limits: RepeatedAttemptLimits) { self.limits = limits }

    /// Until when a peer has to wait; nil if it need not.
    func waitingTime(of peer: LEAddress, at now: Duration) -> Duration? {
        guard let record = records.first(where: { $0.peer == peer }) else { return nil }
        let failures = remaining(record, at: now)
        guard failures > 0 else { return nil }
        let end = record.lastFailure + interval(after: failures)
        return now < end ? end : nil
    }

    /// A pairing with a peer failed.
    mutating func failed(_ peer: LEAddress, at now: Duration) {
        var failures = 1
        if let index = records.firstIndex(where: { $0.peer == peer }) {
            failures = min(remaining(records[index], at: now) + 1, limits.maximumDoublings + 1)
            records.remove(at: index)
        } else if records.count >= Self.maximumRecords {
            records.removeFirst()
        }
        records.append(Record(peer: peer, failures: failures, lastFailure: now))
    }

    /// A pairing with a peer completed.
    mutating func succeeded(_ peer: LEAddress) { records.removeAll { $0.peer == peer } }

    /// The failures that still count: quiet time takes them away one by one, so the wait decreases as it grew.
    private func remaining(_ record: Record, at now: Duration) -> Int {
        guard limits.forgetInterval > .zero, now > record.lastFailure else { return record.failures }
        let forgotten = (now - record.lastFailure) / limits.forgetInterval
        return max(0, record.failures - Int(min(forgotten, Double(record.failures))))
    }

    private func interval(after failures: Int) -> Duration {
        limits.firstInterval * (1 << min(failures - 1, limits.maximumDoublings))
    }
}

/// How long a peer whose pairings fail has to wait.
package struct RepeatedAttemptLimits: Hashable, Sendable {
    /// The wait after the first failure. Zero switches the protection off.
    package var firstInterval: Duration
    /// How often the wait doubles before it grows no more; at most 16.
    package var maximumDoublings: Int { didSet { maximumDoublings = min(max(maximumDoublings, 0), 16) } }
    /// How long it takes, without a failure, until one of them is forgotten.
    package var forgetInterval: Duration

    /// One second, doubled up to 256 seconds; one failure is forgotten every ten minutes.
    package init() {
        firstInterval = .seconds(1)
        maximumDoublings = 8
        forgetInterval = .seconds(600)
    }
}
