import ArgumentParser

extension CairnBench {
    /// `cairn-bench cycles`.
    struct CyclesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cycles",
            abstract:
                "Connects and disconnects a watch and a phone over and over, and shows what that leaves on the heap.",
            discussion: """
                The watch's firmware, a bonded phone, both controllers and the air between them, in virtual time: each cycle \
                connects, encrypts, opens a session and exchanges a message; links end in turn by the phone, out of range, \
                and before anything happened. The exit status is 1 if one block is left behind, \
                or more bytes than the C library's rounding accounts for.
                """
        )

        @Option(help: "How many cycles count.")
        var count = 10_000

        // After so many, three of four with a session, the names of sessions in the watch's log have five digits.
        @Option(help: "How many cycles come before, so that buffers and logs have their sizes.")
        var warmUp = 14_000

        mutating func validate() throws {
            guard (1...1_000_000).contains(count), (0...1_000_000).contains(warmUp) else {
                throw ValidationError("give numbers from 1 to 1000000")
            }
        }

        func run() throws {
            let clock = ContinuousClock()
            let start = clock.now
            let report = try CycleReport.measure(warmUp: warmUp, count: count)
            print(report.text)
            print("\(warmUp + count) cycles in \(((clock.now - start) / .seconds(1)).text(1)) s")
            if !report.isGood { throw ExitCode.failure }
        }
    }
}
