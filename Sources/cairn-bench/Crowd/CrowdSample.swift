import Progress

/// Many meetings of equally many pairs, each on an air of its own. What comes out depends on the seeds alone.
struct CrowdSample: Codable, Equatable, Sendable {
    let pairs: Int
    /// How many times they came to an air.
    var trials = 0
    /// When the pairs that met had done so, of all trials.
    var times = Distribution([])
    /// How many connections failed or were lost before a pair had met.
    var failures = 0
    /// How many of these never had a first packet.
    var unestablished = 0

    init(pairs: Int) { self.pairs = pairs }

    /// How many pairs met.
    var met: Int { times.seconds.count }

    /// Meets with each of the seeds of a plan.
    /// - Parameters:
    ///   - seeds: how many trials the whole has.
    ///   - limit: how long the pairs may take, in simulated seconds.
    init(pairs: Int, seeds: Int, limit: Int, _ plan: TrialPlan, _ progress: ProgressLine? = nil) async throws {
        self.init(pairs: pairs)
        let meetings = try await Trials.run(seeds, plan, progress, prepare: {}) { _, seed in
            try CrowdMeeting(pairs: pairs, limit: limit, seed: seed)
        }
        trials = meetings.count
        times = Distribution(merging: meetings.map(\.times))
        failures = meetings.map(\.failures).reduce(0, +)
        unestablished = meetings.map(\.unestablished).reduce(0, +)
    }

    /// All trials of several.
    init(merging parts: [CrowdSample], pairs: Int) {
        self.init(pairs: pairs)
        trials = parts.map(\.trials).reduce(0, +)
        times = Distribution(merging: parts.map(\.times))
        failures = parts.map(\.failures).reduce(0, +)
        unestablished = parts.map(\.unestablished).reduce(0, +)
    }
}

/// What one part of the trials of `cairn-bench crowd` has found out, as it is kept in a file.
struct CrowdPart: TrialPart {
    static let currentVersion = 1

    var version = currentVersion
    let seeds: Int
    let shard: Shard
    /// How long the pairs had, in simulated seconds.
    let limit: Int
    /// In the order in which the numbers of pairs were given.
    let crowds: [CrowdSample]

    init(_ crowds: [CrowdSample], seeds: Int, limit: Int, shard: Shard) {
        self.seeds = seeds
        self.shard = shard
        self.limit = limit
        self.crowds = crowds
    }
}

extension CrowdReport {
    /// The whole of which these are the parts, in any order.
    init(merging parts: [CrowdPart]) throws {
        try Shard.check(parts)
        self.init()
        guard let first = parts.first else { return }
        let counts = first.crowds.map(\.pairs)
        guard parts.allSatisfy({ $0.limit == first.limit && $0.crowds.map(\.pairs) == counts }) else {
            throw MergeFailure("the parts are not of the same crowds")
        }
        for part in parts {
            let expected = part.shard.seeds(upTo: part.seeds).count
            guard part.crowds.allSatisfy({ $0.trials == expected }) else {
                throw MergeFailure("part \(part.shard.text) was interrupted")
            }
        }
        samples = counts.indices.map { index in
            CrowdSample(merging: parts.map { $0.crowds[index] }, pairs: counts[index])
        }
    }

    /// Leaves the table and the plot of the trials.
    func showSamples(_ output: OutputDirectory) throws {
        try output.show(sampleText, as: "crowd-trials.md")
        try output.write(samplePlot.svg.document, to: "crowd-trials.svg")
    }

    var sampleText: String {
        var table = TextTable([
            "pairs", "trials", "met", "median s", "p95 s", "last s", "connections that failed", "never established",
        ])
        for sample in samples {
            let times = sample.times
            table.append([
                "\(sample.pairs)", "\(sample.trials)", "\(sample.met)", times.median.text(2),
                times.quantile(0.95).text(2), times.quantile(1).text(2), "\(sample.failures)",
                "\(sample.unestablished)",
            ])
        }
        return DiscoveryReport.section("Pairs that come to one air at one instant, in many trials", table)
    }

    var samplePlot: GrowthChart {
        GrowthChart(
            title: "Pairs that come to one air at one instant, in many trials",
            axis: "pairs",
            curves: [
                .init(name: "median s to meet", points: samples.map { (Double($0.pairs), $0.times.median) }),
                .init(name: "p95 s", points: samples.map { (Double($0.pairs), $0.times.quantile(0.95)) }),
                .init(name: "s to meet, the last", points: samples.map { (Double($0.pairs), $0.times.quantile(1)) }),
            ]
        )
    }
}
