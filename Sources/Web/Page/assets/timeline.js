// What happens on the watch: as marks on a strip of time, and as a list. Both can be filtered, and saved.

import { h, newID, panel, reconcile, scroller, set, text } from "./dom.js";
import { clock, plural } from "./format.js";
import { EVENT_LIMIT } from "./model.js";

/** The strip's lanes, and which events are on each. */
const LANES = [
  ["Watch", ["state", "started", "failed", "restarting", "controller-restarting", "controller-lost", "lost", "overrun"]],
  ["Air", ["advertising"]],
  [
    "Link",
    [
      ...["connected", "disconnected", "link-ended", "phone-back", "link", "churning", "churned"],
      ...["strangers", "strangers-gone", "transport-given-up", "transport-stalled", "phone-service"],
      ...["stream-published", "stream-withdrawn", "stream-opened", "stream-closed"],
    ],
  ],
  [
    "Pairing",
    [
      ...["pairable", "pairing-waits", "paired", "pairing-refused", "pairing-failed"],
      ...["key-replaced", "security", "forgotten"],
    ],
  ],
  ["Session", ["session-opened", "session-moved", "session-closed", "message"]],
  ["App", ["app-launched", "app-message-received", "app-message-sent", "app-logged"]],
  ["Service", ["service", "clock-set"]],
  ["Hand", ["button", "sensed"]],
];
/** What tells of a fault. */
const FAULTS = new Set([
  ...["failed", "controller-lost", "controller-restarting", "lost", "overrun"],
  ...["churning", "transport-given-up", "transport-stalled", "pairing-failed", "pairing-refused"],
]);
/** How much time the strip shows, in seconds. */
const SPANS = [
  ["1 minute", 60],
  ["5 minutes", 300],
  ["30 minutes", 1800],
  ["3 hours", 10800],
];
/** So many events are listed; the file has all. */
const LISTED = 300;
const LANE_HEIGHT = 24;

const laneOf = new Map(LANES.flatMap(([lane, names]) => names.map((name) => [name, lane])));
/** An event that this page does not know yet is the watch's. */
const lane = (event) => laneOf.get(event.name) ?? "Watch";

export function timelinePanel(model) {
  const find = h("input", {
    type: "search",
    id: newID("find"),
    placeholder: "Name or text",
    autocomplete: "off",
    oninput: changed,
  });
  const span = h(
    "select",
    { id: newID("span"), onchange: changed },
    SPANS.map(([name, seconds]) => h("option", { value: seconds, selected: seconds === 300 }, name)),
  );
  const hold = h("button", { type: "button", "aria-pressed": "false", onclick: pause }, "Pause");
  const save = h("button", { type: "button", onclick: download }, "Save");
  const { element, body } = panel("timeline", "Events", hold, save);
  const boxes = new Map(LANES.map(([name]) => [name, h("input", { type: "checkbox", checked: true, onchange: changed })]));
  const lanes = h(
    "fieldset",
    { class: "lanes" },
    h("legend", { class: "unseen" }, "Which events are shown"),
    LANES.map(([name]) => h("label", { class: "lane" }, boxes.get(name), h("span", {}, name))),
  );
  const canvas = h("canvas", { class: "strip", "aria-hidden": "true" });
  const axis = h("p", { class: "axis quiet", "aria-hidden": "true" });
  const start = h("span");
  const end = h("span");
  axis.append(start, end);
  const tally = h("p", { class: "quiet tally" });
  const list = h("ol", { class: "events" });
  const log = scroller("Events, the newest first", list);
  body.append(
    h(
      "div",
      { class: "row filters" },
      h("label", { class: "field grow", for: find.id }, h("span", {}, "Filter"), find),
      h("label", { class: "field", for: span.id }, h("span", {}, "Span"), span),
      tally,
    ),
    h("div", { class: "strip-row" }, lanes, h("div", { class: "strip-box" }, canvas, axis)),
    log,
  );

  /** What is shown while the timeline is paused, and when that was. */
  let frozen = null;
  let isStale = true;

  function wanted() {
    const words = find.value.trim().toLowerCase();
    const events = frozen?.events ?? model.events;
    const said = ({ name, data }) => `${name} ${data.name ?? ""} ${data.text ?? ""}`.toLowerCase();
    return events.filter((event) => boxes.get(lane(event)).checked && (words === "" || said(event).includes(words)));
  }

  function changed() {
    isStale = true;
    render();
  }

  function pause() {
    frozen = frozen === null ? { events: [...model.events], at: Date.now() } : null;
    set(hold, "aria-pressed", frozen !== null ? "true" : "false");
    changed();
  }

  /** The events as the socket has them, one a line. */
  function download() {
    const lines = wanted().map((event) => `${JSON.stringify({ ...event.data, time: new Date(event.at).toISOString() })}\n`);
    const url = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(":", "");
    h("a", { href: url, download: `${model.name.replaceAll(/[^\w.-]/g, "-")}-events-${stamp}.jsonl` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  function render() {
    if (isStale) {
      isStale = false;
      const events = wanted();
      const kept = frozen?.events.length ?? model.events.length;
      const all = `${plural(kept, "event")}${kept === EVENT_LIMIT ? " (the latest)" : ""}`;
      text(tally, events.length === kept ? all : `${events.length} of ${all}`);
      reconcile(list, events.slice(-LISTED).reverse(), (event) => number(event), row);
    }
    draw();
  }

  function draw() {
    const width = canvas.clientWidth;
    const height = LANES.length * LANE_HEIGHT;
    if (width === 0) return;
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(canvas);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const until = frozen?.at ?? Date.now();
    const length = Number(span.value) * 1000;
    context.fillStyle = style.getPropertyValue("--line");
    for (let index = 1; index < LANES.length; index += 1) context.fillRect(0, index * LANE_HEIGHT - 0.5, width, 0.5);
    for (let part = 1; part < 6; part += 1) context.fillRect((width * part) / 6, 0, 0.5, height);
    const ink = style.getPropertyValue("--accent");
    const bad = style.getPropertyValue("--bad");
    const rows = new Map(LANES.map(([name], index) => [name, index]));
    for (const event of wanted()) {
      const x = width - ((until - event.at) / length) * width;
      if (x < -2 || x > width + 2) continue;
      const isFault = FAULTS.has(event.name) || (event.name === "state" && event.data.text.includes("down"));
      context.fillStyle = isFault ? bad : ink;
      context.globalAlpha = isFault ? 1 : 0.75;
      const y = rows.get(lane(event)) * LANE_HEIGHT;
      context.fillRect(x - 1, y + (isFault ? 2 : 5), isFault ? 3 : 2, LANE_HEIGHT - (isFault ? 4 : 10));
    }
    context.globalAlpha = 1;
    text(start, clock(until - length));
    text(end, frozen === null ? "now" : clock(until));
  }

  addEventListener("theme", draw);
  return {
    element,
    event() {
      if (frozen === null) isStale = true;
    },
    tick: render,
    close: () => removeEventListener("theme", draw),
  };
}

const numbers = new WeakMap();
let last = 0;

/** A number of the event's own. */
function number(event) {
  if (!numbers.has(event)) numbers.set(event, (last += 1));
  return numbers.get(event);
}

function row(event) {
  const name = event.data.name && event.data.event ? `${event.name}: ${event.data.name}` : event.name;
  const details = h("pre", { class: "mono" });
  const element = h(
    "details",
    {
      class: FAULTS.has(event.name) ? "fault" : null,
      // Few are opened, so the fields are written when one is.
      ontoggle: () => text(details, JSON.stringify(event.data, null, 2)),
    },
    h(
      "summary",
      {},
      h("time", { class: "mono" }, clock(event.at)),
      h("span", { class: "name" }, name),
      h("span", { class: "said" }, event.data.text ?? event.data.message ?? ""),
    ),
    details,
  );
  return h("li", {}, element);
}
