"""What axe's rules ask of a page, written for this one: names and roles by the browser's own account, contrast from the
styles that count, focus by the Tab key. Each check gives a sentence for each thing that is wrong."""

from __future__ import annotations

from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

#: Roles of the accessibility tree whose nodes must have a name.
NAMED = {
    "button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox", "spinbutton", "progressbar", "image",
    "img", "dialog", "alertdialog", "region", "group", "navigation", "heading", "DisclosureTriangle",
}  # fmt: skip


def names_and_roles(driver: Chrome) -> list[str]:
    """Every control, picture, region and dialog has a name, as the browser tells it to screen readers."""
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    assert len(nodes) > 30, "the browser tells screen readers nothing"
    wrong = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        # An image without a text is decoration, and so is not in the tree; a group that the browser makes for a tag has none.
        is_made = role == "group" and "focusable" not in properties
        if not node.get("ignored") and role in NAMED and not is_made and not _is_named(node):
            wrong.append(f"a {role} has no name: {_describe(driver, node)}")
    return wrong


def _is_named(node: dict[str, Any]) -> bool:
    return bool(str(node.get("name", {}).get("value", "")).strip())


def _describe(driver: Chrome, node: dict[str, Any]) -> str:
    found = driver.execute_cdp_cmd("DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]})["node"]
    return f"<{found['localName']} {' '.join(found.get('attributes', []))}>"


#: What all checks in the browser share: which elements are seen, and what colour lies behind one.
_SHARED = r"""
const open = document.querySelector("dialog[open]");
const root = open ?? document.body;
const isSeen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0
  && getComputedStyle(e).clipPath !== "inset(50%)" && !e.closest(".unseen");
const kind = (e) => e.localName + (e.classList.length > 0 ? "." + e.classList : "");
const words = (e) => `<${kind(e)}> “${(e.textContent ?? "").trim().slice(0, 40)}”`;
const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
const context = canvas.getContext("2d", { willReadFrequently: true });
function rgba(color) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, below, alpha = top[3]) => [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha)).concat(1);
function behind(e) {
  const layers = [];
  for (let each = e; each; each = each.parentElement) {
    layers.push(rgba(getComputedStyle(each).backgroundColor));
    if (layers.at(-1)[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}
function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
"""

_STRUCTURE = (
    _SHARED
    + r"""
const wrong = [];
if (!document.documentElement.lang) wrong.push("the page does not say its language");
if (!document.title.trim()) wrong.push("the page has no title");
for (const tag of ["h1", "main"]) {
  const { length } = document.querySelectorAll(tag);
  if (length !== 1) wrong.push(`the page has ${length} ${tag}`);
}
const viewport = document.querySelector("meta[name=viewport]").content;
if (viewport.match(/maximum-scale|user-scalable/)) wrong.push("the page forbids zooming");
const levels = [...root.querySelectorAll("h1, h2, h3, h4")].filter(isSeen).map((e) => Number(e.localName[1]));
levels.forEach((level, i) => {
  if (i > 0 && level > levels[i - 1] + 1) wrong.push(`an h${level} follows an h${levels[i - 1]}`);
});
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) wrong.push(`the id ${id} is there twice`);
for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
  for (const e of document.querySelectorAll(`[${name}]`)) {
    for (const id of e.getAttribute(name).split(" ")) {
      if (!document.getElementById(id)) wrong.push(`${words(e)} has ${name} ${id}, which is not there`);
    }
  }
}
for (const e of document.querySelectorAll("img:not([alt])")) wrong.push(`${words(e)} has no alt`);
for (const e of document.querySelectorAll("[tabindex]")) {
  if (e.tabIndex > 0) wrong.push(`${words(e)} has a place of its own among the tabs`);
}
for (const e of document.querySelectorAll("a button, button a, button button, label button")) {
  wrong.push(`${words(e)} is a control in a control`);
}
for (const e of document.querySelectorAll("ul > :not(li), ol > :not(li), dl > :not(div):not(dt):not(dd)")) {
  wrong.push(`${words(e)} is in a list and no item`);
}
for (const e of document.body.children) {
  const isPlaced = e.matches("header, main, footer, nav, dialog, a.skip, [role=status], [hidden], #problem");
  if (!isPlaced) wrong.push(`${words(e)} is in no landmark`);
}
const regions = document.querySelectorAll("[aria-live], [role=alert], [role=log]");
if (regions.length !== 1) wrong.push(`there are ${regions.length} live regions`);
for (const e of document.querySelectorAll("[aria-hidden=true] :is(button, a, input, [tabindex])")) {
  wrong.push(`${words(e)} is hidden and takes the focus`);
}
// WCAG 2.2, 2.5.8; a link in a text is what its line is.
for (const e of root.querySelectorAll("button, select, input, summary, label:has(input)")) {
  const target = e.closest("label") ?? document.querySelector(`label.button[for="${e.id}"]`) ?? e;
  const { width, height } = target.getBoundingClientRect();
  if (isSeen(target) && (width < 23.5 || height < 23.5)) wrong.push(`${words(e)} is ${width} by ${height} pixels`);
}
return wrong;
"""
)

_CONTRAST = (
    _SHARED
    + r"""
const wrong = [];
const isOff = (e) => e.closest(":disabled, .off") !== null;
const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
let count = 0;
while (texts.nextNode()) {
  const e = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !isSeen(e) || isOff(e) || e.closest("option")) continue;
  count += 1;
  const style = getComputedStyle(e);
  let opacity = 1;
  for (let each = e; each; each = each.parentElement) opacity *= Number(getComputedStyle(each).opacity);
  const below = behind(e);
  const ratio = contrast(over(rgba(style.color), below, rgba(style.color)[3] * opacity), below);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) wrong.push(`${words(e)} has a contrast of ${ratio.toFixed(2)}: ${style.color} on ${below}`);
  if (size < 11) wrong.push(`${words(e)} has letters of ${size} pixels`);
}
if (count < (open ? 4 : 10)) wrong.push(`only ${count} texts can be seen`);
// WCAG 1.4.11: what shows where a field is.
for (const e of root.querySelectorAll("select, input:not([type=checkbox], [type=radio], [type=file])")) {
  if (!isSeen(e) || isOff(e)) continue;
  const ratio = contrast(rgba(getComputedStyle(e).borderColor), behind(e.parentElement));
  if (ratio < 3) wrong.push(`the edge of ${words(e)} has a contrast of ${ratio.toFixed(2)}`);
  const holder = getComputedStyle(e, "::placeholder");
  const held = e.placeholder ? contrast(rgba(holder.color), behind(e)) : 21;
  if (held < 4.5) wrong.push(`the placeholder of ${words(e)} has a contrast of ${held.toFixed(2)}`);
}
for (const e of root.querySelectorAll(".state")) {
  const mark = contrast(rgba(getComputedStyle(e, "::before").color), behind(e));
  if (isSeen(e) && mark < 3) wrong.push(`the mark of ${words(e)} has a contrast of ${mark.toFixed(2)}`);
}
return wrong;
"""
)

#: The element with the focus: its place among those that the Tab key should reach, what it is, and what marks it.
_FOCUS = (
    _SHARED
    + r"""
const e = document.activeElement;
if (e === null || e === document.body) return null;
// A hidden input is shown by its label.
const shown = [e, e.nextElementSibling, e.id ? document.querySelector(`label[for="${e.id}"]`) : null].filter(Boolean);
const outlined = shown.flatMap((each) => [null, "::after"].map((part) => getComputedStyle(each, part)))
  .find((style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5);
const box = e.getBoundingClientRect();
return {
  place: window.reachable.indexOf(e), words: words(e),
  ratio: outlined ? contrast(rgba(outlined.outlineColor), behind(e.parentElement)) : 0,
  isInView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  isInDialog: open === null || open.contains(e),
};
"""
)

#: Everything that the Tab key should reach, in the order of the page; a group of radio buttons is one.
_REACHABLE = (
    _SHARED
    + r"""
window.reachable = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((e) => !e.disabled && e.tabIndex >= 0 && (e.type !== "radio" || e.checked) && e.checkVisibility());
return window.reachable.map(words);
"""
)


#: The Tab key begins at the start of the page, or of the dialog.
_BEGIN = """
const root = document.querySelector("dialog[open]") ?? document.body;
const before = root.getAttribute("tabindex");
root.tabIndex = -1;
root.focus();
if (before === null) root.removeAttribute("tabindex");
scrollTo(0, 0);
"""


def structure(driver: Chrome) -> list[str]:
    """Landmarks, headings, ids, lists, live regions, and how large what is pressed is."""
    return driver.execute_script(_STRUCTURE)


def contrast(driver: Chrome) -> list[str]:
    """WCAG 2.2 AA, 1.4.3 and 1.4.11, by the styles that count."""
    return driver.execute_script(_CONTRAST)


def focus(driver: Chrome) -> list[str]:
    """The Tab key reaches everything once, in the page's order, and each has a mark that can be seen."""
    expected = driver.execute_script(_REACHABLE)
    driver.execute_script(_BEGIN)
    reached: list[int] = []
    wrong = []
    # In a dialog the Tab key goes round, and on the page it leaves at the end; twice that many are enough for both.
    for _ in range(2 * len(expected) + 4):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        driver.execute_async_script(_DRAWN)
        found = driver.execute_script(_FOCUS)
        if found is None:
            if reached:
                break
            continue
        if found["place"] in reached:
            break
        # What has come since is none of those, but its mark counts.
        if found["place"] >= 0:
            reached.append(found["place"])
        if found["ratio"] < 3:
            wrong.append(f"{found['words']} has the focus, and its mark has a contrast of {found['ratio']:.2f}")
        if not found["isInView"]:
            wrong.append(f"{found['words']} has the focus and cannot be seen")
        if not found["isInDialog"]:
            wrong.append(f"{found['words']} has the focus behind the dialog")
    wrong += [f"the Tab key does not reach {words}" for place, words in enumerate(expected) if place not in reached]
    if reached != sorted(reached):
        wrong.append(f"the Tab key's order is not the page's: {[expected[place] for place in reached]}")
    return wrong


#: A line that is added above what is seen moves it, until the browser corrects the scroll position for its next picture.
_DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"


#: A dialog that appears is fainter for a moment than it is.
_SETTLED = """
for (const each of document.getAnimations()) if (each.effect.getComputedTiming().endTime !== Infinity) each.finish();
"""


def all_of(driver: Chrome) -> list[str]:
    """Everything that can be said of one view, as it is when what moves has come to its end."""
    driver.execute_script(_SETTLED)
    return structure(driver) + names_and_roles(driver) + contrast(driver) + focus(driver)
