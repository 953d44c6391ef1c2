import AirSimulator
import BluetoothHCI
import BluetoothHost
import SeededRandomness

/// What one rung carried.
struct RungResult {
    let rung: Rung
    /// In kbit/s of application data, as measured in the simulation.
    let measured: Double
    /// As it follows from packet formats.
    let derived: Double
    /// The same for an event without end, if the rung fills events.
    let limit: Double?
    /// What a channel is held against.
    let channelLimit: Double

    /// How far off a measured figure may be.
    static let tolerance = 0.02

    /// How much of its limit a channel has to reach.
    static let leastShareOfLimit = 0.98

    var deviation: Double { measured / derived - 1 }
    var isGood: Bool {
        abs(deviation) <= Self.tolerance && (!rung.isChannel || measured >= Self.leastShareOfLimit * channelLimit)
    }
}

/// Climbs the ladder with real hosts at both ends of a simulated connection.
enum Ladder {
    /// Runs one rung.
    /// - Parameter span: How long it sends, in simulated time, after a second for getting up to speed.
    static func climb(_ rung: Rung, _ profile: DeviceProfile, for span: Duration) throws -> RungResult {
        let model = ThroughputModel(interval: rung.interval, profile: profile)
        return RungResult(
            rung: rung,
            measured: try measure(rung, profile, for: span),
            derived: model.kilobitsPerSecond(rung),
            limit: model.limit(rung),
            channelLimit: model.channelLimit
        )
    }

    /// Kilobits of application data a second, as they arrive in a simulation.
    static func measure(_ rung: Rung, _ profile: DeviceProfile, for span: Duration) throws -> Double {
        var simulation = Simulation(seed: 1)
        let controller = profile.controller(packetLength: rung.packetLength)
        let watchRandomness = RandomSource(state: 1, SplitMix64.draw)
        let phoneRandomness = RandomSource(state: 2, SplitMix64.draw)
        let watch = simulation.add(try LadderWatch(rung, randomness: watchRandomness), controller)
        let phone = simulation.add(try LadderPhone(rung, profile, randomness: phoneRandomness), controller)
        let outcome = simulation.run(until: .seconds(60)) { simulation in
            simulation.withHost(phone) { $0.isSending || $0.failure != nil } == true
        }
        guard outcome == .conditionMet else { throw WorkloadFailure("\(rung.name): the phone never got to sending") }
        simulation.run(for: .seconds(1))
        let before = simulation.withHost(watch) { $0.received } ?? 0
        simulation.run(for: span)
        let after = simulation.withHost(watch) { $0.received } ?? 0
        if let failure = simulation.withHost(phone, { $0.failure }) ?? nil {
            throw WorkloadFailure("\(rung.name): \(failure)")
        }
        return Double((after - before) * 8) / (span / .milliseconds(1))
    }
}
