import Foundation

/// Figures that do not depend on the machine, and what they may be at most: how often the heap is asked in one operation of each
/// benchmark. A build for debugging asks more often than one for release, so that each has figures of its own.
struct HeldFigures: Codable, Equatable {
    /// By build, and by the name of the benchmark.
    var allocations: [String: [String: Double]] = [:]

    /// Which build this is.
    static var build: String {
        #if DEBUG
            "debug"
        #else
            "release"
        #endif
    }

    /// What a figure may be above the one that is held: some of what is counted goes by the random seeds of hash tables.
    static func ceiling(_ held: Double) -> Double { held * 1.02 + 0.5 }

    /// As a file that people read: a line for each figure, in the order of the names.
    func file() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(self) + Data("\n".utf8)
    }

    init() {}

    init(_ file: Data) throws { self = try JSONDecoder().decode(HeldFigures.self, from: file) }

    /// What is wrong with figures that were measured, a line each.
    func problems(_ measured: [String: Double]) -> [String] {
        let held = allocations[Self.build] ?? [:]
        var problems: [String] = []
        for (name, figure) in measured.sorted(by: { $0.key < $1.key }) {
            guard let value = held[name] else {
                problems.append("\(name): \(figure.text(2)) allocations, and no figure is held")
                continue
            }
            guard figure > Self.ceiling(value) else { continue }
            problems.append("\(name): \(figure.text(2)) allocations, and \(value.text(2)) are held")
        }
        for name in held.keys.sorted() where measured[name] == nil {
            problems.append("\(name): there is no such benchmark any more")
        }
        return problems
    }

    /// Counts the allocations of a benchmark, once its buffers have their sizes.
    static func measure(_ benchmark: Benchmark) throws -> Double {
        var workload = try benchmark.make()
        let count = benchmark.heldOperations
        try workload.run(count)
        var failure: WorkloadFailure?
        let allocated = AllocationCount.of {
            do throws(WorkloadFailure) { try workload.run(count) } catch { failure = error }
        }
        if let failure { throw failure }
        // Hundredths say enough, and are the same in every run.
        return (Double(allocated.calls) / Double(count) * 100).rounded() / 100
    }
}

extension Benchmark {
    /// How many operations are counted: few of those that take long.
    fileprivate var heldOperations: Int { name.hasPrefix("upload") || name.hasPrefix("simulated") ? 2 : 100 }
}
