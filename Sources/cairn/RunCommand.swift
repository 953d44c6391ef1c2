import ArgumentParser
import BluetoothHost
import Daemon
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import Settings

/// `cairn run`: the daemon.
struct RunCommand: SettingCommand {
    typealias Catalog = RunSettings

    /// What is typed for it. The configuration has it too, with the help's text, which a start does not need.
    static let name = "run"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Run a watch until Ctrl-C.",
        discussion: """
            The watch advertises, and phones with a companion app find it, connect, and talk to it. What happens is logged \
            to standard error.

            CONTROLLERS

              hci0                an adapter of this machine; see cairn adapters
              hci, usb            the first that is free, of all or on USB
              hci:ADDRESS         the one with this address, under any number
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
              cairn run --controller hci0 --firmware tcp:127.0.0.1:12344
              cairn run --controller virtual --advertising apple \
                --beacon e2c56db5-dffb-48d2-b060-d0f5a71096e0 --beacon-hold-off 20
              cairn run --controller virtual --app weather.pbw --behaviour 6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b=weather.json
            """
    )

    @Option(
        help: ArgumentHelp(
            "A file that describes the board: any of the options here, and its advertising. (default: $CAIRN_BOARD, else none)",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var board: String?

    var typed: [SettingKey: [String]] = [:]

    var otherOptions: [Mirror.Child] { [("_board", _board)] }

    mutating func takeOtherOptions(of container: KeyedDecodingContainer<SettingOptionKey>) throws {
        _board = try container.decode(Option<String?>.self, forKey: SettingOptionKey(stringValue: "board"))
    }

    /// The command of a command line that has options with their values and nothing else; nil for any other.
    static func reading(_ words: [String]) -> RunCommand? {
        guard let line = SettingWords(words, of: Catalog.settings, besides: ["board"]) else { return nil }
        var command = RunCommand()
        command.typed = line.typed
        command.board = line.others["board"]
        return command
    }

    func run() throws {
        let plan = try Console.value { () throws(ProgramError) in
            let configuration = try RunConfiguration(typed: typed, board: board)
            var plan = configuration.plan
            try plan.describeRecording(configuration.values)
            return plan
        }
        try Console.run { () throws(ProgramError) in
            let daemon = try plan.daemon(on: try plan.chosenController)
            return try daemon.run().exitStatus
        }
    }
}

extension RunPlan {
    /// The controller that was chosen.
    var chosenController: TransportAddress {
        get throws(ProgramError) {
            guard let controller else {
                throw ProgramError(
                    .usage,
                    "the watch needs a Bluetooth controller, and none is chosen",
                    advice:
                        "cairn adapters lists this machine's: then add --controller hci0, or what it is called there. Without "
                        + "hardware: --controller virtual, or cairn demo. A board file can choose one too: see cairn run --help"
                )
            }
            return controller
        }
    }

    /// The process that runs the watch, made and not begun.
    /// - Parameter handleEvent: is given everything that happens on the watch, in order, after it has been logged.
    func daemon(
        on controller: TransportAddress,
        handleEvent: @escaping (WatchEvent, Duration) -> Void = { _, _ in }
    ) throws(ProgramError) -> WatchDaemon {
        var plan = self
        try plan.loadApps()
        var configuration = plan.process
        configuration.controller = controller
        configuration.makeWatch = { [plan] in plan.watch(at: $0) }
        configuration.version = cairnVersion
        let daemon = try WatchDaemon(configuration, handleEvent: handleEvent)
        for line in plan.warnings { daemon.loggers[.watch].warning("\(line)") }
        if controller == .virtual, configuration.airPort == nil, configuration.airSocketPath == nil {
            daemon.loggers[.air].notice("nobody can reach this watch: add --air-port, or see cairn demo")
        }
        return daemon
    }
}
