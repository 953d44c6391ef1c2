// One watch: its panels, and what stands above them.

import { airPanel } from "./air.js";
import { appsPanel } from "./apps.js";
import { h, set, shown, text } from "./dom.js";
import { faultsPanel } from "./faults.js";
import { clock, duration } from "./format.js";
import { linksPanel } from "./links.js";
import { messagesPanel } from "./messages.js";
import { WatchModel } from "./model.js";
import { notificationsPanel } from "./notifications.js";
import { pairingDialog } from "./pairing.js";
import { phonesPanel } from "./phones.js";
import { screenPanel } from "./screen.js";
import { timelinePanel } from "./timeline.js";

/** How often what counts down or up is written again, in milliseconds. */
const TICK = 250;

/** The view of a watch. */
export function watchView(page, name) {
  const model = new WatchModel(page, name);
  const screen = screenPanel(model);
  const air = airPanel(model);
  const links = linksPanel(model);
  const phones = phonesPanel(model);
  const apps = appsPanel(model);
  const messages = messagesPanel(model);
  const notifications = notificationsPanel(model);
  const faults = faultsPanel(model);
  const timeline = timelinePanel(model);
  const pairing = pairingDialog(model);
  const panels = [screen, air, links, phones, apps, messages, notifications, faults, timeline, pairing];

  const state = h("span", { class: "state off" }, "connecting");
  const facts = h("p", { class: "idents" });
  const down = h("p", { class: "notice", hidden: true });
  const heading = h(
    "div",
    { class: "bar watch-bar" },
    h("nav", { "aria-label": "Breadcrumb" }, h("a", { href: "#/" }, "Bench")),
    h("h1", { tabindex: "-1" }, name),
    h("p", { class: "line" }, state),
    facts,
  );
  const grid = h(
    "div",
    { class: "grid" },
    h("div", { class: "column first" }, screen.element, air.element),
    h("div", { class: "column" }, links.element, phones.element, apps.element),
    h("div", { class: "column" }, messages.element, notifications.element, faults.element),
    timeline.element,
  );

  function update() {
    const { status } = model;
    const isUp = model.state === "up";
    grid.classList.toggle("down", model.state === "down");
    set(grid, "aria-busy", model.state === "connecting" ? "true" : null);
    state.className = `state ${isUp ? (status.isReady ? "good" : "warn") : "off"}`;
    text(state, isUp ? (status.isReady ? "up" : "no controller") : model.state);
    shown(down, model.state === "down");
    if (status) {
      const version = status.version && `cairn ${status.version}`;
      const about = [status.address, `firmware ${status.firmware}`, status.controller, version];
      text(facts, about.filter(Boolean).join(" · "));
    }
    tick();
  }

  function tick() {
    if (model.state === "down") {
      const seconds = (Date.now() - model.since) / 1000;
      const why = (model.error?.message ?? "it does not answer").replace(/\.$/, "");
      text(down, `Down since ${clock(model.since)}, ${duration(seconds)}: ${why}. It comes back here by itself.`);
    } else if (model.state === "up") {
      const uptime = model.status.uptimeSeconds;
      page.summary(uptime === undefined ? "" : `up for ${duration(uptime + model.elapsed())}`);
    }
    if (model.state !== "up") page.summary("");
    for (const each of panels) each.tick?.();
  }

  for (const each of panels) model.listen(each);
  model.listen({ update });
  const timer = setInterval(tick, TICK);
  return {
    elements: [heading, down, pairing.element, grid],
    close() {
      clearInterval(timer);
      model.close();
      for (const each of panels) each.close?.();
    },
  };
}
