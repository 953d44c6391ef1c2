// The page: which view is shown, and what all views share.

import { Refused, session } from "./api.js";
import { bench } from "./bench.js";
import { h, shown, text } from "./dom.js";
import { themeSwitch } from "./theme.js";
import { watchView } from "./watch.js";

const main = document.getElementById("main");
const problem = document.getElementById("problem");

/** What the views have of the page. */
const page = {
  /** Whether this browser may change watches. */
  canChange: false,
  /** Sets the line in the header. */
  summary: (words) => text(document.getElementById("summary"), words),
  /** Says that the server is not there, or that it does not let this browser in; null when all is well again. */
  report(error) {
    // What concerns one watch stands beside that watch.
    const words = error === null ? "" : wordsOf(error);
    text(problem, words);
    shown(problem, words !== "");
  },
};

function wordsOf(error) {
  const words = error.message.replace(/\.$/, "");
  if (error.status === 401) {
    return `This browser is not let in: ${words}. Open the address that cairn-web prints when it starts.`;
  }
  if (error.status === 429) {
    return `The server has too much to do for this browser: ${words}. Close other tabs of this page.`;
  }
  return error.status === 0 || error.status === 403 ? error.message : "";
}

let view = null;

/** The view that the address names: `#/` is the bench, `#/watches/NAME` a watch. */
function route(moveFocus) {
  const name = /^#\/watches\/(.+)$/.exec(location.hash)?.[1];
  let watch = null;
  try {
    watch = name === undefined ? null : decodeURIComponent(name);
  } catch {
    // An address that somebody has typed: the bench is shown.
  }
  view?.close();
  view = watch === null ? bench(page) : watchView(page, watch);
  document.title = watch === null ? "Bench · Cairn" : `${watch} · Cairn`;
  main.replaceChildren(...view.elements);
  if (moveFocus) main.querySelector("h1")?.focus();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // The address names the view, so the link must not change it.
  event.preventDefault();
  main.focus();
});

themeSwitch(document.getElementById("theme"));

for (;;) {
  try {
    const { canChange } = await session();
    page.canChange = canChange;
    shown(document.getElementById("rights"), !canChange);
    page.report(null);
    break;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    page.report(error);
    main.replaceChildren(h("h1", { class: "unseen" }, "Cairn"));
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
addEventListener("hashchange", () => route(true));
route(false);
