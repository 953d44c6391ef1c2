/// Draws a timeline as one SVG: light or dark as the reader's system is, with the decoded packet under the pointer.
package struct TimelineSVG: Sendable {
    /// How wide a picture is, in pixels, if nothing else is said.
    package static let usualWidth = 1600

    private let timeline: Timeline
    private let title: String
    private let width: Double
    private let scale: TimeScale
    private let isFolding: Bool

    private static let left = 140.0
    private static let right = 20.0
    private static let headerHeight = 92.0
    private static let rowHeight = 22.0
    private static let labelHeight = 12.0
    private static let barHeight = 22.0

    /// A picture of a timeline.
    /// - Parameters:
    ///   - title: what was captured.
    ///   - width: in pixels.
    ///   - folds: whether pauses are drawn shorter than they were.
    package init(_ timeline: Timeline, title: String, width: Int = usualWidth, folds: Bool = true) {
        self.timeline = timeline
        self.title = title
        self.width = Double(width)
        isFolding = folds
        scale = timeline.scale(folds: folds)
    }

    /// The whole file.
    package func text() -> String {
        let lanes = layout()
        let bottom = (lanes.last?.bottom ?? Self.headerHeight) + 8
        let height = bottom + 26 + Double(timeline.notes.count) * 16
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(px(width))" height="\(px(height))" \
            viewBox="0 0 \(px(width)) \(px(height))" role="img" aria-labelledby="timeline-title timeline-summary">
            <title id="timeline-title">\(Markup.escaped(title))</title>
            <desc id="timeline-summary">\(Markup.escaped(timeline.summary))</desc>
            <style>\(TimelineStyle.svg)</style>
            <defs><pattern id="fold" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
            <rect width="2" height="6" class="hatch"/></pattern></defs>
            <rect class="paper" width="\(px(width))" height="\(px(height))"/>
            <text class="title" x="20" y="32">\(Markup.escaped(title))</text>
            <text class="faint" x="20" y="52">\(Markup.escaped(timeline.summary))</text>

            """
        legend(&svg)
        for lane in lanes {
            svg += """
                <rect class="lane" x="0" y="\(px(lane.top))" width="\(px(width))" height="\(px(lane.height))"/>
                <text class="name" x="20" y="\(px(lane.nameY))">\(lane.lane.title)</text>

                """
        }
        axis(from: Self.headerHeight, to: bottom, &svg)
        for lane in lanes { draw(lane, &svg) }
        for (index, note) in timeline.notes.enumerated() {
            let y = px(bottom + 20 + Double(index) * 16)
            svg += "<text class=\"note\" x=\"20\" y=\"\(y)\">\(Markup.escaped(note))</text>\n"
        }
        return svg + "</svg>\n"
    }

    // MARK: - Places

    private struct LaneLayout {
        let lane: Timeline.Lane
        let top: Double
        let height: Double
        var bottom: Double { top + height }
        /// Where sent bars stand on, and received ones hang from.
        var middle: Double
        var nameY: Double
    }

    private func layout() -> [LaneLayout] {
        var top = Self.headerHeight
        return timeline.lanes.map { lane in
            let height: Double
            var middle: Double
            switch lane {
            case .air:
                let rows = Double(timeline.rowCount)
                height = 10 + rows * Self.rowHeight + 40
                middle = top + height - 18
            case .watch:
                height = 66
                middle = top + height - 14
            case .hci, .l2cap, .att, .ppogatt, .pebble:
                height = 2 * (Self.barHeight + 2 * Self.labelHeight) + 16
                middle = top + height / 2
            }
            defer { top += height + 4 }
            return LaneLayout(lane: lane, top: top, height: height, middle: middle, nameY: top + height / 2 + 4)
        }
    }

    private func x(_ time: Int64) -> Double {
        Self.left + Double(scale.position(time)) / Double(max(1, scale.length)) * (width - Self.left - Self.right)
    }

    private func px(_ value: Double) -> String { Markup.pixels(value) }

    // MARK: - Parts

    private func legend(_ svg: inout String) {
        var x = width - Self.right
        let entries: [(String, String)] = [
            ("bad", "cannot be decoded"), ("received", "received"), ("sent", "sent by this host"),
        ]
        for (style, text) in entries {
            x -= Double(text.count) * 6.2
            svg += "<text class=\"faint\" x=\"\(px(x))\" y=\"32\">\(text)</text>\n"
            x -= 14
            svg += "<rect class=\"key \(style)\" x=\"\(px(x))\" y=\"23\" width=\"9\" height=\"9\" rx=\"2\"/>\n"
            x -= 18
        }
    }

    private func axis(from top: Double, to bottom: Double, _ svg: inout String) {
        let perPixel = Double(scale.length) / (width - Self.left - Self.right)
        let minimum = Int64(perPixel * 84)
        let decimals = TimeScale.decimals(every: minimum)
        var taken: [ClosedRange<Double>] = []
        for fold in scale.folds {
            let (from, to) = (x(fold.start), x(fold.end))
            let text = "\(Seconds.rounded(fold.length, decimals: fold.length < 1_000_000 ? 3 : 1)) s pause"
            taken.append((from - 34)...(to + 34))
            svg += """
                <rect class="fold" x="\(px(from))" y="\(px(top))" width="\(px(to - from))" height="\(px(bottom - top - 8))"/>
                <text class="pause" x="\(px((from + to) / 2))" y="\(px(top - 8))">\(text)</text>

                """
        }
        for tick in scale.ticks(every: minimum) {
            let x = x(tick)
            svg += "<path class=\"grid\" d=\"M\(px(x)) \(px(top))V\(px(bottom - 8))\"/>\n"
            guard !taken.contains(where: { $0.contains(x) }) else { continue }
            let text = Seconds.rounded(tick, decimals: decimals)
            svg += "<text class=\"tick\" x=\"\(px(x))\" y=\"\(px(top - 8))\">\(text) s</text>\n"
        }
    }

    private func draw(_ lane: LaneLayout, _ svg: inout String) {
        if lane.lane == .air {
            svg += "<g class=\"air\">\n"
            for span in timeline.spans { draw(span, in: lane, &svg) }
            svg += "</g>\n"
        }
        var above = LabelRows(count: lane.lane == .watch ? 3 : 2)
        var below = LabelRows(count: lane.lane == .air ? 1 : 2)
        svg += "<g data-lane=\"\(lane.lane.rawValue)\">\n"
        svg += "<path class=\"axis\" d=\"M\(px(Self.left)) \(px(lane.middle))H\(px(width - Self.right))\"/>\n"
        for mark in timeline.marks where mark.lane == lane.lane {
            let isAbove = mark.direction != .received || lane.lane == .watch
            let x = x(mark.time)
            let row =
                isAbove ? above.place(mark.label, at: x, until: width) : below.place(mark.label, at: x, until: width)
            draw(mark, at: x, in: lane, isAbove: isAbove, row: row, &svg)
        }
        svg += "</g>\n"
    }

    private func draw(_ span: Timeline.Span, in lane: LaneLayout, _ svg: inout String) {
        let (from, to) = (x(span.start), x(span.end))
        let y = lane.top + 8 + Double(span.row) * Self.rowHeight
        let details = ["\(Seconds.text(span.start)) s to \(Seconds.text(span.end)) s"] + span.details
        svg += """
            <g class="span \(span.kind.rawValue)" data-from="\(span.start)" data-to="\(span.end)">\
            <title>\(Markup.escaped(details.joined(separator: "\n")))</title>\
            <rect x="\(px(from))" y="\(px(y))" width="\(px(max(2, to - from)))" height="\(px(Self.rowHeight - 4))" rx="3"/>
            """
        if let text = LabelRows.fitting(span.label, in: to - from - 10) {
            svg += "<text x=\"\(px(from + 6))\" y=\"\(px(y + 13))\">\(Markup.escaped(text))</text>"
        }
        svg += "</g>\n"
    }

    private func draw(
        _ mark: Timeline.Mark,
        at x: Double,
        in lane: LaneLayout,
        isAbove: Bool,
        row: Int?,
        _ svg: inout String
    ) {
        let style = mark.isProblem ? "bad" : mark.direction.style
        let most = lane.lane == .air ? 8.0 : lane.lane == .watch ? 10 : Self.barHeight
        let height = most < Self.barHeight ? most : Timeline.barHeight(mark.size, most: most)
        let top = isAbove ? lane.middle - height : lane.middle
        svg += """
            <g class="mark \(style)" data-us="\(mark.time)" data-packet="\(mark.packet)" \
            data-kind="\(Markup.escaped(mark.kind))">\
            <title>\(Markup.escaped(timeline.hover(mark)))</title>\
            <rect x="\(px(x - 1))" y="\(px(top))" width="2" height="\(px(height))"/>
            """
        if let row {
            let edge = isAbove ? lane.middle - most : lane.middle + most
            let y = isAbove ? edge - 3 - Double(row) * Self.labelHeight : edge + 9 + Double(row) * Self.labelHeight
            svg += "<path d=\"M\(px(x)) \(px(isAbove ? top : top + height))V\(px(isAbove ? y + 1 : y - 7))\"/>"
            svg += "<text x=\"\(px(x))\" y=\"\(px(y))\">\(Markup.escaped(LabelRows.shortened(mark.label)))</text>"
        }
        svg += "</g>\n"
    }
}

/// Rows of labels in which none overlaps another.
struct LabelRows {
    private static let characterWidth = 5.6
    private static let longest = 40
    private var ends: [Double]

    init(count: Int) { ends = Array(repeating: -.infinity, count: count) }

    /// The row, from the bars on, in which there is room; nil if there is none.
    mutating func place(_ label: String, at x: Double, until right: Double) -> Int? {
        let end = x + Double(min(label.count, Self.longest)) * Self.characterWidth
        guard end < right, let row = ends.firstIndex(where: { $0 + 8 < x }) else { return nil }
        ends[row] = end
        return row
    }

    /// The beginning of a label that a width has room for; nil if that says nothing.
    static func fitting(_ label: String, in width: Double) -> String? {
        let count = Int(width / characterWidth)
        guard count >= 6 else { return nil }
        return label.count <= count ? label : label.prefix(count - 1) + "…"
    }

    /// A label of at most the usual length.
    static func shortened(_ label: String) -> String {
        label.count > longest ? label.prefix(longest - 1) + "…" : label
    }
}

extension Timeline {
    /// How many rows of the air lane are in use.
    var rowCount: Int { (spans.map(\.row).max() ?? -1) + 1 }

    /// The scale of its times.
    func scale(folds: Bool) -> TimeScale {
        TimeScale(
            times: marks.map(\.time) + spans.flatMap { [$0.start, $0.end] },
            from: start,
            to: end,
            folds: folds
        )
    }

    /// When, how much, and how long, in one line.
    package var summary: String {
        let packets = marks.count { $0.lane == .hci }
        let links = Set(marks.compactMap(\.link) + spans.compactMap(\.link)).count
        let length = Seconds.rounded(end - start, decimals: 3)
        let when = origin.map { CalendarTime.text($0) + " · " } ?? ""
        let counted = lanes.contains(.hci) ? "\(packets) \(packets == 1 ? "packet" : "packets") · " : ""
        let first = Seconds.rounded(start, decimals: 3)
        return "\(when)\(counted)\(links) \(links == 1 ? "link" : "links") · \(length) s from \(first) s on"
    }

    /// What stands beside the pointer on a mark.
    func hover(_ mark: Mark) -> String {
        let way =
            switch mark.direction {
            case .sent: ", sent"
            case .received: ", received"
            case .none: ""
            }
        let link = mark.link.map { ", link \($0)" } ?? ""
        let packet = mark.packet > 0 ? ", packet \(mark.packet)" : ""
        return (["\(Seconds.text(mark.time)) s\(packet)\(link)\(way)"] + mark.details).joined(separator: "\n")
    }

    /// How high a bar is: a step each time that the length doubles, so that an acknowledgement differs from data.
    static func barHeight(_ size: Int, most: Double) -> Double {
        let steps = Double(Int.bitWidth - max(1, size).leadingZeroBitCount)
        return min(most, 6 + steps * (most - 6) / 10)
    }
}

extension Timeline.Direction {
    /// The class of its marks.
    var style: String {
        switch self {
        case .sent: "sent"
        case .received: "received"
        case .none: "event"
        }
    }
}

extension Seconds {
    /// Seconds with so many decimals, rounded.
    static func rounded(_ microseconds: Int64, decimals: Int) -> String {
        var unit: Int64 = 1
        for _ in 0..<max(0, 6 - decimals) { unit *= 10 }
        let value = (microseconds + unit / 2) / unit
        guard decimals > 0 else { return "\(value)" }
        var power: Int64 = 1
        for _ in 0..<min(6, decimals) { power *= 10 }
        return "\(value / power).\(String(power + value % power).dropFirst())"
    }
}

/// Dates without a library for them.
enum CalendarTime {
    /// Such as `2026-11-23 01:28:03 UTC`.
    static func text(_ microseconds: Int64) -> String {
        var seconds = microseconds / 1_000_000
        if seconds < 0 { seconds = 0 }
        let days = seconds / 86_400
        // From the day number to the civil date: years begin in March, so that the leap day is the last.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let time = seconds % 86_400
        return "\(year)-\(two(month))-\(two(day)) \(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) UTC"
    }

    private static func two(_ number: Int64) -> Substring { String(100 + number).dropFirst() }
}
