"""`cairn-web` and its page in Chromium, with watches and phones of the test's own. Nothing is asynchronous here: Selenium is not."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from . import cairn

T = TypeVar("T")

#: A name that the browser takes for this machine, and that is not the server's.
REBOUND = "rebound.example"
#: How long the page may take for anything, in seconds, on a machine that is full of other tests.
PATIENCE = 30


@functools.cache
def binary() -> Path:
    """The program that `swift build` has built, beside `cairn`; CAIRN_WEB_BINARY names another."""
    named = os.environ.get("CAIRN_WEB_BINARY")
    path = Path(named) if named else cairn.binary().with_name("cairn-web")
    assert path.exists(), f"there is no {path}: run 'swift build' first"
    return path


def ask(state: Path, command: str, **fields: Any) -> dict[str, Any]:
    """The answer of a watch to a command."""
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(PATIENCE)
        end.connect(str(state / "control.sock"))
        end.sendall(json.dumps({"command": command, **fields}).encode() + b"\n")
        with end.makefile("rb") as lines:
            answer = json.loads(lines.readline())
    assert answer["ok"], answer
    return answer


def screenshot(state: Path) -> Image.Image:
    """What the watch shows, by its own account."""
    return Image.open(io.BytesIO(bytes.fromhex(ask(state, "screenshot")["screen"]["data"]))).convert("RGB")


class Between:
    """A control socket in front of a watch's."""

    def __init__(self, watch: Path, folder: Path) -> None:
        folder.mkdir()
        self._watch = watch
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "control.sock"))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Ends what waits for a program, which closing does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                end, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(end,), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError), end, end.makefile("rb") as lines, socket.socket(socket.AF_UNIX) as watch:
            watch.connect(str(self._watch / "control.sock"))
            threading.Thread(target=self._copy, args=(watch, end), daemon=True).start()
            for line in lines:
                if (answer := self._answer(json.loads(line)["command"])) is None:
                    watch.sendall(line)
                else:
                    end.sendall(answer)
            # What the watch still says has a reader no more.
            watch.shutdown(socket.SHUT_RDWR)

    def _answer(self, command: str) -> bytes | None:
        """What a command is answered with; None if the watch is to answer. An OSError ends the connection."""

    @staticmethod
    def _copy(watch: socket.socket, end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := watch.recv(1 << 16):
                end.sendall(piece)
            end.shutdown(socket.SHUT_RDWR)


class RoundWatch(Between):
    """A watch whose pictures are round: no model here has such a screen."""

    def __init__(self, watch: Path, folder: Path) -> None:
        #: What `screenshot` is answered with.
        self.picture = Image.new("RGB", (180, 180))
        super().__init__(watch, folder)

    def _answer(self, command: str) -> bytes | None:
        if command != "screenshot":
            return None
        data = io.BytesIO()
        self.picture.save(data, "PNG")
        screen = {"width": self.picture.width, "height": self.picture.height, "isRound": True, "hasColor": True}
        screen |= {"format": "png", "data": data.getvalue().hex()}
        return json.dumps({"ok": True, "sequence": 0, "screen": screen}).encode() + b"\n"


class ForgetfulWatch(Between):
    """A watch that does not answer some commands the first time: it ends the connection."""

    def __init__(self, watch: Path, folder: Path, *commands: str) -> None:
        #: How often each of them has come.
        self.counts = dict.fromkeys(commands, 0)
        super().__init__(watch, folder)

    def _answer(self, command: str) -> bytes | None:
        if command not in self.counts:
            return None
        self.counts[command] += 1
        if self.counts[command] > 1:
            return None
        raise ConnectionAbortedError(command)


class Bench:
    """Watches, phones and servers in a directory; each is stopped by its own process id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def watch(self, name: str, *options: str) -> Path:
        """Starts a watch with a radio of its own, and gives its directory; `ready` waits for it."""
        state = self.folder / name.replace(" ", "-")
        self._start(name, "run", "--controller", "virtual", "--air-port", "0", "--name", name, "--state", str(state), *options)
        return state

    def ready(self, *states: Path) -> None:
        for state in states:
            self.cairn("wait", "ready", "--state", str(state))

    def phone(self, watch: Path, *options: str) -> Path:
        """A phone on the watch's radio; gives the directory of its socket."""
        state = watch.with_name(f"{watch.name}-phone")
        port = ask(watch, "status")["status"]["ports"]["air"]
        self._start(state.name, "phone", "run", "--controller", f"tcp:127.0.0.1:{port}", "--state", str(state), *options)
        self.cairn("phone", "wait", "ready", "--state", str(state))
        return state

    def kill(self, name: str) -> None:
        """Ends a watch as a power cut would."""
        process = self._processes.pop(name)
        process.kill()
        process.wait(PATIENCE)

    def cairn(self, *words: str, status: int = 0) -> str:
        """Runs a command to its end, and gives its output."""
        result = subprocess.run([cairn.binary(), *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert result.returncode == status, f"cairn {' '.join(words)}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    def serve(self, watches: dict[str, Path], *options: str) -> str:
        """Starts `cairn-web`, and gives the address that it prints. A machine full of other tests makes a watch late: unless the
        options have a `--patience`, it is a long one."""
        named = [word for name, state in watches.items() for word in ("--watch", f"{name}={state / 'control.sock'}")]
        patience = () if "--patience" in options else ("--patience", str(PATIENCE))
        home = self.folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        places = {name: str(home) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        process = subprocess.Popen(
            [binary(), *named, "--port", "0", *patience, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | places,
            # A line that was read ahead is one that `select` does not know of.
            bufsize=0,
        )
        self._processes[f"cairn-web {len(self._processes)}"] = process
        assert process.stdout is not None
        with (self.folder / "cairn-web.log").open("a") as log:
            while True:
                assert select.select([process.stdout], [], [], PATIENCE)[0], "cairn-web has not printed its address"
                line = process.stdout.readline().decode()
                log.write(line)
                assert line, f"cairn-web ended with status {process.wait(PATIENCE)}: see cairn-web.log"
                if match := re.search(r"https?://\S+/\?token=\S+", line):
                    break
        # What else it prints must not hold it up.
        threading.Thread(target=self._copy, args=(process,), daemon=True).start()
        return match[0]

    @contextlib.contextmanager
    def standing(self, name: str) -> Iterator[None]:
        """A process of the bench stands still meanwhile."""
        process = self._processes[name]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)

    def _start(self, name: str, *words: str) -> None:
        with (self.folder / f"{name.replace(' ', '-')}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [cairn.binary(), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _copy(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with (self.folder / "cairn-web.log").open("ab") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()


class Page:
    """The page in a browser."""

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        self._address = address
        driver.get(address)
        self.find("h1")

    def show(self, watch: str | None) -> None:
        """Goes to a watch, or to the bench."""
        self.driver.execute_script("location.hash = arguments[0]", "#/" if watch is None else f"#/watches/{watch}")
        self.until(f"the view of {watch or 'the bench'}", lambda: self.find("h1").text == (watch or "Bench"))

    def until(self, what: str, accept: Callable[[], T | None]) -> T:
        """Waits until something is so, and gives it."""

        def attempt(_: Chrome) -> T | None:
            try:
                return accept()
            except StaleElementReferenceException:
                return None

        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(attempt, f"waited {PATIENCE} s for {what}")

    def find(self, selector: str) -> WebElement:
        """The element, once it is there and can be seen."""
        return self.until(
            f"{selector} to be seen", lambda: next((each for each in self.all(selector) if each.is_displayed()), None)
        )

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def button(self, name: str, within: str = "body") -> WebElement:
        """The button that is called so, once it can be pressed."""

        def search() -> WebElement | None:
            buttons = self.driver.find_element(By.CSS_SELECTOR, within).find_elements(By.TAG_NAME, "button")
            usable = (each for each in buttons if each.is_displayed() and each.is_enabled())
            return next((each for each in usable if each.accessible_name == name), None)

        return self.until(f"the button “{name}” in {within}", search)

    def says(self, selector: str, words: str) -> None:
        """Waits until an element has this text in it."""
        self.until(f"“{words}” in {selector}", lambda: any(words in each.text for each in self.all(selector)))

    def heard(self) -> str:
        """What a screen reader was told last."""
        return self.driver.execute_script("return document.getElementById('live').textContent")

    def theme(self, name: str) -> None:
        """Uses the page's switch."""
        self.driver.execute_script("document.querySelector(`#theme input[value=${arguments[0]}]`).click()", name)

    def size(self, width: int, height: int) -> None:
        """The size of what is seen, in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def account(self) -> str:
        """What it shows, in words, and what the browser has to say: for those who look for the cause of a failure."""
        words = self.driver.execute_script("return [location.href, document.body.innerText].join('\\n')")
        return "\n".join([words, *(entry["message"] for entry in self.driver.get_log("browser"))])

    def faults(self) -> list[str]:
        """What the browser has refused or what has failed in scripts since the last time."""
        entries = [entry["message"] for entry in self.driver.get_log("browser")]
        return [each for each in entries if "Content Security Policy" in each or "Uncaught" in each]


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Chrome]:
    """Chromium without a window, with a profile of its own."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    assert not missing, f"there is no {' and no '.join(missing)}: apt-get install chromium chromium-driver"
    options = ChromeOptions()
    options.binary_location = str(programs["chromium"])
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        "--force-device-scale-factor=1",
        f"--user-data-dir={folder / 'browser'}",
        # A name of somebody else's, bound to this machine.
        f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(programs["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()
