import ArgumentParser
import Control
import Daemon

// What a person does to a running watch about pairing and about the phones that it knows.

/// `cairn pair`
struct PairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: ControlCommands.OpenPairing.help,
        discussion: """
            A watch that runs with --pairing auto and knows a phone pairs with no other one until it is asked to, nor with \
            that phone once it has lost its key. With the usual --phones 1 a new phone replaces the old. Holding the select \
            button does the same.
            """
    )

    @Option(name: .customLong("for"), help: ArgumentHelp("How long, at most 3600.", valueName: "seconds"))
    var seconds = 300

    @Flag(help: "End it at once.")
    var stop = false

    @OptionGroup var watch: WatchReference

    func validate() throws {
        guard (1...3600).contains(seconds) else {
            throw ValidationError("--for takes a number of seconds from 1 to 3600")
        }
    }

    func run() throws {
        guard !stop else { return try watch.ask(ControlCommands.ClosePairing.blank) }
        try watch.ask(ControlCommands.OpenPairing { $0.seconds = Double(seconds) })
    }
}

/// `cairn passkey`
struct PasskeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkey",
        abstract: ControlCommands.EnterPasskey.help
    )

    @Argument(help: ArgumentHelp("The digits.", valueName: "nnnnnn"))
    var digits: String

    @OptionGroup var watch: WatchReference

    func validate() throws {
        let areDigits = digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...6).contains(digits.utf8.count), areDigits else {
            throw ValidationError("“\(digits)” is no passkey: those have up to six digits")
        }
    }

    func run() throws { try watch.ask(ControlCommands.EnterPasskey { $0.passkey = digits }) }
}

/// `cairn oob`
struct OOBCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "oob",
        abstract: "Exchange secrets with a phone out of band, for its next pairing.",
        discussion: """
            Without an argument, makes the watch's secrets and prints them: AD structures in hexadecimal, as on an NFC tag. \
            Hand them to the phone in a way that no one else can see. With an argument, takes what the phone made.

            EXAMPLES

              cairn oob
              cairn oob 081b01...1123...
            """
    )

    @Argument(help: ArgumentHelp("What the phone made, in hexadecimal.", valueName: "block"))
    var block: String?

    @OptionGroup var watch: WatchReference

    func run() throws {
        guard let block else { return try watch.ask(ControlCommands.MakeOutOfBandData.blank) }
        try watch.ask(words: ["data": block], as: ControlCommands.TakeOutOfBandData.self)
    }
}

/// `cairn forget`
struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: ControlCommands.Forget.help,
        discussion:
            "Forget the watch on the phone as well: it would go on trying its old key. Holding back forgets all."
    )

    @Argument(help: ArgumentHelp("The phone's address, as cairn status shows it.", valueName: "phone"))
    var phone: String?

    @Flag(help: "Forget all of them.")
    var all = false

    @OptionGroup var watch: WatchReference

    func validate() throws {
        guard (phone == nil) == all else {
            throw ValidationError("say which phone, by its address, or --all; cairn status lists them")
        }
    }

    func run() throws {
        guard let phone else { return try watch.ask(ControlCommands.ForgetAll.blank) }
        try watch.ask(words: ["phone": phone], as: ControlCommands.Forget.self)
    }
}
