import Testing

@testable import cairn_bench

/// Links that come and go leave nothing on the heap: `cairn-bench cycles` in short.
@Suite struct CycleTests {
    @Test func cyclesLeaveNothingBehind() throws {
        // Both numbers of sessions have three digits at their ends, so that lines of the watch's log have one length.
        let report = try CycleReport.measure(warmUp: 360, count: 120)
        #expect(report.isGood, "\(report.text)")
    }
}
