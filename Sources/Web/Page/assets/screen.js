// The watch itself: what it shows, and its four buttons.

import { Refused, frames } from "./api.js";
import { h, outcome, panel, set, shown, text } from "./dom.js";

const BUTTONS = [
  { name: "back", label: "Back", keys: ["ArrowLeft", "Escape"] },
  { name: "up", label: "Up", keys: ["ArrowUp"] },
  { name: "select", label: "Select", keys: ["ArrowRight"] },
  { name: "down", label: "Down", keys: ["ArrowDown"] },
];

export function screenPanel(model) {
  const { element, body } = panel("screen", "Screen");
  const picture = h("img", {
    class: "picture",
    src: "/assets/blank.svg",
    width: "144",
    height: "168",
    alt: "The screen: no picture yet",
    draggable: "false",
  });
  const result = outcome();
  const held = h("p", { class: "quiet held" });
  const sensors = h("p", { class: "quiet" });
  const buttons = new Map(BUTTONS.map((button) => [button.name, makeButton(button)]));
  const device = h(
    "div",
    { class: "device", role: "group", "aria-label": "The watch" },
    h("div", { class: "side left" }, buttons.get("back")),
    h("div", { class: "glass" }, picture),
    h("div", { class: "side right" }, buttons.get("up"), buttons.get("select"), buttons.get("down")),
  );
  const hint = h(
    "p",
    { class: "quiet hint" },
    "Press and hold as on the watch: a button by pointer, Space or Enter; with the focus on one, the arrow keys are the four.",
  );
  body.append(device, result.element, h("div", { class: "row between" }, held, sensors), hint);

  /** What is down: each button with what holds it, a pointer or a key. */
  const down = new Map();
  // The watch is told one change after the other, so that a quick press is down before it is up.
  let turn = Promise.resolve();

  function tell(options = {}) {
    const names = [...new Set(down.values())];
    for (const [name, button] of buttons) set(button, "data-down", names.includes(name));
    turn = turn.then(async () => {
      try {
        await model.command("hold", { buttons: names }, options);
        result.say("");
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        result.say(error.message, true);
      }
    });
  }

  function hold(by, name) {
    if (!model.isUsable || down.has(by)) return;
    down.set(by, name);
    tell();
  }

  function release(by) {
    if (down.delete(by)) tell();
  }

  // A page that is left has no finger on a button.
  function releaseAll() {
    if (down.size === 0) return;
    down.clear();
    tell({ keepalive: true });
  }

  function makeButton({ name, label, keys }) {
    const button = h("button", { type: "button", class: `key ${name}`, "aria-keyshortcuts": keys.join(" ") }, label);
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      button.setPointerCapture(event.pointerId);
      button.focus();
      hold(`pointer ${event.pointerId}`, name);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      button.addEventListener(end, (event) => release(`pointer ${event.pointerId}`));
    }
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    // What a screen reader does is a click without a pointer or a key.
    button.addEventListener("click", async (event) => {
      if (event.detail !== 0 || event.pointerType || !model.isUsable) return;
      try {
        await model.command("press", { button: name });
        result.say(`${label} was pressed.`);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        result.say(error.message, true);
      }
    });
    return button;
  }

  device.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const isPress = event.key === " " || event.key === "Enter";
    const name = isPress
      ? BUTTONS.find((button) => buttons.get(button.name) === document.activeElement)?.name
      : BUTTONS.find((button) => button.keys.includes(event.key))?.name;
    if (name === undefined) return;
    event.preventDefault();
    if (!event.repeat) hold(`key ${event.code}`, name);
  });
  device.addEventListener("keyup", (event) => {
    if (event.key === " ") event.preventDefault();
    release(`key ${event.code}`);
  });
  device.addEventListener("focusout", (event) => {
    if (!device.contains(event.relatedTarget)) releaseAll();
  });
  addEventListener("blur", releaseAll);
  addEventListener("pagehide", releaseAll);

  let stop = null;

  function watchFrames() {
    if (document.hidden) {
      stop?.();
      stop = null;
      releaseAll();
    } else {
      stop ??= frames(model.name, { take });
    }
  }

  function take(name, frame) {
    if (name !== "frame") return;
    set(picture, "width", frame.width);
    set(picture, "height", frame.height);
    device.closest(".grid")?.style.setProperty("--columns", frame.width);
    device.classList.toggle("round", frame.shape === "round");
    picture.src = `data:image/png;base64,${frame.png}`;
  }

  document.addEventListener("visibilitychange", watchFrames);
  watchFrames();

  return {
    element,
    update() {
      const { status } = model;
      for (const button of buttons.values()) button.disabled = !model.isUsable;
      if (status === null) return;
      set(picture, "alt", `The screen${model.state === "up" ? "" : " as it was"}, with ${status.app.name}`);
      text(held, status.heldButtons.length > 0 ? `Held: ${status.heldButtons.join(", ")}` : status.app.name);
      const { battery } = status;
      text(sensors, `Battery ${battery.percent} %${battery.isCharging ? ", charging" : ""}`);
      shown(hint, model.canChange);
    },
    close() {
      releaseAll();
      stop?.();
      removeEventListener("blur", releaseAll);
      removeEventListener("pagehide", releaseAll);
      document.removeEventListener("visibilitychange", watchFrames);
    },
  };
}
