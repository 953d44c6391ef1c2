"""The page of `cairn-web`, in Chromium: what it shows is what the watch says, what is done there reaches the watch, and
everybody can read and use it. Each view is kept in `.build/test-results/pictures`; Docs/pictures/make-page copies from there."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import io
import json
import queue
import random
import re
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from rig import accessibility, cairn
from rig.phone import Phone
from rig.security import IoCapability, Person, pairing
from rig.vectors import REPOSITORY
from rig.watchapps import AppBundle
from rig.web import PATIENCE, REBOUND, Bench, ForgetfulWatch, Page, RoundWatch, ask, browser, screenshot
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

PICTURES = REPOSITORY / ".build" / "test-results" / "pictures"
ECHO = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"
SPORTS = "4dab81a6-d2fc-458a-992c-7a1f3b96a970"
GOLF = "cf1e816a-9db0-4511-bbb8-f60c48ca8fac"
#: What a hostile phone calls things.
MARKUP = '<img src=x onerror="document.title=1"><b>Rain</b>'


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    try:
        yield bench
    finally:
        bench.stop()


@pytest.fixture
def pages() -> list[Page]:
    """Those that the test has opened."""
    return []


@pytest.fixture
def open_page(bench: Bench, driver: Chrome, pages: list[Page]) -> Iterator[Callable[..., Page]]:
    """Serves watches, and opens the page; at the end the browser must not have had to refuse anything of it."""

    def open_page(watches: dict[str, Path], *options: str) -> Page:
        driver.delete_all_cookies()
        pages.append(Page(driver, bench.serve(watches, *options)))
        pages[-1].size(1440, 900)
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.faults() == []
    # Before the server goes: a page that is left says nothing of one that does not answer.
    driver.get("about:blank")


def connect(bench: Bench, watch: Path) -> Path:
    """A phone that has paired with a watch of `--pairing open` and has a session."""
    phone = bench.phone(watch)
    bench.cairn("phone", "connect", "--state", str(phone))
    bench.cairn("phone", "pair", "--confirm", "yes", "--state", str(phone))
    bench.cairn("phone", "wait", "session", "--state", str(phone))
    return phone


def shown_pixels(page: Page, scale: int) -> Image.Image:
    """The pixels of the screen as the browser draws them, each of `scale` by `scale` of its own."""
    picture = Image.open(io.BytesIO(page.find(".picture").screenshot_as_png)).convert("RGB")
    small = picture.resize((picture.width // scale, picture.height // scale), Image.Resampling.NEAREST)
    assert small.resize(picture.size, Image.Resampling.NEAREST).tobytes() == picture.tobytes(), "pixels are not whole"
    return small


# MARK: The screen and the buttons


@pytest.mark.parametrize("personality", ["universal", "snowy"])
def test_the_page_shows_the_watchs_picture(
    bench: Bench, open_page: Callable[..., Page], personality: str
) -> None:
    """Pixel by pixel, in black and white and in colours, and again when another app draws."""
    watch = bench.watch("Bench", "--personality", personality)
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    seen = []
    for app in (ECHO, SPORTS):
        ask(watch, "launch", app=app)
        wanted = screenshot(watch)
        page.until("the watch's picture", lambda wanted=wanted: shown_pixels(page, 2).tobytes() == wanted.tobytes())
        seen.append(wanted.tobytes())
    assert seen[0] != seen[1]
    page.says(".held", "Sports")
    assert page.find(".picture").get_attribute("alt") == "The screen, with Sports"


RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def test_a_round_screen_is_round(bench: Bench, open_page: Callable[..., Page], tmp_path: Path) -> None:
    """Its corners are not shown, its pixels are whole at every width, and its buttons are the watch's."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    proxy = RoundWatch(watch, tmp_path / "Round")
    try:
        proxy.picture = Image.new("RGB", (180, 180), RED)
        draw = ImageDraw.Draw(proxy.picture)
        # The circle, with lines of one pixel across it.
        draw.ellipse((0, 0, 179, 179), fill=BLUE)
        draw.line((90, 20, 90, 160), fill=GREEN)
        draw.line((20, 90, 160, 90), fill=GREEN)
        page = open_page({"Bench": tmp_path / "Round"})
        # On its card it is not stretched to the shape of other screens.
        page.until("the picture", lambda: page.find(".thumb img").get_attribute("naturalWidth") == "180")
        card = Image.open(io.BytesIO(page.find(".thumb").screenshot_as_png)).convert("RGB")
        columns = [x for x in range(card.width) if card.getpixel((x, card.height // 2)) != (0, 0, 0)]
        rows = [y for y in range(card.height) if card.getpixel((card.width // 2, y)) != (0, 0, 0)]
        assert abs(len(columns) - len(rows)) <= 2, (len(columns), len(rows))

        page.show("Bench")
        inside = (
            "const [device, panel] = ['.device', '.panel.screen'].map((each) => document.querySelector(each));"
            "const { left, right } = panel.getBoundingClientRect();"
            "const places = [...device.querySelectorAll('button')].map((each) => each.getBoundingClientRect());"
            "return places.every((each) => each.left >= left && each.right <= right)"
        )
        for width, scale in ((3000, 3), (1440, 2), (800, 2), (500, 2), (360, 1), (320, 1)):
            page.size(width, 900)
            wanted = {"width": 180 * scale, "height": 180 * scale}
            page.until("the picture", lambda wanted=wanted: page.find(".picture").size == wanted)
            assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width
            assert page.driver.execute_script(inside), f"buttons are outside at {width}"
            shown = Image.open(io.BytesIO(page.find(".picture").screenshot_as_png)).convert("RGB")
            for x, y in ((3, 3), (176, 3), (3, 176), (176, 176), (20, 20), (159, 159)):
                assert shown.getpixel((x * scale, y * scale)) not in (RED, BLUE), f"the corner {x},{y} is shown"
            whole = proxy.picture.resize(shown.size, Image.Resampling.NEAREST)
            # The edge of the circle is smooth; this is within it.
            inner = tuple(part * scale for part in (30, 30, 150, 150))
            assert shown.crop(inner).tobytes() == whole.crop(inner).tobytes(), f"pixels are not whole at {width}"
        page.size(1440, 900)
        keep(page, "round-watch-light")

        ImageDraw.Draw(proxy.picture).ellipse((40, 40, 140, 140), fill=GREEN)

        def middle() -> tuple[int, ...]:
            shown = Image.open(io.BytesIO(page.find(".picture").screenshot_as_png)).convert("RGB")
            return shown.getpixel((120, 120))

        page.until("the next picture", lambda: middle() == GREEN)
        since = ask(watch, "status")["sequence"]
        page.button("Down", ".device").click()
        assert ask(watch, "wait", **{"for": "button"}, since=since, seconds=PATIENCE)["event"]["button"] == "down"
        assert accessibility.all_of(page.driver) == []
    finally:
        proxy.close()


def test_a_click_on_select_reaches_a_watchapp(bench: Bench, open_page: Callable[..., Page]) -> None:
    """Sports says that select was pressed. By pointer, held long, by key, and as a screen reader clicks."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    page.button("Launch Sports").click()
    page.says(".apps .current", "Sports")
    select = page.button("Select", ".device")

    def pressed(since: int) -> dict:
        return ask(watch, "wait", **{"for": "button"}, since=since, seconds=PATIENCE)["event"]

    def now() -> int:
        return ask(watch, "status")["sequence"]

    since = now()
    select.click()
    assert (pressed(since)["button"], pressed(since)["isLong"]) == ("select", False)
    page.until("the app's message", lambda: ask(watch, "outbox", app=SPORTS)["messages"])
    (message,) = ask(watch, "outbox", app=SPORTS)["messages"]
    assert [entry["key"] for entry in message["entries"]] == [4]
    page.says(".log .out", "Sports")

    since = now()
    ActionChains(page.driver).click_and_hold(select).perform()
    page.until("the button to be down", lambda: ask(watch, "status")["status"]["heldButtons"] == ["select"])
    page.says(".held", "Held: select")
    assert pressed(since)["isLong"]
    ActionChains(page.driver).release().perform()
    page.until("the button to be up", lambda: ask(watch, "status")["status"]["heldButtons"] == [])

    for key, button in ((Keys.ENTER, "select"), (Keys.ARROW_DOWN, "down"), (Keys.ARROW_UP, "up"), (Keys.SPACE, "select")):
        since = now()
        page.driver.execute_script("arguments[0].focus()", select)
        ActionChains(page.driver).key_down(key).perform()
        page.until("the button to be down", lambda b=button: ask(watch, "status")["status"]["heldButtons"] == [b])
        ActionChains(page.driver).key_up(key).perform()
        assert pressed(since)["button"] == button

    # What has the focus elsewhere lets go of the watch.
    ActionChains(page.driver).key_down(Keys.ENTER).perform()
    page.until("the button to be down", lambda: ask(watch, "status")["status"]["heldButtons"] == ["select"])
    page.driver.execute_script("document.activeElement.blur()")
    page.until("the button to be up", lambda: ask(watch, "status")["status"]["heldButtons"] == [])
    ActionChains(page.driver).key_up(Keys.ENTER).perform()

    since = now()
    page.driver.execute_script("arguments[0].click()", select)
    assert pressed(since)["button"] == "select"
    page.until("the answer", lambda: page.heard() == "Select was pressed.")


# MARK: Pairing


@pytest.mark.parametrize("answer", ["accepted", "refused"])
def test_a_pairing_is_compared_in_the_page(bench: Bench, open_page: Callable[..., Page], answer: str) -> None:
    """The phone and the page show the same number; what is pressed there decides."""
    watch = bench.watch("Bench", "--pairing", "button")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    phone = bench.phone(watch)
    bench.cairn("phone", "connect", "--state", str(phone))
    pairing = subprocess.Popen(
        [cairn.binary(), "phone", "pair", "--confirm", "ask", "--state", str(phone)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        dialog = page.find("dialog.pairing[open]")
        assert dialog.accessible_name == "Pairing"
        # No key that was meant for something else answers.
        assert page.driver.switch_to.active_element.tag_name == "h2"
        number = page.find("output.number").text.replace(" ", "")
        assert number == ask(watch, "status")["status"]["pairing"]["waiting"][0]["number"]
        # It can be put off, and is still there.
        ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()
        page.until("the dialog's end", lambda: not page.all("dialog.pairing[open]"))
        page.button("Answer").click()
        assert page.find("output.number").text.replace(" ", "") == number
        page.button("It does: pair" if answer == "accepted" else "Refuse", "dialog.pairing").click()
        output, _ = pairing.communicate(b"y\n", PATIENCE)
    finally:
        pairing.kill()
        pairing.wait()
    assert number in output.decode()
    page.until("the dialog's end", lambda: not page.all("dialog.pairing[open]"))
    if answer == "refused":
        assert pairing.returncode == 75, output
        assert ask(watch, "status")["status"]["phones"] == []
        page.says(".phones", "remembers no phone")
        return
    assert pairing.returncode == 0, output
    (known,) = ask(watch, "status")["status"]["phones"]
    page.says(".phones .item", known["phone"])

    page.button(f"Forget {known['phone']}").click()
    page.button("Cancel", "dialog.ask").click()
    page.button(f"Forget {known['phone']}").click()
    assert len(ask(watch, "status")["status"]["phones"]) == 1
    page.button("Forget", "dialog.ask").click()
    page.says(".phones", "remembers no phone")
    assert ask(watch, "status")["status"]["phones"] == []


def test_a_passkey_is_shown_in_the_page(bench: Bench, open_page: Callable[..., Page]) -> None:
    """A phone with a keyboard, which is Bumble, has it typed there; the page has nothing to accept, and can refuse."""
    watch = bench.watch("Bench", "--pairing", "button", "--io-capability", "display-only", "--air-port", "0")
    bench.ready(watch)
    status = ask(watch, "status")["status"]
    page = open_page({"Bench": watch})
    page.show("Bench")
    typed: queue.Queue[int] = queue.Queue()

    async def pair() -> bool:
        person = Person(IoCapability.KEYBOARD_INPUT_ONLY)
        async with Phone.on(status["ports"]["air"], pairs=pairing(person)) as phone:
            link = await phone.connect(status["address"])
            attempt = asyncio.create_task(link.pair(PATIENCE))
            person.watch_shows(await asyncio.to_thread(typed.get, timeout=PATIENCE))
            await attempt
            keys = await phone.bond_with(status["address"])
            return keys is not None and keys.ltk is not None and keys.ltk.authenticated

    with ThreadPoolExecutor(1) as threads:
        pairs = threads.submit(asyncio.run, pair())
        page.says("dialog.pairing[open]", "Type this number on the phone.")
        number = page.find("output.number").text.replace(" ", "")
        (waiting,) = ask(watch, "status")["status"]["pairing"]["waiting"]
        assert (waiting["question"], waiting["number"]) == ("show", number) and len(number) == 6
        offered = [each.text for each in page.all("dialog.pairing button") if each.is_displayed()]
        assert offered == ["Later", "Refuse"]
        assert not [each for each in page.all("dialog.pairing input") if each.is_displayed()]
        assert accessibility.all_of(page.driver) == []
        typed.put(int(number))
        assert pairs.result(PATIENCE)
    page.until("the dialog's end", lambda: not page.all("dialog.pairing[open]"))
    (known,) = ask(watch, "status")["status"]["phones"]
    page.says(".phones .item", known["phone"])


@pytest.mark.parametrize("answer", ["typed", "mistyped", "refused"])
def test_a_passkey_is_typed_in_the_page(bench: Bench, open_page: Callable[..., Page], answer: str) -> None:
    """That of the phone makes a bond, another one none; what is no passkey is not sent."""
    watch = bench.watch("Bench", "--pairing", "button", "--io-capability", "keyboard-only")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    phone = bench.phone(watch)
    bench.cairn("phone", "connect", "--state", str(phone))
    shown = bench.cairn("phone", "pair", "--confirm", "ask", "--state", str(phone))
    number = re.sub(r"\s", "", re.search(r"\b(\d{3} ?\d{3})\b", shown)[1])
    page.says("dialog.pairing[open]", "Which number does the phone show?")
    digits = page.find("dialog.pairing input")
    assert digits.accessible_name == "Six digits"
    assert not [each for each in page.all("output.number") if each.is_displayed()]
    assert accessibility.all_of(page.driver) == []
    digits.send_keys("12a")
    page.button("Pair", "dialog.pairing").click()
    assert page.find("dialog.pairing[open]") and ask(watch, "status")["status"]["pairing"]["waiting"]
    digits.clear()
    # In its lowest digit alone.
    digits.send_keys(number if answer == "typed" else number[:-1] + str((int(number[-1]) + 1) % 10))
    page.button("Refuse" if answer == "refused" else "Pair", "dialog.pairing").click()
    page.until("the dialog's end", lambda: not page.all("dialog.pairing[open]"))
    if answer == "typed":
        bench.cairn("phone", "wait", "paired", "--state", str(phone))
        (known,) = ask(watch, "status")["status"]["phones"]
        page.says(".phones .item", known["phone"])
    else:
        ask(watch, "wait", **{"for": "pairing-failed"}, since=0, seconds=PATIENCE)
        assert ask(watch, "status")["status"]["phones"] == []
        page.says(".phones", "remembers no phone")


# MARK: Watches that go and come


@contextlib.contextmanager
def an_hour_ahead(page: Page) -> Iterator[None]:
    """Until the end of the block, what is opened takes the time to be an hour later."""
    script = "const now = Date.now.bind(Date); Date.now = () => now() + 3600000"
    made = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        yield
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


def test_a_watch_is_down_since_it_went(bench: Bench, open_page: Callable[..., Page]) -> None:
    """And not since the page was opened: on its card, and in its view."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.says(".summary", "1 watch · 1 up")
    bench.kill("Bench")
    page.says(".card.down", "down since")
    said = "return import('/assets/format.js').then(async ({ clock }) => clock("
    said += "(await (await fetch('/api/watches/Bench')).json()).since * 1000))"
    time = page.driver.execute_script(said)
    page.says(".card.down", f"down since {time}")
    with an_hour_ahead(page):
        page.driver.refresh()
        page.says(".card.down", f"down since {time}, 1 h")
        page.show("Bench")
        page.says("main > .notice", f"Down since {time}, 1 h")


def test_a_killed_watch_turns_grey_and_comes_back(bench: Bench, open_page: Callable[..., Page]) -> None:
    """In its view and on the bench, without a reload; it says since when."""
    watches = {name: bench.watch(name) for name in ("First", "Second")}
    bench.ready(*watches.values())
    page = open_page(watches)
    page.driver.execute_script("window.isTheSamePage = true")

    def is_grey(selector: str) -> bool:
        return "grayscale(1)" in page.find(selector).value_of_css_property("filter")

    page.says(".summary", "2 watches · 2 up")
    bench.kill("First")
    page.says(".card.down", "down since")
    page.says(".summary", "2 watches · 1 up · 1 down")
    page.until("grey", lambda: is_grey(".card.down .thumb"))
    assert page.find(".card.down h2").text == "First"
    bench.watch("First")
    page.says(".summary", "2 watches · 2 up")
    assert not page.all(".card.down")

    page.show("Second")
    page.says(".watch-bar .state", "up")
    assert page.button("Up", ".device").is_enabled()
    bench.kill("Second")
    page.says("main > .notice", "Down since")
    page.until("the announcement", lambda: page.heard() == "Second is down.")
    page.until("grey", lambda: is_grey(".picture"))
    assert not any(each.is_enabled() for each in page.all(".device button"))
    last = page.find(".picture").get_attribute("src")
    bench.watch("Second")
    page.says(".watch-bar .state", "up")
    page.until("the announcement", lambda: page.heard() == "Second is back.")
    assert not page.find("main").find_element(By.CSS_SELECTOR, ".notice").is_displayed()
    # It is used as before: a new picture, and buttons.
    ask(watches["Second"], "launch", app=ECHO)
    page.until("another picture", lambda: page.find(".picture").get_attribute("src") != last)
    page.button("Down", ".device").click()
    page.says(".events", "button")
    assert page.driver.execute_script("return window.isTheSamePage")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_watches_at_once(bench: Bench, open_page: Callable[..., Page]) -> None:
    """All are there, each with its picture, and what happens to one is seen on its card."""
    watches = {
        f"Watch {number:02}": bench.watch(f"Watch {number:02}", "--personality", "universal" if number % 3 else "snowy")
        for number in range(1, 21)
    }
    bench.ready(*watches.values())
    for number, app in ((2, ECHO), (7, SPORTS), (8, GOLF), (15, ECHO), (20, SPORTS)):
        ask(watches[f"Watch {number:02}"], "launch", app=app)
    ask(watches["Watch 05"], "battery", percent=64, charging=True)
    page = open_page(watches)
    page.says(".summary", "20 watches · 20 up")
    assert [each.text for each in page.all(".card h2")] == list(watches)

    def pictures() -> int:
        return page.driver.execute_script(
            "return [...document.querySelectorAll('.thumb img')].filter((each) => each.naturalWidth === 144).length"
        )

    page.until("twenty pictures", lambda: pictures() == 20)
    keep(page, "twenty-watches-light")
    ask(watches["Watch 17"], "battery", percent=7)
    page.until("the battery", lambda: "7 %" in card(page, "Watch 17") and "7 %" not in card(page, "Watch 16").split())
    bench.kill("Watch 04")
    page.says(".summary", "20 watches · 19 up · 1 down")
    page.find("input[type=search]").send_keys("17")
    page.until("one card", lambda: len(page.all(".card")) == 1)


def card(page: Page, name: str) -> str:
    return next(each.text for each in page.all(".card") if name in each.text)


# MARK: Apps, messages, notifications, events


def test_messages_both_ways(bench: Bench, open_page: Callable[..., Page]) -> None:
    """What is composed in the page is what the phone gets; what the phone sends is in the log, decoded, and never markup."""
    watch = bench.watch("Bench", "--pairing", "open")
    bench.ready(watch)
    phone = connect(bench, watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    bench.cairn("phone", "launch", ECHO, "--state", str(phone))
    page.says(".composer", "From Echo")

    # What is wrong is said, at its field.
    page.find(".entry .key-field").clear()
    Select(page.find(".entry select")).select_by_visible_text("uint8")
    page.find(".entry input[aria-label=Key]").send_keys("7")
    value = page.find(".entry input[aria-label=Value]")
    value.send_keys("256")
    page.button("Send", ".composer").click()
    page.says(".entry .outcome", "uint8 is a number from 0 to 255")
    assert value.get_attribute("aria-invalid") == "true" and page.driver.switch_to.active_element == value
    assert ask(watch, "outbox")["messages"] == []
    value.clear()
    value.send_keys("200")
    page.button("Add an entry", ".composer").click()
    texts = page.all(".entry input[aria-label=Value]")
    texts[1].send_keys(MARKUP)
    page.button("Send", ".composer").click()
    got = json.loads(bench.cairn("phone", "expect", "7=uint8:200", "--for", str(PATIENCE), "--json", "--state", str(phone)))
    entries = {entry["key"]: entry.get("number", entry.get("string")) for entry in got["entries"]}
    assert entries == {7: 200, 1: MARKUP}
    page.says(".log .out", "200")
    page.says(".log .out", "Rain</b>")

    bench.cairn("phone", "push", "1=string:hello", "2=int16:-300", "3=bytes:6869ff", "--state", str(phone))
    page.says(".log .in", '"hello"')
    page.says(".log .in", "-300")
    page.says(".log .in", "68 69 ff (3 bytes)")
    page.says(".log .out", '"hello"')

    bench.cairn("phone", "notify", "--title", MARKUP, "--body", "It rains.", "--state", str(phone))
    page.says(".notifications .item", MARKUP)
    page.says(".events", MARKUP)
    assert page.all("main b") == [] and page.all("main img[src=x]") == []
    assert page.driver.title == "Bench · Cairn"
    page.says(".links .item", "encrypted, bonded")
    page.until("the sparkline", lambda: page.find(".spark").get_attribute("aria-label").startswith("Bytes a second"))
    (link,) = ask(watch, "links")["links"]
    page.says(".links .item", f"{link['mtu']}")
    page.says(".links .item", link["transmitPHY"])


def test_an_app_is_installed_by_file(bench: Bench, open_page: Callable[..., Page], tmp_path: Path) -> None:
    """In several pieces, with the progress; what is no package is refused in the watch's words."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    page.says(".apps", "Echo")
    file = page.driver.find_element(By.CSS_SELECTOR, ".apps input[type=file]")
    wrong = tmp_path / "wrong.pbw"
    wrong.write_bytes(b"this is no package")
    file.send_keys(str(wrong))
    page.until("the refusal", lambda: page.all(".apps .outcome.bad") and page.find(".apps .outcome.bad").text)
    package = tmp_path / "weather.pbw"
    package.write_bytes(AppBundle(content=random.Random(17).randbytes(60_000)).pbw())
    file.send_keys(str(package))
    page.says(".apps .outcome", "is installed")
    (app,) = [each for each in ask(watch, "apps")["apps"] if not each["isBuiltIn"]]
    assert app["isRunning"]
    page.says(".apps .current", app["name"])
    page.button("Watchface").click()
    page.says(".apps .current", "Clock")
    page.button(f"Remove {app['name']}").click()
    page.button("Remove", "dialog.ask").click()
    page.until("the app to be gone", lambda: app["name"] not in page.find(".apps .items").text)
    assert app["uuid"] not in [each["uuid"] for each in ask(watch, "apps")["apps"]]


def test_an_install_outlasts_a_watch_that_is_late(bench: Bench, open_page: Callable[..., Page], tmp_path: Path) -> None:
    """The page says that the watch hangs, and the pieces that were brought are not lost."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch}, "--patience", "0.9")
    page.show("Bench")
    page.says(".apps", "Echo")
    package = tmp_path / "weather.pbw"
    package.write_bytes(AppBundle(content=random.Random(17).randbytes(60_000)).pbw())
    file = page.driver.find_element(By.CSS_SELECTOR, ".apps input[type=file]")
    with bench.standing("Bench"):
        file.send_keys(str(package))
        # It stands for longer than the watch may take for other answers.
        page.says("main > .notice", "Down since")
    page.says(".apps .outcome", "is installed")


def test_files_that_are_dropped_are_installed_one_after_another(
    bench: Bench, open_page: Callable[..., Page]
) -> None:
    """Two at once, and a third while they are installed."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    page.says(".apps", "Echo")
    names = ["One", "Two", "Three"]
    packages = [
        list(AppBundle(app=uuid.UUID(int=17 + index), name=name, content=name.encode() * 10_000).pbw())
        for index, name in enumerate(names)
    ]
    drop = """
        const [form, packages] = [document.querySelector(".apps .drop"), arguments[0]];
        for (const each of [packages.slice(0, 2), packages.slice(2)]) {
          const dataTransfer = new DataTransfer();
          for (const bytes of each) dataTransfer.items.add(new File([new Uint8Array(bytes)], "app.pbw"));
          form.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    page.driver.execute_script(drop, packages)
    page.says(".apps .outcome", "Three 1.2 is installed")
    assert [each["name"] for each in ask(watch, "apps")["apps"] if not each["isBuiltIn"]] == names


def test_what_a_watch_does_not_answer_at_once_is_shown_later(
    bench: Bench, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    """The apps, the messages that have passed, and the names of faults: each is asked for until there is an answer."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    forgetful = ForgetfulWatch(watch, tmp_path / "Forgetful", "apps", "inbox", "fault-names")
    try:
        page = open_page({"Bench": tmp_path / "Forgetful"})
        page.show("Bench")
        page.says(".apps", "Golf")
        page.until("the names", lambda: page.all(".faults datalist option"))
        page.until("the messages", lambda: forgetful.counts["inbox"] == 2)
        page.until("the rest of the page", lambda: page.find(".watch-bar .state").text == "up")
        assert forgetful.counts == {"apps": 2, "inbox": 2, "fault-names": 2}
    finally:
        forgetful.close()


def test_events_are_filtered_and_saved(bench: Bench, open_page: Callable[..., Page], tmp_path: Path) -> None:
    """The file has the events of the filter, one a line, as the watch has said them."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    ask(watch, "press", button="up")
    page = open_page({"Bench": watch})
    page.show("Bench")
    # What happened before the page was opened is there too.
    page.says(".events", "button")
    ask(watch, "tap", axis="y")
    page.says(".events", "sensed: tap")
    find = page.find(".filters input")
    find.send_keys("BUTTON")
    page.until("one event", lambda: len(page.all(".events li")) == 1)
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    behavior = {"behavior": "allow", "downloadPath": str(downloads)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    page.button("Save", ".timeline").click()
    (file,) = page.until("the file", lambda: list(downloads.glob("*.jsonl")))
    (event,) = map(json.loads, file.read_text().splitlines())
    assert (event["event"], event["button"]) == ("button", "up") and event["time"].endswith("Z")
    find.clear()
    find.send_keys("x", Keys.BACK_SPACE)
    page.driver.execute_script("document.querySelectorAll('.lane input')[7].click()")
    page.until("no hand", lambda: "button" not in page.find(".events").text and "started" in page.find(".events").text)
    page.button("Pause", ".timeline").click()
    count = len(page.all(".events li"))
    ask(watch, "launch", app=ECHO)
    page.says(".apps .current", "Echo")
    assert len(page.all(".events li")) == count
    page.button("Pause", ".timeline").click()
    page.until("the new event", lambda: len(page.all(".events li")) > count)


def test_what_is_on_the_air_counts_down(bench: Bench, open_page: Callable[..., Page]) -> None:
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    page.says(".air .item", "Discovery, every 20 ms")
    page.says(".air .item", "Why: the controller was started")
    before = page.find(".air .next").text
    assert before.startswith("Every 1021.88 ms in "), before
    page.until("less", lambda: page.find(".air .next").text != before)
    page.button("Open pairing").click()
    page.says(".phones .words", "Open for")
    page.button("Close pairing").click()
    page.button("Open pairing")


def test_a_browser_that_may_only_read(bench: Bench, open_page: Callable[..., Page]) -> None:
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch}, "--read-only")
    page.says("#rights", "read-only")
    page.show("Bench")
    page.says(".apps", "Echo")
    page.until("a picture", lambda: page.find(".picture").get_attribute("src").startswith("data:"))
    assert not any(each.is_enabled() for each in page.all(".device button, .apps button, .air button, .phones button"))
    assert accessibility.all_of(page.driver) == []


def test_a_browser_that_is_not_let_in_is_told_what_to_do(bench: Bench, open_page: Callable[..., Page]) -> None:
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.says(".summary", "1 watch")
    page.driver.delete_all_cookies()
    page.says("#problem", "Open the address that cairn-web prints")


# MARK: Pages of others


#: All that a page can have a browser send to another server, and what it learns of the answers.
ATTACK = """
const [server, done] = arguments;
const press = `${server}/api/watches/Bench/commands/press`;
const body = JSON.stringify({ button: "up" });
const learned = {};
async function attempt(name, work) {
  try {
    learned[name] = await work();
  } catch (error) {
    learned[name] = error.name ?? "error";
  }
}
const shown = (element, attribute, address) => new Promise((resolve) => {
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("error");
  element[attribute] = address;
  document.body.append(element);
});
(async () => {
  const json = { method: "POST", body, headers: { "Content-Type": "application/json" }, credentials: "include" };
  await attempt("json", async () => (await fetch(press, json)).status);
  await attempt("plain", async () => (await fetch(press, { ...json, headers: {}, mode: "no-cors" })).type);
  await attempt("read", async () => (await fetch(`${server}/api/watches`, { credentials: "include" })).text());
  await attempt("picture", () => shown(new Image(), "src", `${server}/api/watches/Bench/screen.png`));
  await attempt("script", () => shown(document.createElement("script"), "src", `${server}/assets/format.js`));
  await attempt("module", async () => typeof (await import(`${server}/assets/format.js`)));
  await attempt("events", () => new Promise((resolve) => {
    const source = new EventSource(`${server}/api/watches/Bench/events`, { withCredentials: true });
    source.onmessage = source.onopen = () => resolve("open");
    source.onerror = () => (source.close(), resolve("error"));
  }));
  await attempt("frame", () => {
    const frame = document.createElement("iframe");
    return shown(frame, "src", `${server}/`).then(() => frame.contentDocument?.title ?? "closed");
  });
  await attempt("form", async () => {
    const target = document.createElement("iframe");
    target.name = "target";
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", action: press, target: "target", enctype: "text/plain" });
    const field = document.createElement("input");
    Object.assign(field, { name: '{"button":"up","x":"', value: '"}' });
    form.append(field);
    document.body.append(target, form);
    const isLoaded = new Promise((resolve) => (target.onload = () => resolve("sent")));
    form.submit();
    return isLoaded;
  });
  done(learned);
})();
"""


class OtherPage(http.server.BaseHTTPRequestHandler):
    """A page without rules of its own."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Other</title><body></body>")

    def log_message(self, *words: object) -> None:
        pass


def test_a_page_of_another_origin_reaches_nothing(bench: Bench, open_page: Callable[..., Page]) -> None:
    """It is of the same host, so that the browser sends the cookie along: it presses no button and reads no answer."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.show("Bench")
    page.button("Down", ".device").click()
    page.says(".events", "button")
    server = page.driver.execute_script("return location.origin")
    before = ask(watch, "status")["status"]["events"]["counts"]["button"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherPage) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            page.driver.get(f"http://127.0.0.1:{other.server_port}/")
            learned = page.driver.execute_async_script(ATTACK, server)
        finally:
            page.driver.get("about:blank")
            other.shutdown()
    assert learned == {
        "json": "TypeError",
        "plain": "TypeError",
        "read": "TypeError",
        "picture": "error",
        "script": "error",
        "module": "TypeError",
        "events": "error",
        "frame": "closed",
        "form": "sent",
    }
    assert ask(watch, "status")["status"]["events"]["counts"]["button"] == before
    page.driver.get(f"{server}/#/watches/Bench")
    page.button("Up", ".device").click()
    page.until("the button", lambda: ask(watch, "status")["status"]["events"]["counts"]["button"] > before)
    page.faults()


def test_a_name_that_was_bound_to_the_server_is_refused(bench: Bench, open_page: Callable[..., Page]) -> None:
    """The browser takes it for a site of its own: without the cookie, and refused before anything else is looked at."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.says(".summary", "1 watch")
    port = page.driver.execute_script("return location.port")
    for path in ("/", "/api/watches", "/assets/main.js", "/api/session"):
        page.driver.get(f"http://{REBOUND}:{port}{path}")
        text = page.driver.find_element(By.TAG_NAME, "body").text
        assert json.loads(text)["error"]["code"] == "bad-host", path
    fetched = "return fetch('/api/watches', { headers: { Authorization: 'Bearer x' } }).then((answer) => answer.status)"
    assert page.driver.execute_script(fetched) == 403
    page.driver.get(f"http://127.0.0.1:{port}/")
    page.says(".summary", "1 watch")


# MARK: Everybody


def keep(page: Page, name: str) -> None:
    """Keeps the view as a result of the tests."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.driver.save_screenshot(str(PICTURES / f"{name}.png"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_read_and_use_every_view(bench: Bench, open_page: Callable[..., Page], theme: str) -> None:
    """Names, roles, landmarks, contrast and focus, of each view in each theme; and on a phone nothing is cut off."""
    names = ("Bench", "Old", "Rain")
    watches = {name: bench.watch(name, "--pairing", "button" if name == "Rain" else "open") for name in names}
    bench.ready(*watches.values())
    phone = connect(bench, watches["Bench"])
    bench.cairn("phone", "launch", ECHO, "--state", str(phone))
    bench.cairn("phone", "push", "0=uint8:7", "1=string:hello", "--state", str(phone))
    bench.cairn("phone", "notify", "--title", "Rain", "--body", "It rains in ten minutes.", "--state", str(phone))
    page = open_page(watches)
    page.theme(theme)
    found: dict[str, list[str]] = {}

    def look(view: str) -> None:
        # What moves when a view appears has come to its end.
        page.until("stillness", lambda: page.driver.execute_script("return document.getAnimations().length === 0"))
        keep(page, f"{view}-{theme}")
        found[view] = accessibility.all_of(page.driver)

    bench.kill("Old")
    page.says(".card.down", "down since")
    page.until("pictures", lambda: len([each for each in page.all(".thumb img") if each.is_displayed()]) >= 2)
    look("bench")

    page.show("Bench")
    page.says(".log", "hello")
    page.says(".notifications", "ten minutes")
    for number in range(3):
        bench.cairn("phone", "push", f"0=uint8:{number}", "1=string:again", "--state", str(phone))
    page.until("rates", lambda: page.find(".spark-line").get_attribute("d").count("L") > 4)

    def has_slowed_down() -> bool:
        events = "return [...document.querySelectorAll('.events summary')].map((each) => each.textContent)"
        lines = page.driver.execute_script(events)
        slow = next((place for place, line in enumerate(lines) if "slow for nobody" in line), 0)
        return any("set interval" in line for line in lines[:slow])

    # Ten seconds after its last message. Lines that come later than that would move what has the focus.
    page.until("the link to slow down, and the phone's answer", has_slowed_down)
    page.size(1440, 1400)
    look("watch")
    page.size(1440, 900)
    page.find(".phones .item button").click()
    page.find("dialog.ask")
    look("forget")
    page.button("Cancel", "dialog.ask").click()

    page.size(360, 780)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
    look("watch-on-a-phone")
    # WCAG 2.2, 1.4.10: 320 pixels, as after zooming to 400 per cent.
    page.size(320, 640)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 320
    page.show(None)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 320
    page.size(1440, 900)

    page.show("Old")
    page.says("main > .notice", "Down since")
    look("down")

    page.show("Rain")
    other = bench.phone(watches["Rain"])
    bench.cairn("phone", "connect", "--state", str(other))
    pairing = threading.Thread(target=bench.cairn, args=("phone", "pair", "--confirm", "yes", "--state", str(other)))
    pairing.start()
    page.find("dialog.pairing[open]")
    look("pairing")
    page.button("It does: pair", "dialog.pairing").click()
    pairing.join(PATIENCE)

    assert {view: wrong for view, wrong in found.items() if wrong} == {}


def test_the_checks_find_what_is_wrong(bench: Bench, open_page: Callable[..., Page]) -> None:
    """Each check can fail."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    page.says(".card", "Clock")

    def broken(script: str) -> str:
        page.driver.execute_script(script)
        return "\n".join(accessibility.all_of(page.driver))

    assert accessibility.all_of(page.driver) == []
    assert "a button has no name" in broken("document.querySelector('.bar').append(document.createElement('button'))")
    assert "has a contrast of" in broken("document.querySelector('h1').style.color = 'rgb(128 128 128 / 60%)'")
    assert "has the focus, and its mark" in broken("document.querySelector('.bar input').style.outline = 'none'")
    assert "does not reach" in broken("document.querySelector('.bar input').addEventListener('focus', (e) => e.target.blur())")
    assert "the id main is there twice" in broken("document.querySelector('.bar').id = 'main'")
    page.driver.refresh()
    page.says(".card", "Clock")


def test_motion_and_words_are_few(bench: Bench, open_page: Callable[..., Page]) -> None:
    """Nothing moves for those who want it so, and a screen reader is not told of what just happens."""
    watch = bench.watch("Bench", "--pairing", "open")
    bench.ready(watch)
    phone = connect(bench, watch)
    bench.cairn("phone", "launch", ECHO, "--state", str(phone))
    page = open_page({"Bench": watch})
    feature = {"name": "prefers-reduced-motion", "value": "reduce"}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    page.show("Bench")
    page.says(".watch-bar .state", "up")
    moving = "return [...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
    assert page.driver.execute_script(moving) == 0
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert page.driver.execute_script(moving) > 0
    page.driver.execute_script(
        "window.heard = []; new MutationObserver(() => heard.push(document.getElementById('live').textContent))"
        ".observe(document.getElementById('live'), { childList: true, characterData: true, subtree: true })"
    )
    for number in range(10):
        bench.cairn("phone", "push", f"1=uint8:{number}", "--state", str(phone))
    page.says(".log .out", "9")
    assert page.driver.execute_script("return heard") == []


# MARK: Streams


#: A server in the page that gives these answers to requests, and says which headers came.
STREAM = """
const [answers, done] = arguments;
const { stream } = await import("/assets/api.js");
const asked = [], taken = [], reports = [];
window.fetch = async (path, { headers, signal }) => {
  asked.push(headers["Last-Event-ID"] ?? null);
  const answer = answers[asked.length - 1];
  if (answer === undefined) {
    end();
    done({ asked, taken, reports });
    return new Promise(() => {});
  }
  if (answer.status) return new Response(JSON.stringify({ error: answer.error }), { status: answer.status });
  const pieces = answer.text.map((piece) => new TextEncoder().encode(piece));
  return new Response(new ReadableStream({ pull: (to) => pieces.length ? to.enqueue(pieces.shift()) : to.close() }));
};
const end = stream("/events", {
  last: 0,
  take: (name, data) => taken.push([name, data]),
  report: (error) => reports.push(error?.code ?? null),
});
"""


def streamed(page: Page, *answers: dict) -> dict:
    """What the page makes of a stream's answers, one after the other."""
    script = "(async function () {" + STREAM + "}).apply(null, arguments)"
    return page.driver.execute_async_script(script, list(answers))


def test_a_stream_is_read_as_the_standard_says(bench: Bench, open_page: Callable[..., Page]) -> None:
    """In pieces of any length, with any ends of lines, and from after the last event on; one that is cut off comes back."""
    watch = bench.watch("Bench")
    bench.ready(watch)
    page = open_page({"Bench": watch})
    text = ': here\n\nid: 3\nevent: button\ndata: {"a":\ndata: "é"}\n\n'
    text += "event:tap\r\ndata:{}\r\n\r\nevent: empty\n\ndata: no JSON\n\n"
    expected = [["button", {"a": "é"}], ["tap", {}]]
    for length in (1, 2, 7, len(text)):
        pieces = [text[start : start + length] for start in range(0, len(text), length)]
        got = streamed(page, {"text": pieces})
        assert (got["taken"], got["asked"]) == (expected, ["0", "3"]), length
        page.driver.refresh()

    overrun = {"text": ['event: overrun\ndata: {"lost":513}\n\n']}
    event = {"text": ['id: 700\nevent: tap\ndata: {}\n\nevent: overrun\ndata: {"lost":2}\n\n']}
    # What was too much at once is not asked for again; what came later is.
    assert streamed(page, overrun, event, {"text": []})["asked"] == ["0", None, "700", "700"]
    page.driver.refresh()
    restarted = {"status": 409, "error": {"code": "unknown-sequence", "message": "there is no event 3"}}
    got = streamed(page, {"text": ["id: 3\nevent: tap\ndata: {}\n\n"]}, restarted)
    assert (got["asked"], got["reports"]) == (["0", "3", "0"], [None, "unknown-sequence"])
    page.driver.refresh()
