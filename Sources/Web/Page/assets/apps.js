// The apps that can be launched, and a new one from a file.

import { Refused, command } from "./api.js";
import { ask, h, newID, outcome, panel, reconcile, set, shown, text } from "./dom.js";
import { bytes } from "./format.js";
import { untilAnswered } from "./model.js";

/** The bytes that go in one piece, as the control takes them. */
const PIECE = 24 * 1024;
/** The largest package, in bytes. */
const LARGEST = 16 << 20;

export function appsPanel(model) {
  const stop = h("button", { type: "button", onclick: () => run("stop", null, "The watchface is shown.") }, "Watchface");
  const { element, body } = panel("apps", "Apps", stop);
  const list = h("ul", { class: "items" });
  const result = outcome();
  const launch = h("input", { type: "checkbox", checked: true });
  const file = h("input", {
    type: "file",
    class: "unseen",
    accept: ".pbw",
    id: newID("package"),
    onchange: () => {
      take(file.files);
      file.value = "";
    },
  });
  const pick = h("label", { class: "button", for: file.id }, "Install a file…");
  const progress = h("progress", { max: "1", value: "0", "aria-label": "Installing", hidden: true });
  const start = h("label", { class: "check" }, launch, " and start it");
  const form = h("div", { class: "row between drop" }, h("span", {}, file, pick), start);
  body.append(list, form, progress, result.element);
  const entries = new Map();
  let apps = [];
  let isBusy = false;
  /** The install that was asked for last. */
  let last = Promise.resolve();

  /** Gives whether it was answered. */
  async function refresh() {
    if (model.state !== "up") return false;
    try {
      apps = (await command(model.name, "apps")).apps;
      render();
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.isFinal) result.say(error.message, true);
      return error.isFinal;
    }
  }

  async function run(name, fields, words) {
    try {
      await model.command(name, fields);
      result.say(words);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
  }

  async function remove(app) {
    if (await ask("Remove the app?", `${app.name} and what it has kept are removed from the watch.`, "Remove")) {
      await run("remove", { app: app.uuid }, `${app.name} is removed.`);
      await refresh();
    }
  }

  /** Installs files, each when those before it are done with. */
  function take(files) {
    for (const chosen of files) last = last.catch(() => {}).then(() => install(chosen));
  }

  async function install(chosen) {
    if (chosen.size === 0 || chosen.size > LARGEST) {
      const what = chosen.size === 0 ? "is empty" : `has ${bytes(chosen.size)}: at most 16 MiB can be installed`;
      result.say(`${chosen.name} ${what}.`, true);
      return;
    }
    isBusy = true;
    render();
    shown(progress, true);
    try {
      const octets = new Uint8Array(await chosen.arrayBuffer());
      const pieces = [];
      for (let at = 0; at < octets.length; at += PIECE) pieces.push(octets.subarray(at, at + PIECE));
      const { byteCount } = await bring(pieces[0]);
      if (byteCount > pieces[0].length) {
        // Pieces of an install that was given up lie in front: the watch drops them with the package that it refuses.
        await command(model.name, "install").catch(() => {});
        await bring(pieces[0]);
      }
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await bring(piece);
        progress.value = (index + 1) / pieces.length;
      }
      const { app } = await model.command("install", { launch: launch.checked });
      result.say(`${app.name} ${app.version ?? ""} is installed.`.replace("  ", " "));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.say(error.message, true);
    }
    isBusy = false;
    shown(progress, false);
    await refresh();
    render();
  }

  const bring = (octets) => command(model.name, "install-part", { data: hex(octets) });

  form.addEventListener("dragover", (event) => {
    if (!model.isUsable) return;
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (model.isUsable) take(event.dataTransfer.files);
  });

  function render() {
    const running = model.status?.app.uuid;
    stop.disabled = !model.isUsable;
    file.disabled = !model.isUsable || isBusy;
    pick.classList.toggle("off", file.disabled);
    shown(form, model.canChange);
    reconcile(
      list,
      apps,
      (app) => app.uuid,
      (app) => {
        const name = h("strong");
        const about = h("span", { class: "quiet" });
        const begin = () => run("launch", { app: app.uuid }, `${app.name} is started.`);
        const start = h("button", { type: "button", onclick: begin }, "Launch");
        const end = () => remove(entries.get(app.uuid).app);
        const gone = h("button", { type: "button", class: "plain", onclick: end }, "Remove");
        entries.set(app.uuid, { name, about, start, gone, app });
        return h(
          "li",
          { class: "item row between" },
          h("span", { class: "grow" }, name, " ", about, h("code", { class: "uuid" }, app.uuid)),
          h("span", { class: "row" }, gone, start),
        );
      },
      (item, app) => {
        const entry = entries.get(app.uuid);
        entry.app = app;
        const isRunning = app.uuid === running;
        text(entry.name, app.name);
        const words = [
          isRunning && "runs",
          app.version,
          app.isWatchface && "watchface",
          !app.isInstalled && "not there yet",
          app.isBuiltIn && "built in",
        ];
        text(entry.about, words.filter(Boolean).join(", "));
        item.classList.toggle("current", isRunning);
        set(entry.start, "aria-label", `Launch ${app.name}`);
        set(entry.gone, "aria-label", `Remove ${app.name}`);
        entry.start.disabled = !model.isUsable || isRunning;
        entry.gone.disabled = !model.isUsable;
        shown(entry.gone, !app.isBuiltIn);
      },
    );
  }

  // Events tell the rest.
  const begin = untilAnswered(model, refresh);
  return {
    element,
    update() {
      begin();
      render();
    },
    event({ name, data }) {
      if (name === "app-launched" || (name === "service" && data.name?.startsWith("app-"))) refresh();
    },
  };
}

const hex = (octets) => Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
