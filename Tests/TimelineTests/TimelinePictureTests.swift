import Testing

@testable import Timeline

/// Pictures as text.
struct TimelinePictureTests {
    private static func mark(_ time: Int64, _ label: String = "label") -> Timeline.Mark {
        Timeline.Mark(
            lane: .hci,
            time: time,
            packet: 1,
            direction: .sent,
            link: nil,
            size: 4,
            kind: "command",
            label: label,
            details: [label],
            isProblem: false
        )
    }

    private static func timeline(_ marks: [Timeline.Mark], to end: Int64 = 1_000_000) -> Timeline {
        Timeline(lanes: [.air, .hci], marks: marks, spans: [], start: 0, end: end, origin: 0, notes: [])
    }

    @Test func aPauseIsFoldedAndOrderIsKept() {
        let times: [Int64] = [0, 1000, 2000, 9_000_000, 9_001_000, 10_000_000]
        let scale = TimeScale(times: times, from: 0, to: 10_000_000, folds: true)
        #expect(scale.folds.count == 2)
        #expect(scale.length < 1_000_000)
        let positions = times.map(scale.position)
        #expect(positions == positions.sorted() && Set(positions).count == positions.count)
        let linear = TimeScale(times: times, from: 0, to: 10_000_000, folds: false)
        #expect(linear.folds.isEmpty && linear.length == 10_000_000)
    }

    @Test func ticksAreRoundTimes() {
        let scale = TimeScale(times: [], from: 120_000, to: 1_100_000, folds: false)
        #expect(scale.ticks(every: 150_000) == [200_000, 400_000, 600_000, 800_000, 1_000_000])
        #expect(TimeScale.decimals(every: 150_000) == 1)
        #expect(Seconds.rounded(200_000, decimals: 1) == "0.2")
        #expect(Seconds.text(125) == "0.000125")
        #expect(CalendarTime.text(1_700_000_000_000_000) == "2023-11-14 22:13:20 UTC")
    }

    @Test func whatAPeerSaysIsNoMarkup() {
        let hostile = "</script><b>\u{1B}[2J\u{202E}\"&\u{0}"
        let timeline = Self.timeline([Self.mark(1, hostile)])
        let svg = TimelineSVG(timeline, title: hostile).text()
        let html = TimelineHTML(timeline, title: hostile).text()
        for text in [svg, html] {
            #expect(!text.contains("<b>"))
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" })
        }
        #expect(svg.contains("&lt;/script&gt;&lt;b&gt;␛[2J\u{FFFD}&quot;&amp;␀"))
        #expect(html.contains("\\u003c/script>"))
    }

    @Test func aPageLoadsNothing() {
        let html = TimelineHTML(Self.timeline([Self.mark(1)]), title: "t").text()
        #expect(html.contains("default-src 'none'"))
        #expect(!html.contains("src=") && !html.contains("href="))
    }

    @Test func labelsDoNotOverlap() {
        var rows = LabelRows(count: 2)
        #expect(rows.place("0123456789", at: 0, until: 1000) == 0)
        #expect(rows.place("0123456789", at: 5, until: 1000) == 1)
        #expect(rows.place("0123456789", at: 10, until: 1000) == nil)
        #expect(rows.place("0123456789", at: 90, until: 1000) == 0)
        #expect(rows.place("0123456789", at: 990, until: 1000) == nil)
    }

    @Test func namesBecomeWords() {
        #expect(Details.words("leSetScanEnable") == "LE Set Scan Enable")
        #expect(Details.words("LESetScanEnable") == "LE Set Scan Enable")
        #expect(Details.words("handleValueNotification") == "Handle Value Notification")
        #expect(Details.words("exchangeMTURequest") == "Exchange MTU Request")
    }
}
