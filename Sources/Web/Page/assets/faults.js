// What the watch is made to do wrong on purpose: the faults that are there, and those that can be added.

import { Refused } from "./api.js";
import { h, newID, outcome, panel, reconcile, shown, text } from "./dom.js";
import { plural } from "./format.js";
import { untilAnswered } from "./model.js";

export function faultsPanel(model) {
  const { element, body } = panel("faults", "Faults");
  const list = h("ul", { class: "items" });
  const empty = h("p", { class: "empty" }, "No fault is there.");
  const result = outcome();
  const names = newID("faults");
  const options = h("datalist", { id: names });
  const name = h("input", {
    type: "text",
    list: names,
    "aria-label": "Name of a fault",
    placeholder: "Name, such as att.late",
    autocomplete: "off",
    class: "grow",
    oninput: explain,
  });
  const words = h("input", {
    type: "text",
    "aria-label": "What the fault is given",
    placeholder: "delay=2s count=1",
    autocomplete: "off",
    class: "grow",
  });
  const add = h("button", { type: "submit" }, "Add");
  const help = h("p", { class: "quiet", hidden: true });
  const form = h("form", { onsubmit: submit }, h("div", { class: "row wrap" }, name, words, add), help);
  body.append(empty, list, model.canChange && form, result.element, options);
  let table = null;
  let isAsking = false;
  let isAskingAgain = false;

  async function tell(command, fields, done) {
    try {
      const answer = await model.command(command, fields);
      if (done) result.say(done(answer));
      await ask();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function submit(event) {
    event.preventDefault();
    const pairs = words.value.trim().split(/\s+/).filter(Boolean).map((word) => word.split(/=(.*)/s));
    const wrong = pairs.find((pair) => pair.length < 2 || pair[0] === "");
    if (wrong) return result.say(`“${wrong[0]}” is no key=value.`, true);
    const fields = { name: name.value.trim(), arguments: Object.fromEntries(pairs.map(([key, value]) => [key, value])) };
    return tell("fault-add", fields, ({ number }) => `Fault ${number} is there.`);
  }

  function explain() {
    const found = table?.names.find((each) => each.name === name.value.trim());
    shown(help, found !== undefined);
    if (!found) return;
    const takes = found.parameters.map((each) => `${each.name}= ${each.help} (${each.form})`);
    text(help, [found.help, ...takes].join(" · "));
  }

  // The list is asked for when a fault has fired, and when one was added or cleared.
  // Gives whether it was answered.
  async function ask() {
    if (model.state !== "up") return false;
    if (isAsking) {
      isAskingAgain = true;
      return false;
    }
    isAsking = true;
    try {
      if (table === null) {
        table = await model.command("fault-names");
        options.append(...table.names.map((each) => h("option", { value: each.name }, each.help)));
      }
      const { faults } = await model.command("fault-list");
      shown(empty, faults.length === 0);
      reconcile(list, faults, (each) => JSON.stringify(each), make);
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error.isFinal;
    } finally {
      isAsking = false;
      if (isAskingAgain) {
        isAskingAgain = false;
        ask();
      }
    }
  }

  function make(fault) {
    const given = Object.entries(fault.arguments).map(([key, value]) => `${key}=${value}`);
    const clear = h(
      "button",
      { type: "button", onclick: () => tell("fault-clear", { number: fault.number }, () => `${fault.name} is cleared.`) },
      "Clear",
    );
    return h(
      "li",
      { class: "item" },
      h(
        "div",
        { class: "row between" },
        h("strong", { class: "mono" }, [fault.name, ...given].join(" ")),
        h("span", { class: "quiet" }, fault.isAtWork ? `fired ${plural(fault.firings, "time")}` : "waits"),
        model.canChange && clear,
      ),
    );
  }

  const begin = untilAnswered(model, ask);
  return {
    element,
    update() {
      for (const field of form.querySelectorAll("button, input")) field.disabled = !model.isUsable;
      begin();
    },
    event(event) {
      if (event.name === "fault") ask();
    },
  };
}
