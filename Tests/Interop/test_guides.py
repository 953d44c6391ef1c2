"""The guides: every command in them is one that the programs have, and runs as it is written."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig import cairn, web_server
from rig.sdk import Sdk
from rig.vectors import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("Docs/*.md"), *REPOSITORY.glob("Boards/*/README.md"), REPOSITORY / "README.md"])


@functools.cache
def tree() -> dict:
    """Every command of `cairn` with its options, by its own account."""
    result = subprocess.run([str(cairn.binary()), "--experimental-dump-help"], capture_output=True, text=True, timeout=60)
    return json.loads(result.stdout)["command"]


#: How a line begins that is a command, where it is indented instead of fenced.
COMMAND = re.compile(r"^    (?:\$ )?((?:sudo |\.build/\S+ |cairn |Boards/\w+(?:/run)?\b|swift |pebble |pypkjs |printf ).*)$")


def commands(page: Path) -> list[str]:
    """The lines of a page's `sh` blocks, continued ones put together, and its indented commands; in their order."""
    found: list[str] = []
    language: str | None = None
    for line in page.read_text().replace("\\\n", " ").splitlines():
        if fence := re.match(r"^```(\w*)", line):
            language = None if language is not None else fence[1]
        elif language == "sh" and line.strip():
            found.append(line)
        elif language is None and (indented := COMMAND.match(line)):
            # What the command does may stand beside it.
            found.append(re.split(r" {3,}", indented[1])[0].strip())
    return found


def check(line: str) -> str | None:
    """The errors of a command line, if it is one of ours."""
    words = shlex.split(line, comments=True)
    while words and (words[0] == "sudo" or re.match(r"^[A-Z_]+=", words[0])):
        words = words[1:]
    if not words:
        return None
    program, *rest = (word for word in words if word != "&")
    if "/" in program and not program.startswith((".build/", "/", "~", "./cairn_")):
        return None if (REPOSITORY / program).exists() else f"there is no {program}"
    if program.rsplit("/", 1)[-1] != "cairn":
        return None
    command = tree()
    while rest and not rest[0].startswith("-"):
        inner = {entry["commandName"]: entry for entry in command.get("subcommands", [])}
        if rest[0] not in inner:
            break
        command, rest = inner[rest[0]], rest[1:]
    if command.get("subcommands") and rest and not rest[0].startswith("-"):
        return f"there is no command {rest[0]}"
    known = {name["name"] for argument in known_arguments(command) for name in argument.get("names", [])}
    given = [word[2:].split("=")[0] for word in rest if word.startswith("--")]
    unknown = [option for option in given if option not in known]
    return f"cairn {command['commandName']} has no --{unknown[0]}" if unknown else None


def known_arguments(command: dict) -> list[dict]:
    """A command's options. `config show` takes those of `run`, and hides them in its help."""
    if command["commandName"] == "show":
        return [argument for entry in tree()["subcommands"] if entry["commandName"] == "run" for argument in entry["arguments"]]
    return command.get("arguments", [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_command_exists(page: Path) -> None:
    problems = [f"{line}: {problem}" for line in commands(page) if (problem := check(line))]
    assert problems == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "line",
    ["cairn fly", "cairn run --wings 2", "sudo CAIRN_X=1 cairn press up --hard", "Boards/nowhere/run", "cairn config shew"],
)
def test_what_does_not_exist_is_found(line: str) -> None:
    """The check itself can fail."""
    assert check(line) is not None


# What the commands need that no sandbox has.
HARDWARE = "needs the GPIO lines of that board"
ROOT = "changes this machine: packages, services, users, the kernel's drivers"
MACHINE = "another machine, or a card in a reader"
BUILD = "builds or tests everything, which takes many minutes: continuous integration does it"
PHONE = "waits for a phone that somebody holds"
TOOL = "a program of the SDK that is not installed here; test_pebble_tool.py runs it"
WINDOW = "opens a window that somebody closes; test_web_api.py reads the same bytes with tshark"
OWN_APP = "needs the reader's own app and script"
LAB = "needs labgrid's programs, or boards that are logged in at: test_labgrid.py runs it"
EMULATOR = "needs the Android Emulator: test_netsim.py runs the watch's side, on a netsim of its own"
HOURS = "takes hours; test_soak.py runs it with twenty visits"
PYTHON = "installs the Python package, or runs the reader's test with it: test_python_package.py does both"

#: Commands that are not run, and why. Each must still stand in a page.
NOT_RUN = {
    "sudo systemctl stop bluetooth": ROOT,
    "sudo systemctl disable --now bluetooth": ROOT,
    "sudo systemctl enable --now bluetooth": ROOT,
    "sudo systemctl enable --now cairn": ROOT,
    "sudo systemctl disable --now cairn": ROOT,
    "sudo systemctl enable --now cairn-web": ROOT,
    "sudo journalctl -u cairn-web -n 1 -o cat": ROOT,
    "sudo systemctl restart cairn": ROOT,
    "sudo systemctl stop cairn": ROOT,
    "sudo systemctl start cairn": ROOT,
    "sudo mv /var/lib/cairn/watch.sqlite* /root/": ROOT,
    "sudo install -o cairn -g cairn -m 600 watch.backup /var/lib/cairn/watch.sqlite": ROOT,
    "systemctl status cairn": ROOT,
    "journalctl -u cairn -b": ROOT,
    "journalctl -u cairn -p warning": ROOT,
    "sudo apt install ./cairn_*_arm64.deb": ROOT,
    "sudo apt install ./cairn_0.1.0_arm64.deb": ROOT,
    "sudo apt-get install libbluetooth-dev libsqlite3-dev libyaml-dev zlib1g-dev": ROOT,
    "sudo cp /usr/share/cairn/boards/raspberry-pi-4/board.yaml /etc/cairn/board.yaml": ROOT,
    "sudo nano /etc/cairn/board.yaml": ROOT,
    "sudo adduser pi cairn": ROOT,
    "sudo setcap cap_net_admin,cap_net_raw+ep .build/release/cairn": ROOT,
    "sudo .build/release/cairn air --vhci 2": ROOT,
    "ssh pi@raspberrypi.local": MACHINE,
    "scp .build/package/out/cairn_*_arm64.deb pi@raspberrypi.local:": MACHINE,
    "sudo dd if=.build/package/out/cairn.img of=/dev/sdX bs=4M conv=fsync": MACHINE,
    "Boards/package": BUILD,
    "Boards/package all": BUILD,
    "Boards/package arm64": BUILD,
    "Boards/image --ssh-key ~/.ssh/id_ed25519.pub": BUILD,
    "Boards/virtual/run": BUILD,
    "Boards/virtual/run --air-port 6402": BUILD,
    "Tests/run": BUILD,
    "swift build -c release": BUILD,
    "swift build -c release --force-resolved-versions": BUILD,
    "swift build -c release --product cairn": BUILD,
    "swift build -c release --product cairn-bench": BUILD,
    "swift build -c release --product cairn-netsim": BUILD,
    "swift build --build-tests": BUILD,
    "swift build": BUILD,
    ".build/debug/cairn control schema >Docs/control.schema.json": BUILD,
    ".build/debug/cairn control reference >Docs/control-reference.md": BUILD,
    "cp Docs/control.schema.json Sources/Web/Vocabulary/": BUILD,
    ".build/debug/cairn-web --openapi >Docs/openapi.json": BUILD,
    "swift test --skip-build --filter LinkTenureTests": BUILD,
    (
        "swift test -c release --scratch-path .build/release-tests -Xswiftc -enable-testing --filter BluetoothHostTests"
    ): BUILD,
    "swift run heart-rate tcp:127.0.0.1:6402": BUILD,
    ".venv/bin/python Tests/Soak/run --program .build/release/cairn --hours 24": HOURS,
    "swift run -c release cairn-bench": BUILD,
    "swift run -c release cairn-bench list": BUILD,
    "swift run -c release cairn-bench ladder": BUILD,
    "swift run -c release cairn-bench discovery": BUILD,
    "swift run -c release cairn-bench reconnect": BUILD,
    "swift run -c release cairn-bench crowd": BUILD,
    "swift run -c release cairn-bench compare ../before": BUILD,
    "cairn wait paired --for 60 --state /tmp/bench": PHONE,
    "cairn wait session --for 30 --state /tmp/bench": PHONE,
    **{
        f"cairn run --board Boards/{board}/board.yaml": HARDWARE
        for board in ["raspberry-pi-3", "raspberry-pi-4", "raspberry-pi-5", "raspberry-pi-zero-2-w"]
    },
    "pebble ping --qemu localhost:12344": TOOL,
    "pebble install --qemu localhost:12344 app.pbw": TOOL,
    "pebble install --qemu localhost:12344 weather.pbw": TOOL,
    "pebble screenshot --qemu localhost:12344 --no-open --no-correction screen.png": TOOL,
    "cairn run --controller virtual --qemu-port --app weather.pbw "
    "--behaviour 6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b=weather.json": OWN_APP,
    "pypkjs --qemu 127.0.0.1:12344 --port 9000 --persist DIR": TOOL,
    'curl --fail -H @header -T weather.pbw "http://127.0.0.1:8080/api/watches/bench/app?launch=true"': OWN_APP,
    "curl -N -H @header http://127.0.0.1:8080/api/watches/bench/capture | wireshark -k -i -": WINDOW,
    "cairn air --netsim 0 --announce": EMULATOR,
    "export CAIRN_STATE=$PWD/watch": EMULATOR,
    "cairn run --controller netsim,name=watch": EMULATOR,
    "emulator -avd NAME -no-window -no-audio -no-snapshot": EMULATOR,
    "adb wait-for-device shell 'until [ \"$(getprop sys.boot_completed)\" = 1 ]; do sleep 1; done'": EMULATOR,
    "adb install companion.apk": EMULATOR,
    "cairn wait ready --for 60": EMULATOR,
    "cairn wait session --for 120": EMULATOR,
    "adb exec-out screencap -p >phone.png": EMULATOR,
    "cairn screenshot watch.png": EMULATOR,
    "pip install Sources/python": PYTHON,
    "pip install 'Sources/python[phone]'": PYTHON,
    "CAIRN_BINARY=.build/release/cairn pytest test_weather.py": PYTHON,
    "pip install 'Sources/python[labgrid,phone]'": PYTHON,
    "export LG_COORDINATOR=127.0.0.1:20408": LAB,
    "labgrid-coordinator --listen 127.0.0.1:20408": LAB,
    "cairn-labgrid-exporter --name shelf shelf.yaml": LAB,
    "labgrid-client resources": LAB,
    "for n in 1 2 3 4 5 6 7 8; do labgrid-client -p watch$n create; done": LAB,
    'for n in 1 2 3 4 5 6 7 8; do labgrid-client -p watch$n add-match "shelf/watch$n/*"; done': LAB,
    "for n in 1 2 3 4 5 6 7 8; do labgrid-client -p watch$n set-tags board=virtual; done": LAB,
    "labgrid-client places": LAB,
    'eval "$(labgrid-client reserve --wait --shell board=virtual)"': LAB,
    "labgrid-client -p + acquire": LAB,
    "pytest --lg-env lab.yaml test_echo.py": LAB,
    "labgrid-client -c lab.yaml power get": LAB,
    "labgrid-client -p + release": LAB,
    "labgrid-client cancel-reservation": LAB,
    "echo 'pi ALL=(root) NOPASSWD: /usr/bin/systemctl start cairn, /usr/bin/systemctl stop cairn, /usr/bin/systemctl is-active cairn' | sudo tee /etc/sudoers.d/cairn-lab": ROOT,
    "labgrid-coordinator": LAB,
    "labgrid-exporter --name shelf shelf.yaml": LAB,
}

#: What stands for something of the reader's, and what stands for it here. `{home}` is the sandbox's, `{port}` a port that is free.
PLACEHOLDERS = {
    "serial:/dev/ttyUSB0,115200": "virtual",
    "hci:00:1A:7D:DA:71:13": "virtual",
    "hci:00:1A:7D:DA:71:14": "virtual",
    "--controller hci0": "--controller virtual",
    "6402": "{port}",
    "tcp:127.0.0.1:7001": "virtual",
    "7002": "{port}",
    "8080": "{port}",
    "/tmp/bench": "{home}/bench",
    "/var/lib/bench": "{home}/benches",
    "/var/lib/cairn": "{home}/service",
    "/etc/cairn/board.yaml": "Boards/virtual/board.yaml",
    " DIR": " {home}/.cairn",
    "DIR/": "{home}/.cairn/",
    "Boards/usb-dongle/board.yaml": "Boards/usb-dongle/board.yaml --controller virtual",
}

#: Statuses of commands that say what is so, or that show what is wrong.
STATUSES = {
    "cairn adapters": {0, 69},
    "cairn forget --all": {0, 75},
    "cairn config check board.yaml": {78},
}

#: What is wrong with the board file that boards.md shows.
FAULTY_BOARD = "advertising:\n  polcy: apple\n"


def bare(line: str) -> str:
    """A command without its comment and the sign that it stays in the background."""
    return re.sub(r"\s+#.*$", "", line).removesuffix("&").strip()


def installed(line: str) -> bool:
    """Netcat is the one program of others that a page uses and that not every machine has."""
    return not re.search(r"\| nc\b", line) or shutil.which("nc") is not None


class Sandbox:
    """A home of its own, with the repository's folders in it as a reader has them, and an SDK whose emulator is a stand-in
    (rig/qemu_pebble.py); long-running commands end with it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.running: list[tuple[str, subprocess.Popen[bytes], Path]] = []
        for name in ["Boards", "Docs", "Tests"]:
            (home / name).symlink_to(REPOSITORY / name)
        (home / "board.yaml").write_text(FAULTY_BOARD)
        Sdk(home).install("emery")
        for folder in ["bin", ".build/release"]:
            (home / folder).mkdir(parents=True)
        for path in ["bin/cairn", ".build/release/cairn"]:
            (home / path).symlink_to(cairn.binary())
        (home / "bin/cairn-web").symlink_to(web_server.binary())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def environment(self) -> dict[str, str]:
        """A watch that runs as a service stands for the one that commands without a name mean."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
        path = f"{self.home}/bin:{os.environ['PATH']}"
        return {**ours, "HOME": str(self.home), "PATH": path, "CAIRN_STATE": str(self.home / ".cairn")}

    def resolved(self, line: str) -> str:
        for name, value in PLACEHOLDERS.items():
            line = line.replace(name, value.format(home=self.home, port=self.port))
        return re.sub(r"\bsudo ", "", line)

    def run(self, line: str) -> str | None:
        """Runs a command as it is written; what is wrong with it, if something is."""
        text = self.resolved(bare(line))
        is_background = re.sub(r"\s+#.*$", "", line).rstrip().endswith("&")
        if re.search(r"\bcairn (run|mirror|demo)\b", text) and not is_background:
            # A watch in a terminal ends before the next can have its ports and files.
            self.end()
        endless = r"\bcairn (phone )?(run|mirror|air|events)\b|\bcairn-web --watch"
        if re.search(endless, text) and "--until" not in text and "--help" not in text:
            return self.start(text)
        result = subprocess.run(
            ["bash", "-c", text], cwd=self.home, env=self.environment(), capture_output=True, text=True, timeout=120
        )
        expected = STATUSES.get(bare(line), {0})
        return None if result.returncode in expected else f"{text}: {result.returncode}: {result.stdout}{result.stderr}"

    def start(self, text: str) -> str | None:
        log = self.home / f"{len(self.running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {text}"], cwd=self.home, env=self.environment(), stdout=output, stderr=output
            )
        self.running.append((text, process, log))
        end = time.monotonic() + 60
        wanted = {
            "phone run": b"takes commands at",
            "run": b"phones can find the watch",
            "mirror": b"phones can find the watch",
            "air": b"other hosts at",
            "events": b"",
            "--watch": b"?token=",
        }
        word = next(word for word in wanted if f" {word}" in text)
        while wanted[word] not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > end:
                return f"{text}: {process.poll()}: {log.read_text()}"
            time.sleep(0.05)
        return None

    def end(self) -> None:
        """Ends what runs, the last first: watches before their radio, and programs that listen to a watch before it."""
        while self.running:
            text, process, log = self.running.pop()
            listens = "cairn events" in text
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            assert process.wait(30) in ({0, -signal.SIGINT} if listens else {0}), f"{text}: {log.read_text()}"


@contextlib.contextmanager
def sandbox(home: Path) -> Iterator[Sandbox]:
    room = Sandbox(home)
    try:
        yield room
        room.end()
    finally:
        for _, process, _ in room.running:
            process.kill()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(REPOSITORY))
)
def test_every_command_runs(page: Path, tmp_path: Path) -> None:
    """From the page's top to its end, as a reader does it."""
    with sandbox(tmp_path) as room:
        wanted = [line for line in commands(page) if bare(line) and bare(line) not in NOT_RUN and installed(line)]
        # A page that begins in the middle has a watch that runs already.
        if wanted and not any(re.search(r"cairn (run|demo)", line) for line in wanted[:1]):
            assert room.start("cairn run --controller virtual --state ~/.cairn") is None
        problems = [problem for line in wanted if (problem := room.run(line))]
        assert problems == []


def test_what_is_not_run_still_stands_somewhere() -> None:
    """The list of commands that are not run, and the placeholders, do not outlive the pages."""
    lines = {bare(line) for page in PAGES for line in commands(page)}
    assert sorted(set(NOT_RUN) - lines) == []
    assert [name for name in PLACEHOLDERS if not any(name in line for line in lines)] == []
