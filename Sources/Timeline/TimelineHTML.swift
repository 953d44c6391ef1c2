/// Writes a timeline as one HTML file that needs nothing else: the same picture as `TimelineSVG`, to zoom into and to step through.
///
/// The page has the timeline as JSON, in the element `timeline`, and a script that draws what is in view. Its Content Security
/// Policy lets it load nothing.
package struct TimelineHTML: Sendable {
    private let timeline: Timeline
    private let title: String
    private let folds: Bool

    /// A page about a timeline.
    /// - Parameters:
    ///   - title: what was captured.
    ///   - folds: whether pauses are drawn shorter than they were.
    package init(_ timeline: Timeline, title: String, folds: Bool = true) {
        self.timeline = timeline
        self.title = title
        self.folds = folds
    }

    /// The whole file.
    package func text() -> String {
        let notes = timeline.notes.map { "<li>\(Markup.escaped($0))</li>" }.joined()
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
            <title>\(Markup.escaped(title))</title>
            <style>\(TimelineStyle.page)</style>
            </head>
            <body>
            <header><h1>\(Markup.escaped(title))</h1><p>\(Markup.escaped(timeline.summary))</p>
            <nav aria-label="Zoom"><button id="in">Zoom in</button><button id="out">Zoom out</button>\
            <button id="all">All</button><button id="pauses" aria-pressed="\(folds)">Fold pauses</button></nav></header>
            <main><svg id="picture" tabindex="0" role="application" aria-describedby="keys" aria-label="Timeline"></svg>
            <noscript><p>This page draws with JavaScript. Without it, take the SVG of cairn timeline.</p></noscript></main>
            <footer><div id="keys">Wheel or <kbd>+</kbd> <kbd>-</kbd> zoom, drag or <kbd>←</kbd> <kbd>→</kbd> move, \
            <kbd>0</kbd> shows all, <kbd>n</kbd> <kbd>p</kbd> step from packet to packet, <kbd>↑</kbd> <kbd>↓</kbd> from lane to \
            lane, <kbd>f</kbd> folds pauses.</div>\(notes.isEmpty ? "" : "<ul>\(notes)</ul>")
            <pre id="chosen" aria-live="polite">A click on a packet, or n, shows it here.</pre></footer>
            <div id="tip" role="tooltip" hidden></div>
            <script type="application/json" id="timeline">\(json)</script>
            <script>\(TimelineScript.text)</script>
            </body>
            </html>

            """
    }

    private var json: String {
        let scale = timeline.scale(folds: true)
        let lanes = timeline.lanes.map { "[\(Markup.json($0.rawValue)),\(Markup.json($0.title))]" }
        let marks = timeline.marks.map { mark in
            """
            [\(timeline.lanes.firstIndex(of: mark.lane) ?? 0),\(mark.time),\(mark.direction.rawValue),\(mark.link ?? 0),\
            \(mark.size),\(Markup.json(mark.kind)),\(Markup.json(mark.label)),\(Markup.json(timeline.hover(mark))),\
            \(mark.packet),\(mark.isProblem ? 1 : 0)]
            """
        }
        let spans = timeline.spans.map { span in
            let details = ["\(Seconds.text(span.start)) s to \(Seconds.text(span.end)) s"] + span.details
            return """
                [\(span.row),\(Markup.json(span.kind.rawValue)),\(span.start),\(span.end),\(Markup.json(span.label)),\
                \(Markup.json(details.joined(separator: "\n")))]
                """
        }
        return """
            {"start":\(timeline.start),"end":\(timeline.end),"folds":[\(list(scale.folds.map { "[\($0.start),\($0.end)]" }))],\
            "foldLength":\(scale.foldLength),"folded":\(folds),"lanes":[\(list(lanes))],
            "spans":[\(list(spans))],
            "marks":[\(list(marks))]}
            """
    }

    private func list(_ parts: [String]) -> String { parts.joined(separator: ",\n") }
}
