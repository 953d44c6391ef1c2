/// What one part of the trials of `cairn-bench discovery` has found out, as it is kept in a file.
///
/// The times stand in the order of the cases, which is that of the tables; numbers are written so that they are read as they
/// were.
struct DiscoveryPart: TrialPart {
    /// The version of this format.
    static let currentVersion = 1

    var version = currentVersion
    /// How many trials of each kind all parts have together.
    let seeds: Int
    let shard: Shard
    var sightings: [Distribution] = []
    var returns: [DiscoveryPart.Return] = []
    var regions: [DiscoveryPart.Region] = []

    struct Return: Codable {
        var connected: Distribution
        var message: Distribution
    }

    struct Region: Codable {
        var entry: Distribution
        var message: Distribution
    }

    /// The part that a report has.
    init(_ report: DiscoveryReport, seeds: Int, shard: Shard) {
        self.seeds = seeds
        self.shard = shard
        sightings = report.sightings.map(\.time)
        returns = report.returns.map { Return(connected: $0.connected, message: $0.message) }
        regions = report.regions.map { Region(entry: $0.entry, message: $0.message) }
    }
}

extension DiscoveryReport {
    /// The whole of which these are the parts, in any order.
    init(merging parts: [DiscoveryPart]) throws {
        try Shard.check(parts)
        self.init()
        sightings = try Self.merge(Discovery.sightingCases(), parts.map(\.sightings)) { one, times in
            .init(interval: one.interval, scanner: one.scanner, time: Distribution(merging: times))
        }
        returns = try Self.merge(Discovery.returnCases(), parts.map(\.returns)) { one, times in
            .init(
                policy: one.policy,
                scanner: one.scanner,
                absence: one.absence,
                connected: Distribution(merging: times.map(\.connected)),
                message: Distribution(merging: times.map(\.message))
            )
        }
        regions = try Self.merge(Discovery.regionCases(), parts.map(\.regions)) { one, times in
            .init(
                policy: one.policy,
                scanner: one.scanner,
                absence: one.absence,
                entry: Distribution(merging: times.map(\.entry)),
                message: Distribution(merging: times.map(\.message))
            )
        }
    }

    private static func merge<Case, Times, Row>(
        _ cases: [Case],
        _ parts: [[Times]],
        _ row: (Case, [Times]) -> Row
    ) throws -> [Row] {
        guard parts.allSatisfy({ $0.count == cases.count }) else {
            throw MergeFailure("a part was interrupted, or is of another version of this program")
        }
        return cases.enumerated().map { index, one in row(one, parts.map { $0[index] }) }
    }
}
