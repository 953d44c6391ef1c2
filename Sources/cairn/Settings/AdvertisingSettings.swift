import PebbleProtocol
import PebbleWatch
import Settings

/// What is on the air when, and the beacon.
enum AdvertisingSettings: SettingGroup {
    static let title = "ADVERTISING"
    static let settings: [Setting<RunPlan>] = [
        // A board is used with iPhones: by default it advertises as Apple's guidelines ask.
        Setting(
            "advertising.policy",
            option: "advertising",
            .choice,
            into: \.advertising,
            withBoardFile: .apple,
            help: """
                How the watch advertises: pebble as the real firmware, apple as Apple's guidelines have it, saver for small \
                batteries, custom as --advertising-steps say.
                """,
            page: "advertising.md"
        ),
        Setting(
            "advertising.steps",
            option: "advertising-steps",
            .list("steps such as [20ms/30s, 211.25ms/5min, 1285ms]", placeholder: "steps", print: { ["\($0)"] }) {
                try AdvertisingSchedule(parsing: $0)
            },
            ifGiven: \.advertisingSteps,
            help: """
                For custom: intervals and how long each is kept, the last one for ever, as in 20ms/30s,211.25ms/5min,1285ms.
                """
        ),
        Setting(
            "advertising.power",
            option: "advertising-power",
            .number(-127...20, of: "dBm"),
            ifGiven: \.watch.advertisingPower,
            otherwise: "as the controller likes, and phones are told 0",
            help: """
                How strongly to advertise, in dBm: controllers with extended advertising are asked for it, and phones are \
                told.
                """
        ),
        Setting(
            "beacon.uuid",
            option: "beacon",
            .word("a UUID", placeholder: "uuid", parse: uuid),
            ifGiven: \.beaconRegion,
            otherwise: "no beacon",
            help:
                "While no phone is connected, be an iBeacon with this UUID too, which wakes the companion app on iPhones."
        ),
        Setting(
            "beacon.major",
            option: "beacon-major",
            .number(0...UInt16.max),
            into: \.beacon.major,
            placeholder: "number",
            needs: beacon,
            help: "The beacon's major number."
        ),
        Setting(
            "beacon.minor",
            option: "beacon-minor",
            .number(0...UInt16.max),
            into: \.beacon.minor,
            placeholder: "number",
            needs: beacon,
            help: "The beacon's minor number."
        ),
        Setting(
            "beacon.power",
            option: "beacon-power",
            .number(Int8.min...Int8.max, of: "dBm"),
            into: \.beacon.measuredPower,
            needs: beacon,
            help:
                "How strongly an iPhone receives the beacon at one metre, in dBm: measure it for distances to make sense."
        ),
        Setting(
            "beacon.hold-off",
            option: "beacon-hold-off",
            .duration(0...3600, .seconds),
            into: \.beacon.holdOff,
            needs: beacon,
            help: "How long the beacon waits after a lost link, so that a short gap does not wake the phone."
        ),
        Setting(
            "beacon.despite-privacy",
            option: "beacon-despite-privacy",
            .flag,
            into: \.watch.showsBeaconDespitePrivacy,
            help: "Show the beacon although --private-address hides the watch; it says the same all the time."
        ),
    ]

    /// The names of the profiles.
    enum Policy: String, CaseIterable, SettingChoice {
        case pebble, apple, saver, custom
    }

    private static var beacon: SettingNeed<RunPlan> {
        SettingNeed("a beacon", from: "beacon.uuid", "UUID") { $0.beaconRegion != nil }
    }

    /// Reads a UUID as people write it.
    @Sendable
    static func uuid(_ text: String) throws(SettingRefusal) -> PebbleUUID {
        guard let uuid = PebbleUUID(text) else {
            throw .because(
                "“\(text)” is no UUID; write 32 hexadecimal digits as in e2c56db5-dffb-48d2-b060-d0f5a71096e0"
            )
        }
        return uuid
    }

    /// Refuses a policy without its steps.
    static func conflict(in plan: RunPlan) -> SettingConflict? {
        guard plan.advertising == .custom, plan.advertisingSteps == nil else { return nil }
        return SettingConflict(of: "advertising.policy") { naming in
            "\(naming("advertising.policy")) custom needs \(naming("advertising.steps"))"
        }
    }

    /// What is allowed, but unlikely to be meant.
    static func advice(on plan: RunPlan) -> [String] {
        guard let steps = plan.advertisingSteps else { return [] }
        guard plan.advertising == .custom else {
            return [
                "the advertising steps have no effect: they are for the policy custom, and this is \(plan.advertising)"
            ]
        }
        return steps.intervalsOffGrid.map { interval, nearest in
            "\(interval.inMilliseconds) is none of Apple's intervals, so that iPhones may take long to hear it; the nearest is "
                + nearest.inMilliseconds
        }
    }
}
