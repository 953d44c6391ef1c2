import AirSimulator
import SeededRandomness

/// How long a phone that was out of range needs, from the moment it is back, until a dictionary of its app is acknowledged
/// by the watch.
struct ReturnTrial: Sendable {
    /// How long it took until a phone was so far.
    struct Times: Sendable {
        var connected: Duration
        var acknowledged: Duration
    }

    let policy: WatchPolicy
    let scanner: ScannerProfile
    /// How long the phone is away, and up to a second more at random. Both sides
    /// notice after six seconds at most, the supervision timeout that the watch asks for.
    let absence: Duration

    private static let patience: Duration = .seconds(7200)

    func prepare() throws -> BenchPair { try BenchPair(bonded: policy, scanner) }

    func run(_ start: BenchPair, seed: UInt64) throws -> Times {
        var random = SplitMix64(seed: seed)
        var pair = start
        pair.simulation.air.reseed(seed)
        pair.run(for: .microseconds(Int64.random(in: 0..<1_000_000, using: &random)))
        pair.setInRange(false)
        pair.onPhone { phone, _ in phone.expectMessage() }
        pair.run(for: absence + .microseconds(Int64.random(in: 0..<1_000_000, using: &random)))
        pair.setInRange(true)
        let back = pair.now
        guard let milestones = pair.runUntilAcknowledged(within: Self.patience),
            let connected = milestones.connected, let acknowledged = milestones.acknowledged
        else { throw WorkloadFailure("seed \(seed): no dictionary got through within \(Self.patience)") }
        return Times(connected: connected - back, acknowledged: acknowledged - back)
    }
}
