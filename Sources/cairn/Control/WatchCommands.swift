import ArgumentParser
import Control
import Daemon
import PebbleWatch

// What a person does to a running watch with the hands.

/// `cairn press`
struct PressCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "press",
        abstract: ControlCommands.Press.help,
        discussion: """
            Any press makes the watch advertise as if it had just been switched on. While a pairing asks, up or select says \
            yes, and down or back no. Else select held opens pairing, and back held forgets every phone.
            """
    )

    @Argument(help: "Which.")
    var button: WatchButton

    @Flag(help: "Hold it.")
    var long = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.ask(
            ControlCommands.Press {
                $0.button = button
                $0.isLong = long
            }
        )
    }
}

extension WatchButton: ExpressibleByArgument {}

/// `cairn tap`
struct TapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "tap", abstract: ControlCommands.Tap.help)

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask(ControlCommands.Tap.blank) }
}

/// `cairn battery`
struct BatteryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "battery",
        abstract: ControlCommands.Battery.help
    )

    @Argument(help: "0 to 100.")
    var percent: Int

    @Flag(help: "The charger is connected.")
    var charging = false

    @OptionGroup var watch: WatchReference

    func validate() throws {
        guard (0...100).contains(percent) else { throw ValidationError("a battery has 0 to 100 percent") }
    }

    func run() throws {
        try watch.ask(
            ControlCommands.Battery {
                $0.percent = UInt8(percent)
                $0.isCharging = charging
            }
        )
    }
}
