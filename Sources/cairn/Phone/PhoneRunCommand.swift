import ArgumentParser
import BluetoothHCI
import Daemon
import HCIRuntime
import LinuxBluetooth
import PebblePhone

/// `cairn phone run`
struct PhoneRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a phone until Ctrl-C.",
        discussion: """
            It takes commands of the user who started it, at phone.sock in the state directory or at --control. What happens is \
            logged to standard error. The controllers are those of cairn run: hci0, tcp:HOST:PORT, unix:PATH, serial:DEVICE,BAUD, \
            virtual.

            EXAMPLES

              cairn phone run --controller hci1 --state ~/.cairn-phone
              cairn phone run --controller tcp:127.0.0.1:6402 --state ~/.cairn-phone --platform ios
              cairn phone run --controller virtual --air-port 6402 --control /tmp/phone.sock
            """
    )

    @Option(
        help: ArgumentHelp("Where the phone's Bluetooth controller is.", valueName: "controller"),
        transform: Self.controller
    )
    var controller: TransportAddress

    @Option(
        help: """
            What to do when the controller cannot be reached or is lost: exit; reopen, which waits for one that has been there; \
            or retry, which waits for it from the start.
            """
    )
    var controllerLost: RemoteController.LossPolicy = .reopen

    @Option(
        help: ArgumentHelp(
            "Where the phone keeps its keys and its address, and where it takes commands. (default: $CAIRN_STATE, else nowhere)",
            valueName: "directory"
        ),
        transform: pathArgument
    )
    var state: String?

    @Option(
        help: ArgumentHelp(
            "The Unix socket where it takes commands. (default: phone.sock in the state directory)",
            valueName: "path"
        ),
        transform: pathArgument
    )
    var control: String?

    @Option(
        help: """
            What it is like: android uses the watch's own PPoGATT service, ios offers one beside Apple's services.
            """
    )
    var platform: PhoneDaemonConfiguration.Platform = .android

    @Flag(help: "Offer PPoGATT to the watch, whatever phones of the platform do.")
    var server = false

    @Flag(help: "Use an L2CAP channel to the watch's stream, and no PPoGATT.")
    var stream = false

    @Flag(help: "Be a phone that can neither pair nor encrypt, for watches that run with --insecure-test-link.")
    var noPairing = false

    @Flag(
        help: """
            Behave as a companion app does: come back to the watch, pair again with one that has forgotten this phone, and bring the \
            watch again what it has not taken.
            """
    )
    var companion = false

    @Option(
        name: .customLong("defect"),
        help: ArgumentHelp(
            "With --companion: what it does wrong, to see what becomes of it; may be given more than once. cairn scenario list "
                + "--defects lists them.",
            valueName: "name"
        ),
        transform: PhoneDefect.argument
    )
    var defects: [PhoneDefect] = []

    @Option(help: ArgumentHelp("The name that the watch shows when it pairs.", valueName: "name"))
    var name = "Cairn Phone"

    @Option(
        help: ArgumentHelp(
            "Its static random address. (default: the one in the state directory, else another every time)",
            valueName: "address"
        ),
        transform: Self.address
    )
    var address: DeviceAddress?

    @Option(
        help: ArgumentHelp(
            "With --controller virtual: offer H4 controllers on the virtual radio to other hosts, on this port of 127.0.0.1; 0 takes "
                + "any free one and logs it.",
            valueName: "port"
        ),
        transform: portArgument
    )
    var airPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Record what passes between the phone and its controller, in the format of btsnoop. It has keys in it.",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var capture: String?

    @Option(
        help: ArgumentHelp("What to log: LEVEL or LAYER=LEVEL, separated by commas.", valueName: "levels"),
        transform: LogLevels.argument(over: LogLevels(.info))
    )
    var logLevel = LogLevels(.info)

    func validate() throws {
        guard control != nil || stateDirectory != nil else {
            throw ValidationError("nothing could tell this phone what to do: add --state DIRECTORY or --control PATH")
        }
        guard !(server && stream) else { throw ValidationError("--server and --stream exclude each other") }
        guard defects.isEmpty || companion else { throw ValidationError("--defect goes with --companion") }
        guard airPort == nil || controller == .virtual else {
            throw ValidationError("--air-port goes with --controller virtual")
        }
        guard (1...248).contains(name.utf8.count) else {
            throw ValidationError("--name takes 1 to 248 bytes")
        }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var configuration = PhoneDaemonConfiguration(controller: controller)
            configuration.whenControllerLost = controllerLost
            configuration.airPort = airPort
            configuration.capturePath = capture
            configuration.stateDirectory = stateDirectory
            configuration.controlPath = control
            configuration.logLevels = logLevel
            configuration.version = cairnVersion
            configuration.address = address
            configuration.name = name
            configuration.platform = platform
            configuration.isServer = server
            configuration.usesStream = stream
            configuration.pairs = !noPairing
            configuration.isCompanion = companion
            configuration.defects = Set(defects)
            configuration.clock = LocalTime.utc
            return try PhoneDaemon(configuration).run().exitStatus
        }
    }

    private var stateDirectory: String? { state ?? Environment.stateDirectory }

    private static func controller(_ text: String) throws -> TransportAddress {
        do throws(TransportAddressError) {
            return try TransportAddress(parsing: text)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private static func address(_ text: String) throws -> DeviceAddress {
        guard let address = DeviceAddress(text), address.isStaticRandom else {
            throw ValidationError(
                "“\(text)” is no static random address; one is written C0:11:22:33:44:55, from C0 to FF"
            )
        }
        return address
    }
}

extension PhoneDaemonConfiguration.Platform: ExpressibleByArgument {}
extension RemoteController.LossPolicy: ExpressibleByArgument {}
