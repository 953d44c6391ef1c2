import Testing

@testable import cairn_bench

/// How much the hot paths may allocate: a limit, so that a change that raises it is noticed.
@Suite struct AllocationTests {
    #if DEBUG
        /// Without optimization, accessors and generic code allocate for themselves.
        private static let roundTripCeiling = 900.0
        private static let vendorEventCeiling = 8.0
        private static let deadlineCeiling = 1.0
        private static let noticeCeiling = 0.0
    #else
        private static let roundTripCeiling = 30.0
        private static let vendorEventCeiling = 0.0
        private static let deadlineCeiling = 0.0
        private static let noticeCeiling = 0.0
    #endif

    @Test func aRoundTripThroughTheWatchAllocatesLittle() throws {
        let count = try allocations(of: try EchoWorkload())
        #expect(count <= Self.roundTripCeiling)
    }

    @Test func anEventThatConcernsNobodyAllocatesNothing() throws {
        let count = try allocations(of: try VendorEventWorkload())
        #expect(count <= Self.vendorEventCeiling)
    }

    @Test func askingAHostWhenItIsDueAllocatesNothing() throws {
        let count = try allocations(of: try DeadlineWorkload())
        #expect(count <= Self.deadlineCeiling)
    }

    @Test func aNoticeWhoseWordsAreNotReadAllocatesNothing() throws {
        let count = try allocations(of: try NoticeWorkload())
        #expect(count <= Self.noticeCeiling)
    }

    #if !DEBUG
        @Test func aRecorderAllocatesNothingForAPacket() throws {
            let recorded = try allocations(of: try EchoWorkload { RecordedWatch($0) })
            // Its memory grows in pieces now and then.
            #expect(recorded <= (try allocations(of: try EchoWorkload())) + 0.5)
        }
    #endif

    /// How many allocations one operation makes.
    private func allocations(of workload: some Workload) throws -> Double {
        var workload = workload
        try AllocationCounterCheck.run()
        // Buffers get their sizes.
        try workload.run(200)
        let count = 200
        var failure: WorkloadFailure?
        let allocations = AllocationCount.of {
            do throws(WorkloadFailure) { try workload.run(count) } catch { failure = error }
        }
        #expect(failure == nil)
        return Double(allocations.calls) / Double(count)
    }
}
