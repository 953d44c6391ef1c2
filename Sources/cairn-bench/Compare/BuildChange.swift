import Foundation

/// What one benchmark costs in two builds that were measured in turns.
struct BuildChange: Equatable {
    /// What can be said of it.
    enum Verdict: Equatable {
        /// It differs by less than what the same program differs by from turn to turn.
        case same
        case faster
        case slower
    }

    let name: String
    /// The median of the ratios of the two, each of one turn: this build's figure by the other's.
    let ratio: Double
    /// How far that may be off by chance, in the same unit: three standard errors of a median.
    let noise: Double
    /// Allocations of an operation, of the other build and of this one; nil where nothing is counted.
    let allocations: (before: Double, after: Double)?

    /// A change that is smaller counts as none: code that was only moved makes as much of a difference.
    static let leastChange = 0.02
    /// What allocations may differ by: some of them go by the random seeds of hash tables.
    static let leastAllocations = 0.5

    /// - Parameter ratios: this build's figure by the other's, of each turn.
    init(_ name: String, ratios: [Double], allocations: (before: Double, after: Double)?) {
        self.name = name
        self.allocations = allocations
        ratio = Self.median(ratios)
        let center = ratio
        // The median of the deviations stands for the standard deviation without being moved by a turn that something fell into.
        let deviation = 1.4826 * Self.median(ratios.map { abs($0 - center) })
        noise = 3 * 1.2533 * deviation / Double(max(1, ratios.count)).squareRoot()
    }

    var verdict: Verdict {
        guard abs(ratio - 1) > max(noise, Self.leastChange) else { return .same }
        return ratio < 1 ? .faster : .slower
    }

    /// How many more allocations this build makes, if they are more or fewer.
    var allocationChange: Double? {
        guard let allocations, abs(allocations.after - allocations.before) > Self.leastAllocations else { return nil }
        return allocations.after - allocations.before
    }

    /// Whether something costs more.
    var isWorse: Bool { verdict == .slower || (allocationChange ?? 0) > 0 }

    static func == (one: BuildChange, other: BuildChange) -> Bool {
        one.name == other.name && one.ratio == other.ratio && one.noise == other.noise
            && one.allocations?.before == other.allocations?.before
            && one.allocations?.after == other.allocations?.after
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 1 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// What one run of `cairn-bench cost --json` has found out, as far as it is compared.
struct CostFigures: Decodable {
    private struct Figure: Decodable {
        let name: String
        let nanoseconds: Double
        let allocations: Double
    }

    private let measurements: [Figure]

    /// By the name of the benchmark.
    var byName: [String: (nanoseconds: Double, allocations: Double)] {
        Dictionary(measurements.map { ($0.name, ($0.nanoseconds, $0.allocations)) }) { first, _ in first }
    }

    /// The changes from one build to another.
    /// - Parameters:
    ///   - before: each turn of the other build.
    ///   - after: each turn of this one, in the same order.
    static func changes(from before: [CostFigures], to after: [CostFigures]) -> [BuildChange] {
        let turns = zip(before, after).map { ($0.byName, $1.byName) }
        guard let (first, other) = turns.first else { return [] }
        // What only one of them has cannot be compared.
        return first.keys.filter { other[$0] != nil }.sorted().map { name in
            let figures = turns.compactMap { turn in turn.0[name].flatMap { one in turn.1[name].map { (one, $0) } } }
            return BuildChange(
                name,
                ratios: figures.map { $1.nanoseconds / $0.nanoseconds },
                allocations: figures.last.map { ($0.allocations, $1.allocations) }
            )
        }
    }
}
