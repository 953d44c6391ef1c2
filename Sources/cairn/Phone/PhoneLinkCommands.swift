import ArgumentParser
import BluetoothHCI
import Control
import Daemon
import HCIRuntime
import PebblePhone

// The watches around the phone, the link to one, and pairing, by hand.

extension PhoneTool {
    /// The subcommand of a command without fields.
    struct Plain<Command: PhoneControlCommand>: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(commandName: Command.name, abstract: Command.help, discussion: Command.discussion)
        }

        @OptionGroup var phone: PhoneReference

        func run() throws { try phone.ask(Command.blank) }
    }

    /// `cairn phone scan`
    struct Scan: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "scan",
            abstract: PhoneControlCommands.Scan.help,
            discussion:
                "It takes 5 seconds if nothing else is said. A watch that a bonded phone is connected to is not heard."
        )

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Scan { patience.set(&$0.seconds) }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// `cairn phone connect`
    struct Connect: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "connect",
            abstract: PhoneControlCommands.Connect.help,
            discussion: PhoneControlCommands.Connect.discussion
        )

        @Argument(help: "Its address or its name, or first: the first watch that is heard.")
        var watch: String?

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Connect {
                $0.watch = watch
                patience.set(&$0.seconds)
            }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// `cairn phone pair`
    struct Pair: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pair",
            abstract: PhoneControlCommands.Pair.help,
            discussion: """
                The watch and the phone may show a number each, and a person compares them. With --confirm ask the number is \
                printed, and a line of standard input answers: y, or anything else for no. With yes and no the phone answers by \
                itself; the number is printed all the same. If a person is to type the number into the watch, the command prints \
                it and ends: cairn phone wait paired waits for that person.
                """
        )

        @Option(help: "Who answers: yes, no, or ask.")
        var confirm: PairingConsent = .ask

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            try Console.run { () throws(ProgramError) in
                var client = try phone.connect()
                let command = PhoneControlCommands.Pair {
                    $0.consent = confirm
                    patience.set(&$0.seconds)
                }
                let reply = try client.ask(command, for: command.seconds)
                guard reply.content.isOpen, reply.content.question != "show" else {
                    phone.show(reply, to: PhoneControlCommands.Pair.self)
                    return .success
                }
                Console.printError("\(reply.content.words) [y/N]")
                let answer = PhoneControlCommands.Confirm {
                    $0.isAccepted = ["y", "yes"].contains(readLine()?.lowercased() ?? "")
                    patience.set(&$0.seconds)
                }
                phone.show(try client.ask(answer, for: answer.seconds), to: PhoneControlCommands.Confirm.self)
                return .success
            }
        }
    }

    /// `cairn phone confirm`
    struct Confirm: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "confirm",
            abstract: PhoneControlCommands.Confirm.help,
            discussion: "For a pairing that another program has begun; cairn phone status shows the number."
        )

        @Argument(help: "Whether the numbers are equal: yes or no.")
        var answer: YesOrNo

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Confirm {
                $0.isAccepted = answer == .yes
                patience.set(&$0.seconds)
            }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// An answer that is typed.
    enum YesOrNo: String, CaseIterable, ExpressibleByArgument {
        case yes, no
    }

    /// `cairn phone forget`
    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget",
            abstract: PhoneControlCommands.Forget.help,
            discussion: "The link stays as it is; the next one has no keys. The watch keeps its own: cairn forget."
        )

        @Argument(help: "Its address; every watch without one.", transform: Self.address)
        var watch: DeviceAddress?

        @OptionGroup var phone: PhoneReference

        func run() throws { try phone.ask(PhoneControlCommands.Forget { $0.watch = watch }) }

        private static func address(_ text: String) throws -> DeviceAddress {
            guard let address = DeviceAddress(text) else {
                throw ValidationError("“\(text)” is no address; one is written C0:11:22:33:44:55")
            }
            return address
        }
    }
}

extension PairingConsent: ExpressibleByArgument {}
