import Foundation

/// Figures that do not depend on the machine, and what they may be at most. A build for debugging is not one for release, so that
/// each has figures of its own.
struct HeldFigures: Equatable {
    /// What is counted or compared.
    enum Kind: String, CaseIterable {
        /// How often the heap is asked in one operation of each benchmark, and for a burst of packets (`LoopTrial`).
        case allocations
        /// How many bytes of the heap something has that there are many of (`CrowdTalk`).
        case memory
        /// How often the kernel is asked for a burst of packets (`LoopTrial`).
        case systemCalls
        /// How much more one workload takes than another (`Comparison`), in turns.
        case ratios

        /// What a figure may be above the one that is held. Some of what is counted goes by the random seeds of hash tables; a
        /// ratio is one of times, on a machine that does other things as well.
        func ceiling(_ held: Double) -> Double {
            switch self {
            case .allocations: held * 1.02 + 0.5
            case .memory: held * 1.02
            case .systemCalls: held + 0.05
            case .ratios: held * 1.1 + 0.05
            }
        }

        var words: String {
            switch self {
            case .allocations: "allocations"
            case .memory: "bytes"
            case .systemCalls: "system calls"
            case .ratios: "times as much"
            }
        }
    }

    /// By kind, build, and name.
    private var figures: [String: [String: [String: Double]]] = [:]

    /// Which build this is.
    static var build: String {
        #if DEBUG
            "debug"
        #else
            "release"
        #endif
    }

    init() {}

    init(_ file: Data) throws {
        figures = try JSONDecoder().decode([String: [String: [String: Double]]].self, from: file)
    }

    /// As a file that people read: a line for each figure, in the order of the names.
    func file() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(figures) + Data("\n".utf8)
    }

    /// The figures of a kind that are held of this build.
    subscript(kind: Kind) -> [String: Double] {
        get { figures[kind.rawValue]?[Self.build] ?? [:] }
        set { figures[kind.rawValue, default: [:]][Self.build] = newValue }
    }

    /// What is wrong with figures that were measured, a line each.
    func problems(_ measured: [String: Double], _ kind: Kind) -> [String] {
        let held = self[kind]
        var problems: [String] = []
        for (name, figure) in measured.sorted(by: { $0.key < $1.key }) {
            guard let value = held[name] else {
                problems.append("\(name): \(figure.text(2)) \(kind.words), and no figure is held")
                continue
            }
            guard figure > kind.ceiling(value) else { continue }
            problems.append("\(name): \(figure.text(2)) \(kind.words), and \(value.text(2)) are held")
        }
        for name in held.keys.sorted() where measured[name] == nil {
            problems.append("\(name): there is no such benchmark any more")
        }
        return problems
    }

    /// Figures that are far below what is held, a line each: until they are accepted, they may grow by as much again unnoticed. Ratios
    /// go by the machine too, and are left out.
    func fallen(_ measured: [String: Double], _ kind: Kind) -> [String] {
        guard kind != .ratios else { return [] }
        return measured.sorted { $0.key < $1.key }.compactMap { name, figure in
            guard let value = self[kind][name], kind.ceiling(figure) < value else { return nil }
            return "\(name): \(figure.text(2)) \(kind.words), and \(value.text(2)) are held, which is more"
        }
    }

    /// Measures everything of a kind.
    /// - Parameter held: what is held; a ratio that is above it is measured again, since a machine that does something else at the
    ///   wrong moment makes one larger, and none smaller.
    static func measure(_ kind: Kind, held: HeldFigures) throws -> [String: Double] {
        var measured: [String: Double] = [:]
        switch kind {
        case .allocations:
            for benchmark in Catalogue.benchmarks { measured[benchmark.name] = try measure(benchmark) }
            measured["loop-burst"] = try LoopTrial.run(bursts: 1000).allocations
        case .memory:
            measured["crowd-pair"] = try CrowdTalk(pairs: 50, seconds: 2, seed: 1).bytesPerPair.rounded()
        case .systemCalls:
            for (name, count) in try LoopTrial.run(bursts: 1000).systemCalls { measured["loop-burst \(name)"] = count }
        case .ratios:
            for comparison in Catalogue.comparisons {
                let ceiling = held[.ratios][comparison.name].map(kind.ceiling) ?? .infinity
                var smallest = Double.infinity
                for _ in 0..<3 where smallest == .infinity || smallest > ceiling {
                    smallest = min(smallest, try comparison.measure(Effort()).ratio)
                }
                measured[comparison.name] = (smallest * 100).rounded() / 100
            }
        }
        return measured
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
