import Foundation
import Progress

/// Runs many trials, each with a seed of its own, on all processors. What comes out depends on the seeds alone.
enum Trials {
    /// - Parameters:
    ///   - count: How many; their seeds are 1 to `count`.
    ///   - plan: Which of them run here, and how many at once.
    ///   - prepare: Makes what runs one trial; called once for each processor.
    ///   - progress: Is told of each trial.
    /// - Returns: The results in the order of the seeds; fewer if the run was interrupted.
    static func run<Worker, Result: Sendable>(
        _ count: Int,
        _ plan: TrialPlan = TrialPlan(),
        _ progress: ProgressLine? = nil,
        prepare: @escaping @Sendable () throws -> Worker,
        trial: @escaping @Sendable (_ worker: Worker, _ seed: UInt64) throws -> Result
    ) async throws -> [Result] {
        let seeds = plan.shard.seeds(upTo: count)
        let lanes = max(1, min(seeds.count, plan.jobs ?? ProcessInfo.processInfo.activeProcessorCount))
        return try await withThrowingTaskGroup(of: (lane: Int, results: [Result]).self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    let worker = try prepare()
                    var results: [Result] = []
                    for index in stride(from: lane, to: seeds.count, by: lanes) where !Interruption.isRequested {
                        results.append(try trial(worker, UInt64(seeds[index])))
                        progress?.add(1)
                    }
                    return (lane, results)
                }
            }
            var byLane = [[Result]](repeating: [], count: lanes)
            for try await finished in group { byLane[finished.lane] = finished.results }
            return seeds.indices.compactMap { index in
                let results = byLane[index % lanes]
                return index / lanes < results.count ? results[index / lanes] : nil
            }
        }
    }
}
