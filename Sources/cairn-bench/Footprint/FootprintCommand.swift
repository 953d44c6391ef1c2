import ArgumentParser
import Foundation

extension CairnBench {
    /// `cairn-bench footprint`.
    struct FootprintCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "footprint",
            abstract: "Measures what a running watch takes: time to start, memory, wakeups, and the program's size.",
            discussion: """
                Runs cairn as it is, in a process of its own, with a state directory and a controller of a simulated air, \
                which belongs to this process. A start lasts from the program's execution to the first advertisement that a \
                scanner hears. It is measured with a whole processor, and with a part of one that stands for a small board \
                (a Raspberry Pi Zero 2 W's is said to be five to eight times slower than a server's): \
                the kernel's quota for a control group, which only root may make. Where that cannot be had, the part's time is \
                left out, and the processor time times the number of parts says what it would be at least.

                Memory is what the kernel counts as resident, once for a watch that advertises, and once at its largest while a \
                phone is connected and exchanges messages of up to 8 KiB with it. The exit status is 1 if a target is missed.
                """
        )

        @Option(
            help: ArgumentHelp(
                "The program to measure. (default: cairn, where cairn-bench is)",
                valueName: "file"
            )
        )
        var program: String?

        @Option(help: "How many starts of each kind.")
        var starts = 9

        @Option(help: ArgumentHelp("A small board has one part of so many of a processor.", valueName: "parts"))
        var board = 8

        @Option(
            help: ArgumentHelp("How long the watch is left alone for its wakeups to be counted.", valueName: "seconds")
        )
        var idle = 20

        @OptionGroup var output: OutputDirectory

        mutating func validate() throws {
            guard (1...1000).contains(starts) else { throw ValidationError("--starts takes a number from 1 to 1000") }
            guard (1...1000).contains(board) else { throw ValidationError("--board takes a number from 1 to 1000") }
            guard (1...3600).contains(idle) else {
                throw ValidationError("--idle takes a number of seconds from 1 to 3600")
            }
        }

        func run() throws {
            let program = self.program ?? Self.neighbour
            let makeup = try BinaryMakeup(of: program)
            var report = FootprintReport(boardParts: board, makeup: makeup)
            let share = ProcessorShare(oneOf: board)
            defer { share?.remove() }
            for _ in 0..<starts {
                report.starts.append(try trial(.start, program, nil))
                if let share { report.boardStarts.append(try trial(.start, program, share)) }
            }
            report.life = try trial(.life(idle: .seconds(idle)), program, nil)
            print(report.text)
            try output.write(report.text, to: "footprint.md")
            if !report.isGood { throw ExitCode.failure }
        }

        /// In a folder of its own, which is gone afterwards: each start is a first one.
        private func trial(
            _ kind: FootprintTrial.Kind,
            _ program: String,
            _ share: ProcessorShare?
        ) throws
            -> FootprintTrial.Findings
        {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let findings = try FootprintTrial(kind, program: program, share: share, folder: folder.path).run()
            if let failure = findings.failure { throw WorkloadFailure(failure) }
            try FileManager.default.removeItem(at: folder)
            return findings
        }

        /// The `cairn` that was built along with this program.
        private static var neighbour: String {
            let own = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
            return own.deletingLastPathComponent().appendingPathComponent("cairn").path
        }
    }
}
