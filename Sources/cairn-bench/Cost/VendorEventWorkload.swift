import PebbleWatch

/// An event of the controller's manufacturer, which the watch has no use for, at a watch with a phone. Controllers may send
/// hundreds of them a second.
struct VendorEventWorkload: Workload {
    private var watch: Watch
    private let now: Duration
    private let event: [UInt8] = [0x04, 0xFF, 0x04, 0x01, 0x02, 0x03, 0x04]

    init() throws {
        var pair = try WatchAndPhone(.reversed)
        let taken = try pair.takeWatch()
        watch = taken.watch
        now = taken.now
        // The first one is reported.
        watch.receive(event[...], at: now)
        while watch.nextEvent() != nil {}
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { watch.receive(event[...], at: now) }
        guard watch.nextEvent() == nil else { throw WorkloadFailure("the watch tells of events that concern nobody") }
    }
}
