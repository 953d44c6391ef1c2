// Elements. Whatever comes from a watch or a phone goes in as text, so that no markup of theirs counts.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "circle", "g"]);
let numbers = 0;

/** An id that no other element has. */
export function newID(prefix) {
  numbers += 1;
  return `${prefix}-${numbers}`;
}

/**
 * Makes an element. Of `properties`, functions are listeners (`onclick`), true and false set or leave out an attribute, null
 * and undefined leave it out; what else follows are children: elements and texts.
 */
export function h(tag, properties = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else set(element, name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets an attribute if it is another than before; null, undefined and false remove it. */
export function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Sets an element's text if it is another than before: what stays as it is keeps its selection, and is not read again. */
export function text(element, value) {
  const words = value === null || value === undefined ? "" : String(value);
  if (element.textContent !== words) element.textContent = words;
}

/** Shows an element, or hides it. */
export function shown(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/**
 * Makes the children of `list` those of `items`. An element whose item is still there stays, with its focus: `update` is told
 * of the new item. If the focus was in one that goes, the list's panel has it.
 */
export function reconcile(list, items, key, make, update = () => {}) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let place = list.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = old.get(name);
    if (element) {
      old.delete(name);
    } else {
      element = make(item);
      element.dataset.key = name;
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else list.insertBefore(element, place);
  }
  for (const gone of old.values()) {
    const hadFocus = gone.contains(document.activeElement);
    gone.remove();
    if (hadFocus) list.closest("section")?.querySelector("h2, h3")?.focus();
  }
}

/** A panel: a region with a heading that names it, and tools beside that. */
export function panel(name, title, ...tools) {
  const id = newID("panel");
  const heading = h("h2", { id, tabindex: "-1" }, title);
  const body = h("div", { class: "body" });
  const element = h(
    "section",
    { class: `panel ${name}`, "aria-labelledby": id },
    h("div", { class: "head" }, heading, ...tools),
    body,
  );
  return { element, body, heading };
}

/** A list that scrolls by itself: the keyboard can reach it. */
export function scroller(label, ...children) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, ...children);
}

/** A line that says how a command ended; it is announced as well. */
export function outcome() {
  const element = h("p", { class: "outcome", hidden: true });
  return {
    element,
    say(words, isError = false) {
      text(element, words);
      shown(element, words !== "");
      element.classList.toggle("bad", isError);
      if (words) announce(words);
    },
  };
}

let announcement = 0;

/** Says something to a screen reader, after what it is saying: only what the user waits for, or must act on. */
export function announce(words) {
  const live = document.getElementById("live");
  clearTimeout(announcement);
  // Two in a row are read as one; the same words twice are read twice, since the region was empty meanwhile.
  const pending = live.dataset.pending ? `${live.dataset.pending} ${words}` : words;
  live.dataset.pending = pending;
  live.textContent = "";
  announcement = setTimeout(() => {
    live.textContent = pending;
    delete live.dataset.pending;
  }, 120);
}

/** Asks before something that cannot be taken back. Resolves to whether it is wanted; the focus returns by itself. */
export function ask(title, explanation, yes) {
  return new Promise((resolve) => {
    const name = newID("ask");
    const cancel = h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel");
    const dialog = h(
      "dialog",
      { "aria-labelledby": name, "aria-describedby": `${name}-text`, class: "ask" },
      h("h2", { id: name }, title),
      h("p", { id: `${name}-text` }, explanation),
      h(
        "div",
        { class: "row end" },
        cancel,
        h("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, yes),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}
