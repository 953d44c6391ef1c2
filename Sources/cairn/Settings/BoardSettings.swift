import Board
import PebbleWatch
import Settings

/// What the board has besides its Bluetooth controller.
enum BoardSettings: SettingGroup {
    static let title = "BOARD"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "gpio.chip",
            option: "gpio-chip",
            .path("the label or the path of a GPIO chip", placeholder: "chip"),
            ifGiven: \.process.board.chip,
            help: """
                The GPIO chip that has the lines of buttons and LED, by its label (gpiodetect shows it; it stays when numbers \
                change) or its path.
                """
        ),
        Setting(
            "gpio.back",
            option: "button-back",
            line,
            ifGiven: \.process.board.buttons[.back],
            needs: chip,
            help: "The line of the back button. Held for 5 seconds, it forgets every phone."
        ),
        Setting(
            "gpio.up",
            option: "button-up",
            line,
            ifGiven: \.process.board.buttons[.up],
            needs: chip,
            help: "The line of the up button."
        ),
        Setting(
            "gpio.select",
            option: "button-select",
            line,
            ifGiven: \.process.board.buttons[.select],
            needs: chip,
            help: "The line of the select button. Held for 2 seconds, it opens pairing."
        ),
        Setting(
            "gpio.down",
            option: "button-down",
            line,
            ifGiven: \.process.board.buttons[.down],
            needs: chip,
            help: "The line of the down button."
        ),
        Setting(
            "gpio.active",
            option: "buttons-active",
            .choice,
            into: \.process.board.buttonLevel,
            placeholder: "level",
            help: "The level of a line whose button is down."
        ),
        Setting(
            "gpio.pull",
            option: "buttons-pull",
            .choice,
            into: \.process.board.buttonPull,
            placeholder: "pull",
            help: "The resistor that keeps the lines of buttons at rest; none if there is one outside."
        ),
        Setting(
            "gpio.debounce",
            option: "buttons-debounce",
            .duration(0...1000, .milliseconds),
            into: \.process.board.debounce,
            help: "How long a button has to be quiet to count."
        ),
        Setting(
            "gpio.led",
            option: "led",
            line,
            ifGiven: \.process.board.led,
            needs: chip,
            help: """
                The line of the LED: flashes each second while phones find the watch quickly, is on while one is connected, \
                and blinks while one may pair, and when one was refused.
                """
        ),
        Setting(
            "gpio.led-active",
            option: "led-active",
            .choice,
            into: \.process.board.ledLevel,
            placeholder: "level",
            help: "The level at which the LED is on."
        ),
        Setting(
            "battery.source",
            option: "battery-source",
            .word("fixed, auto, or a power supply's name", placeholder: "source", print: word, parse: battery),
            into: \.process.board.battery,
            help: """
                Where the battery's charge is from: fixed, auto for this machine's battery, or a name in \
                /sys/class/power_supply.
                """
        ),
        Setting(
            "battery.percent",
            option: "battery-percent",
            .number(0...100),
            into: \.watch.batteryLevel,
            placeholder: "percent",
            help: "The battery's charge until something else is known."
        ),
    ]

    private static var line: SettingSyntax<UInt32> { .number("the number of a line", placeholder: "line") }

    private static var chip: SettingNeed<RunPlan> {
        SettingNeed("a chip", from: "gpio.chip", "CHIP") { $0.process.board.chip != nil }
    }

    @Sendable
    private static func battery(_ text: String) throws(SettingRefusal) -> BoardHardware.Battery {
        guard !text.isEmpty, !text.contains("/") else { throw .notUnderstood }
        return switch text {
        case "fixed": .fixed
        case "auto": .automatic
        default: .powerSupply(text)
        }
    }

    @Sendable
    private static func word(_ battery: BoardHardware.Battery) -> String {
        switch battery {
        case .fixed: "fixed"
        case .automatic: "auto"
        case .powerSupply(let name): name
        }
    }

    /// Refuses GPIO lines that have two uses.
    static func conflict(in plan: RunPlan) -> SettingConflict? {
        let board = plan.process.board
        let buttons = BoardHardware.Button.allCases.map { ("gpio.\($0.rawValue)", board.buttons[$0]) }
        var names: [UInt32: String] = [:]
        for case (let name, let line?) in buttons + [("gpio.led", board.led)] {
            guard let other = names.updateValue(name, forKey: line) else { continue }
            return SettingConflict(of: name) { naming in
                "\(naming(name)) is the line \(line), as \(naming(other)): each needs a line of its own"
            }
        }
        return nil
    }
}

extension GPIOLevel: SettingChoice {}

extension GPIOPull: SettingChoice {}
