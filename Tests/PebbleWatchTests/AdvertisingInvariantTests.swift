import BluetoothHCI
import PebbleWatch
import SeededRandomness
import Testing

/// Any events in any order: a watch that is not connected can be connected to.
@Suite struct AdvertisingInvariantTests {
    /// What is true at every instant, checked from outside: from the events alone.
    private struct Watcher {
        var policy: AdvertisingPolicy
        let profile: AdvertisingProfile
        let hasBeacon: Bool
        var now = Duration.zero
        var isControllerReady = false
        var isConnected = false
        var sets = 1
        /// Since when nothing could be connected to although it should; nil if it could.
        var deafSince: Duration?

        /// The violation at this moment; nil if there is none.
        mutating func complaint() -> String? {
            let isExpected = isControllerReady && !isConnected
            guard isExpected else {
                deafSince = nil
                return policy.connectable == nil && !policy.isBeaconOnAir ? nil : "on the air while it must not be"
            }
            if !hasBeacon, policy.isBeaconOnAir { return "a beacon that does not exist" }
            if let connectable = policy.connectable {
                deafSince = nil
                if sets == 1, policy.isBeaconOnAir { return "two advertisements on one set" }
                if policy.isBeaconOnAir, connectable.interval > profile.slowestWithBeacon { return "too slow" }
                if !AdvertisingInterval.legacyRange.contains(connectable.interval.rawValue) { return "no interval" }
                return nil
            }
            // Nothing to connect to: that is the beacon's slice, and its length is limited.
            guard hasBeacon, sets == 1, policy.isBeaconOnAir else { return "nothing to connect to" }
            let since = deafSince ?? now
            deafSince = since
            return now - since >= .milliseconds(500) ? "the beacon's slice has no end" : nil
        }

        mutating func happen(_ event: AdvertisingEvent) {
            switch event {
            case .controllerReady(let count):
                isControllerReady = true
                sets = max(1, count)
            case .controllerLost: isControllerReady = false
            case .connected: isConnected = true
            case .disconnected: isConnected = false
            default: break
            }
            policy.receive(event, at: now)
        }
    }

    /// Any event at any time, sensible or not: a controller that is ready twice, a disconnection without a connection.
    private static func event(_ random: inout SplitMix64) -> AdvertisingEvent {
        let bits = random.next()
        let choice = Int(truncatingIfNeeded: (bits >> 8) & 3)
        switch bits & 15 {
        case 0: return .controllerReady(advertisingSets: choice)
        case 1: return .controllerLost
        case 2, 3, 4: return .connected
        case 5, 6, 7, 8:
            return .disconnected(choice < 2 ? choice == 0 ? .lost : .phone : choice == 2 ? .watch : .notEstablished)
        case 9, 10: return .bondedPhoneIsBack
        case 11: return .bonds(count: choice)
        case 12: return .pairingWindow(isOpen: choice < 2)
        case 13: return .command
        default: return .activity(choice < 2 ? choice == 0 ? .boot : .button : choice == 2 ? .motion : .charger)
        }
    }

    /// From a moment to a quarter of an hour, mostly short: longer times only repeat what happens in shorter ones.
    private static func pause(_ random: inout SplitMix64) -> Duration {
        let bits = random.next()
        let units: [Int64] = [1, 1000, 1000, 10_000]
        let unit = (bits >> 40) & 63 == 0 ? 1_000_000 : units[Int(truncatingIfNeeded: bits & 3)]
        return .microseconds(Int64(truncatingIfNeeded: (bits >> 8) % 900) * unit)
    }

    static let profiles: [AdvertisingProfile] = [
        .pebble, .apple, .saver, .custom(AdvertisingSchedule([], then: .apple1285)),
    ]

    /// One random schedule; nil if the invariant held throughout.
    private static func run(seed: UInt64) -> String? {
        var random = SplitMix64(seed: seed)
        let bits = random.next()
        let profile = profiles[Int(truncatingIfNeeded: bits & 3)]
        let hasBeacon = bits & 4 != 0
        let holdOff: Duration? = hasBeacon ? (bits & 8 != 0 ? .seconds(20) : .zero) : nil
        var watcher = Watcher(
            policy: AdvertisingPolicy(profile, beaconHoldOff: holdOff),
            profile: profile,
            hasBeacon: hasBeacon
        )
        watcher.happen(.controllerReady(advertisingSets: bits & 16 == 0 ? 1 : 2))
        for _ in 0..<6 {
            if let complaint = watcher.complaint() { return "\(profile.name), at \(watcher.now): \(complaint)" }
            let next = watcher.now + pause(&random)
            // As the loop does: to the next deadline and no further, but not for ever.
            var wakeUps = 0
            while wakeUps < 3, let deadline = watcher.policy.nextDeadline, deadline < next {
                guard deadline > watcher.now else { return "a deadline that does not pass: \(deadline)" }
                watcher.now = deadline
                watcher.policy.advance(to: deadline)
                if let complaint = watcher.complaint() { return "\(profile.name), at \(deadline): \(complaint)" }
                wakeUps += 1
            }
            watcher.deafSince = nil
            watcher.now = next
            watcher.happen(event(&random))
        }
        return watcher.complaint()
    }

    /// A million in all, in as many parts as keep the machine busy.
    @Test(arguments: 0..<8) func aWatchThatIsNotConnectedCanBeConnectedTo(part: UInt64) {
        for seed in part * 125_000..<(part + 1) * 125_000 {
            if let complaint = Self.run(seed: seed) {
                Issue.record("seed \(seed): \(complaint)")
                return
            }
        }
    }
}
