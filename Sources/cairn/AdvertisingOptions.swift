import ArgumentParser
import PebbleProtocol
import PebbleWatch

/// What is on the air when, and the beacon.
struct AdvertisingOptions: ParsableArguments {
    @Option(
        help: """
            How the watch advertises: pebble as the real firmware, apple as Apple's guidelines have it, saver for small \
            batteries, custom as --advertising-steps say. With a board file that says nothing, it is apple.
            """
    )
    var advertising: Policy = .pebble

    @Option(
        help: ArgumentHelp(
            "For custom: intervals and how long each is kept, the last one for ever, as in 20ms/30s,211.25ms/5min,1285ms.",
            valueName: "steps"
        ),
        transform: AdvertisingSchedule.argument
    )
    var advertisingSteps: AdvertisingSchedule?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How strongly to advertise, in dBm from -127 to 20: controllers with extended advertising are asked for it, and "
                + "phones are told. (default: as the controller likes, and phones are told 0)",
            valueName: "dBm"
        )
    )
    var advertisingPower: Int8?

    @Option(
        help: ArgumentHelp(
            "While no phone is connected, be an iBeacon with this UUID too, which wakes the companion app on iPhones.",
            valueName: "uuid"
        ),
        transform: PebbleUUID.argument
    )
    var beacon: PebbleUUID?

    @Flag(help: "Show the beacon although --private-address hides the watch; it says the same all the time.")
    var beaconDespitePrivacy = false

    @Option(help: ArgumentHelp("The beacon's major number.", valueName: "number"))
    var beaconMajor: UInt16?

    @Option(help: ArgumentHelp("The beacon's minor number.", valueName: "number"))
    var beaconMinor: UInt16?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How strongly an iPhone receives the beacon at one metre, in dBm. (default: \(Beacon.usualMeasuredPower))",
            valueName: "dBm"
        )
    )
    var beaconPower: Int8?

    @Option(
        help: ArgumentHelp(
            "How long the beacon waits after a lost link, so that a short gap does not wake the phone. (default: 0)",
            valueName: "seconds"
        )
    )
    var beaconHoldOff: Int?

    /// The names of the profiles.
    enum Policy: String, ExpressibleByArgument, CaseIterable {
        case pebble, apple, saver, custom
    }

    func validate() throws {
        if let advertisingPower, !(-127...20).contains(advertisingPower) {
            throw ValidationError("--advertising-power takes a number of dBm from -127 to 20")
        }
        if let beaconHoldOff, !(0...3600).contains(beaconHoldOff) {
            throw ValidationError("--beacon-hold-off takes a number of seconds from 0 to 3600")
        }
    }

    /// Refuses options that need others, once all that were given anywhere are there.
    func checkTogether() throws(ValidationError) {
        if advertising == .custom, advertisingSteps == nil {
            throw ValidationError("--advertising custom needs --advertising-steps")
        }
        guard beacon == nil else { return }
        let details = [
            ("--beacon-major", beaconMajor != nil), ("--beacon-minor", beaconMinor != nil),
            ("--beacon-power", beaconPower != nil), ("--beacon-hold-off", beaconHoldOff != nil),
        ]
        for (option, isGiven) in details where isGiven {
            throw ValidationError("\(option) needs a beacon: add --beacon UUID, or leave \(option) out")
        }
    }

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration) {
        watch.advertising =
            switch advertising {
            case .pebble: .pebble
            case .apple: .apple
            case .saver: .saver
            case .custom: advertisingSteps.map(AdvertisingProfile.custom) ?? .apple
            }
        watch.advertisingPower = advertisingPower
        watch.showsBeaconDespitePrivacy = beaconDespitePrivacy
        watch.beacon = beacon.map {
            Beacon(
                uuid: $0,
                major: beaconMajor ?? 0,
                minor: beaconMinor ?? 0,
                measuredPower: beaconPower ?? Beacon.usualMeasuredPower,
                holdOff: .seconds(beaconHoldOff ?? 0)
            )
        }
    }

    /// What is allowed, but unlikely to be meant.
    var advice: [String] {
        guard let advertisingSteps else { return [] }
        guard advertising == .custom else {
            return ["the advertising steps have no effect: they are for the policy custom, and this is \(advertising)"]
        }
        return advertisingSteps.intervalsOffGrid.map { interval, nearest in
            "\(interval.inMilliseconds) is none of Apple's intervals, so that iPhones may take long to hear it; the nearest is "
                + nearest.inMilliseconds
        }
    }
}

extension AdvertisingSchedule {
    static func argument(_ text: String) throws -> AdvertisingSchedule {
        do {
            return try AdvertisingSchedule(parsing: text.split(separator: ",", omittingEmptySubsequences: false))
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

extension PebbleUUID {
    static func argument(_ text: String) throws -> PebbleUUID {
        guard let uuid = PebbleUUID(text) else {
            throw ValidationError(
                "“\(text)” is no UUID; write 32 hexadecimal digits as in e2c56db5-dffb-48d2-b060-d0f5a71096e0"
            )
        }
        return uuid
    }
}
