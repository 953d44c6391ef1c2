import ArgumentParser
import BluetoothHost
import Daemon
import HCIRuntime
import LinuxBluetooth
import PebbleWatch

/// `cairn run`: the daemon.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a watch until Ctrl-C.",
        discussion: """
            The watch advertises, and phones with a companion app find it, connect, and talk to it. What happens is logged \
            to standard error.

            CONTROLLERS

              hci0                an adapter of this machine; see cairn adapters
              hci, usb            the first that is free, of all or on USB
              hci:ADDRESS         the one with this address, whatever its number
              virtual             a simulated controller; see --air-port
              tcp:HOST:PORT       H4 over TCP, as Bumble, RootCanal and netsim serve it
              unix:PATH           H4 over a Unix socket
              serial:DEVICE,BAUD  H4 on a serial port with RTS/CTS flow control;
                                  without it: serial:DEVICE,BAUD,noflow

            BOARD FILES

              What is the same every time can stand in a YAML file, see --board and
              the files in Boards. The command line comes before environment
              variables such as CAIRN_ADVERTISING_POLICY, and they before the file:
              cairn config show, with the same options, says what comes of it.

            LOGGING

              --log-level debug                        everything in more detail
              --log-level warning,session=debug        only what the companion says
              --log-level hci=trace                    every packet

              Levels: trace, debug, info, notice, warning, error, critical.
              Layers: \(Layer.allCases.map(\.rawValue).joined(separator: ", ")).

            EXAMPLES

              cairn run --controller hci0 --state ~/.cairn
              cairn run --controller serial:/dev/ttyAMA0,3000000 --state ~/.cairn
              cairn run --controller tcp:127.0.0.1:6402 --controller-lost retry
              cairn run --controller virtual --air-port 6402 --capture a.btsnoop
              cairn run --controller virtual --qemu-port
              cairn run --controller virtual --advertising apple \
                --beacon e2c56db5-dffb-48d2-b060-d0f5a71096e0 --beacon-hold-off 20
              cairn run --controller virtual --app weather.pbw --behaviour 6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b=weather.json
            """
    )

    @Option(
        help: ArgumentHelp("Where the watch's Bluetooth controller is.", valueName: "controller"),
        transform: TransportAddress.argument
    )
    var controller: TransportAddress?

    @Option(
        help: ArgumentHelp(
            "A file that describes the board: any of the options here, and its advertising. (default: $CAIRN_BOARD, else none)",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var board: String?

    @Option(
        help: """
            What to do when the controller cannot be reached or is lost: exit; reopen, which waits for one that has been \
            there; or retry, which waits for it from the start.
            """
    )
    var controllerLost: RemoteController.LossPolicy = .reopen

    @OptionGroup var watch: WatchOptions

    @OptionGroup(title: "PAIRING") var pairing: PairingOptions

    @OptionGroup(title: "DIAGNOSTICS") var diagnostics: DiagnosticOptions

    @OptionGroup(title: "LINKS") var link: LinkOptions

    @OptionGroup(title: "ADVERTISING") var advertising: AdvertisingOptions

    @OptionGroup(title: "WATCHAPPS") var apps: AppOptions

    @Option(
        help: ArgumentHelp(
            "Where the watch remembers bonded phones and who it is, and where it takes commands. (default: $CAIRN_STATE, "
                + "else nowhere)",
            valueName: "directory"
        ),
        transform: pathArgument
    )
    var state: String?

    @Option(
        help: ArgumentHelp(
            "The Unix socket where the watch takes commands. (default: control.sock in the state directory)",
            valueName: "path"
        ),
        transform: pathArgument
    )
    var control: String?

    @Option(
        help: """
            Who may give the watch commands at its socket: the user who started it, or the socket's group too. Root always \
            may.
            """
    )
    var controlAccess: ControlAccess = .user

    @OptionGroup(title: "VIRTUAL RADIO") var air: AirOptions

    @OptionGroup(title: "BOARD") var hardware: HardwareOptions

    @OptionGroup(title: "DEVELOPMENT") var developer: DeveloperOptions

    @Flag(
        inversion: .prefixedNo,
        exclusivity: .chooseLast,
        help: ArgumentHelp(
            "Open the Pebble transport to anyone in range, without pairing or encryption. Only for test rigs that "
                + "cannot pair."
        )
    )
    var insecureTestLink = false

    @Option(
        help: ArgumentHelp("What to log: LEVEL or LAYER=LEVEL, separated by commas.", valueName: "levels"),
        transform: LogLevels.argument(over: LogLevels(.info))
    )
    var logLevel = LogLevels(.info)

    /// Refuses what does not go together, once the command line, the environment and the board file are one.
    func checkTogether() throws(ValidationError) {
        if let controller { try air.validate(for: controller) }
        try advertising.checkTogether()
        try hardware.checkTogether()
    }

    func run() throws {
        let configuration = try Console.value { () throws(ProgramError) in
            try RunConfiguration(board: board, words: CommandLine.arguments.dropFirst(2), typed: self)
        }
        guard let controller = configuration.command.controller else {
            throw Console.ended(
                by: ProgramError(
                    .usage,
                    "the watch needs a Bluetooth controller, and none is chosen",
                    advice:
                        "cairn adapters lists this machine's: then add --controller hci0, or what it is called there. Without "
                        + "hardware: --controller virtual, or cairn demo. A board file can choose one too: see cairn run --help"
                )
            )
        }
        try configuration.command.start(on: controller)
    }

    private func start(on controller: TransportAddress) throws {
        try Console.run { () throws(ProgramError) in
            let watch = watch
            let pairing = pairing
            let diagnostics = diagnostics
            let link = link
            let advertising = advertising
            let hardware = hardware
            let apps = try apps.load(for: watch.platform)
            let linkSecurity: LinkSecurityPolicy = insecureTestLink ? .insecureTestLink : .required
            var configuration = WatchDaemonConfiguration(controller: controller) {
                var configuration = watch.watch(at: $0, linkSecurity: linkSecurity)
                pairing.apply(to: &configuration, on: hardware.board)
                diagnostics.apply(to: &configuration)
                link.apply(to: &configuration)
                advertising.apply(to: &configuration)
                hardware.apply(to: &configuration)
                apps.apply(to: &configuration)
                return configuration
            }
            configuration.whenControllerLost = controllerLost
            air.apply(to: &configuration)
            configuration.capturePath = watch.capture
            configuration.stateDirectory = state
            configuration.controlPath = control
            configuration.controlAccess = controlAccess
            configuration.board = hardware.board
            configuration.qemuPort = developer.qemuPort
            configuration.serialPortPath = developer.serialPort
            configuration.address = watch.address
            configuration.logLevels = logLevel
            configuration.version = cairnVersion
            let daemon = try WatchDaemon(configuration)
            if insecureTestLink {
                daemon.loggers[.watch].warning("the link is not secured: anyone in range may use this watch")
            }
            if pairing.mode(on: hardware.board) == .open, pairing.bonding, !insecureTestLink {
                daemon.loggers[.watch].warning(
                    """
                    pairing is open: anyone in range may pair at any time, without asking, and take the place of the phone \
                    that the watch knows; this is for benches
                    """
                )
            }
            if pairing.privateAddress != nil, advertising.beacon != nil, !advertising.beaconDespitePrivacy {
                daemon.loggers[.watch].warning(
                    "there is no beacon, since anybody could follow this watch by it: see --beacon-despite-privacy"
                )
            }
            for line in advertising.advice { daemon.loggers[.watch].warning("\(line)") }
            if controller == .virtual, air.airPort == nil, air.airSocket == nil {
                daemon.loggers[.air].notice("nobody can reach this watch: add --air-port, or see cairn demo")
            }
            return try daemon.run().exitStatus
        }
    }
}
