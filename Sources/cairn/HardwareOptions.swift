import ArgumentParser
import Board
import PebbleWatch

/// What the board has besides its Bluetooth controller.
struct HardwareOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The GPIO chip that has the lines of buttons and LED, by its label (gpiodetect shows it) or its path.",
            valueName: "chip"
        ),
        transform: pathArgument
    )
    var gpioChip: String?

    @Option(
        help: ArgumentHelp(
            "The line of the back button. Held for 5 seconds, it forgets every phone.",
            valueName: "line"
        )
    )
    var buttonBack: UInt32?

    @Option(help: ArgumentHelp("The line of the up button.", valueName: "line"))
    var buttonUp: UInt32?

    @Option(
        help: ArgumentHelp("The line of the select button. Held for 2 seconds, it opens pairing.", valueName: "line")
    )
    var buttonSelect: UInt32?

    @Option(help: ArgumentHelp("The line of the down button.", valueName: "line"))
    var buttonDown: UInt32?

    @Option(help: ArgumentHelp("The level of a line whose button is down.", valueName: "level"))
    var buttonsActive: GPIOLevel = .low

    @Option(help: ArgumentHelp("The resistor that keeps the lines of buttons at rest.", valueName: "pull"))
    var buttonsPull: GPIOPull = .up

    @Option(help: ArgumentHelp("How long a button has to be quiet to count.", valueName: "milliseconds"))
    var buttonsDebounce = 10

    @Option(
        help: ArgumentHelp(
            "The line of the LED: flashes each second while phones find the watch quickly, is on while one is connected, and "
                + "blinks while one may pair, and when one was refused.",
            valueName: "line"
        )
    )
    var led: UInt32?

    @Option(help: ArgumentHelp("The level at which the LED is on.", valueName: "level"))
    var ledActive: GPIOLevel = .high

    @Option(
        help: ArgumentHelp(
            "Where the battery's charge is from: fixed, auto for this machine's battery, or a name in /sys/class/power_supply.",
            valueName: "source"
        )
    )
    var batterySource = "fixed"

    @Option(help: ArgumentHelp("The battery's charge until something else is known.", valueName: "percent"))
    var batteryPercent = 100

    func validate() throws {
        guard (0...1000).contains(buttonsDebounce) else {
            throw ValidationError("--buttons-debounce takes a number of milliseconds from 0 to 1000")
        }
        guard (0...100).contains(batteryPercent) else {
            throw ValidationError("--battery-percent takes a number from 0 to 100")
        }
        guard !batterySource.isEmpty, !batterySource.contains("/") else {
            throw ValidationError("--battery-source takes fixed, auto, or a power supply's name")
        }
    }

    /// Refuses lines without a chip, and lines that would be two things.
    func checkTogether() throws(ValidationError) {
        var options: [UInt32: String] = [:]
        for (option, line) in lines {
            guard let line else { continue }
            guard gpioChip != nil else { throw ValidationError("\(option) needs a chip: add --gpio-chip CHIP") }
            if let other = options.updateValue(option, forKey: line) {
                throw ValidationError("\(option) is the line \(line), as \(other): each needs a line of its own")
            }
        }
    }

    private var lines: [(String, UInt32?)] {
        [
            ("--button-back", buttonBack), ("--button-up", buttonUp), ("--button-select", buttonSelect),
            ("--button-down", buttonDown), ("--led", led),
        ]
    }

    /// The board that is described.
    var board: BoardHardware {
        var board = BoardHardware()
        board.chip = gpioChip
        board.buttons[.back] = buttonBack
        board.buttons[.up] = buttonUp
        board.buttons[.select] = buttonSelect
        board.buttons[.down] = buttonDown
        board.buttonLevel = buttonsActive
        board.buttonPull = buttonsPull
        board.debounce = .milliseconds(buttonsDebounce)
        board.led = led
        board.ledLevel = ledActive
        board.battery =
            switch batterySource {
            case "fixed": .fixed
            case "auto": .automatic
            default: .powerSupply(batterySource)
            }
        return board
    }

    /// Says to a watch's configuration what concerns the watch.
    func apply(to watch: inout WatchConfiguration) {
        watch.batteryLevel = UInt8(clamping: batteryPercent)
    }
}

extension GPIOLevel: ExpressibleByArgument {}

extension GPIOPull: ExpressibleByArgument {}
