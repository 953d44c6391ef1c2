import Board
import HCIRuntime
import Logging
import PebbleWatch

/// Asks the battery now and then how it is doing, and tells the watch.
final class BatteryGauge: LoopMember {
    /// How often the battery is asked: a phone that shows it does not need it sooner.
    static let period: Duration = .seconds(30)

    private let supply: PowerSupply
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var nextTime: Duration = .zero
    private var lastCharge: PowerSupply.Charge?
    private var lastFailure: PowerSupply.Failure?

    init(_ supply: PowerSupply, watch: HostRunner<WatchHost>, log: Logger) {
        self.supply = supply
        self.watch = watch
        self.log = log
    }

    func start(at now: Duration) { nextTime = now }
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }

    func advance(to now: Duration) {
        guard nextTime <= now else { return }
        nextTime = now + Self.period
        do throws(PowerSupply.Failure) {
            let charge = try supply.charge()
            lastFailure = nil
            guard charge != lastCharge else { return }
            lastCharge = charge
            // 0 to 100 percent is a reading that cannot be refused.
            let reading = SensorReading.battery(percent: charge.percent, isCharging: charge.isCharging)
            _ = try? watch.perform(.sense(reading), at: now)
        } catch {
            // The last charge counts until the battery says another.
            if error != lastFailure { log.warning("\(error)") }
            lastFailure = error
        }
    }

    var nextDeadline: Duration? { nextTime }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
