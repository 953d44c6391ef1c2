import AirSimulator
import ArgumentParser
import Daemon
import HCIRuntime
import LinuxBluetooth

/// `cairn air`: the virtual radio by itself.
struct AirCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "air",
        abstract: "Be a virtual radio: Bluetooth adapters for this machine and for other hosts, without hardware.",
        discussion: """
            With --vhci, the kernel of this machine gets Bluetooth LE adapters that hear each other: hci0, hci1... as if so many \
            dongles were plugged in, for BlueZ, for cairn run --controller hci0, for anything else. With --port, hosts that \
            speak H4 get theirs on the same radio. With --netsim, Android emulators and whatever else looks for netsim do. Each adapter's name and address go to standard output when the kernel \
            has it; all of them are gone when the command ends, by Ctrl-C or SIGTERM.

            The kernel needs its driver for virtual adapters (as root: modprobe hci_vhci), and the command the right to use \
            /dev/vhci, which is root's.

            EXAMPLES

              sudo cairn air --vhci 2
              sudo cairn air --vhci 1 --port 6402 --seed 7
              cairn air --port 6402 --loss 5
              cairn air --netsim 0 --announce
            """
    )

    @Option(
        help: ArgumentHelp(
            "Become so many adapters of this machine, up to \(VirtualAir.guestLimit). (default: 0)",
            valueName: "count"
        )
    )
    var vhci = 0

    @Option(
        help: ArgumentHelp(
            "Offer H4 controllers to this user's Bluetooth hosts on this port of 127.0.0.1; 0 takes any free one and logs it.",
            valueName: "port"
        ),
        transform: portArgument
    )
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "Offer them on a Unix socket with this path too, which only this user can open.",
            valueName: "path"
        )
    )
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Be a netsim for Android emulators on this port of 127.0.0.1; 0 takes any free one and logs it. Needs the "
                + "program cairn-netsim.",
            valueName: "port"
        ),
        transform: portArgument
    )
    var netsim: UInt16?

    @Flag(help: "Announce that port in netsim.ini, where emulators look for it, until the command ends.")
    var announce = false

    @Option(
        help: ArgumentHelp("Which netsim it is: another than 0 is announced in netsim_NUMBER.ini.", valueName: "number")
    )
    var instance: UInt8 = 0

    @Option(
        help: ArgumentHelp(
            "What the radio leaves to chance follows from this number, and so do the adapters' addresses. (default: another "
                + "every time)",
            valueName: "number"
        )
    )
    var seed: UInt64?

    @Option(help: ArgumentHelp("How many packets get lost on the way, from 0 to 99.", valueName: "percent"))
    var loss: Double = 0

    @Option(
        help: ArgumentHelp("What to log: LEVEL or LAYER=LEVEL, separated by commas.", valueName: "levels"),
        transform: LogLevels.argument(over: LogLevels(.info))
    )
    var logLevel = LogLevels(.info)

    func validate() throws {
        guard (0...VirtualAir.guestLimit).contains(vhci) else {
            throw ValidationError("--vhci takes a number of adapters from 0 to \(VirtualAir.guestLimit)")
        }
        guard vhci > 0 || port != nil || socket != nil || netsim != nil else {
            throw ValidationError(
                "nobody could use this radio: add --vhci COUNT, --port PORT, --socket PATH or --netsim PORT"
            )
        }
        guard netsim != nil || !announce else {
            throw ValidationError("--announce tells the port of --netsim: add --netsim PORT, or 0 for any port")
        }
        guard (0...99).contains(loss) else { throw ValidationError("--loss takes a number of percent from 0 to 99") }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var configuration = AirDaemonConfiguration()
            configuration.adapterCount = vhci
            configuration.port = port
            configuration.socketPath = socket
            configuration.netsimPort = netsim
            configuration.netsimInstance = announce ? instance : nil
            configuration.seed = seed ?? .random(in: .min ... .max)
            if loss > 0 { configuration.quality = LinkQuality(loss: .uniform(probability: loss / 100)) }
            configuration.logLevels = logLevel
            let daemon = try AirDaemon(configuration) { name, address in Console.print("\(name) \(address)") }
            return try daemon.run().exitStatus
        }
    }
}
