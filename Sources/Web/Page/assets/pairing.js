// A pairing that waits for a person: the number to compare, and the answer.

import { Refused } from "./api.js";
import { announce, h, newID, outcome, shown, text } from "./dom.js";
import { groups } from "./format.js";

const QUESTIONS = {
  compare: "Does the phone show this number?",
  confirm: "May this phone pair?",
  show: "Type this number on the phone.",
  type: "Which number does the phone show?",
};

export function pairingDialog(model) {
  const id = newID("pairing");
  const title = h("h2", { id, tabindex: "-1" }, "Pairing");
  const phone = h("p", { class: "quiet mono" });
  const question = h("p", { id: `${id}-question`, class: "question" });
  const number = h("output", { class: "number", "aria-labelledby": `${id}-question` });
  const digits = h("input", {
    id: `${id}-digits`,
    class: "number",
    inputmode: "numeric",
    autocomplete: "off",
    pattern: "[0-9]{1,6}",
    maxlength: "6",
    required: true,
  });
  const typing = h("label", { class: "field", for: digits.id }, h("span", {}, "Six digits"), digits);
  const result = outcome();
  const yes = h("button", { type: "submit", class: "primary" });
  const no = h("button", { type: "button", class: "danger", onclick: () => answer("refuse") }, "Refuse");
  const later = h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Later");
  const form = h(
    "form",
    {
      onsubmit(event) {
        event.preventDefault();
        if (waiting.question === "type") answer("passkey", { passkey: digits.value });
        else answer("confirm");
      },
    },
    title,
    phone,
    question,
    number,
    typing,
    result.element,
    h("div", { class: "row end" }, later, no, yes),
  );
  const dialog = h("dialog", { class: "pairing", "aria-labelledby": id, "aria-describedby": `${id}-question` }, form);
  const again = h("button", { type: "button", class: "primary", onclick: () => show() }, "Answer");
  const words = h("span", {});
  const banner = h("p", { class: "notice row between", hidden: true }, words, again);
  const element = h("div", { class: "asked" }, banner, dialog);

  /** The pairing that is asked about: the first of those that wait. */
  let waiting = null;

  // It can be closed without an answer (Escape): the banner stays.
  dialog.addEventListener("close", () => render());

  async function answer(command, fields = null) {
    try {
      await model.command(command, fields);
      const { phone } = waiting;
      waiting = null;
      announce(command === "refuse" ? `${phone} is refused.` : `${phone} is accepted.`);
      close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function close() {
    if (dialog.open) dialog.close();
    render();
  }

  function show() {
    result.say("");
    digits.value = "";
    // The heading has the focus, not an answer: a key that was meant for the watch does not answer.
    if (!dialog.open) dialog.showModal();
    title.focus();
  }

  function render() {
    shown(banner, waiting !== null && !dialog.open);
    if (waiting === null) return;
    text(words, `${waiting.phone} wants to pair.`);
    text(phone, waiting.phone);
    text(question, QUESTIONS[waiting.question] ?? waiting.question);
    text(number, waiting.number === undefined ? "" : groups(waiting.number));
    const isTyped = waiting.question === "type";
    shown(number, waiting.number !== undefined && !isTyped);
    shown(typing, isTyped);
    digits.disabled = !isTyped;
    text(yes, { compare: "It does: pair", confirm: "Pair", type: "Pair" }[waiting.question] ?? "");
    shown(yes, waiting.question !== "show");
    for (const button of [yes, no, again]) button.disabled = !model.isUsable;
  }

  return {
    element,
    update() {
      const next = model.state === "up" ? (model.status.pairing.waiting[0] ?? null) : null;
      const key = (each) => each && `${each.connection} ${each.phone} ${each.question} ${each.number}`;
      const isNew = key(next) !== key(waiting);
      const wasOpen = dialog.open;
      waiting = next;
      render();
      if (!isNew) return;
      if (next === null) {
        close();
        if (wasOpen) announce("The pairing waits for no answer any more.");
      } else {
        show();
      }
      render();
    },
    close() {
      if (dialog.open) dialog.close();
    },
  };
}
