import ArgumentParser
import PebbleWatch

/// What the watch asks of its links to phones.
struct LinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Which connection parameters phones are asked for: pebble, or apple-2012 for phones that refuse 15 ms.",
            valueName: "profile"
        )
    )
    var linkProfile: Profile = .pebble

    @Flag(
        inversion: .prefixedNo,
        exclusivity: .chooseLast,
        help: ArgumentHelp(
            "Offer the characteristic by which companions of watches before 2025 manage the connection parameters, even "
                + "if the personality has none."
        )
    )
    var connectionParameters = false

    @Option(
        help: ArgumentHelp(
            "How the watch finds a phone's services: remembering them; afresh at each connection; or everything, looking "
                + "through the phone's whole database each time, as Pebbles do.",
            valueName: "way"
        )
    )
    var phoneDiscovery: Discovery = .remembering

    @Option(
        help: ArgumentHelp(
            "How long the watch is silent after a phone has subscribed to the PPoGATT service of silk. Gadgetbridge as GATT "
                + "client only needs 250.",
            valueName: "milliseconds"
        )
    )
    var subscriptionPause: Int = 250

    /// The names of the profiles.
    enum Profile: String, ExpressibleByArgument, CaseIterable {
        case pebble
        case apple2012 = "apple-2012"

        var linkProfile: LinkProfile {
            switch self {
            case .pebble: .pebble
            case .apple2012: .apple2012
            }
        }
    }

    /// The names of the ways.
    enum Discovery: String, ExpressibleByArgument, CaseIterable {
        case remembering
        case afresh
        case everything

        var phoneDiscovery: PhoneDiscovery {
            switch self {
            case .remembering: .remembering
            case .afresh: .afresh
            case .everything: .everything
            }
        }
    }

    func validate() throws {
        guard (0...2000).contains(subscriptionPause) else {
            throw ValidationError("--subscription-pause takes a number of milliseconds from 0 to 2000")
        }
    }

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration) {
        watch.link = linkProfile.linkProfile
        watch.phoneDiscovery = phoneDiscovery.phoneDiscovery
        watch.subscriptionPause = .milliseconds(subscriptionPause)
        if connectionParameters { watch.offersConnectionParameters = true }
    }
}
