// The phones that the watch remembers, and who may pair.

import { Refused } from "./api.js";
import { ask, h, outcome, panel, reconcile, shown, text } from "./dom.js";
import { duration } from "./format.js";

const MODES = {
  open: "Any phone may pair at any time.",
  auto: "The first phone may pair; others only while pairing is open.",
  button: "Any phone may ask, and a person answers.",
  reject: "No phone may pair.",
};

export function phonesPanel(model) {
  const openPairing = () => run("open-pairing", "Pairing is open.");
  const closePairing = () => run("close-pairing", "Pairing is closed.");
  const open = h("button", { type: "button", onclick: openPairing }, "Open pairing");
  const close = h("button", { type: "button", hidden: true, onclick: closePairing }, "Close pairing");
  const { element, body } = panel("phones", "Phones", open, close);
  const mode = h("p", { class: "words" });
  const refused = h("p", { class: "notice", hidden: true });
  const list = h("ul", { class: "items" });
  const empty = h("p", { class: "empty" }, "The watch remembers no phone.");
  const result = outcome();
  body.append(mode, refused, empty, list, result.element);
  const entries = new Map();

  async function run(command, words, fields = null) {
    try {
      await model.command(command, fields);
      result.say(words);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  async function forget(phone) {
    const explanation = `${phone} is disconnected, and has to pair again. Have it forget the watch as well.`;
    if (await ask("Forget the phone?", explanation, "Forget")) await run("forget", `${phone} is forgotten.`, { phone });
  }

  return {
    element,
    update() {
      const { status } = model;
      for (const button of [open, close]) button.disabled = !model.isUsable;
      if (status === null) return;
      const window = status.pairing.windowSeconds;
      shown(open, window === undefined);
      shown(close, window !== undefined);
      shown(refused, status.pairing.refused !== undefined);
      text(refused, status.pairing.refused ? `${status.pairing.refused.text} ${status.pairing.refused.advice}` : "");
      shown(empty, status.phones.length === 0);
      reconcile(
        list,
        status.phones,
        (each) => each.phone,
        ({ phone }) => {
          const about = h("span", { class: "quiet" });
          const name = `Forget ${phone}`;
          const button = h("button", { type: "button", "aria-label": name, onclick: () => forget(phone) }, "Forget");
          entries.set(phone, { about, button });
          const words = h("span", {}, h("strong", { class: "mono" }, phone), " ", about);
          return h("li", { class: "item row between" }, words, button);
        },
        (_, each) => {
          const { about, button } = entries.get(each.phone);
          const words = [
            each.isConnected ? "connected" : "away",
            each.isAuthenticated && "authenticated",
            !each.isStored && "not stored yet",
          ];
          text(about, words.filter(Boolean).join(", "));
          button.disabled = !model.isUsable;
        },
      );
      this.tick();
    },
    tick() {
      const pairing = model.status?.pairing;
      if (pairing === undefined) return;
      const left = pairing.windowSeconds === undefined ? 0 : pairing.windowSeconds - model.elapsed();
      const window = left > 0 ? ` Open for ${duration(left)} more.` : "";
      const words = `${MODES[pairing.mode] ?? pairing.mode}${window}`;
      text(mode, pairing.isBondable ? words : "The watch keeps no keys, so no phone can pair.");
    },
  };
}
