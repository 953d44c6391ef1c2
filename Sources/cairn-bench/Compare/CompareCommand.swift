import ArgumentParser
import Foundation
import Progress

extension CairnBench {
    /// `cairn-bench compare`.
    struct CompareCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compare",
            abstract: "Measures another build and this one in turns, and says what has changed.",
            discussion: """
                The other build is a checkout with a release build in it, or its cairn-bench. Each turn runs the benchmarks of \
                both, so that what else the machine does concerns both. A benchmark has changed if the median of the ratios is \
                further from 1 than chance explains, and by more than two hundredths. The exit status is 1 if something costs \
                more.
                """
        )

        @Argument(help: ArgumentHelp("The state before the change: a checkout, or a program.", valueName: "base"))
        var base: String

        @Option(help: "Run only what has this in its name.")
        var filter: String?

        @Option(help: "How many turns there are.")
        var turns = 9

        @OptionGroup var option: ProgressOption

        mutating func validate() throws {
            guard (3...1000).contains(turns) else {
                throw ValidationError("--turns \(turns): give a number from 3 to 1000")
            }
        }

        func run() throws {
            Interruption.take()
            let programs = [
                try Self.program(of: base), URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath(),
            ]
            var figures: [[CostFigures]] = [[], []]
            let progress = ProgressLine("Turns", of: turns, option.progress)
            defer { progress.clear() }
            for turn in 0..<turns where !Interruption.isRequested {
                // Which one goes first changes, since what one does to the next is not nothing.
                for which in turn.isMultiple(of: 2) ? [0, 1] : [1, 0] {
                    figures[which].append(try measure(programs[which]))
                }
                progress.add(1)
            }
            progress.clear()
            if Interruption.isRequested { throw ExitCode(Interruption.exitStatus) }
            let changes = CostFigures.changes(from: figures[0], to: figures[1])
            print(Self.table(changes))
            if changes.contains(where: \.isWorse) { throw ExitCode.failure }
        }

        /// The program of a checkout, or the one that was named.
        static func program(of base: String) throws -> URL {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: base, isDirectory: &isDirectory) else {
                throw ValidationError("\(base): there is no such checkout or program")
            }
            let place = URL(fileURLWithPath: base)
            guard isDirectory.boolValue else { return place }
            let program = place.appendingPathComponent(".build/release/cairn-bench")
            guard FileManager.default.isExecutableFile(atPath: program.path) else {
                throw ValidationError(
                    "\(base) has no release build: run swift build -c release --product cairn-bench there first"
                )
            }
            return program
        }

        private func measure(_ program: URL) throws -> CostFigures {
            let process = Process()
            process.executableURL = program
            process.arguments =
                ["cost", "--json", "--quick", "--progress", "never"] + (filter.map { ["--filter", $0] } ?? [])
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let report = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            // A figure that is far from its target is one all the same.
            guard [0, 1].contains(process.terminationStatus),
                let figures = try? JSONDecoder().decode(CostFigures.self, from: report)
            else {
                throw ValidationError(
                    "\(program.path) has measured nothing: it ended with status \(process.terminationStatus)"
                )
            }
            return figures
        }

        /// What is printed.
        static func table(_ changes: [BuildChange]) -> String {
            var table = TextTable(["benchmark", "time, after by before", "by chance", "allocations", ""])
            for change in changes {
                let verdict =
                    switch change.verdict {
                    case .same: ""
                    case .faster: "faster"
                    case .slower: "slower"
                    }
                let allocations =
                    change.allocations.map {
                        change.allocationChange == nil ? $0.after.text(0) : "\($0.before.text(0)) → \($0.after.text(0))"
                    }
                table.append([
                    change.name, change.ratio.text(3), "± \(change.noise.text(3))", allocations ?? "–", verdict,
                ])
            }
            let changed = changes.filter { $0.verdict != .same || $0.allocationChange != nil }
            let summary =
                changed.isEmpty
                ? "Nothing has changed beyond the noise." : "Changed: \(changed.map(\.name).joined(separator: ", "))."
            return "\(table.text)\n\n\(summary)"
        }
    }
}
