import ArgumentParser
import BluetoothHost
import Board
import PebbleWatch

/// Who may pair with the watch, and what bonded phones see of it.
struct PairingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Which phones may pair: open lets in any phone at any time, for benches; auto lets in the first, and others only "
                + "after cairn pair or while select was held; button lets any phone ask, and a person answers with a button, "
                + "cairn confirm or cairn refuse; reject lets in none. (default: button on a board with an up or a select "
                + "button, else auto)"
        )
    )
    var pairing: PairingPolicy.Mode?

    @Option(
        help: "How many phones the watch remembers. One too many replaces the one that paired the longest time ago."
    )
    var phones = 1

    @Flag(
        inversion: .prefixedNo,
        exclusivity: .chooseLast,
        help: ArgumentHelp(
            "Keep keys, or none: then phones cannot pair, and the watch's database has no Service Changed and never changes."
        )
    )
    var bonding = true

    @Flag(
        inversion: .prefixedNo,
        exclusivity: .chooseLast,
        help: "Pair with phones that lack LE Secure Connections too. Whoever listens to such a pairing has the keys."
    )
    var legacyPairing = false

    @Option(help: "What the watch says it can show and take, which decides how phones pair.")
    var ioCapability: Capability = .displayYesNo

    @Option(
        help: ArgumentHelp(
            "Show a resolvable private address and change it after so many minutes. (default: the static address, always)",
            valueName: "minutes"
        )
    )
    var privateAddress: Int?

    @Flag(inversion: .prefixedNo, exclusivity: .chooseLast, help: "Show the battery service, or hide it.")
    var battery = true

    @Option(
        help: ArgumentHelp(
            "How long after encryption a phone is told that the database has changed. iOS needs 10.",
            valueName: "seconds"
        )
    )
    var serviceChangedDelay: Int = 10

    /// The names of the IO capabilities. What the watch shows, cairn events and the log show; what it takes, cairn passkey
    /// takes.
    enum Capability: String, ExpressibleByArgument, CaseIterable {
        case displayYesNo = "display-yes-no"
        case displayOnly = "display-only"
        case keyboardOnly = "keyboard-only"
        case keyboardDisplay = "keyboard-display"
        case noInputNoOutput = "none"

        var ioCapability: IOCapability {
            switch self {
            case .displayYesNo: .displayYesNo
            case .displayOnly: .displayOnly
            case .keyboardOnly: .keyboardOnly
            case .keyboardDisplay: .keyboardDisplay
            case .noInputNoOutput: .noInputNoOutput
            }
        }
    }

    func validate() throws {
        guard (1...16).contains(phones) else { throw ValidationError("--phones takes a number from 1 to 16") }
        guard (0...3600).contains(serviceChangedDelay) else {
            throw ValidationError("--service-changed-delay takes a number of seconds from 0 to 3600")
        }
        if let privateAddress, !(1...60).contains(privateAddress) {
            throw ValidationError("--private-address takes a number of minutes from 1 to 60")
        }
    }

    /// Which phones may pair with a watch that has these buttons: where a person can say yes, one is asked.
    func mode(on board: BoardHardware) -> PairingPolicy.Mode {
        pairing ?? (board.takesYes ? .button : .auto)
    }

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration, on board: BoardHardware) {
        watch.pairing.mode = mode(on: board)
        watch.pairing.phoneLimit = phones
        watch.pairing.isBondable = bonding
        watch.pairing.allowsLegacyPairing = legacyPairing
        watch.pairing.ioCapability = ioCapability.ioCapability
        if let privateAddress { watch.privacy = .resolvablePrivateAddress(lifetime: .seconds(privateAddress * 60)) }
        watch.offersBattery = battery
        watch.serviceChangedDelay = .seconds(serviceChangedDelay)
    }
}

extension PairingPolicy.Mode: ExpressibleByArgument {}
