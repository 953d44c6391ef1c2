// What the watch shows of the phone's notifications, and what can be done with each.

import { Refused } from "./api.js";
import { h, outcome, panel, reconcile, scroller, shown } from "./dom.js";
import { clock } from "./format.js";

export function notificationsPanel(model) {
  const { element, body } = panel("notifications", "Notifications");
  const list = h("ul", { class: "items" });
  const empty = h("p", { class: "empty" }, "No notification is shown.");
  const result = outcome();
  body.append(scroller("Notifications", list, empty), result.element);

  async function act(notification, action, name, reply) {
    const said = reply.value.trim();
    try {
      await model.command("act", { item: notification.id, action: Number(action), ...(said ? { text: said } : {}) });
      result.say(`“${name}” was sent to the phone.`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function make(notification) {
    const reply = h("input", {
      type: "text",
      "aria-label": "Text of a reply",
      placeholder: "Text of a reply",
      autocomplete: "off",
      class: "grow",
    });
    const actions = Object.entries(notification.actions).map(([number, name]) =>
      h("button", { type: "button", onclick: () => act(notification, number, name, reply) }, name || `Action ${number}`),
    );
    return h(
      "li",
      { class: "item" },
      h(
        "div",
        { class: "row between" },
        h("strong", {}, notification.title ?? notification.app ?? "A notification"),
        h("time", { class: "quiet" }, clock(notification.time * 1000)),
      ),
      notification.subtitle && h("p", {}, notification.subtitle),
      notification.body && h("p", { class: "multiline" }, notification.body),
      notification.app && notification.title && h("p", { class: "quiet" }, notification.app),
      model.canChange && actions.length > 0 && h("div", { class: "row wrap" }, reply, actions),
    );
  }

  return {
    element,
    update() {
      if (model.status === null) return;
      const { notifications } = model.status.services;
      shown(empty, notifications.length === 0);
      // One that has changed is made again.
      reconcile(list, [...notifications].reverse(), (each) => JSON.stringify(each), make, (item) => {
        for (const field of item.querySelectorAll("button, input")) field.disabled = !model.isUsable;
      });
    },
  };
}
