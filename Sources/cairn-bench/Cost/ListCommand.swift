import ArgumentParser

extension CairnBench {
    /// `cairn-bench list`.
    struct ListCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the benchmarks of cost and what they measure."
        )

        func run() {
            for benchmark in Catalogue.benchmarks { print("\(benchmark.name): \(benchmark.operation)") }
            for comparison in Catalogue.comparisons { print("\(comparison.name): \(comparison.description)") }
        }
    }
}
