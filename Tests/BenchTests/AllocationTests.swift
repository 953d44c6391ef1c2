import Testing

@testable import cairn_bench

/// What the hot paths may ask the heap for: a ceiling, so that nobody raises it unawares.
@Suite struct AllocationTests {
    #if DEBUG
        /// Without optimization, accessors and generic code allocate for themselves.
        private static let roundTripCeiling = 900.0
    #else
        private static let roundTripCeiling = 30.0
    #endif

    @Test func aRoundTripThroughTheWatchAllocatesLittle() throws {
        try AllocationCounterCheck.run()
        var workload = try EchoWorkload()
        // Buffers get their sizes.
        try workload.run(200)
        let count = 200
        var failure: WorkloadFailure?
        let allocations = AllocationCount.of {
            do throws(WorkloadFailure) { try workload.run(count) } catch { failure = error }
        }
        #expect(failure == nil)
        #expect(Double(allocations.calls) / Double(count) <= Self.roundTripCeiling)
    }
}
