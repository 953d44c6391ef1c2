// The theme: the system's, unless the switch says another, which this browser remembers.

const KEY = "cairn-theme";
const root = document.documentElement;

function remembered() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto"; // A browser may forbid storage.
  }
}

function apply(theme) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
  // Pictures on a canvas take their colours from the style when they are drawn.
  dispatchEvent(new Event("theme"));
}

apply(remembered());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));

/** Connects the switch in the page's header. */
export function themeSwitch(fieldset) {
  const theme = remembered();
  for (const input of fieldset.querySelectorAll("input")) {
    input.checked = input.value === theme;
    input.addEventListener("change", () => {
      try {
        localStorage.setItem(KEY, input.value);
      } catch {
        // The choice lasts as long as the page then.
      }
      apply(input.value);
    });
  }
}
