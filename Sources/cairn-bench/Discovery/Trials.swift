import Foundation

/// Runs many trials, each with a seed of its own, on all processors. What comes out depends on the seeds alone.
enum Trials {
    /// - Parameters:
    ///   - count: How many; their seeds are 1 to `count`.
    ///   - prepare: Makes what runs one trial; called once for each processor.
    /// - Returns: The results in the order of the seeds.
    static func run<Worker, Result: Sendable>(
        _ count: Int,
        prepare: @escaping @Sendable () throws -> Worker,
        trial: @escaping @Sendable (_ worker: Worker, _ seed: UInt64) throws -> Result
    ) async throws -> [Result] {
        let lanes = max(1, min(count, ProcessInfo.processInfo.activeProcessorCount))
        return try await withThrowingTaskGroup(of: (lane: Int, results: [Result]).self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    let worker = try prepare()
                    let seeds = stride(from: lane + 1, through: count, by: lanes)
                    return (lane, try seeds.map { try trial(worker, UInt64($0)) })
                }
            }
            var byLane = [[Result]](repeating: [], count: lanes)
            for try await finished in group { byLane[finished.lane] = finished.results }
            return (0..<count).map { byLane[$0 % lanes][$0 / lanes] }
        }
    }
}
