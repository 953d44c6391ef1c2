import Foundation
import Testing

@testable import cairn_bench

/// Many pairs on one air, in short.
@Suite struct CrowdTests {
    @Test func everyDictionaryComesBack() throws {
        let talk = try CrowdTalk(pairs: 5, seconds: 5, seed: 1)
        #expect((24...26).contains(talk.echoes))
        #expect(talk.bytesPerPair > 0)
    }

    /// More than a phone keeps in mind of other watches: each finds its own among them.
    @Test func everyPairOfACrowdMeets() throws {
        let meeting = try CrowdMeeting(pairs: 70, limit: 120, seed: 1)
        #expect(meeting.met == 70, "\(meeting.times.seconds)")
    }

    @Test func theSameSeedGivesTheSamePackets() throws {
        let one = try CrowdMeeting(pairs: 3, limit: 60, seed: 7, hasTranscript: true)
        let same = try CrowdMeeting(pairs: 3, limit: 60, seed: 7, hasTranscript: true)
        let other = try CrowdMeeting(pairs: 3, limit: 60, seed: 8, hasTranscript: true)
        #expect(one.transcript != nil && one.transcript == same.transcript)
        #expect(one.transcript != other.transcript)
    }

    @Test func listsOfNumbersAreRead() {
        #expect(CairnBench.CrowdCommand.numbers("1,10,100") == [1, 10, 100])
        #expect(CairnBench.CrowdCommand.numbers("") == [])
        for text in ["0", "a", "1,x", "10001"] { #expect(CairnBench.CrowdCommand.numbers(text) == nil) }
    }

    @Test func aReportNamesWhatWasMeasured() throws {
        var report = CrowdReport()
        report.talks = [try CrowdTalk(pairs: 1, seconds: 2, seed: 1), try CrowdTalk(pairs: 2, seconds: 2, seed: 1)]
        #expect(report.talkText.contains("| 1 "))
        #expect(report.plots.map(\.name) == ["crowd-talk.svg"])
    }

    @Test func partsOfManyMeetingsMakeTheWhole() async throws {
        func samples(_ plan: TrialPlan) async throws -> [CrowdSample] {
            var samples: [CrowdSample] = []
            for pairs in [1, 3] { samples.append(try await CrowdSample(pairs: pairs, seeds: 4, limit: 60, plan)) }
            return samples
        }
        var whole = CrowdReport()
        whole.samples = try await samples(TrialPlan(jobs: 1))
        #expect(whole.samples.map(\.met) == [4, 12])
        var parts: [CrowdPart] = []
        for number in [3, 1, 2] {
            let shard = try #require(Shard("\(number)/3"))
            let found = try await samples(TrialPlan(jobs: 2, shard: shard))
            let part = CrowdPart(found, seeds: 4, limit: 60, shard: shard)
            parts.append(try CrowdPart(Data(try part.line().utf8)))
        }
        let merged = try CrowdReport(merging: parts)
        #expect(merged.sampleText == whole.sampleText)
        #expect(merged.samplePlot.svg.document == whole.samplePlot.svg.document)

        expectFailure("part 2/3 is missing", parts.filter { $0.shard.number != 2 })
        let other = CrowdPart(parts[0].crowds, seeds: 4, limit: 61, shard: parts[0].shard)
        expectFailure("the parts are not of the same crowds", Array(parts.dropFirst()) + [other])
        let cut = CrowdPart(
            parts[0].crowds.map { CrowdSample(pairs: $0.pairs) },
            seeds: 4,
            limit: 60,
            shard: parts[0].shard
        )
        expectFailure("part 3/3 was interrupted", Array(parts.dropFirst()) + [cut])
        #expect(throws: (any Error).self) { _ = try CrowdPart(Data("{\"version\":1,\"seeds\":4}".utf8)) }
    }

    private func expectFailure(_ text: String, _ parts: [CrowdPart]) {
        let failure = #expect(throws: MergeFailure.self) { _ = try CrowdReport(merging: parts) }
        #expect(failure?.description == text)
    }
}
