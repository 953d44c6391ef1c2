import ArgumentParser
import Progress

extension CairnBench {
    /// `cairn-bench cost`.
    struct CostCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cost",
            abstract:
                "Measures time and heap allocations of the hot paths, beside the targets. The exit status is 1 if one is a defect: twenty times its target or more."
        )

        @Option(help: "Run only what has this in its name.")
        var filter: String?

        @Flag(help: "Print one JSON object instead of a table.")
        var json = false

        @Flag(help: "Measure for a short time only: good enough for allocations, rough for times.")
        var quick = false

        @Option(help: "How often each benchmark is repeated.")
        var repeats: Int?

        @OptionGroup var option: ProgressOption

        mutating func validate() throws {
            if let repeats, !(1...1000).contains(repeats) {
                throw ValidationError("--repeats \(repeats): give a number from 1 to 1000")
            }
        }

        func run() throws {
            try AllocationCounterCheck.run()
            var effort = quick ? Effort.quick : Effort()
            if let repeats { effort.repeats = repeats }
            let benchmarks = Catalogue.benchmarks.filter { isWanted($0.name) }
            let comparisons = Catalogue.comparisons.filter { isWanted($0.name) }
            guard !benchmarks.isEmpty || !comparisons.isEmpty else {
                throw ValidationError("no benchmark has \"\(filter ?? "")\" in its name; see cairn-bench list")
            }
            Interruption.take()
            var report = Report()
            let progress = ProgressLine("Benchmarks", of: benchmarks.count + comparisons.count, option.progress)
            defer { progress.clear() }
            progress.clear()
            if !json { print(ReportTable.header) }
            for benchmark in benchmarks where !Interruption.isRequested {
                let measurement = try benchmark.measure(effort)
                progress.clear()
                report.measurements.append(measurement)
                if !json { print(ReportTable.line(measurement)) }
                progress.add(1)
            }
            for comparison in comparisons where !Interruption.isRequested {
                let ratio = try comparison.measure(effort)
                progress.clear()
                report.ratios.append(ratio)
                if !json { print(ReportTable.line(ratio)) }
                progress.add(1)
            }
            progress.clear()
            print(json ? try report.json() : "\n" + ReportTable.legend)
            if Interruption.isRequested { throw ExitCode(Interruption.exitStatus) }
            if report.worst == .defect { throw ExitCode.failure }
        }

        private func isWanted(_ name: String) -> Bool { filter.map { name.contains($0) } ?? true }
    }
}
