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

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration) {
        watch.link = linkProfile.linkProfile
        if connectionParameters { watch.offersConnectionParameters = true }
    }
}
