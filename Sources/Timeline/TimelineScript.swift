/// What draws and moves the picture of a page.
///
/// It draws what is in view: of marks that would be on one another, it draws the first. Places and sizes are those of
/// `TimelineSVG`.
enum TimelineScript {
    static let text = #"""
        "use strict";
        (() => {
        const data = JSON.parse(document.getElementById("timeline").textContent);
        const picture = document.getElementById("picture"), tip = document.getElementById("tip");
        const chosenText = document.getElementById("chosen"), pauses = document.getElementById("pauses");
        const LEFT = 140, RIGHT = 20, TOP = 30, ROW = 22, LINE = 12, BAR = 22, CHARACTER = 5.6;
        const [LANE, TIME, WAY, , SIZE, , LABEL, HOVER, PACKET, BAD] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        const STYLES = ["sent", "received", "event"];
        let folded = data.folded, view, chosen = -1, hovered = -1, waits = false;

        // The scale: microseconds, less what the folds leave out.
        const folds = () => folded ? data.folds : [];
        const place = time => {
          let at = time - data.start;
          for (const [from, to] of folds()) {
            if (time >= to) at -= to - from - data.foldLength;
            else if (time > from) at += (time - from) * (data.foldLength / (to - from) - 1);
          }
          return at;
        };
        const whole = () => [0, Math.max(1, place(data.end))];
        const shortest = 100;
        const width = () => Math.max(320, picture.clientWidth || 1200);
        const room = () => width() - LEFT - RIGHT;
        const x = time => LEFT + (place(time) - view[0]) / (view[1] - view[0]) * room();

        // The lanes from above.
        const rows = data.spans.reduce((most, span) => Math.max(most, span[0] + 1), 0);
        let top = TOP;
        const lanes = data.lanes.map(([name, title]) => {
          const height = name === "air" ? 50 + rows * ROW : name === "watch" ? 66 : 2 * (BAR + 2 * LINE) + 16;
          const middle = name === "air" ? top + height - 18 : name === "watch" ? top + height - 14 : top + height / 2;
          const lane = {name, title, top, height, middle, most: name === "air" ? 8 : name === "watch" ? 10 : BAR, marks: []};
          top += height + 4;
          return lane;
        });
        const bottom = top + 4;
        data.marks.forEach((mark, index) => lanes[mark[LANE]].marks.push(index));
        picture.style.height = bottom + "px";

        const SPACE = "http://www.w3.org/2000/svg";
        const make = (parent, name, attributes, text) => {
          const element = document.createElementNS(SPACE, name);
          for (const key in attributes) element.setAttribute(key, attributes[key]);
          if (text !== undefined) element.textContent = text;
          parent.append(element);
          return element;
        };
        const barHeight = (size, most) =>
          most < BAR ? most : Math.min(most, 6 + (32 - Math.clz32(Math.max(1, size))) * (most - 6) / 10);
        const shortened = (text, count) => text.length > count ? text.slice(0, count - 1) + "…" : text;

        const step = minimum => {
          for (let power = 1; ; power *= 10)
            for (const factor of [1, 2, 5]) if (power * factor >= minimum) return power * factor;
        };
        function axis(parent) {
          const minimum = (view[1] - view[0]) / room() * 84, by = step(minimum);
          const decimals = Math.min(6, Math.max(0, Math.ceil(6 - Math.log10(by))));
          const taken = [];
          for (const [from, to] of folds()) {
            const [a, b] = [x(from), x(to)];
            if (b < LEFT || a > width()) continue;
            const length = (to - from) / 1e6;
            make(parent, "rect", {class: "fold", x: Math.max(a, LEFT), y: TOP, width: b - Math.max(a, LEFT), height: bottom - TOP - 8});
            if (a >= LEFT) make(parent, "text", {class: "pause", x: (a + b) / 2, y: TOP - 8}, length.toFixed(length < 1 ? 3 : 1) + " s pause");
            taken.push([a - 34, b + 34]);
          }
          const starts = [data.start, ...folds().map(fold => fold[1])], ends = [...folds().map(fold => fold[0]), data.end];
          let last = -Infinity;
          starts.forEach((start, index) => {
            // What is left of the view needs no ticks.
            let first = start;
            if (place(start) < view[0]) first = start + (view[0] - place(start));
            for (let tick = Math.ceil(first / by) * by; tick <= ends[index]; tick += by) {
              const at = x(tick);
              if (at > width() - RIGHT + 1) break;
              if (at - last < 83) continue;
              last = at;
              make(parent, "path", {class: "grid", d: `M${at} ${TOP}V${bottom - 8}`});
              if (!taken.some(([a, b]) => a <= at && at <= b))
                make(parent, "text", {class: "tick", x: at, y: TOP - 8}, (tick / 1e6).toFixed(decimals) + " s");
            }
          });
        }

        function draw() {
          waits = false;
          const right = width() - RIGHT;
          picture.setAttribute("viewBox", `0 0 ${width()} ${bottom}`);
          picture.replaceChildren();
          const definitions = make(picture, "defs", {});
          const hatch = make(definitions, "pattern", {id: "fold", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"});
          make(hatch, "rect", {class: "hatch", width: 2, height: 6});
          make(make(definitions, "clipPath", {id: "view"}), "rect", {x: LEFT - 4, y: 0, width: right - LEFT + 12, height: bottom});
          for (const lane of lanes) {
            make(picture, "rect", {class: "lane", x: 0, y: lane.top, width: width(), height: lane.height});
            make(picture, "text", {class: "name", x: 20, y: lane.top + lane.height / 2 + 4}, lane.title);
          }
          const scene = make(picture, "g", {"clip-path": "url(#view)"});
          axis(scene);
          const air = lanes.find(lane => lane.name === "air");
          data.spans.forEach(([row, kind, from, to, label, details], index) => {
            const [a, b] = [Math.max(x(from), LEFT - 6), Math.min(x(to), right + 10)];
            if (b < LEFT - 4 || a > right + 6) return;
            const y = air.top + 8 + row * ROW;
            const group = make(scene, "g", {class: "span " + kind, "data-span": index});
            make(group, "rect", {x: a, y, width: Math.max(2, b - a), height: ROW - 4, rx: 3});
            const count = Math.floor((b - a - 10) / CHARACTER);
            if (count >= 6) make(group, "text", {x: a + 6, y: y + 13}, shortened(label, count));
          });
          const packet = hovered >= 0 ? data.marks[hovered][PACKET] : 0;
          for (const lane of lanes) {
            make(scene, "path", {class: "axis", d: `M${LEFT} ${lane.middle}H${right}`});
            const rowsOf = {true: lane.name === "watch" ? [-1, -1, -1] : [-1, -1], false: lane.name === "air" ? [-1] : [-1, -1]};
            const drawn = {true: -9, false: -9};
            for (const index of lane.marks) {
              const mark = data.marks[index], at = x(mark[TIME]);
              if (at < LEFT - 4) continue;
              if (at > right + 4) break;
              const above = mark[WAY] !== 1 || lane.name === "watch";
              const marked = index === chosen || index === hovered || (packet && mark[PACKET] === packet);
              if (at - drawn[above] < 0.7 && !marked && !mark[BAD]) continue;
              drawn[above] = at;
              const height = barHeight(mark[SIZE], lane.most), y = above ? lane.middle - height : lane.middle;
              const style = "mark " + (mark[BAD] ? "bad" : STYLES[mark[WAY]]) + (index === chosen ? " chosen" : marked ? " same" : "");
              const group = make(scene, "g", {class: style, "data-mark": index});
              make(group, "rect", {x: at - 1, y, width: 2, height});
              const ends = rowsOf[above], label = shortened(mark[LABEL], 40);
              const row = ends.findIndex(end => end + 8 < at);
              if (row < 0 || at + label.length * CHARACTER > right) continue;
              ends[row] = at + label.length * CHARACTER;
              const edge = above ? lane.middle - lane.most : lane.middle + lane.most;
              const base = above ? edge - 3 - row * LINE : edge + 9 + row * LINE;
              make(group, "path", {d: `M${at} ${above ? y : y + height}V${above ? base + 1 : base - 7}`});
              make(group, "text", {x: at, y: base}, label);
            }
          }
        }
        const redraw = () => { if (!waits) { waits = true; requestAnimationFrame(draw); } };

        function show(from, to) {
          const [first, last] = whole(), length = Math.min(last, Math.max(shortest, to - from));
          const begin = Math.min(Math.max(first, from), last - length);
          view = [begin, begin + length];
          redraw();
        }
        const zoom = (factor, at = (view[0] + view[1]) / 2) => show(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
        const move = part => { const by = (view[1] - view[0]) * part; show(view[0] + by, view[1] + by); };
        const under = event => view[0] + (event.clientX - picture.getBoundingClientRect().left - LEFT) / room() * (view[1] - view[0]);

        // The nearest mark, or the span, under the pointer.
        function found(event) {
          const box = picture.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
          const lane = lanes.find(lane => py >= lane.top && py < lane.top + lane.height);
          if (!lane || px < LEFT - 6) return {};
          const span = event.target.closest?.("[data-span]");
          if (span) return {span: +span.dataset.span};
          const own = event.target.closest?.("[data-mark]");
          if (own) return {mark: +own.dataset.mark};
          let best = -1, distance = 9;
          for (const index of lane.marks) {
            const mark = data.marks[index], off = Math.abs(x(mark[TIME]) - px);
            const side = (mark[WAY] !== 1 || lane.name === "watch") === py < lane.middle ? 0 : 3;
            if (off + side < distance) { best = index; distance = off + side; }
          }
          return best < 0 ? {} : {mark: best};
        }
        function tell(event) {
          const {mark, span} = found(event), text = mark >= 0 ? data.marks[mark][HOVER] : span >= 0 ? data.spans[span][5] : "";
          if ((mark ?? -1) !== hovered) { hovered = mark ?? -1; redraw(); }
          tip.hidden = !text;
          if (!text) return;
          tip.textContent = text;
          tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
          const below = event.clientY + 18;
          tip.style.top = Math.max(4, below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below) + "px";
        }
        function choose(index) {
          if (!(index >= 0)) return;
          chosen = index;
          chosenText.textContent = data.marks[index][HOVER];
          const at = place(data.marks[index][TIME]);
          if (at < view[0] || at > view[1]) { const half = (view[1] - view[0]) / 2; show(at - half, at + half); }
          redraw();
        }
        function next(by) {
          const lane = chosen >= 0 ? lanes[data.marks[chosen][LANE]] : lanes.find(lane => lane.marks.length);
          if (!lane) return;
          const here = lane.marks.indexOf(chosen);
          choose(lane.marks[Math.min(lane.marks.length - 1, Math.max(0, here < 0 ? 0 : here + by))]);
        }
        function neighbour(by) {
          const filled = lanes.filter(lane => lane.marks.length);
          if (!filled.length) return;
          if (chosen < 0) return next(1);
          const lane = filled[filled.indexOf(lanes[data.marks[chosen][LANE]]) + by];
          if (!lane) return;
          const [, time] = data.marks[chosen], packet = data.marks[chosen][PACKET];
          const same = lane.marks.find(index => packet && data.marks[index][PACKET] === packet);
          choose(same ?? lane.marks.reduce((best, index) =>
            Math.abs(data.marks[index][TIME] - time) < Math.abs(data.marks[best][TIME] - time) ? index : best));
        }
        function fold() {
          folded = !folded;
          pauses.setAttribute("aria-pressed", folded);
          show(...whole());
        }

        let held = null;
        picture.addEventListener("wheel", event => {
          event.preventDefault();
          const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
          if (sideways) move((event.deltaX || event.deltaY) / 1000); else zoom(Math.exp(event.deltaY / 400), under(event));
        }, {passive: false});
        picture.addEventListener("pointerdown", event => {
          held = {x: event.clientX, view, moved: false};
          picture.setPointerCapture(event.pointerId);
        });
        picture.addEventListener("pointermove", event => {
          if (!held) return tell(event);
          held.moved ||= Math.abs(event.clientX - held.x) > 3;
          const by = (held.x - event.clientX) / room() * (held.view[1] - held.view[0]);
          if (held.moved) { tip.hidden = true; show(held.view[0] + by, held.view[1] + by); }
        });
        picture.addEventListener("pointerup", event => {
          if (held && !held.moved) choose(found(event).mark);
          held = null;
        });
        picture.addEventListener("pointerleave", () => { tip.hidden = true; if (hovered >= 0) { hovered = -1; redraw(); } });
        const all = () => show(...whole());
        const keys = {
          "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15),
          "0": all, Home: () => move(-1e6), End: () => move(1e6), n: () => next(1), p: () => next(-1), f: fold,
          ArrowUp: () => neighbour(-1), ArrowDown: () => neighbour(1),
        };
        addEventListener("keydown", event => {
          if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
          event.preventDefault();
          keys[event.key]();
        });
        document.getElementById("in").onclick = () => zoom(0.6);
        document.getElementById("out").onclick = () => zoom(1 / 0.6);
        document.getElementById("all").onclick = all;
        pauses.onclick = fold;
        addEventListener("resize", redraw);
        view = whole();
        draw();
        })();
        """#
}
