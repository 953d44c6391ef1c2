/// Two workloads of which one should cost no more than the other: a figure that a slow or busy machine does not change.
struct Comparison {
    /// What `--filter` matches.
    let name: String
    /// What is compared with what.
    let description: String
    let baseline: () throws -> any Workload
    let compared: () throws -> any Workload
    /// How much more the compared workload may cost.
    let targetRatio: Double
}

/// What was measured of one comparison.
struct Ratio: Encodable {
    let name: String
    let description: String
    /// The median over the repeats.
    let ratio: Double
    let smallest: Double
    let largest: Double
    let targetRatio: Double
    let grade: Grade
}

extension Comparison {
    /// Runs both in turns, so that other load of the machine affects both.
    func measure(_ effort: Effort) throws -> Ratio {
        var baseline = Stopwatch(try self.baseline())
        var compared = Stopwatch(try self.compared())
        try baseline.calibrate(effort)
        try compared.calibrate(effort)
        var ratios: [Double] = []
        for _ in 0..<effort.repeats {
            let nanoseconds = try baseline.nanosecondsPerOperation()
            ratios.append(try compared.nanosecondsPerOperation() / nanoseconds)
        }
        ratios.sort()
        let median = ratios[ratios.count / 2]
        return Ratio(
            name: name,
            description: description,
            ratio: median,
            smallest: ratios[0],
            largest: ratios[ratios.count - 1],
            targetRatio: targetRatio,
            grade: Grade(median, target: targetRatio)
        )
    }
}
