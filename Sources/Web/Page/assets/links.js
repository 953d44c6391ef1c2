// The links to phones: their parameters, and how much goes over them.

import { Refused } from "./api.js";
import { h, outcome, panel, reconcile, set, shown, text } from "./dom.js";
import { bytes, milliseconds, plural } from "./format.js";

/** How many seconds a sparkline shows. */
const SPAN = 60;
const HEIGHT = 28;

export function linksPanel(model) {
  const disconnect = h("button", { type: "button", onclick: disconnectAll }, "Disconnect");
  const { element, body } = panel("links", "Links", disconnect);
  const list = h("ul", { class: "items" });
  const empty = h("p", { class: "empty" }, "No phone is connected.");
  const result = outcome();
  body.append(empty, list, result.element);
  const entries = new Map();

  async function disconnectAll() {
    try {
      const { phones } = await model.command("disconnect");
      result.say(`${plural(phones.length, "link")} ended. Phones may come back at once.`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  function make(link) {
    const names = ["Interval", "Latency", "Timeout", "MTU", "PHY", "Data length", "Security", "Traffic"];
    const values = Object.fromEntries(names.map((name) => [name, h("dd", {}, "…")]));
    const phone = h("strong", { class: "mono" });
    const services = h("p", { class: "quiet" });
    const rate = h("span", { class: "mono rate" });
    const line = h("path", { class: "spark-line" });
    const area = h("path", { class: "spark-area" });
    const spark = h(
      "svg",
      { class: "spark", viewBox: `0 0 ${SPAN} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "Bytes" },
      area,
      line,
    );
    const entry = h(
      "li",
      { class: "item" },
      h("div", { class: "row between" }, phone, rate),
      spark,
      h("dl", { class: "pairs three" }, names.map((name) => h("div", {}, h("dt", {}, name), values[name]))),
      services,
    );
    entries.set(link.connection, { values, phone, services, rate, line, area, spark, totals: null, rates: [] });
    return entry;
  }

  return {
    element,
    update() {
      const status = model.status;
      disconnect.disabled = !model.isUsable || !status?.links.length;
      if (status === null) return;
      const links = model.state === "up" ? status.links : [];
      shown(empty, links.length === 0);
      text(empty, lastWords(status, model));
      reconcile(
        list,
        links,
        (link) => link.connection,
        make,
        (_, link) => {
          const entry = entries.get(link.connection);
          text(entry.phone, link.phone);
          text(entry.values.MTU, link.mtu);
          const security = [
            link.isEncrypted ? "encrypted" : "not encrypted",
            link.isAuthenticated && "authenticated",
            link.isBonded && "bonded",
          ];
          text(entry.values.Security, security.filter(Boolean).join(", "));
          const sessions = status.sessions.map((session) => `${session.kind} session over ${session.transport}`);
          text(entry.services, [...sessions, ...link.services.map((service) => `uses the phone’s ${service}`)].join(" · "));
        },
      );
    },
    measured() {
      for (const link of model.links) {
        const entry = entries.get(link.connection);
        if (entry === undefined) continue;
        const sent = sum(link.traffic, "sentBytes");
        const received = sum(link.traffic, "receivedBytes");
        const { values } = entry;
        text(values.Interval, milliseconds(link.intervalMilliseconds));
        text(values.Latency, link.latency);
        text(values.Timeout, `${Number((link.supervisionTimeoutMilliseconds / 1000).toFixed(2))} s`);
        const { transmitPHY, receivePHY } = link;
        text(values.PHY, transmitPHY === receivePHY ? transmitPHY : `↑ ${transmitPHY} ↓ ${receivePHY}`);
        text(values["Data length"], `↑ ${link.transmitOctets} ↓ ${link.receiveOctets}`);
        text(values.Traffic, `↑ ${bytes(sent)} ↓ ${bytes(received)}`);
        const before = entry.totals;
        // A handle that is used again counts from 0.
        const isSame = before !== null && sent + received >= before.count;
        if (isSame) {
          const rate = (sent + received - before.count) / ((model.linksAt - before.at) / 1000);
          entry.rates.push(rate);
          if (entry.rates.length > SPAN) entry.rates.shift();
          draw(entry);
        }
        entry.totals = { count: sent + received, at: model.linksAt };
      }
    },
  };
}

const sum = (traffic, name) => traffic.reduce((total, layer) => total + layer[name], 0);

function lastWords(status, model) {
  if (model.state !== "up") return "The links are gone with the watch.";
  const last = status.lastDisconnection;
  if (!last) return "No phone is connected.";
  return `No phone is connected. ${last.phone} left: ${last.reason}. The watch: ${last.remedy}.`.replace(/\.\./g, ".");
}

function draw({ rates, rate, line, area, spark }) {
  const most = Math.max(100, ...rates);
  const first = SPAN - rates.length;
  const level = (value) => (HEIGHT - 1 - (value / most) * (HEIGHT - 3)).toFixed(1);
  const points = rates.map((value, index) => `${first + index + 0.5} ${level(value)}`);
  set(line, "d", `M${points.join("L")}`);
  set(area, "d", `M${first + 0.5} ${HEIGHT}L${points.join("L")}L${SPAN - 0.5} ${HEIGHT}Z`);
  const now = bytes(rates.at(-1));
  text(rate, `${now}/s`);
  set(spark, "aria-label", `Bytes a second in the last minute: now ${now}, at most ${bytes(Math.max(...rates))}`);
}
