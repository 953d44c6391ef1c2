import BluetoothHCI
import PebbleWatch
import Testing

@testable import cairn_bench

/// The cost of reconnection in connection events, where no loss is random.
@Suite struct ReconnectTests {
    @Test func rememberingHalvesWhatAPebbleNeeds() throws {
        let report = try ReconnectReport(intervals: [.milliseconds(30)])
        #expect(report.rows.count == 2 * Personality.generations.count)
        #expect(report.rows.contains { !$0.isForward })
        for row in report.rows where row.isForward {
            #expect(row.isGood, "\(report.text)")
            #expect(row.remembering.events < row.afresh.events)
            #expect(row.afresh.events < row.everything.events)
        }
    }
}
