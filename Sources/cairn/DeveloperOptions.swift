import ArgumentParser

/// Ways in for the SDK's tools.
struct DeveloperOptions: ParsableArguments {
    /// The port that the SDK's tools look for the emulator at.
    static let usualPort: UInt16 = 12344

    @Option(
        name: .customLong("qemu-port"),
        defaultAsFlag: Port(number: Self.usualPort),
        help: ArgumentHelp(
            "Be the emulator to pebble --qemu and to pypkjs, on this port of 127.0.0.1; 12344 if no number follows, 0 takes any "
                + "free one and logs it.",
            valueName: "port"
        )
    )
    private var port: Port?

    @Option(
        help: ArgumentHelp(
            "Make a serial port with this path, for pebble --serial. The path must be free; it goes away with the watch.",
            valueName: "path"
        ),
        transform: pathArgument
    )
    var serialPort: String?

    /// The port of the emulator's protocol.
    var qemuPort: UInt16? { port?.number }

    /// A loopback port, or what was written instead of one.
    struct Port: ExpressibleByArgument {
        let number: UInt16?
        let text: String

        init(number: UInt16) {
            self.number = number
            text = "\(number)"
        }

        /// Takes every word: one that is refused here would be taken for another argument, and blamed as that.
        init(argument: String) {
            number = UInt16(argument)
            text = argument
        }
    }

    func validate() throws {
        guard let port, port.number == nil else { return }
        throw ValidationError("--qemu-port: \(notAPort(port.text))")
    }
}
