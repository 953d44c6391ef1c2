import AirSimulator
import BluetoothHCI
import BluetoothHost
import SeededRandomness

/// How long it takes, after the app on the phone was force-quit, until the watch's beacon wakes it, and from then on until
/// a dictionary of the app is acknowledged. iOS gives an app ten seconds for that.
///
/// With an absence, the phone is carried away as soon as the app has ended, and the first time is that since its return: the
/// watch advertises slowly by then.
struct RegionTrial: Sendable {
    /// What a trial begins with.
    struct Scene {
        var pair: BenchPair
        let monitor: Simulation.HostID<RegionMonitor>

        /// Carries the phone away, or back, with its ear.
        mutating func setInRange(_ isInRange: Bool) {
            pair.setInRange(isInRange)
            let quality = isInRange ? LinkQuality.perfect : .outOfRange
            pair.simulation.air.setLinkQuality(quality, between: pair.watch.controller, and: monitor.controller)
        }

        mutating func listen() { pair.simulation.withHost(monitor) { $0.listen() } }

        /// Lets time pass until the ear hears the beacon.
        /// - Returns: whether it did, within a time.
        mutating func runUntilHeard(within limit: Duration) -> Bool {
            pair.run(within: limit) { [monitor] simulation in
                simulation.withHost(monitor) { $0.hasHeard } == true
            } != nil
        }
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

    func prepare() throws -> Scene {
        guard let beacon = policy.beacon else { throw WorkloadFailure("\(policy.name) has no beacon") }
        var pair = try BenchPair(bonded: policy, scanner)
        let monitor = pair.simulation.add(RegionMonitor(scanner, beacon: beacon.data.bytes))
        pair.run(for: .seconds(10))
        return Scene(pair: pair, monitor: monitor)
    }

    func run(_ start: Scene, seed: UInt64) throws -> Times {
        var random = SplitMix64(seed: seed)
        var scene = start
        scene.pair.simulation.air.reseed(seed)
        scene.pair.run(for: .microseconds(Int64.random(in: 0..<2_000_000, using: &random)))
        var begin = scene.pair.now
        scene.listen()
        scene.pair.onPhone { phone, now in
            phone.expectMessage()
            phone.host.disconnect(at: now)
        }
        if absence > .zero {
            scene.pair.run(for: .seconds(1))
            scene.setInRange(false)
            scene.pair.run(for: absence + .microseconds(Int64.random(in: 0..<2_000_000, using: &random)))
            begin = scene.pair.now
            scene.listen()
            scene.setInRange(true)
        }
        guard scene.runUntilHeard(within: Self.patience) else {
            throw WorkloadFailure("seed \(seed): the beacon was not heard within \(Self.patience)")
        }
        let entry = scene.pair.now
        scene.pair.onPhone { phone, now in phone.connectToWatch(at: now) }
        guard let acknowledged = scene.pair.runUntilAcknowledged(within: Self.patience)?.acknowledged else {
            throw WorkloadFailure("seed \(seed): no dictionary got through within \(Self.patience)")
        }
        return Times(entry: entry - begin, acknowledged: acknowledged - entry)
    }
}
