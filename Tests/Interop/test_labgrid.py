"""Watches in a labgrid: a coordinator, an exporter and its clients, as people run them, with the package as pip installs it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig import cairn
from rig.vectors import REPOSITORY
from rig.watchapps import AppBundle
from test_python_package import Installation, blocks, package

__all__ = ["package"]

PAGE = REPOSITORY / "Docs" / "lab.md"
#: How long a client, the coordinator or an exporter may take for one thing, in seconds.
PATIENCE = 60

#: Two watches of the exporter's machine.
SHELF = """
# for n in range(1, 3)
watch{{ n }}:
  CairnWatch:
    settings: {pairing: open}
# endfor
"""

#: A target for each of some places.
DRIVERS = "{CairnWatchDriver: {}, CairnPhoneDriver: {}, CairnStrategy: {}}"


def environment(**places: str) -> str:
    """An environment: of each target, its place."""
    targets = "".join(
        f"  {target}:\n    resources: {{RemotePlace: {{name: '{place}'}}}}\n    drivers: {DRIVERS}\n"
        for target, place in places.items()
    )
    return f"imports: [cairn_watch.labgrid]\ntargets:\n{targets}"


class Daemon:
    """A program of labgrid's that runs on, and its log."""

    def __init__(self, command: list[str], log: Path, lab: Lab) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=lab.folder, env=lab.environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first line in which the pattern is found."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.log.read_text(), re.M)):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, f"waited {PATIENCE} s for /{pattern}/ in:\n{self.log.read_text()}"
            time.sleep(0.01)
        return found

    def stop(self) -> int:
        """Asks it to end, and returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()


@dataclass
class Lab:
    """A folder with a coordinator on a port of its own."""

    folder: Path
    package: Installation
    stack: contextlib.ExitStack
    coordinator: str = ""
    #: A folder of programs that come before all others.
    bin: Path | None = None

    def environment(self, user: str = "one") -> dict[str, str]:
        """What a user's programs get."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("CAIRN_", "PYTEST_", "LG_"))}
        scripts = f"{self.package.site / 'bin'}:{Path(sys.executable).parent}"
        path = f"{self.bin}:{scripts}" if self.bin else scripts
        return ours | {
            "PATH": f"{path}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.package.site),
            "CAIRN_BINARY": str(cairn.binary().absolute()),
            "LG_COORDINATOR": self.coordinator,
            "LG_USERNAME": user,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def daemon(self, *command: str) -> Daemon:
        """Runs a program until the test ends."""
        daemon = Daemon(list(command), self.folder / f"{Path(command[0]).name}-{time.monotonic_ns()}.log", self)
        self.stack.callback(daemon.stop)
        return daemon

    def start_coordinator(self) -> None:
        """Starts the coordinator. It takes a port that is free, and says which."""
        self.coordinator = self.daemon("labgrid-coordinator", "--listen", "127.0.0.1:0").wait_for(r"^listening on (\S+)")[1]

    def export(self, shelf: str, *options: str, program: str = "cairn-labgrid-exporter") -> Daemon:
        """Starts an exporter, and returns when the coordinator has its resources."""
        (self.folder / "shelf.yaml").write_text(shelf)
        exporter = self.daemon(program, "--name", "shelf", *options, "shelf.yaml")
        exporter.wait_for(r"creating poll task")
        return exporter

    def run(self, *command: str, user: str = "one", status: int = 0, seconds: float = PATIENCE) -> str:
        """What a program says that ends by itself, with this status."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(user), capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == status, f"{command}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def client(self, *arguments: str, user: str = "one", status: int = 0) -> str:
        """What labgrid-client says."""
        return self.run("labgrid-client", *arguments, user=user, status=status)

    def place(self, name: str, match: str, *tags: str) -> None:
        """Makes a place."""
        self.client("-p", name, "create")
        self.client("-p", name, "add-match", match)
        if tags:
            self.client("-p", name, "set-tags", *tags)

    def write(self, name: str, text: str) -> None:
        """A file of the user's."""
        (self.folder / name).write_text(text)

    def pytest(self, *arguments: str, status: int = 0) -> str:
        """What pytest says, with labgrid's plugin, as it is installed."""
        words = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio", "-rA", *arguments)
        return self.run(sys.executable, *words, status=status, seconds=120)


@pytest.fixture
def lab(tmp_path: Path, package: Installation) -> Iterator[Lab]:
    with contextlib.ExitStack() as stack:
        yield Lab(tmp_path, package, stack)


@pytest.fixture
def shelf(lab: Lab) -> Lab:
    """A lab with two places, each of which is a watch."""
    lab.start_coordinator()
    lab.export(SHELF)
    for number, name in enumerate(("first", "second"), 1):
        lab.place(name, f"shelf/watch{number}/*", "board=virtual", f"number={number}")
    lab.write("lab.yaml", environment(main="first", other="second"))
    lab.write("main.yaml", environment(main="first"))
    return lab


def is_there(process: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Waits for what another process does."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.01)


#: Has the process identifier of the watch in a file.
PROCESS = """
def test_process(strategy):
    strategy.transition("advertising")
    open("process", "w").write(str(strategy.watch.status()["pid"]))
"""


@pytest.mark.timeout(180)
def test_a_place_is_one_user_s(shelf: Lab) -> None:
    """Acquired, switched, refused to others, released: then its watch has ended, and the next user's is a new one."""
    shelf.client("-p", "first", "acquire")
    assert "already acquired by" in shelf.client("-p", "first", "acquire", user="two", status=1)
    power = ("-c", "main.yaml", "-p", "first", "power")
    assert "is off" in shelf.client(*power, "get")
    assert "not acquired by your user" in shelf.client(*power, "on", user="two", status=1)
    shelf.client(*power, "on")
    assert "is on" in shelf.client(*power, "get")
    shelf.client(*power, "cycle")
    shelf.write("test_process.py", PROCESS)
    assert "1 passed" in shelf.pytest("--lg-env", "main.yaml", "test_process.py")
    first = int((shelf.folder / "process").read_text())
    # It outlives the program that switched it on, and not its place.
    assert is_there(first) and "is on" in shelf.client(*power, "get")
    shelf.client("-p", "first", "release")
    until("the watch to end", lambda: not is_there(first))
    shelf.client("-p", "first", "acquire", user="two")
    assert "is off" in shelf.client(*power, "get", user="two")


@pytest.mark.timeout(180)
def test_reservations(shelf: Lab) -> None:
    """Any place with these tags; who comes later waits until one is free."""

    def reserve(user: str, *options: str) -> str:
        said = shelf.client("reserve", "--shell", *options, "board=virtual", user=user)
        return re.search(r"LG_TOKEN=(\S+)", said)[1]

    tokens = [reserve("one", "--wait"), reserve("two", "--wait")]
    for token, user in zip(tokens, ("one", "two"), strict=True):
        shelf.client("-p", f"+{token}", "acquire", user=user)
    waiting = reserve("three")
    assert re.search(rf"token: {waiting}\n *state: waiting$", shelf.client("reservations", user="three"), re.M)
    assert "matches nothing" in shelf.client("-p", f"+{waiting}", "acquire", user="three", status=1)
    shelf.client("-p", f"+{tokens[0]}", "release", user="one")
    shelf.client("cancel-reservation", tokens[0], user="one")
    assert "allocated" in shelf.client("wait", waiting, user="three")
    shelf.client("-p", f"+{waiting}", "acquire", user="three")


MESSAGES = """
import pytest

ECHO = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"


@pytest.mark.parametrize("role", ["main", "other"])
def test_a_message(env, role):
    strategy = env.get_target(role).get_driver("CairnStrategy")
    strategy.transition("session")
    watch, phone = strategy.watch, strategy.phone.phone
    watch.launch(ECHO)
    phone.push({0: role})
    assert watch.expect_message({0: role}).app == ECHO
    assert phone.expect({0: role}).entries == {0: role}
    watch.press("back")
    assert watch.wait_for("button", button="back")
    assert watch.install("weather.pbw")["name"] and watch.screen().data.startswith(b"\\x89PNG")


def test_both_at_once(env):
    first, second = (env.get_target(role).get_driver("CairnWatchDriver").status() for role in ("main", "other"))
    assert first["pid"] != second["pid"] and first["address"] != second["address"]
    assert first["sessions"] and second["sessions"]


def test_up_and_down(strategy):
    for state in ("bonded", "session", "advertising", "session", "off", "bonded", "bonded", "advertising", "off", "off"):
        strategy.transition(state)
        assert strategy.watch.get() == (state != "off")
        if state == "off":
            continue
        status = strategy.watch.status()
        assert bool(status["sessions"]) == (state == "session"), (state, status["sessions"])
        assert bool(status["phones"]) == bool(status["links"]) == (state != "advertising"), (state, status["phones"])


def test_reset(strategy):
    strategy.transition("session")
    process = strategy.watch.status()["pid"]
    strategy.watch.reset()
    assert strategy.watch.status()["pid"] == process and not strategy.watch.status()["sessions"]
    strategy.transition("session")
"""


@pytest.mark.timeout(240)
def test_a_pytest_goes_through_the_strategy(shelf: Lab) -> None:
    """On two places, from nothing to a message with a phone on each, and through all states."""
    shelf.client("-c", "lab.yaml", "acquire")
    (shelf.folder / "weather.pbw").write_bytes(AppBundle().pbw())
    shelf.write("test_messages.py", MESSAGES)
    assert "5 passed" in shelf.pytest("--lg-env", "lab.yaml", "test_messages.py")


DIES = """
import os
import signal

import pytest
from cairn_watch import WatchGone, WatchHangs


def test_dies(strategy):
    strategy.transition("session")
    os.kill(strategy.watch.status()["pid"], signal.SIGKILL)
    with pytest.raises(WatchGone):
        strategy.watch.wait_for("button", button="up", timeout=20)
    # Its connections have ended; the socket that it listened at ends a moment later.
    while strategy.watch.get():
        pass


def test_next(strategy):
    strategy.transition("session")
    assert strategy.watch.status()["sessions"]


def test_hangs(strategy):
    os.kill(strategy.watch.status()["pid"], signal.SIGSTOP)
    with pytest.raises(WatchHangs):
        while True:
            strategy.watch.press("up")


def test_the_one_after(strategy):
    strategy.transition("session")
    assert strategy.watch.status()["sessions"]
"""


@pytest.mark.timeout(240)
def test_a_watch_that_dies_in_the_middle(shelf: Lab) -> None:
    """The test hears of it, and the next one has a watch again."""
    shelf.client("-p", "first", "acquire")
    shelf.write("test_dies.py", DIES)
    assert "4 passed" in shelf.pytest("--lg-env", "main.yaml", "test_dies.py")


@pytest.mark.timeout(180)
def test_a_place_that_is_another_s(shelf: Lab) -> None:
    """A pytest on a place that is not acquired, or is another user's, ends with labgrid's words and no watch."""
    shelf.write("test_process.py", PROCESS)
    run = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--lg-env", "main.yaml", "test_process.py")
    assert "place first is not acquired" in shelf.run(*run, status=1)
    shelf.client("-p", "first", "acquire")
    assert "not acquired by your user" in shelf.run(*run, user="two", status=1)
    assert not (shelf.folder / "process").exists()


@pytest.mark.timeout(180)
def test_an_exporter_ends_with_its_watches(lab: Lab) -> None:
    lab.start_coordinator()
    exporter = lab.export(SHELF)
    lab.place("first", "shelf/watch1/*")
    lab.write("main.yaml", environment(main="first"))
    lab.write("test_process.py", PROCESS)
    lab.client("-p", "first", "acquire")
    lab.pytest("--lg-env", "main.yaml", "test_process.py")
    assert exporter.stop() == 0
    process = int((lab.folder / "process").read_text())
    until("the watch to end", lambda: not is_there(process))
    assert "orphaned" in lab.client("-c", "main.yaml", "-p", "first", "power", "get", status=1)


# --- Without a coordinator


LOCAL = """
imports: [cairn_watch.labgrid]
targets:
  main:
    resources: {{CairnWatch: {resource}}}
    drivers: {{CairnWatchDriver: {{}}, CairnPhoneDriver: {{}}, CairnStrategy: {{}}}}
"""


@pytest.mark.timeout(180)
def test_a_watch_of_this_machine(lab: Lab) -> None:
    """The driver starts it, and it ends with the tests."""
    lab.write("main.yaml", LOCAL.format(resource="{settings: {name: Bench}}"))
    lab.write("test_process.py", PROCESS + "    strategy.transition('session')\n    assert strategy.watch.watch.name == 'Bench'\n")
    assert "1 passed" in lab.pytest("--lg-env", "main.yaml", "test_process.py")
    assert not is_there(int((lab.folder / "process").read_text()))


@pytest.mark.timeout(180)
def test_a_strategy_that_is_broken(lab: Lab) -> None:
    """The first failure says why, and labgrid leaves out what is left."""
    lab.write("main.yaml", LOCAL.format(resource="{settings: {wings: 2}}"))
    lab.write("test_process.py", PROCESS + "\ndef test_next(strategy):\n    pass\n")
    said = lab.pytest("--lg-env", "main.yaml", "test_process.py", status=1)
    assert "1 failed, 1 skipped" in said and "CairnStrategy is in broken state: start-failed" in said and "--wings" in said


FOUND = """
import pytest
from cairn_watch.labgrid import PowerFailed


def test_found(target):
    watch = target.get_driver("CairnWatchDriver")
    watch.on()
    assert watch.get() and watch.press("up")
    with pytest.raises(PowerFailed, match="was not started here: name its unit"):
        watch.off()
"""


@pytest.mark.timeout(180)
def test_a_watch_that_runs_already(lab: Lab) -> None:
    """It is used, and not switched. Where none runs, that is what is said."""
    control = lab.folder / "w.sock"
    watch = lab.daemon(str(cairn.binary()), "run", "--controller", "virtual", "--control", str(control), "--log-level", "info")
    watch.wait_for("phones can find the watch")
    lab.write("main.yaml", LOCAL.format(resource=f"{{control: {control}}}"))
    lab.write("test_found.py", FOUND)
    assert "1 passed" in lab.pytest("--lg-env", "main.yaml", "test_found.py")
    assert watch.stop() == 0
    assert "no watch runs at" in lab.pytest("--lg-env", "main.yaml", "test_found.py", status=1)


#: Stands for systemctl: it starts and stops one watch, by its process identifier.
SYSTEMCTL = """#!/bin/sh
cd {folder}
echo "$@" >>calls
case "$1" in
start)
    setsid {cairn} run --controller virtual --air-port 0 --control {folder}/w.sock --state {folder}/state </dev/null >log 2>&1 &
    echo $! >running
    {cairn} wait ready --for 30 --control {folder}/w.sock >wait 2>&1 || sleep 0.1
    until {cairn} wait ready --for 30 --control {folder}/w.sock >wait 2>&1; do kill -0 $(cat running) || exit 1; done ;;
stop) test -f running && kill $(cat running) && while kill -0 $(cat running) 2>/dev/null; do :; done; rm -f running ;;
is-active) test -f running && kill -0 $(cat running) 2>/dev/null || exit 3 ;;
esac
"""


def service(lab: Lab) -> Path:
    """A folder of programs with something that stands for systemctl."""
    folder = lab.folder / "b"
    folder.mkdir(exist_ok=True)
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=lab.folder, cairn=cairn.binary().absolute()))
    (folder / "systemctl").chmod(0o755)
    lab.bin = folder
    lab.stack.callback(lambda: subprocess.run([folder / "systemctl", "stop", "cairn"], check=False, timeout=PATIENCE))
    return folder


@pytest.mark.timeout(180)
def test_a_service(lab: Lab) -> None:
    """systemd's commands are what switches it."""
    service(lab)
    lab.write("main.yaml", LOCAL.format(resource=f"{{unit: cairn, control: {lab.folder}/w.sock}}"))
    lab.write("test_process.py", PROCESS + "    strategy.transition('session')\n    strategy.transition('off')\n")
    assert "1 passed" in lab.pytest("--lg-env", "main.yaml", "test_process.py")
    calls = (lab.folder / "calls").read_text().splitlines()
    assert calls[-2:] == ["is-active cairn", "stop cairn"] and "start cairn" in calls, calls
    lab.write("main.yaml", LOCAL.format(resource=f"{{unit: cairn, systemctl: 'false', control: {lab.folder}/w.sock}}"))
    assert "“false is-active cairn” ended with status 1" in lab.pytest("--lg-env", "main.yaml", "test_process.py", status=1)


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("{colour: red}", "colour"),
        ("{settings: open}", "settings: options of cairn run by their names"),
        ("{settings: {control: x}}", "settings: control cannot stand here"),
        ("{unit: cairn, controller: hci0}", "a watch with a unit has its settings there: controller cannot stand here"),
        ("{control: x, program: y}", "control without controller means a watch that runs already: program cannot stand here"),
        ("{access: all}", "access: user or group, and not all"),
    ],
)
def test_a_wrong_resource_is_told(lab: Lab, resource: str, words: str) -> None:
    """By the exporter, in one line, before it needs a coordinator."""
    lab.write("shelf.yaml", f"watch1: {{CairnWatch: {resource}}}\n")
    said = lab.run("cairn-labgrid-exporter", "--coordinator", "127.0.0.1:1", "shelf.yaml", status=1)
    assert said.splitlines()[-1].startswith("cairn-labgrid-exporter: CairnWatch") and words in said.splitlines()[-1], said


@pytest.mark.timeout(180)
def test_a_watch_that_does_not_start(lab: Lab) -> None:
    """The client is told what cairn said; the place can be used on."""
    lab.start_coordinator()
    exporter = lab.export("watch1: {CairnWatch: {settings: {wings: 2}}}\nwatch2: {CairnWatch: {program: /nowhere}}\n")
    lab.place("first", "shelf/watch1/*")
    lab.write("main.yaml", environment(main="first"))
    lab.client("-p", "first", "acquire")
    # labgrid-client ends with 2 for what is a driver's.
    said = lab.client("-c", "main.yaml", "-p", "first", "power", "on", status=2)
    assert "ended with status 64" in said and "--wings" in said, said
    assert "is off" in lab.client("-c", "main.yaml", "-p", "first", "power", "get")
    # What cannot be started is no resource that is there.
    exporter.wait_for("/nowhere is no program")
    assert "watch1" in lab.client("resources") and "watch2" not in lab.client("resources")
    assert "'avail': False" in lab.client("-vv", "resources").split("Group 'watch2'")[1]


def test_without_labgrid_it_says_what_to_install(package: Installation, tmp_path: Path) -> None:
    script = (
        "import sys, importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'labgrid' else find(name, *more)\n"
        "from cairn_watch.scripts import labgrid_exporter\nlabgrid_exporter()\n"
    )
    result = package.run("-c", script, folder=tmp_path)
    assert result.returncode == 1
    assert result.stderr == (
        "cairn-labgrid-exporter: cairn_watch.labgrid needs labgrid: install cairn-watch[labgrid]\n"
    )


def test_help(lab: Lab) -> None:
    said = lab.run("cairn-labgrid-exporter", "--help")
    assert said.startswith("usage: cairn-labgrid-exporter") and "--coordinator" in said


# --- Over ssh


def sshd() -> Path | None:
    """The server, if it is installed; CAIRN_SSHD names one that is elsewhere."""
    found = os.environ.get("CAIRN_SSHD") or shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    return Path(found) if found else None


def other_machine(lab: Lab) -> None:
    """An ssh server on a port of its own, which the client takes for the machine “pi1”."""
    folder = lab.folder / "ssh"
    folder.mkdir(mode=0o700)
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True, timeout=PATIENCE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shutil.copy(folder / "user.pub", folder / "authorized")
    environment = lab.environment()
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nSetEnv PATH={environment['PATH']}\n"
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "config").write_text(
        f"Host pi1\n HostName 127.0.0.1\n Port {port}\n IdentityFile {folder}/user\n IdentitiesOnly yes\n"
        f" UserKnownHostsFile {folder}/known\n"
    )
    if os.geteuid() == 0:
        # Debian's service makes it when it starts; its server refuses to run as root without it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    server = lab.daemon(str(sshd()), "-D", "-e", "-f", str(folder / "sshd_config"))
    server.wait_for("Server listening")
    bin = lab.bin or lab.folder / "b"
    bin.mkdir(exist_ok=True)
    (bin / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    (bin / "ssh").chmod(0o755)
    lab.bin = bin


needs_ssh = pytest.mark.skipif(sshd() is None or shutil.which("ssh") is None, reason="there is no ssh server here")


@needs_ssh
@pytest.mark.timeout(240)
def test_a_watch_of_another_machine(lab: Lab) -> None:
    """Its sockets and its radio go through labgrid's connection; a watch that dies is told there too."""
    other_machine(lab)
    lab.start_coordinator()
    lab.export(SHELF, "--hostname", "pi1")
    lab.place("first", "shelf/watch1/*")
    lab.write("main.yaml", environment(main="first"))
    lab.client("-p", "first", "acquire")
    lab.write("test_dies.py", DIES)
    assert "4 passed" in lab.pytest("--lg-env", "main.yaml", "test_dies.py")
    (lab.folder / "b" / "ssh").write_text("#!/bin/sh\necho no route >&2\nexit 255\n")
    said = lab.client("-c", "main.yaml", "-p", "first", "power", "get", status=2)
    assert "pi1 is not reached over ssh" in said and "has to work without a question" in said, said


@needs_ssh
@pytest.mark.timeout(240)
def test_a_shelf_of_boards(lab: Lab) -> None:
    """As the page has it: labgrid's own exporter, and on the boards nothing but Cairn's service and ssh."""
    folder = service(lab)
    other_machine(lab)
    (folder / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (folder / "sudo").chmod(0o755)
    lab.start_coordinator()
    (shelf,) = [text for text in blocks(PAGE, "yaml") if "NetworkCairnWatch" in text]
    assert "unit: cairn" in shelf
    lab.export(shelf.replace("unit: cairn", f"unit: cairn\n    control: {lab.folder}/w.sock"), program="labgrid-exporter")
    lab.place("first", "shelf/pi1/*")
    lab.write("main.yaml", environment(main="first"))
    lab.client("-p", "first", "acquire")
    lab.write("test_process.py", PROCESS + "    strategy.transition('session')\n    strategy.transition('off')\n")
    assert "1 passed" in lab.pytest("--lg-env", "main.yaml", "test_process.py")
    assert "start cairn" in (lab.folder / "calls").read_text()


# --- The page


@pytest.mark.timeout(240)
def test_the_page_says_what_runs(lab: Lab) -> None:
    """Eight watches on one machine: its files, its test, and its commands, from the coordinator to the end of the reservation."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shelf, main, _ = blocks(PAGE, "yaml")
    (test,) = blocks(PAGE, "python")
    for name, text in (("shelf.yaml", shelf), ("lab.yaml", main), ("test_echo.py", test)):
        lab.write(name, text)
    lines = "".join(blocks(PAGE, "sh")[1:4]).replace("20408", str(port)).splitlines()
    lab.coordinator = f"127.0.0.1:{port}"
    daemons = [line.removesuffix(" &") for line in lines if line.endswith(" &")]
    for line, ready in zip(daemons, ("^listening on", "creating poll task"), strict=True):
        lab.daemon("bash", "-c", f"exec {line}").wait_for(ready)
    script = "\n".join(line for line in lines if not line.endswith(" &"))
    said = lab.run("bash", "-euc", script, seconds=200)
    assert said.count("NetworkCairnWatch") == 8 and "1 passed" in said, said
    assert "is on" in said and "released place" in said, said
    assert lab.client("reservations") == ""
