import AirSimulator
import ArgumentParser
import Daemon
import LinuxBluetooth

/// What can be said about the virtual radio.
struct AirOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Offer H4 controllers on the virtual radio to this user's other Bluetooth hosts, on this port of 127.0.0.1; 0 takes "
                + "any free one and logs it. Only with --controller virtual.",
            valueName: "port"
        ),
        transform: portArgument
    )
    var airPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Offer them on a Unix socket with this path too, which only this user can open.",
            valueName: "path"
        )
    )
    var airSocket: String?

    @Option(
        help: ArgumentHelp("What the virtual radio leaves to chance follows from this number.", valueName: "number")
    )
    var airSeed: UInt64?

    @Option(
        help: ArgumentHelp(
            "How many of the virtual radio's packets get lost on the way, from 0 to 99. (default: 0)",
            valueName: "percent"
        )
    )
    var airLoss: Double?

    func validate() throws {
        if let airLoss, !(0...99).contains(airLoss) {
            throw ValidationError("--air-loss takes a number of percent from 0 to 99")
        }
    }

    /// Refuses what makes no sense without the virtual radio.
    func validate(for controller: TransportAddress) throws(ValidationError) {
        guard controller != .virtual else { return }
        let options = [
            (airPort != nil, "--air-port"), (airSocket != nil, "--air-socket"), (airSeed != nil, "--air-seed"),
            (airLoss != nil, "--air-loss"),
        ]
        for (isGiven, option) in options where isGiven {
            throw ValidationError("\(option) needs the virtual radio: add --controller virtual, or leave \(option) out")
        }
    }

    /// Says all this to a process's configuration.
    func apply(to configuration: inout WatchDaemonConfiguration) {
        configuration.airPort = airPort
        configuration.airSocketPath = airSocket
        configuration.airSeed = airSeed ?? .random(in: .min ... .max)
        if let airLoss, airLoss > 0 {
            configuration.airQuality = LinkQuality(loss: .uniform(probability: airLoss / 100))
        }
    }
}
