import Foundation
import Progress

/// Runs many trials, each with a seed of its own, on all processors. What comes out depends on the seeds alone.
enum Trials {
    /// - Parameters:
    ///   - count: How many; their seeds are 1 to `count`.
    ///   - prepare: Makes what runs one trial; called once for each processor.
    ///   - progress: Is told of each trial.
    /// - Returns: The results in the order of the seeds; fewer than `count` if the run was interrupted.
    static func run<Worker, Result: Sendable>(
        _ count: Int,
        _ progress: ProgressLine? = nil,
        prepare: @escaping @Sendable () throws -> Worker,
        trial: @escaping @Sendable (_ worker: Worker, _ seed: UInt64) throws -> Result
    ) async throws -> [Result] {
        let lanes = max(1, min(count, ProcessInfo.processInfo.activeProcessorCount))
        return try await withThrowingTaskGroup(of: (lane: Int, results: [Result]).self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    let worker = try prepare()
                    let seeds = stride(from: lane + 1, through: count, by: lanes)
                    var results: [Result] = []
                    for seed in seeds where !Interruption.isRequested {
                        results.append(try trial(worker, UInt64(seed)))
                        progress?.add(1)
                    }
                    return (lane, results)
                }
            }
            var byLane = [[Result]](repeating: [], count: lanes)
            for try await finished in group { byLane[finished.lane] = finished.results }
            return (0..<count).compactMap { index in
                let results = byLane[index % lanes]
                return index / lanes < results.count ? results[index / lanes] : nil
            }
        }
    }
}
