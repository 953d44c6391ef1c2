// All watches at a glance.

import { Refused, screenPath, watches } from "./api.js";
import { announce, h, newID, reconcile, set, shown, text } from "./dom.js";
import { clock, duration, plural } from "./format.js";

/** How often the watches are asked for, in milliseconds. */
const PERIOD = 1000;
/** How long it takes until the next picture is asked for, in milliseconds. Each watch has its turn. */
const PICTURE_PAUSE = 100;

/** The view of the bench. */
export function bench(page) {
  const list = h("ul", { class: "cards" });
  const find = h("input", { type: "search", id: newID("find"), placeholder: "Name", autocomplete: "off", oninput: render });
  const empty = h("p", { class: "empty", hidden: true });
  const heading = h("h1", { tabindex: "-1" }, "Bench");
  const bar = h(
    "div",
    { class: "bar" },
    heading,
    h("label", { class: "field", for: find.id }, h("span", {}, "Find"), find),
  );

  /** When each watch was first seen to be down, in milliseconds since 1970. */
  const since = new Map();
  /** What was said of each watch last. */
  const said = new Map();
  const cards = new Map();
  let known = null;
  let isOpen = true;

  function render() {
    if (known === null) return;
    const wanted = find.value.trim().toLowerCase();
    const visible = known.filter((watch) => watch.name.toLowerCase().includes(wanted));
    reconcile(
      list,
      visible,
      (watch) => watch.name,
      (watch) => {
        const card = makeCard(watch.name);
        cards.set(watch.name, card);
        return card.element;
      },
      (_, watch) => cards.get(watch.name).update(watch, since.get(watch.name)),
    );
    shown(empty, visible.length === 0);
    text(
      empty,
      known.length === 0
        ? "No watch is known here. Start one with cairn run --state DIR, and cairn-web with --watch NAME=DIR/control.sock."
        : `No watch is called “${find.value.trim()}”.`,
    );
    const up = known.filter((watch) => watch.state === "up").length;
    const pairings = known.filter((watch) => watch.status?.pairing.waiting.length > 0).length;
    const words = [
      plural(known.length, "watch", "watches"),
      `${up} up`,
      known.length > up && `${known.length - up} down`,
      pairings > 0 && `${plural(pairings, "pairing")} waiting`,
    ];
    page.summary(words.filter(Boolean).join(" · "));
  }

  function notice(watch) {
    if (watch.state === "down") {
      if (watch.since) since.set(watch.name, watch.since * 1000);
      else if (!since.has(watch.name)) since.set(watch.name, Date.now());
    } else {
      since.delete(watch.name);
    }
    const isAsked = watch.status?.pairing.waiting.length > 0;
    const now = watch.state === "down" ? "down" : isAsked ? "asked" : "up";
    const before = said.get(watch.name);
    said.set(watch.name, now);
    if (before === undefined || before === now) return;
    if (now === "down") announce(`${watch.name} is down.`);
    else if (now === "asked") announce(`A phone wants to pair with ${watch.name}.`);
    else if (before === "down") announce(`${watch.name} is back.`);
  }

  async function refresh() {
    while (isOpen) {
      if (!document.hidden) {
        try {
          known = await watches();
          page.report(null);
          known.forEach(notice);
          if (isOpen) render();
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          page.report(error);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, PERIOD));
    }
  }

  // One picture at a time, of those that can be seen: twenty watches do not make twenty requests at once.
  async function look() {
    let turn = 0;
    while (isOpen) {
      const visible = [...cards.values()].filter((card) => card.wantsPicture());
      if (visible.length > 0 && !document.hidden) await visible[turn++ % visible.length].look();
      await new Promise((resolve) => setTimeout(resolve, Math.max(PICTURE_PAUSE, 1000 / (visible.length + 1))));
    }
  }

  refresh();
  look();
  return { elements: [bar, list, empty], close: () => (isOpen = false) };
}

function makeCard(name) {
  const image = h("img", { width: "144", height: "168", alt: "", hidden: true });
  const state = h("span", { class: "state" });
  const app = h("dd");
  const air = h("dd");
  const links = h("dd");
  const battery = h("dd");
  const pairing = h("p", { class: "badge warn", hidden: true }, "Pairing waits");
  const fault = h("p", { class: "fault", hidden: true });
  const facts = h(
    "dl",
    { class: "facts" },
    h("dt", {}, "App"),
    app,
    h("dt", {}, "Links"),
    links,
    h("dt", {}, "Battery"),
    battery,
    h("dt", {}, "Air"),
    air,
  );
  const element = h(
    "li",
    { class: "card" },
    h("div", { class: "thumb" }, image),
    h(
      "div",
      { class: "about" },
      h("h2", {}, h("a", { href: `#/watches/${encodeURIComponent(name)}` }, name)),
      h("p", { class: "line" }, state),
      pairing,
      fault,
      facts,
    ),
  );
  let isVisible = true;
  let isUp = false;
  let count = 0;
  new IntersectionObserver(([entry]) => (isVisible = entry.isIntersecting)).observe(element);

  return {
    element,
    wantsPicture: () => isUp && isVisible && element.isConnected,
    look() {
      return new Promise((resolve) => {
        image.onload = () => {
          shown(image, true);
          set(image, "width", image.naturalWidth);
          set(image, "height", image.naturalHeight);
          resolve();
        };
        image.onerror = resolve;
        count += 1;
        image.src = `${screenPath(name)}?turn=${count}`;
      });
    },
    update(watch, since) {
      const { status } = watch;
      isUp = watch.state === "up" && status !== undefined;
      element.classList.toggle("down", !isUp);
      state.className = `state ${isUp ? (status.isReady ? "good" : "warn") : "off"}`;
      if (isUp) text(state, status.isReady ? "up" : "no controller");
      else text(state, `down since ${clock(since)}, ${duration((Date.now() - since) / 1000)}`);
      shown(facts, isUp);
      shown(fault, !isUp);
      shown(pairing, isUp && status.pairing.waiting.length > 0);
      text(fault, isUp ? "" : watch.error?.message);
      if (!isUp) return;
      text(app, status.app.name);
      text(air, status.air);
      const phones = status.links.length === 0 ? "none" : plural(status.links.length, "phone");
      text(links, status.sessions.length === 0 ? phones : `${phones}, ${plural(status.sessions.length, "session")}`);
      text(battery, `${status.battery.percent} %${status.battery.isCharging ? ", charging" : ""}`);
    },
  };
}
