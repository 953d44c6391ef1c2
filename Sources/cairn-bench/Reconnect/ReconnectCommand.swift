import ArgumentParser

extension CairnBench {
    /// `cairn-bench reconnect`.
    struct ReconnectCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reconnect",
            abstract:
                "Measures how long a bonded phone and the watch need from the connection to the first AppMessage.",
            discussion: """
                In connection events of a simulated link, for each personality and two phones: with what the watch \
                remembers of the phone's services, with looking for them by UUID, and with looking through the phone's \
                whole database, as the firmware of Pebbles does after every connection. Encryption and the companion's \
                negotiation are in all three. The exit status is 1 if a phone that hosts PPoGATT needs more than half of \
                a Pebble's events.
                """
        )

        @OptionGroup var output: OutputDirectory

        func run() throws {
            let report = try ReconnectReport()
            print(report.text)
            try output.write(report.text, to: "reconnect.md")
            if !report.isGood { throw ExitCode.failure }
        }
    }
}
