/// What a board has besides its Bluetooth controller.
public struct BoardHardware: Sendable, Equatable {
    /// The buttons of a Pebble, by where they are.
    public enum Button: String, Sendable, CaseIterable {
        case back, up, select, down
    }

    /// Where the battery's charge is from.
    public enum Battery: Sendable, Equatable {
        /// A setting says it first, commands later.
        case fixed
        /// The first battery of the machine.
        case automatic
        /// The kernel's power supply of this name.
        case powerSupply(String)
    }

    /// The label or the path of the chip that has the lines; nil if none is used.
    public var chip: String?
    /// The lines of the buttons.
    public var buttons: [Button: UInt32] = [:]
    /// The level of a line whose button is down.
    public var buttonLevel = GPIOLevel.low
    public var buttonPull = GPIOPull.up
    /// How long a button has to be quiet to count.
    public var debounce: Duration = .milliseconds(10)
    /// The line of the LED.
    public var led: UInt32?
    /// The level at which the LED is on.
    public var ledLevel = GPIOLevel.high
    public var battery = Battery.fixed

    /// A board that has none of it.
    public init() {}
}
