import ArgumentParser
import Control
import Glibc
import HCIRuntime
import PebbleProtocol

// What a companion app does with a watch, by hand.

extension PhoneTool {
    /// `cairn phone launch`
    struct Launch: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "launch",
            abstract: PhoneControlCommands.Launch.help
        )

        @Argument(help: "The app's UUID.", transform: PebbleUUID.argument)
        var app: PebbleUUID

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Launch {
                $0.app = app
                patience.set(&$0.seconds)
            }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// `cairn phone stop`
    struct Stop: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop",
            abstract: PhoneControlCommands.Stop.help
        )

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Stop { patience.set(&$0.seconds) }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// `cairn phone push`
    struct Push: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "push",
            abstract: PhoneControlCommands.Push.help,
            discussion: "Example: cairn phone push 0=uint8:1 1=string:hello 2=bytes:00ff10"
        )

        @Argument(
            help: ArgumentHelp(
                "A tuple of the dictionary. The types are \(ControlEntry.types); bytes are hexadecimal.",
                valueName: "key=type:value"
            ),
            transform: ControlEntry.argument
        )
        var tuples: [ControlEntry]

        @Option(
            help: ArgumentHelp("The app that it is for. (default: the one that runs)", valueName: "uuid"),
            transform: PebbleUUID.argument
        )
        var app: PebbleUUID?

        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Push {
                $0.app = app
                $0.entries = tuples
            }
            try phone.ask(command)
        }
    }

    /// `cairn phone expect`
    struct Expect: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "expect",
            abstract: PhoneControlCommands.Expect.help,
            discussion: PhoneControlCommands.Expect.discussion
                + " Without a tuple, any message is taken. Example: cairn phone expect 0=uint8:1 --for 10"
        )

        @Argument(
            help: ArgumentHelp(
                "A tuple that it has. The types are \(ControlEntry.types).",
                valueName: "key=type:value"
            ),
            transform: ControlEntry.argument
        )
        var tuples: [ControlEntry] = []

        @Option(
            help: ArgumentHelp("The app that it is from. (default: any)", valueName: "uuid"),
            transform: PebbleUUID.argument
        )
        var app: PebbleUUID?

        @OptionGroup var patience: PhonePatience
        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Expect {
                $0.app = app
                $0.entries = tuples
                patience.set(&$0.seconds)
            }
            try phone.ask(command, for: command.seconds)
        }
    }

    /// `cairn phone upload`
    struct Upload: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "upload",
            abstract: PhoneControlCommands.Upload.help,
            discussion: PhoneControlCommands.Upload.discussion
        )

        @Argument(help: "The file.", completion: .file(), transform: pathArgument)
        var file: String

        @Option(
            name: .customLong("as"),
            help: ArgumentHelp("What it is called on the watch. (default: the file's name)", valueName: "name")
        )
        var name: String?

        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Upload {
                $0.path = file.wholePath
                $0.file = name ?? file.split(separator: "/").last.map(String.init) ?? ""
            }
            try phone.ask(command)
        }
    }

    /// `cairn phone install`
    struct Install: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "install",
            abstract: PhoneControlCommands.Install.help,
            discussion:
                "The watch fetches what the bundle has for its kind. What the app does on a Cairn: cairn run --behaviour."
        )

        @Argument(
            help: "A .pbw, as the SDK builds it.",
            completion: .file(extensions: ["pbw"]),
            transform: pathArgument
        )
        var file: String

        @OptionGroup var phone: PhoneReference

        func run() throws { try phone.ask(PhoneControlCommands.Install { $0.path = file.wholePath }) }
    }

    /// `cairn phone notify`
    struct Notify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "notify",
            abstract: PhoneControlCommands.Notify.help
        )

        @Option(help: ArgumentHelp("Its title.", valueName: "text"))
        var title: String

        @Option(help: ArgumentHelp("What it says at length.", valueName: "text"))
        var body = ""

        @OptionGroup var phone: PhoneReference

        func run() throws {
            let command = PhoneControlCommands.Notify {
                $0.title = title
                $0.body = body
            }
            try phone.ask(command)
        }
    }
}

extension String {
    /// The path from the root on: the phone may have been started in another directory.
    fileprivate var wholePath: String {
        guard !hasPrefix("/"), let directory = getcwd(nil, 0) else { return self }
        defer { free(directory) }
        return String(cString: directory) + "/" + self
    }
}
