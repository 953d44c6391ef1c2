import Foundation
import Testing

@testable import cairn_bench

/// Trials in parts, which together are the whole.
@Suite struct ShardTests {
    @Test func everySeedIsInOnePart() {
        for count in 1...7 {
            let parts = (1...count).compactMap { Shard("\($0)/\(count)")?.seeds(upTo: 20) }
            #expect(parts.count == count)
            #expect(parts.flatMap(\.self).sorted() == Array(1...20))
        }
    }

    @Test(arguments: ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/", "1/10001"])
    func whatIsNoPartIsRefused(text: String) {
        #expect(Shard(text) == nil)
    }

    @Test func partsMakeTheWhole() async throws {
        let seeds = 5
        let whole = try await report(seeds, TrialPlan(jobs: 1))
        var parts: [DiscoveryPart] = []
        for number in [3, 1, 2] {
            let shard = try #require(Shard("\(number)/3"))
            let part = DiscoveryPart(
                try await report(seeds, TrialPlan(jobs: 2, shard: shard)),
                seeds: seeds,
                shard: shard
            )
            parts.append(try DiscoveryPart(Data(try part.line().utf8)))
        }
        let merged = try DiscoveryReport(merging: parts)
        #expect(merged.sightingText == whole.sightingText)
        #expect(merged.returnText == whole.returnText)
        #expect(merged.regionText == whole.regionText)
        #expect(merged.plots.map(\.chart.svg.document) == whole.plots.map(\.chart.svg.document))
        #expect(whole.plots.count == 8)

        expectFailure("part 2/3 is missing", parts.filter { $0.shard.number != 2 })
        expectFailure("part 1/3 is there 2 times", parts + parts.filter { $0.shard.number == 1 })
        let other = DiscoveryPart(whole, seeds: seeds + 1, shard: parts[0].shard)
        expectFailure("part 3/3 of 6 trials does not go with part 1/3 of 5", Array(parts.dropFirst()) + [other])
        var interrupted = parts
        interrupted[0].returns.removeLast()
        expectFailure("a part was interrupted, or is of another version of this program", interrupted)
        expectFailure("there is no part", [])
    }

    private func expectFailure(_ text: String, _ parts: [DiscoveryPart]) {
        let failure = #expect(throws: MergeFailure.self) { _ = try DiscoveryReport(merging: parts) }
        #expect(failure?.description == text)
    }

    private func report(_ seeds: Int, _ plan: TrialPlan) async throws -> DiscoveryReport {
        var report = DiscoveryReport()
        report.sightings = try await Discovery.sightings(seeds: seeds, plan)
        report.returns = try await Discovery.returns(seeds: seeds, plan)
        report.regions = try await Discovery.regions(seeds: seeds, plan)
        return report
    }
}
