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
}
