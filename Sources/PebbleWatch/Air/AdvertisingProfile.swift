import BluetoothHCI

/// One stretch of advertising: at this interval, for so long on the air.
public struct AdvertisingStep: Hashable, Sendable {
    /// How often the watch advertises in this step.
    public let interval: AdvertisingInterval
    /// How long the step lasts, counted only while it is on the air.
    public let duration: Duration

    /// Names an interval and how long it is kept.
    public static func every(_ interval: AdvertisingInterval, for duration: Duration) -> AdvertisingStep {
        AdvertisingStep(interval: interval, duration: duration)
    }
}

/// Steps one after the other, and the interval that is kept for ever after them: a watch that waits for a phone never
/// falls silent.
public struct AdvertisingSchedule: Hashable, Sendable {
    /// The steps, first to last; empty for one interval all the time.
    public let steps: [AdvertisingStep]
    /// The interval after the last step, kept for ever.
    public let last: AdvertisingInterval

    /// Lists the steps and what follows them.
    public init(_ steps: [AdvertisingStep], then last: AdvertisingInterval) {
        self.steps = steps
        self.last = last
    }

    /// The interval of a step, or of what follows them all.
    func interval(at index: Int) -> AdvertisingInterval { steps.indices.contains(index) ? steps[index].interval : last }

    /// How long a step lasts; nil for ever.
    func duration(at index: Int) -> Duration? { steps.indices.contains(index) ? steps[index].duration : nil }
}

/// What decides how a watch advertises: all of it data. The profiles that there are stand below, one value each.
public struct AdvertisingProfile: Hashable, Sendable {
    /// What those who hear a bonded watch that waits for its phone learn of it.
    public enum ReconnectionPayload: Hashable, Sendable {
        /// Nothing, as on the real watch: its phone looks for the address, and no other device should notice it.
        case empty
        /// The same as while it can be paired: Flags, service, name and TX power.
        case full
    }

    /// Against a phone that connects and drops over and over, which would keep the watch in its costly first step.
    public struct ChurnGuard: Hashable, Sendable {
        /// The first step is left out when waiting for the phone began more often than this...
        public let limit: Int
        /// ...within this time.
        public let window: Duration
    }

    /// What people call it.
    public var name: String
    /// To be found by a phone that does not know the watch.
    public var discovery: AdvertisingSchedule
    /// To be found again by the phone that does.
    public var reconnection: AdvertisingSchedule
    /// What the advertisement says while the watch waits for its bonded phone.
    public var reconnectionPayload: ReconnectionPayload
    /// With both to do: how long each is on the air before the other. Nil: one advertisement serves both, at the shorter
    /// of their intervals.
    public var turn: Duration?
    /// What begins the schedules again. A command of the user's always does.
    public var wakesOn: Set<WatchActivity>
    /// Which ends of a link begin again a schedule that was not over when the phone connected. (A bonded phone that came
    /// and went always begins a new one.)
    public var restartsAfter: Set<LinkEnd>
    /// After which ends of a link the first, fast step is left out, unless there is a beacon to be answered.
    public var staysSlowAfter: Set<LinkEnd>
    /// How often waiting for the phone may begin with the first, fast step; nil for no limit.
    public var churnGuard: ChurnGuard?
    /// While the beacon is out, no interval is longer: an app that it wakes has ten seconds to find the watch.
    public var slowestWithBeacon: AdvertisingInterval
}

// MARK: - The profiles

extension AdvertisingProfile {
    /// As the watches of 2025 do it, down to the missing slot of the slow interval.
    public static let pebble = AdvertisingProfile(
        name: "pebble",
        discovery: AdvertisingSchedule([.every(.apple20, for: .seconds(300))], then: .pebbleSlow),
        reconnection: AdvertisingSchedule([.every(.apple20, for: .seconds(30))], then: .pebbleSlow),
        reconnectionPayload: .empty,
        turn: .seconds(1),
        wakesOn: [],
        restartsAfter: [],
        staysSlowAfter: [],
        churnGuard: ChurnGuard(limit: 3, window: .seconds(60)),
        slowestWithBeacon: .apple211_25
    )

    /// Apple's guidelines to the letter: 20 ms for 30 seconds (5 minutes to pair), then down the grid, step by step.
    public static let apple = AdvertisingProfile(
        name: "apple",
        discovery: AdvertisingSchedule(
            [
                .every(.apple20, for: .minutes(5)),
                .every(.apple152_5, for: .minutes(5)),
                .every(.apple211_25, for: .minutes(10)),
                .every(.apple318_75, for: .minutes(10)),
                .every(.apple417_5, for: .minutes(30)),
                .every(.apple546_25, for: .minutes(30)),
                .every(.apple760, for: .hours(1)),
                .every(.apple852_5, for: .hours(1)),
                .every(.apple1022_5, for: .hours(6)),
            ],
            then: .apple1285
        ),
        reconnection: AdvertisingSchedule(
            [
                .every(.apple20, for: .seconds(30)),
                .every(.apple152_5, for: .minutes(2)),
                .every(.apple211_25, for: .minutes(5)),
                .every(.apple318_75, for: .minutes(10)),
                .every(.apple417_5, for: .minutes(15)),
                .every(.apple546_25, for: .minutes(30)),
                .every(.apple760, for: .minutes(30)),
                .every(.apple852_5, for: .hours(1)),
                .every(.apple1022_5, for: .hours(4)),
            ],
            then: .apple1285
        ),
        reconnectionPayload: .full,
        turn: nil,
        wakesOn: [.boot, .button, .motion, .charger],
        restartsAfter: [.lost, .phone, .watch],
        staysSlowAfter: [],
        churnGuard: nil,
        slowestWithBeacon: .apple211_25
    )

    /// For a small battery: the fast step only where somebody is likely to be looking, then the slow end of the grid.
    public static let saver = AdvertisingProfile(
        name: "saver",
        discovery: AdvertisingSchedule(
            [.every(.apple20, for: .seconds(60)), .every(.apple417_5, for: .minutes(5))],
            then: .apple1285
        ),
        reconnection: AdvertisingSchedule(
            [.every(.apple20, for: .seconds(30)), .every(.apple546_25, for: .minutes(2))],
            then: .apple1285
        ),
        reconnectionPayload: .full,
        turn: nil,
        wakesOn: [.boot, .button, .charger],
        restartsAfter: [.lost],
        staysSlowAfter: [.phone],
        churnGuard: ChurnGuard(limit: 3, window: .seconds(60)),
        slowestWithBeacon: .apple318_75
    )

    /// A schedule of the user's own, for both purposes; in everything else as `apple`.
    public static func custom(_ schedule: AdvertisingSchedule) -> AdvertisingProfile {
        var profile = AdvertisingProfile.apple
        profile.name = "custom"
        profile.discovery = schedule
        profile.reconnection = schedule
        return profile
    }
}

extension Duration {
    static func minutes(_ minutes: Int) -> Duration { .seconds(60 * minutes) }
    static func hours(_ hours: Int) -> Duration { .seconds(3600 * hours) }
}
