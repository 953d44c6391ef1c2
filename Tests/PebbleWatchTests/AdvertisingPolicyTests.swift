import BluetoothHCI
import PebbleWatch
import Testing

/// The policy, event by event. The numbers are the firmware's (20 ms is 0x20 slots, its "1022 ms" 1635) and Apple's.
@Suite struct AdvertisingPolicyTests {
    private let fast = AdvertisingInterval(rawValue: 0x0020)
    private let slow = AdvertisingInterval(rawValue: 1635)

    /// A policy whose controller is ready at zero.
    private func policy(
        _ profile: AdvertisingProfile = .pebble,
        bonds: Int = 0,
        sets: Int = 4,
        beaconHoldOff: Duration? = nil
    ) -> AdvertisingPolicy {
        var policy = AdvertisingPolicy(profile, beaconHoldOff: beaconHoldOff)
        policy.receive(.bonds(count: bonds), at: .zero)
        policy.receive(.controllerReady(advertisingSets: sets), at: .zero)
        return policy
    }

    // MARK: As the real firmware

    @Test func discoveryIsFastForFiveMinutesThenSlowForEver() {
        var policy = AdvertisingPolicy(.pebble)
        #expect(policy.connectable == nil)
        policy.receive(.controllerReady(advertisingSets: 1), at: .seconds(7))
        #expect(policy.connectable == .init(.discovery, every: fast))
        #expect(policy.nextDeadline == .seconds(307))
        policy.advance(to: .seconds(307) - .microseconds(1))
        #expect(policy.connectable?.interval == fast)
        policy.advance(to: .seconds(307))
        #expect(policy.connectable?.interval == slow)
        #expect(policy.nextDeadline == nil)
        policy.advance(to: .seconds(1_000_000))
        #expect(policy.connectable?.interval == slow)
    }

    @Test func openingThePairingWindowBeginsTheFastStepAgain() {
        var policy = policy()
        policy.advance(to: .seconds(400))
        #expect(policy.connectable?.interval == slow)
        policy.receive(.pairingWindow(isOpen: true), at: .seconds(400))
        #expect(policy.connectable?.interval == fast)
        #expect(policy.nextDeadline == .seconds(700))
    }

    @Test func nothingIsOnTheAirWhileConnectedAndStepsStandStill() {
        var policy = policy()
        policy.receive(.connected, at: .seconds(100))
        #expect(policy.connectable == nil)
        #expect(policy.nextDeadline == nil)
        policy.receive(.disconnected(.lost), at: .seconds(5000))
        #expect(policy.connectable?.interval == fast)
        #expect(policy.nextDeadline == .seconds(5200), "the 200 s that were left of the fast step")
    }

    @Test func twoPurposesTakeTurnsOfOneSecond() {
        var policy = policy(bonds: 1)
        policy.receive(.pairingWindow(isOpen: true), at: .zero)
        var seen: [AdvertisingPolicy.Purpose?] = []
        for second in 0..<4 {
            policy.advance(to: .seconds(second))
            seen.append(policy.connectable?.purpose)
        }
        #expect(seen == [.discovery, .reconnection, .discovery, .reconnection])
        policy.receive(.pairingWindow(isOpen: false), at: .seconds(4))
        #expect(policy.connectable?.purpose == .reconnection)
        #expect(policy.nextDeadline == .seconds(32), "reconnection has been on the air for two seconds of its thirty")
    }

    @Test func churnSkipsTheFastStep() {
        var policy = policy(bonds: 1)
        func comesAndGoes(at now: Duration) {
            policy.receive(.connected, at: now)
            policy.receive(.bondedPhoneIsBack, at: now)
            policy.receive(.disconnected(.phone), at: now)
        }
        for attempt in 1...3 {
            comesAndGoes(at: .seconds(attempt))
            #expect(policy.connectable?.interval == fast)
        }
        comesAndGoes(at: .seconds(4))
        #expect(policy.connectable?.interval == slow, "the fourth time within a minute")
        comesAndGoes(at: .seconds(120))
        #expect(policy.connectable?.interval == fast, "the churn is over")
    }

    @Test func aLinkThatWasNeverEncryptedChangesNothingOnTheRealWatch() {
        var policy = policy(bonds: 1)
        policy.receive(.connected, at: .seconds(100))
        policy.receive(.disconnected(.lost), at: .seconds(101))
        #expect(policy.connectable == .init(.reconnection, every: slow))
        for activity in WatchActivity.allCases { policy.receive(.activity(activity), at: .seconds(102)) }
        #expect(policy.connectable?.interval == slow, "the real firmware ignores it")
        policy.receive(.command, at: .seconds(103))
        #expect(policy.connectable?.interval == fast)
    }

    // MARK: As Apple's guidelines demand

    /// Slots of 20, 152.5, 211.25, 318.75, 417.5, 546.25, 760, 852.5, 1022.5 and 1285 ms, worked out by hand.
    static let appleSlots: [UInt32] = [32, 244, 338, 510, 668, 874, 1216, 1364, 1636, 2056]

    @Test func theGridIsApples() {
        #expect(AdvertisingInterval.appleGrid.map(\.rawValue) == Self.appleSlots)
        #expect(
            AdvertisingInterval.appleGrid.map(\.inMilliseconds) == [
                "20 ms", "152.5 ms", "211.25 ms", "318.75 ms", "417.5 ms", "546.25 ms", "760 ms", "852.5 ms",
                "1022.5 ms", "1285 ms",
            ]
        )
    }

    @Test(arguments: [0, 1])
    func appleWalksDownTheWholeGrid(bonds: Int) {
        var policy = policy(.apple, bonds: bonds)
        var slots: [UInt32] = []
        var starts: [Duration] = []
        while let interval = policy.connectable?.interval, slots.count < 20 {
            slots.append(interval.rawValue)
            guard let deadline = policy.nextDeadline else { break }
            starts.append(deadline)
            policy.advance(to: deadline)
        }
        #expect(slots == Self.appleSlots)
        #expect(starts.first == (bonds == 0 ? .seconds(300) : .seconds(30)))
    }

    private static let wakes: [(AdvertisingProfile, Set<WatchActivity>)] = [
        (.apple, [.boot, .button, .motion, .charger]), (.saver, [.boot, .button, .charger]), (.pebble, []),
    ]

    @Test(arguments: wakes)
    func activityBeginsAgainWhereTheProfileSays(profile: AdvertisingProfile, wakes: Set<WatchActivity>) {
        for activity in WatchActivity.allCases {
            var policy = policy(profile, bonds: 1)
            policy.advance(to: .seconds(100_000))
            #expect(policy.connectable?.interval != fast)
            policy.receive(.activity(activity), at: .seconds(100_000))
            #expect((policy.connectable?.interval == fast) == wakes.contains(activity), "\(profile.name) \(activity)")
        }
    }

    @Test func oneAdvertisementServesBothPurposesAtTheShorterInterval() {
        var policy = policy(.apple, bonds: 1)
        policy.advance(to: .seconds(35))
        #expect(policy.connectable == .init(.reconnection, every: .apple152_5))
        policy.receive(.pairingWindow(isOpen: true), at: .seconds(35))
        #expect(policy.connectable == .init(.discovery, every: .apple20))
        policy.advance(to: .seconds(35 + 300))
        #expect(policy.connectable?.interval == .apple152_5, "both have reached it")
        policy.receive(.pairingWindow(isOpen: false), at: .seconds(336))
        #expect(policy.connectable?.purpose == .reconnection)
    }

    @Test(arguments: LinkEnd.allCases)
    func howALinkEndedDecidesWhatFollows(end: LinkEnd) {
        func afterPlainLink(_ profile: AdvertisingProfile) -> AdvertisingInterval? {
            var policy = policy(profile, bonds: 1)
            policy.receive(.connected, at: .seconds(50))
            policy.receive(.disconnected(end), at: .seconds(51))
            return policy.connectable?.interval
        }
        #expect(afterPlainLink(.apple) == (end == .notEstablished ? .apple152_5 : .apple20))
        #expect(afterPlainLink(.saver) == (end == .lost ? .apple20 : .apple546_25))
        #expect(afterPlainLink(.pebble) == slow)
        func afterBondedPhone(_ profile: AdvertisingProfile, beaconHoldOff: Duration? = nil) -> AdvertisingInterval? {
            var policy = policy(profile, bonds: 1, beaconHoldOff: beaconHoldOff)
            policy.receive(.connected, at: .seconds(50))
            policy.receive(.bondedPhoneIsBack, at: .seconds(50))
            policy.receive(.disconnected(end), at: .seconds(51))
            return policy.connectable?.interval
        }
        #expect(afterBondedPhone(.apple) == .apple20)
        #expect(afterBondedPhone(.pebble) == fast)
        #expect(afterBondedPhone(.saver) == (end == .phone ? .apple546_25 : .apple20))
        #expect(afterBondedPhone(.saver, beaconHoldOff: .zero) == .apple20, "an app that the beacon woke is in a hurry")
    }

    @Test func bondsComeAndGo() {
        var policy = policy(.apple)
        #expect(policy.connectable?.purpose == .discovery)
        policy.receive(.connected, at: .seconds(1))
        policy.receive(.bonds(count: 1), at: .seconds(2))
        policy.receive(.bondedPhoneIsBack, at: .seconds(2))
        policy.receive(.disconnected(.lost), at: .seconds(90))
        #expect(policy.connectable == .init(.reconnection, every: .apple20))
        policy.receive(.bonds(count: 0), at: .seconds(1000))
        #expect(policy.connectable == .init(.discovery, every: .apple20))
    }

    @Test func aControllerThatIsAwayTakesNoTimeOffTheSchedule() {
        var policy = policy(.pebble)
        policy.receive(.controllerLost, at: .seconds(100))
        #expect(policy.connectable == nil && policy.nextDeadline == nil)
        policy.receive(.controllerReady(advertisingSets: 1), at: .seconds(900))
        #expect(policy.connectable?.interval == fast)
        #expect(policy.nextDeadline == .seconds(1100))
    }

    // MARK: The beacon

    @Test func theBeaconIsOutExactlyWhileNobodyIsConnected() {
        var policy = policy(.apple, bonds: 1, beaconHoldOff: .zero)
        #expect(policy.isBeaconOnAir)
        policy.receive(.connected, at: .seconds(5))
        #expect(!policy.isBeaconOnAir)
        policy.receive(.disconnected(.phone), at: .seconds(50))
        #expect(policy.isBeaconOnAir && policy.connectable != nil)
        policy.receive(.controllerLost, at: .seconds(51))
        #expect(!policy.isBeaconOnAir)
        policy = self.policy(.apple)
        #expect(!policy.isBeaconOnAir, "there is none")
    }

    @Test func theHoldOffIsForLostLinksOnly() {
        var policy = policy(.apple, bonds: 1, beaconHoldOff: .seconds(20))
        #expect(policy.isBeaconOnAir, "nothing was lost yet")
        for (end, wait) in [(LinkEnd.lost, Duration.seconds(20)), (.phone, .zero), (.watch, .zero)] {
            policy.receive(.connected, at: .seconds(100))
            policy.receive(.disconnected(end), at: .seconds(200))
            #expect(policy.isBeaconOnAir == (wait == .zero), "\(end)")
            policy.advance(to: .seconds(200) + wait - .microseconds(1))
            #expect(policy.isBeaconOnAir == (wait == .zero), "\(end)")
            policy.advance(to: .seconds(200) + wait)
            #expect(policy.isBeaconOnAir, "\(end)")
            policy = self.policy(.apple, bonds: 1, beaconHoldOff: .seconds(20))
        }
        // A connection that was not established neither ends a hold-off nor begins one.
        policy.receive(.connected, at: .seconds(1))
        policy.receive(.disconnected(.notEstablished), at: .seconds(2))
        #expect(policy.isBeaconOnAir)
        policy.receive(.connected, at: .seconds(3))
        policy.receive(.disconnected(.lost), at: .seconds(4))
        policy.receive(.connected, at: .seconds(5))
        policy.receive(.disconnected(.notEstablished), at: .seconds(6))
        #expect(!policy.isBeaconOnAir)
        policy.advance(to: .seconds(24))
        #expect(policy.isBeaconOnAir)
    }

    @Test(arguments: [AdvertisingProfile.pebble, .apple, .saver])
    func whileTheBeaconIsOutNoIntervalIsSlow(profile: AdvertisingProfile) {
        var policy = policy(profile, bonds: 1, beaconHoldOff: .zero)
        var slowest = AdvertisingInterval.apple20
        for hour in 0..<24 {
            policy.advance(to: .seconds(3600 * hour))
            slowest = max(slowest, policy.connectable?.interval ?? slowest)
        }
        #expect(slowest == profile.slowestWithBeacon)
        #expect(slowest <= .apple318_75, "with more, a phone that listens a tenth of the time needs over 10 seconds")
    }

    @Test func onOneSetTheBeaconHasSlices() {
        var policy = policy(.pebble, bonds: 1, sets: 1, beaconHoldOff: .zero)
        var slices: [(start: Duration, isBeacon: Bool)] = []
        var now = Duration.zero
        while now < .seconds(8) {
            #expect((policy.connectable == nil) == policy.isBeaconOnAir, "one of them, never both")
            slices.append((now, policy.isBeaconOnAir))
            now = policy.nextDeadline ?? .seconds(9)
            policy.advance(to: now)
        }
        #expect(
            slices.map(\.start)
                == [0, 1500, 2000, 3500, 4000, 5500, 6000, 7500].map { Duration.milliseconds($0) }
        )
        #expect(slices.map(\.isBeacon) == [false, true, false, true, false, true, false, true])
        // Time on the air is what counts: 30 seconds of 20 ms take 40 with the beacon's slices.
        policy.advance(to: .milliseconds(39_499))
        #expect(policy.connectable == .init(.reconnection, every: fast))
        policy.advance(to: .milliseconds(40_000))
        #expect(policy.connectable?.interval == .apple211_25)
        // A phone that has just gone can come back at once.
        policy.advance(to: .milliseconds(41_600))
        #expect(policy.isBeaconOnAir)
        policy.receive(.connected, at: .milliseconds(41_600))
        policy.receive(.disconnected(.lost), at: .milliseconds(41_650))
        #expect(policy.connectable != nil && !policy.isBeaconOnAir)
    }

    @Test func slicesAreFairToPurposesThatTakeTurns() {
        var policy = policy(.pebble, bonds: 1, sets: 1, beaconHoldOff: .zero)
        policy.receive(.pairingWindow(isOpen: true), at: .zero)
        var share: [String: Duration] = [:]
        var now = Duration.zero
        while now < .seconds(60) {
            let next = min(policy.nextDeadline ?? .seconds(60), .seconds(60))
            share[policy.connectable?.purpose.rawValue ?? "beacon", default: .zero] += next - now
            policy.advance(to: next)
            now = next
        }
        #expect(share["beacon"] == .seconds(15), "half a second of every two")
        let (discovery, reconnection) = (share["discovery"] ?? .zero, share["reconnection"] ?? .zero)
        #expect(discovery + reconnection == .seconds(45))
        #expect(discovery - reconnection == .seconds(1), "the first one has had a turn more")
    }
}
