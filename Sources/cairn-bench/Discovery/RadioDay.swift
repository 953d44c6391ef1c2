import AirSimulator

/// How long the watch's radio is on in a day.
struct RadioDay {
    enum Situation: String, CaseIterable {
        case away = "phone away"
        case awayWithBeacon = "phone away, beacon"
        case connected = "connected, nothing to say"
    }

    let policy: WatchPolicy
    let situation: Situation
    let usage: RadioUsage

    private static let day: Duration = .seconds(86_400)

    /// Lives through a day of a bonded watch, the first one after its phone left, or after it last said anything.
    init(_ policy: WatchPolicy, _ situation: Situation) throws {
        self.policy = policy
        self.situation = situation
        let policy = situation == .awayWithBeacon ? policy.withBeacon : policy
        var pair = try BenchPair(bonded: policy, .foreground)
        let before = pair.watchRadio
        if situation != .connected { pair.setInRange(false) }
        pair.run(for: Self.day)
        usage = pair.watchRadio - before
    }

    var seconds: Double { (usage.total.transmitting + usage.total.receiving) / .seconds(1) }

    func milliampereHours(_ currents: RadioCurrents = .nRF52840) -> Double {
        currents.milliampereHoursPerDay(usage.total, within: Self.day)
    }
}
