import ArgumentParser
import BluetoothHCI
import BluetoothHost
import Daemon
import HCIRuntime
import LinuxBluetooth
import Logging

/// `cairn-bench peripheral`: something for another stack's central to measure.
struct PeripheralCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peripheral",
        abstract: "Runs a peripheral with the bench profile on a controller, until Ctrl-C. See Tests/Bench."
    )

    @Option(
        help: ArgumentHelp("Where the controller is, as for cairn run.", valueName: "controller"),
        transform: { try TransportAddress(parsing: $0) }
    )
    var controller: TransportAddress

    @Option(
        help: ArgumentHelp("The static random address to advertise with.", valueName: "address"),
        transform: {
            guard let address = DeviceAddress($0) else { throw ValidationError("“\($0)” is no address") }
            return address
        }
    )
    var address: DeviceAddress

    func run() throws {
        let loggers = Loggers(LogLevels(.notice))
        let loop = EventLoop(clock: MonotonicClock(), signals: try StopSignals(), log: loggers[.daemon])
        let runner = HostRunner(try BenchPeripheral(address: address), log: loggers[.hci]) { event, _ in
            switch event {
            case .advertising: loggers[.gap].notice("advertises as \(address)")
            case .failed(let reason): loggers[.gap].error("\(reason)")
            }
        }
        loop.add(RemoteController(controller, runner: runner, whenLost: .exit, log: loggers[.transport]))
        _ = try loop.run()
    }
}
