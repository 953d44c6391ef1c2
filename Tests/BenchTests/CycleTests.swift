import Testing

@testable import cairn_bench

/// Links that come and go leave nothing on the heap: `cairn-bench cycles` in short.
@Suite struct CycleTests {
    @Test func cyclesLeaveNothingBehind() throws {
        // Both numbers of sessions have three digits at their ends, so that lines of the watch's log have one length.
        let report = try CycleReport.measure(warmUp: 360, count: 120)
        #expect(report.before.blocks == report.after.blocks, "\(report.text)")
        // Since several branches were merged, as many blocks are a few bytes more or less: why is not known yet.
        withKnownIssue("the same number of blocks, of other sizes", isIntermittent: true) {
            #expect(report.isGood, "\(report.text)")
        }
    }
}
