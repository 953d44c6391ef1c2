// What is on the air, why, and when that changes.

import { Refused } from "./api.js";
import { h, outcome, panel, reconcile, set, shown, text } from "./dom.js";
import { advertisingData, duration, milliseconds } from "./format.js";

const STATES = { "on-air": "on the air", starting: "starting", waiting: "waits for its turn", refused: "refused" };

export function airPanel(model) {
  const advertise = h("button", { type: "button", onclick: advertiseNow }, "Advertise fast");
  const { element, body } = panel("air", "On the air", advertise);
  const words = h("p", { class: "words" }, "Nothing is known yet.");
  const list = h("ul", { class: "items" });
  const result = outcome();
  body.append(words, list, result.element);
  const entries = new Map();

  async function advertiseNow() {
    try {
      await model.command("advertise");
      result.say("The watch advertises as fast as it ever does.");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function make(advertisement) {
    const title = h("strong");
    const state = h("span", { class: "state" });
    const reason = h("p");
    const next = h("p", { class: "next" });
    const bar = h("progress", { max: "1", value: "0", "aria-label": "Until the next change" });
    const data = h("dl", { class: "pairs" });
    const entry = h(
      "li",
      { class: "item" },
      h("div", { class: "row between" }, title, state),
      reason,
      next,
      bar,
      h("details", {}, h("summary", {}, "Advertising data"), data),
    );
    entries.set(advertisement.role, { title, state, reason, next, bar, data, advertisement });
    return entry;
  }

  function fill(_, advertisement) {
    const entry = entries.get(advertisement.role);
    entry.advertisement = advertisement;
    const role = `${advertisement.role[0].toUpperCase()}${advertisement.role.slice(1)}`;
    text(entry.title, `${role}, every ${milliseconds(advertisement.intervalMilliseconds)}`);
    text(entry.state, STATES[advertisement.state] ?? advertisement.state);
    entry.state.className = `state ${{ "on-air": "good", refused: "bad" }[advertisement.state] ?? "warn"}`;
    text(entry.reason, advertisement.refusal ? `Refused: ${advertisement.refusal}` : `Why: ${advertisement.reason}`);
    const structures = [
      { name: "Address", value: advertisement.address },
      ...advertisingData(advertisement.data),
      ...advertisingData(advertisement.scanResponse).map(({ name, value }) => ({ name: `${name} (scan response)`, value })),
    ];
    reconcile(
      entry.data,
      structures,
      (structure) => `${structure.name} ${structure.value}`,
      ({ name, value }) => h("div", {}, h("dt", {}, name), h("dd", {}, value)),
    );
  }

  return {
    element,
    update() {
      advertise.disabled = !model.isUsable;
      if (model.status === null) return;
      text(words, model.status.air);
      shown(words, model.status.advertisements.length === 0);
      reconcile(list, model.status.advertisements, (advertisement) => advertisement.role, make, fill);
      this.tick();
    },
    tick() {
      if (model.status === null) return;
      for (const { next, bar, advertisement } of entries.values()) {
        const left = advertisement.remainingSeconds;
        shown(bar, left !== undefined);
        const after = advertisement.nextIntervalMilliseconds;
        if (left === undefined) {
          text(next, `For ${duration(advertisement.sinceSeconds + model.elapsed())}, and on without a change`);
          continue;
        }
        const since = advertisement.sinceSeconds;
        const whole = since + left;
        const passed = model.state === "up" ? Math.min(whole, since + model.elapsed()) : since;
        text(next, `${after === undefined ? "Ends" : `Every ${milliseconds(after)}`} in ${duration(whole - passed)}`);
        set(bar, "max", whole);
        bar.value = passed;
      }
    },
  };
}
