import ArgumentParser
import ControlServer
import Daemon
import PebbleWatch

// What a person does to a running watch with the hands.

/// `cairn press`
struct PressCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "press",
        abstract: "Press a button.",
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

    func run() throws { try watch.ask("press", ["button": .text(button.rawValue), "long": .flag(long)]) }
}

extension WatchButton: ExpressibleByArgument {}

/// `cairn tap`
struct TapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "tap", abstract: "Tap the watch.")

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("tap") }
}

/// `cairn battery`
struct BatteryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "battery",
        abstract: "Set the battery's charge, which phones and apps see."
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
        try watch.ask("battery", ["percent": .number(Double(percent)), "charging": .flag(charging)])
    }
}

/// `cairn publish`
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Let phones open a stream, under a new PSM."
    )

    @Argument(help: "Which.")
    var stream: WatchStream

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("publish", ["stream": .text(stream.rawValue)]) }
}

/// `cairn withdraw`
struct WithdrawCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "withdraw",
        abstract: "Close a stream, and let no phone open it any more."
    )

    @Argument(help: "Which.")
    var stream: WatchStream

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("withdraw", ["stream": .text(stream.rawValue)]) }
}

extension WatchStream: ExpressibleByArgument {}

/// `cairn disconnect`
struct DisconnectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "End the links to all phones. They may come back at once."
    )

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.ask("disconnect") { answer in
            answer.phones.map { "Disconnecting \($0.joined(separator: ", "))." }
        }
    }
}

/// `cairn advertise`
struct AdvertiseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise",
        abstract: "Advertise as fast as the watch ever does, for a phone that looks for it now."
    )

    @OptionGroup var watch: WatchReference

    func run() throws { try watch.ask("advertise") }
}
