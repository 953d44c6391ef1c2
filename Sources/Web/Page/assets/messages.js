// AppMessages: one to be sent, and those that have passed, both ways, decoded.

import { Refused, command } from "./api.js";
import { h, newID, outcome, panel, reconcile, scroller, set, shown, text } from "./dom.js";
import { clock, plural } from "./format.js";
import { untilAnswered } from "./model.js";

/** So many messages are listed. */
const LIMIT = 200;

/** The types of a value, with the range of each number. */
const TYPES = {
  string: null,
  uint8: [0, 0xff],
  uint16: [0, 0xffff],
  uint32: [0, 0xffffffff],
  int8: [-0x80, 0x7f],
  int16: [-0x8000, 0x7fff],
  int32: [-0x80000000, 0x7fffffff],
  bytes: null,
};

/** What has become of a message that was sent. */
const DELIVERIES = {
  sent: "Sent. The phone has not answered yet.",
  waits: "It waits until the companion is back.",
  queued: "It is sent when the app is awake.",
};

export function messagesPanel(model) {
  const { element, body } = panel("messages", "AppMessages");
  const rows = h("div", { class: "rows" });
  const result = outcome();
  const sendButton = h("button", { type: "submit", class: "primary" }, "Send");
  const add = h("button", { type: "button", class: "plain", onclick: () => addRow(true) }, "Add an entry");
  const to = h("p", { class: "quiet" });
  const form = h(
    "form",
    { class: "composer", novalidate: true, onsubmit: send },
    to,
    rows,
    h("div", { class: "row between" }, add, sendButton),
    result.element,
  );
  const list = h("ol", { class: "log" });
  const empty = h("p", { class: "empty" }, "No message has passed.");
  const log = scroller("AppMessages that have passed", list, empty);
  body.append(form, log);

  let messages = [];
  const names = new Map();
  let count = 0;

  function addRow(takesFocus) {
    count += 1;
    const id = newID("entry");
    const key = h("input", {
      type: "text",
      inputmode: "numeric",
      value: rows.children.length,
      "aria-label": "Key",
      class: "mono key-field",
    });
    const type = h("select", { "aria-label": "Type" }, Object.keys(TYPES).map((name) => h("option", {}, name)));
    const value = h("input", {
      type: "text",
      "aria-label": "Value",
      class: "mono grow",
      autocomplete: "off",
      placeholder: "Value",
    });
    const error = h("p", { class: "outcome bad", id, hidden: true });
    const remove = h(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-label": "Remove the entry",
        onclick() {
          row.remove();
          (rows.querySelector("input") ?? add).focus();
        },
      },
      "×",
    );
    type.addEventListener("change", () => set(value, "placeholder", type.value === "bytes" ? "Hexadecimal" : "Value"));
    const row = h("div", { class: "entry", role: "group", "aria-label": `Entry ${count}` }, key, type, value, remove, error);
    row.entry = { key, type, value, error, id };
    rows.append(row);
    if (takesFocus) key.focus();
  }

  /** The entry of a row; says what is wrong with it, and throws the field. */
  function read({ key, type, value, error, id }) {
    const wrong = (field, words) => {
      set(field, "aria-invalid", "true");
      set(field, "aria-describedby", id);
      text(error, words);
      shown(error, true);
      throw field;
    };
    shown(error, false);
    for (const field of [key, value]) {
      set(field, "aria-invalid", null);
      set(field, "aria-describedby", null);
    }
    const number = /^(\d+|0x[0-9a-f]+)$/i.test(key.value.trim()) ? Number(key.value.trim()) : NaN;
    if (!(number <= 0xffffffff)) wrong(key, "A key is a number from 0 to 4294967295.");
    const range = TYPES[type.value];
    if (range !== null) {
      const words = value.value.trim();
      const given = /^(-?\d+|0x[0-9a-f]+)$/i.test(words) ? Number(words) : NaN;
      if (!(given >= range[0] && given <= range[1])) wrong(value, `${type.value} is a number from ${range[0]} to ${range[1]}.`);
      return { key: number, type: type.value, number: given };
    }
    if (type.value === "string") return { key: number, type: "string", string: value.value };
    const data = value.value.replace(/[\s:]/g, "");
    if (!/^([0-9a-f]{2})*$/i.test(data)) wrong(value, "bytes are in hexadecimal, two digits each: 00ff.");
    return { key: number, type: "bytes", bytes: data.toLowerCase() };
  }

  async function send(event) {
    event.preventDefault();
    let entries;
    try {
      entries = [...rows.children].map((row) => read(row.entry));
    } catch (field) {
      if (!(field instanceof Element)) throw field;
      result.say("The message was not sent: an entry is wrong.", true);
      field.focus();
      return;
    }
    try {
      const { delivery } = await model.command("send", { entries });
      result.say(DELIVERIES[delivery] ?? delivery);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function note(message) {
    if (messages.some((other) => other.id === message.id)) return;
    messages.push(message);
    messages.sort((one, other) => other.at - one.at || other.sequence - one.sequence);
    messages.length = Math.min(messages.length, LIMIT);
  }

  const describe = (data, isSent, at, run) => ({
    id: `${run} ${data.sequence}`,
    sequence: data.sequence,
    isSent,
    at,
    app: data.app,
    result: isSent ? data.result : null,
    entries: data.entries,
  });

  /** Gives whether it was answered. */
  async function history() {
    const { run } = model;
    try {
      const [inbox, outbox] = await Promise.all(["inbox", "outbox"].map((name) => command(model.name, name)));
      for (const each of inbox.messages) note(describe(each, false, model.dateOf(each.at), run));
      for (const each of outbox.messages) note(describe(each, true, model.dateOf(each.at), run));
      render();
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error.isFinal;
    }
  }

  const nameOf = (message) => names.get(message.app) ?? message.app;

  function render() {
    shown(empty, messages.length === 0);
    reconcile(
      list,
      messages,
      (message) => message.id,
      (message) =>
        h(
          "li",
          { class: message.isSent ? "out" : "in" },
          h(
            "p",
            { class: "row between quiet" },
            h("span", {}, h("strong", {}, message.isSent ? "↑ watch to phone" : "↓ phone to watch"), " ", nameOf(message)),
            h("span", {}, resultElement(message), " ", h("time", {}, clock(message.at))),
          ),
          message.entries.length === 0
            ? h("p", { class: "quiet" }, "An empty dictionary")
            : h("dl", { class: "dictionary" }, message.entries.map(entryElement)),
        ),
    );
  }

  addRow(false);
  const begin = untilAnswered(model, history);
  return {
    element,
    update() {
      const { status } = model;
      for (const field of form.querySelectorAll("button, input, select")) field.disabled = !model.isUsable;
      shown(form, model.canChange);
      if (status === null) return;
      text(to, `From ${status.app.name} to its companion`);
      for (const app of [status.app, ...status.services.apps]) names.set(app.uuid, app.name);
      begin();
    },
    event({ name, at, run, data }) {
      if (name !== "app-message-received" && name !== "app-message-sent") {
        if (name === "app-launched") names.set(data.app, data.name);
        return;
      }
      note(describe(data, name === "app-message-sent", at, run));
      render();
    },
  };
}

function resultElement({ result }) {
  return result !== null && h("span", { class: result === "ok" ? null : "bad" }, result);
}

function entryElement(entry) {
  const key = h("dt", { class: "mono" }, entry.key, h("span", { class: "quiet" }, ` ${entry.type}`));
  return h("div", {}, key, h("dd", { class: "mono" }, valueWords(entry)));
}

function valueWords(entry) {
  if (entry.string !== undefined) return JSON.stringify(entry.string);
  if (entry.number !== undefined) return String(entry.number);
  const octets = entry.bytes.match(/../g) ?? [];
  const letters = octets.map((pair) => parseInt(pair, 16));
  const readable = letters.length > 0 && letters.every((octet) => octet >= 0x20 && octet < 0x7f);
  const said = readable ? ` “${String.fromCharCode(...letters)}”` : "";
  return `${octets.join(" ")}${said} (${plural(octets.length, "byte")})`;
}
