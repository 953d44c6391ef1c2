/// Everything that one run of `cairn-bench crowd` finds out.
struct CrowdReport {
    var talks: [CrowdTalk] = []
    var meetings: [CrowdMeeting] = []
    /// Many meetings of each number of pairs.
    var samples: [CrowdSample] = []

    var talkText: String {
        var table = TextTable(["pairs", "CPU µs an echo", "simulated s a CPU s", "kB a pair"])
        for talk in talks {
            table.append([
                "\(talk.pairs)", talk.microsecondsPerEcho.text(1), talk.speed.text(talk.speed < 10 ? 2 : 0),
                (talk.bytesPerPair / 1000).text(1),
            ])
        }
        return DiscoveryReport.section("Pairs that talk: one AppMessage a second each, to the watch and back", table)
    }

    var meetingText: String {
        let hasTranscripts = meetings.contains { $0.transcript != nil }
        var table = TextTable(
            ["pairs", "met", "median s", "p95 s", "last s", "connections that failed", "never established", "CPU s"]
                + (hasTranscripts ? ["transcript"] : [])
        )
        for meeting in meetings {
            let times = meeting.times
            table.append(
                [
                    "\(meeting.pairs)", "\(meeting.met)", times.median.text(2), times.quantile(0.95).text(2),
                    times.quantile(1).text(2), "\(meeting.failures)", "\(meeting.unestablished)",
                    (meeting.nanoseconds / 1e9).text(2),
                ] + (hasTranscripts ? [meeting.transcript ?? ""] : [])
            )
        }
        return DiscoveryReport.section("Pairs that come to one air at one instant, until they have met", table)
    }

    /// Files by name.
    var plots: [(name: String, chart: GrowthChart)] {
        let talk = GrowthChart(
            title: "What an echo and a pair cost in a crowd",
            axis: "pairs on one air, each with one AppMessage a second",
            curves: [
                .init(name: "CPU µs an echo", points: talks.map { (Double($0.pairs), $0.microsecondsPerEcho) }),
                .init(name: "kB a pair", points: talks.map { (Double($0.pairs), $0.bytesPerPair / 1000) }),
            ]
        )
        let meeting = GrowthChart(
            title: "Pairs that come to one air at one instant",
            axis: "pairs",
            curves: [
                .init(name: "median s to meet", points: meetings.map { (Double($0.pairs), $0.times.median) }),
                .init(name: "s to meet, the last", points: meetings.map { (Double($0.pairs), $0.times.quantile(1)) }),
                .init(name: "CPU s", points: meetings.map { (Double($0.pairs), $0.nanoseconds / 1e9) }),
            ]
        )
        return (talks.isEmpty ? [] : [("crowd-talk.svg", talk)])
            + (meetings.isEmpty ? [] : [("crowd-meeting.svg", meeting)])
    }
}
