import ArgumentParser
import Control

/// `cairn phone`: the other side of a watch.
struct PhoneTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "Be the phone: find a watch, pair with it, and talk to it, from a shell script.",
        discussion: """
            cairn phone run is a phone that does nothing by itself; the other commands tell it what to do, and end when it is done. \
            With --state it keeps its keys, and takes commands at phone.sock in that directory; a watch may use the same directory.

              cairn run --controller virtual --air-port 6402 --state DIR &
              cairn phone run --controller tcp:127.0.0.1:6402 --state DIR &
              cairn phone connect --state DIR
              cairn phone pair --confirm yes --state DIR
              cairn phone wait session --state DIR
              cairn phone launch 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0 --state DIR
              cairn phone push 0=uint8:1 --state DIR
              cairn phone expect 0=uint8:1 --state DIR

            The environment's CAIRN_STATE stands for --state where that is left out. The status is 0 when it is done, 75 when it was \
            refused or did not happen in time, and 69 when no phone runs there. With --json each prints its answer as a JSON object.
            """,
        subcommands: [PhoneRunCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "The link",
                subcommands: [
                    Scan.self, Connect.self, Plain<PhoneControlCommands.Disconnect>.self,
                    Plain<PhoneControlCommands.Drop>.self, Pair.self, Confirm.self, Forget.self,
                ]
            ),
            CommandGroup(
                name: "The session",
                subcommands: [
                    Launch.self, Stop.self, Push.self, Expect.self, Upload.self, Install.self, Notify.self,
                    Plain<PhoneControlCommands.Ping>.self, Plain<PhoneControlCommands.Time>.self,
                ]
            ),
            CommandGroup(
                name: "The phone",
                subcommands: [
                    Plain<PhoneControlCommands.Status>.self, PhoneEventsCommand.self, PhoneWaitCommand.self,
                    PhoneAskCommand.self, Schema.self, Reference.self,
                ]
            ),
        ]
    )

    /// `cairn phone schema`
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema",
            abstract: "Print the JSON Schema of requests, answers, events and errors. Needs no phone.",
            discussion: "Docs/phone.schema.json is what it prints."
        )

        func run() throws { Console.print(String(ControlSchemaDocument.text(of: .phone).dropLast())) }
    }

    /// `cairn phone reference`
    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reference",
            abstract: "Print every command, event and error as tables in Markdown. Needs no phone.",
            discussion: "Docs/phone-reference.md is what it prints."
        )

        func run() throws { Console.print(String(ControlReference.text(of: .phone).dropLast())) }
    }
}
