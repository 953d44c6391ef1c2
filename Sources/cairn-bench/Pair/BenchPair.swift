import AirSimulator
import PebbleWatch

typealias BenchPair = SimulatedPair<StoredWatch, EagerPhone>

extension BenchPair {
    /// A watch and a phone that are bonded, connected, and have nothing to say: where trials begin.
    init(bonded policy: WatchPolicy, _ scanner: ScannerProfile) throws {
        var watch = StoredWatch.configuration()
        policy.apply(to: &watch)
        var phone = EagerPhone.configuration()
        phone.scanInterval = scanner.interval
        phone.scanWindow = scanner.window
        // The connection stays wanted, as iOS has it.
        phone.reconnectDelay = .zero
        self.init(seed: 1, watch: try StoredWatch(watch), phone: try EagerPhone(phone))
        guard runUntilAcknowledged(within: .seconds(300)) != nil, onPhone({ phone, _ in phone.isBonded }) else {
            throw WorkloadFailure("the watch and the phone did not bond")
        }
        run(for: .seconds(60))
    }

    mutating func setInRange(_ isInRange: Bool) { setQuality(isInRange ? .perfect : .outOfRange) }

    /// Lets time pass until the phone's dictionary is acknowledged, or for a time.
    mutating func runUntilAcknowledged(within limit: Duration) -> EagerPhone.Milestones? {
        let time = runUntilPhone(within: limit) { $0.milestones.acknowledged != nil }
        return time == nil ? nil : onPhone { phone, _ in phone.milestones }
    }

    /// How long the watch's radio has been on so far.
    var watchRadio: RadioUsage {
        mutating get { simulation.air.radioUsage(of: watch.controller) }
    }
}
