/// The colours of a timeline, for both themes.
enum TimelineStyle {
    private static let light =
        "--paper:#fdfdfc;--ink:#1d2129;--faint:#69707d;--lane:#f3f4f6;--line:#d6dae0;--sent:#1d63d8;--received:#c2570c;"
        + "--bad:#d61f3c;--event:#6d3fc4;--advertising:#e2d6fb;--scanning:#c9eedd;--link:#cfe1fd;"
    private static let dark =
        "--paper:#12151a;--ink:#e7eaee;--faint:#949ca8;--lane:#1a1f26;--line:#343b46;--sent:#77aefc;--received:#f4a259;"
        + "--bad:#ff6b81;--event:#b79bf7;--advertising:#43356b;--scanning:#1f4d3b;--link:#223f6b;"

    /// For a file of its own.
    static let svg =
        ":root{\(light)color-scheme:light dark}@media(prefers-color-scheme:dark){:root{\(dark)}}" + marks
        + "text{font:10px ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:var(--ink)}"
        + ".title{font-size:19px;font-weight:600}.faint,.note{font-size:12px;fill:var(--faint)}.note{fill:var(--bad)}"

    /// What the marks look like, in either kind of file.
    static let marks =
        ".paper{fill:var(--paper)}.lane{fill:var(--lane)}.name{font-size:12.5px;font-weight:600}"
        + ".grid{stroke:var(--line);stroke-width:1;opacity:.6}.axis{stroke:var(--line);stroke-width:1}"
        + ".tick,.pause{font-size:11px;text-anchor:middle;fill:var(--faint)}.pause{font-style:italic}"
        + ".fold{fill:url(#fold)}.hatch{fill:var(--line);opacity:.55}"
        + ".mark rect{stroke:transparent;stroke-width:5;pointer-events:all}.mark path{stroke:var(--faint);stroke-width:.6;opacity:.5}"
        + ".sent rect,.key.sent{fill:var(--sent)}.received rect,.key.received{fill:var(--received)}"
        + ".bad rect,.key.bad{fill:var(--bad)}.event rect{fill:var(--event)}"
        + ".sent text{fill:var(--sent)}.received text{fill:var(--received)}.bad text{fill:var(--bad)}.event text{fill:var(--event)}"
        + ".advertising rect{fill:var(--advertising)}.scanning rect{fill:var(--scanning)}.link rect{fill:var(--link)}"

    /// The page around the marks.
    static let page =
        ":root{\(light)color-scheme:light dark}@media(prefers-color-scheme:dark){:root{\(dark)}}" + marks + """
            *{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
            font:14px ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
            header{padding:18px 20px 6px;display:flex;flex-wrap:wrap;gap:4px 24px;align-items:baseline}
            h1{font-size:19px;margin:0}header p{margin:0;color:var(--faint)}
            svg{display:block;width:100%;touch-action:none;cursor:grab}svg:focus-visible,button:focus-visible{outline:2px solid var(--sent);
            outline-offset:-2px}svg text{font-size:10px;fill:var(--ink)}svg .name{font-size:12.5px}svg .tick,svg .pause{font-size:11px;
            fill:var(--faint)}
            .same rect{stroke:var(--ink);stroke-width:1.5}.chosen rect{stroke:var(--ink);stroke-width:2.5}
            #tip{position:fixed;max-width:560px;pointer-events:none;background:var(--paper);border:1px solid var(--line);
            border-radius:6px;padding:8px 10px;box-shadow:0 4px 18px #0004;white-space:pre-wrap;overflow-wrap:anywhere;
            font:12px ui-monospace,monospace}
            #tip[hidden]{display:none}nav{display:flex;gap:6px;margin-left:auto;align-items:center}
            button{font:inherit;color:inherit;background:var(--lane);border:1px solid var(--line);border-radius:6px;padding:3px 10px}
            footer{padding:10px 20px 24px;color:var(--faint)}footer ul{color:var(--bad);margin:6px 0;padding-left:18px}
            kbd{border:1px solid var(--line);border-radius:4px;padding:0 4px;font:12px ui-monospace,monospace}
            #chosen{margin:8px 0 0;white-space:pre-wrap;overflow-wrap:anywhere;color:var(--ink);font:12.5px ui-monospace,monospace;
            min-height:7em}
            """
}
