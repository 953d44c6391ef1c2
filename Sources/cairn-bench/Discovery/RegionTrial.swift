import AirSimulator
import BluetoothHCI
import BluetoothHost

/// How long it takes, after the app on the phone was force-quit, until the watch's beacon wakes it, and from then on until
/// a dictionary of the app is acknowledged. iOS gives an app ten seconds for that.
///
/// With an absence, the phone is carried away as soon as the app has ended, and the first time is that since its return: the
/// watch has become slow meanwhile.
struct RegionTrial: Sendable {
    /// What a trial begins with.
    struct Start {
        var pair: BondedPair
        let monitor: Simulation.HostID<RegionMonitor>
    }

    struct Times: Sendable {
        /// From the end of the app, or the phone's return, to the entry into the region.
        var entry: Duration
        /// From the entry to the acknowledgement.
        var acknowledged: Duration
    }

    /// With a beacon.
    let policy: WatchPolicy
    let scanner: ScannerProfile
    let absence: Duration

    private static let patience: Duration = .seconds(7200)

    func prepare() throws -> Start {
        guard let beacon = policy.beacon else { throw WorkloadFailure("\(policy.name) has no beacon") }
        var pair = try BondedPair(policy, scanner)
        let monitor = pair.addMonitor(RegionMonitor(scanner, beacon: beacon.data.bytes))
        pair.run(for: .seconds(10))
        return Start(pair: pair, monitor: monitor)
    }

    func run(_ start: Start, seed: UInt64) throws -> Times {
        var random = SeededNumbers(seed: seed)
        var pair = start.pair
        pair.reseed(seed)
        pair.run(for: .microseconds(Int64.random(in: 0..<2_000_000, using: &random)))
        var begin = pair.now
        pair.withMonitor(start.monitor) { $0.listen() }
        pair.withPhone {
            $0.expectMessage()
            $0.disconnect(at: begin)
        }
        if absence > .zero {
            pair.run(for: .seconds(1))
            pair.setInRange(false, start.monitor)
            pair.run(for: absence + .microseconds(Int64.random(in: 0..<2_000_000, using: &random)))
            begin = pair.now
            pair.withMonitor(start.monitor) { $0.listen() }
            pair.setInRange(true, start.monitor)
        }
        guard pair.runUntilHeard(by: start.monitor, within: Self.patience) else {
            throw WorkloadFailure("seed \(seed): the beacon was not heard within \(Self.patience)")
        }
        let entry = pair.now
        pair.withPhone { $0.connect(to: .random(StoredWatch.address), at: entry) }
        guard let acknowledged = pair.runUntilAcknowledged(within: Self.patience)?.acknowledged else {
            throw WorkloadFailure("seed \(seed): no dictionary got through within \(Self.patience)")
        }
        return Times(entry: entry - begin, acknowledged: acknowledged - entry)
    }
}
