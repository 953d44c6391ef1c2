"""Boards: settings from every place, the service, and what systemd and the journal are told."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
from pathlib import Path

import pytest
import yaml
from rig import cairn
from rig.controllers import controllers
from rig.phone import Phone
from rig.process import Program
from rig.vectors import REPOSITORY
from rig.waiting import GaveUp
from watches import ADDRESS

#: Exit statuses (sysexits).
CONFIGURATION = 78
#: What a phone is told when the watch is switched off (Core 5.4, Vol 1, Part F, 2.1: Power Off).
POWER_OFF = 0x15

BOARDS = sorted((REPOSITORY / "Boards").glob("*/board.yaml"))
#: What the package installs as the machine's own.
PACKAGED = REPOSITORY / "Boards" / "debian" / "debian" / "board.yaml"
#: Pins of the 40-pin header by GPIO line, from Raspberry Pi's own table.
HEADER = {5: 29, 6: 31, 13: 33, 19: 35, 26: 37}
#: The units of the packages, and the most that each may be exposed, by `systemd-analyze security`.
SERVICES = {"cairn.service": 2.0, "cairn-web.service": 1.5}
UNITS = REPOSITORY / "Boards" / "linux"
#: What a watch needs, as the package's program is laid out by.
ORDER = REPOSITORY / "Boards" / "debian" / "cairn.order"

#: What a terminal's environment has that would disturb.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(cairn.binary()), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=CLEAN | variables,
    )


def shown(*arguments: str, **variables: str) -> dict[str, tuple[str, str]]:
    """What `cairn config show` prints: for each setting its value and where that is from."""
    result = run("config", "show", *arguments, **variables)
    assert result.returncode == 0, result.stderr
    rows = (re.split(r"\s{2,}", line.rstrip(), maxsplit=2) for line in result.stdout.splitlines())
    return {row[0]: (row[1], row[2]) if len(row) == 3 else ("", "") for row in rows}


def options_of_run() -> dict[str, dict[str, object]]:
    """Every option that the program says `cairn run` has, by ArgumentParser's own account."""
    help_ = json.loads(run("run", "--experimental-dump-help").stdout)
    return {
        argument["preferredName"]["name"]: argument
        for argument in help_["command"]["arguments"]
        if argument["preferredName"]["name"] not in {"board", "version", "help"}
    }


# Board files


def test_there_is_a_board_for_each_that_is_promised() -> None:
    pis = {f"raspberry-pi-{model}" for model in ("zero-2-w", "3", "4", "5")}
    assert {path.parent.name for path in BOARDS} == pis | {"usb-dongle", "virtual"}
    assert all((path.parent / "README.md").exists() for path in BOARDS)


def written(text: str, dice: random.Random) -> str:
    """A text in one of the ways in which YAML has it."""
    match dice.randrange(4):
        case 0:
            return "'" + text.replace("'", "''") + "'"
        case 1:
            return json.dumps(text, ensure_ascii=dice.random() < 0.5)
        case 2:
            return '"' + "".join(f"\\x{ord(c):02x}" if ord(c) < 0x100 else c for c in text) + '"'
        case _:
            plain = re.fullmatch(r"[a-z0-9é€~.][a-z0-9é€~./-]*( [a-z0-9é€~./-]+)*", text)
            return text if plain else f"!!str '{text.replace(chr(39), chr(39) * 2)}'"


@pytest.mark.parametrize("seed", range(12))
def test_a_board_file_says_what_another_parser_reads_in_it(seed: int, tmp_path: Path) -> None:
    """PyYAML's own parser, which is no libyaml, is the judge: texts stay as they are written, whatever they look like."""
    dice = random.Random(seed)
    parts = ["a", "b:c", "#x", "é", "€", "'", '"', "\\", "0x12", "yes", "~", "{", "]", ",", "-", "%", "@", "&y", "*z", "!t", "|", "1.50"]
    texts = ["".join(dice.choices(parts, k=dice.randint(1, 4))) for _ in range(8)]
    first, *rest = (written(text, dice) for text in texts)
    if seed % 2:
        content = f"# A board.\ncapture: {first} # words\napps: {{install: [{', '.join(rest)}]}}\n"
    else:
        content = "---\napps:\n  install:\n" + "".join(f"  - {text}\n" for text in rest) + f"capture: &name {first}\n"
    file = tmp_path / "board.yaml"
    file.write_text(content, encoding="utf-8")
    expected = yaml.load(content, yaml.BaseLoader)
    rows = shown("--board", str(file))
    line = {name: content[: content.index(name)].count("\n") + 1 for name in ("capture", "install")}
    assert rows["capture"] == (expected["capture"], f"{file}:{line['capture']}"), content
    assert rows["apps.install"] == (", ".join(expected["apps"]["install"]), f"{file}:{line['install']}"), content


def test_every_board_file_is_right() -> None:
    files = [*BOARDS, PACKAGED]
    result = run("config", "check", *map(str, files))
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("nothing is wrong") == len(files)


@pytest.mark.parametrize("board", [path for path in BOARDS if "raspberry" in path.parent.name], ids=lambda path: path.parent.name)
def test_the_wiring_on_a_page_is_that_of_its_file(board: Path) -> None:
    settings = shown("--board", str(board))
    page = (board.parent / "README.md").read_text()
    wiring = {match[3]: (int(match[1]), int(match[2])) for match in re.finditer(r"^\| (\d+) \| (\d+) \| (\w+):", page, re.M)}
    assert set(wiring) == {"back", "up", "select", "down", "LED"}
    for name, (pin, line) in wiring.items():
        assert settings[f"gpio.{name.lower()}"][0] == str(line), name
        assert HEADER[line] == pin, name
    assert f"`{settings['gpio.chip'][0]}`" in page


def test_a_wrong_file_has_all_its_errors_told(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    board.write_text("controler: virtual\nadvertising:\n  policy: loud\npairing: {phones: 99, bonding: maybe}\n")
    for command in (["config", "check", str(board)], ["run", "--controller", "virtual", "--board", str(board)]):
        result = run(*command)
        assert result.returncode == CONFIGURATION
        assert [word for word in (
            f"{board}:1: controler: there is no such setting; did you mean controller?",
            f"{board}:3: advertising.policy: “loud” is not understood: this takes one of pebble, apple, saver, custom",
            f"{board}:4: pairing.phones: “99” is not understood: this takes a number from 1 to 16",
            f"{board}:4: pairing.bonding: this takes true or false",
        ) if word not in result.stderr] == [], result.stderr


def test_settings_that_need_others_are_told_apart(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    board.write_text("controller: virtual\n\nbeacon:\n  major: 7\n")
    result = run("config", "check", str(board))
    assert result.returncode == CONFIGURATION
    assert f"{board}:4: beacon.major: beacon.major needs a beacon: add beacon.uuid" in result.stderr


# Layers


def test_each_layer_comes_before_the_next(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    board.write_text("controller: virtual\nname: File\npairing: {phones: 3, answer: button}\n")
    settings = shown("--board", str(board), "--name", "Line", CAIRN_PAIRING_PHONES="4", CAIRN_NAME="Variable")
    assert settings["name"] == ("Line", "the command line")
    assert settings["pairing.phones"] == ("4", "the environment variable CAIRN_PAIRING_PHONES")
    assert settings["pairing.answer"] == ("button", f"{board}:3")
    assert settings["log-level"] == ("info", "default")
    assert settings["capture"] == ("", "")
    assert shown("--board", str(board))["advertising.policy"] == ("apple", "default")
    assert shown("--controller", "virtual")["advertising.policy"] == ("pebble", "default")


def test_a_service_manager_says_where_things_are_kept() -> None:
    settings = shown("--controller", "virtual", STATE_DIRECTORY="/var/lib/cairn", RUNTIME_DIRECTORY="/run/cairn:/x")
    assert settings["state"][0] == "/var/lib/cairn"
    assert settings["control"][0] == "/run/cairn/control.sock"


@pytest.mark.parametrize("words", [["--qemu-port"], ["--qemu-port=12344"], ["--qemu-port", "12344"]])
def test_a_port_that_needs_no_number(words: list[str]) -> None:
    settings = shown("--controller", "virtual", *words, "--name=x")
    assert settings["development.qemu-port"] == ("12344", "the command line")
    assert settings["name"] == ("x", "the command line")


def test_every_option_is_a_setting_and_has_a_line_in_the_reference() -> None:
    """No option of `cairn run` is left out of board files, and no setting out of Docs/boards.md; the defaults agree."""
    options = options_of_run()
    settings = shown("--controller", "virtual")
    reference = {
        match[1]: match[2]
        for match in re.finditer(r"^\| `([a-z.-]+)` \| `--([a-z-]+)` \|", (REPOSITORY / "Docs/boards.md").read_text(), re.M)
    }
    assert set(reference) == set(settings)
    # A flag has two options, for true and for false.
    assert {option.removeprefix("no-") for option in reference.values()} == {option.removeprefix("no-") for option in options}
    for name, option in reference.items():
        default = options[option].get("defaultValue")
        # Flags, and what is written otherwise than it is read, are left out.
        if default is not None and options[option]["kind"] == "option" and option not in {"qemu-port", "log-level"}:
            assert settings[name][0] == default, name


def test_the_table_of_settings_is_what_the_program_says() -> None:
    check = subprocess.run(
        [REPOSITORY / "Sources/cairn/Settings/generate", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        env=CLEAN | {"CAIRN_BINARY": str(cairn.binary())},
    )
    assert check.returncode == 0, check.stderr


# The service


@pytest.mark.parametrize("service", SERVICES)
def test_the_unit_is_one_that_systemd_understands(service: str) -> None:
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(UNITS / service)], capture_output=True, text=True, timeout=60
    )
    # The program is not installed here, nor is the group of the package.
    complaints = [line for line in result.stderr.splitlines() if service in line and "not executable" not in line]
    assert complaints == []


@pytest.mark.parametrize(("service", "exposure"), SERVICES.items(), ids=SERVICES)
def test_the_unit_may_do_little(service: str, exposure: float) -> None:
    result = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(UNITS / service)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout.splitlines()[-1]
    score = re.search(rf"Overall exposure level for {re.escape(service)}: ([0-9.]+)", result.stdout)
    assert score and float(score[1]) <= exposure


@pytest.fixture
def manager() -> socket.socket:
    """What systemd is to a service: a datagram socket, here with an abstract name."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0cairn-manager-{os.getpid()}")
        listener.settimeout(20)
        yield listener


def told(manager: socket.socket) -> list[str]:
    return manager.recv(4096).decode().splitlines()


def started(manager: socket.socket, log: Path, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        stream = os.fstat(file.fileno())
        return subprocess.Popen(
            [str(cairn.binary()), "run", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=CLEAN
            | {
                "NOTIFY_SOCKET": "@" + manager.getsockname()[1:].decode(),
                "JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}",
            }
            | variables,
        )


def test_systemd_is_told_when_phones_can_find_the_watch(manager: socket.socket, tmp_path: Path) -> None:
    """READY after the first advertisement, WATCHDOG twice in its time, STATUS in words, STOPPING, and an end with 0."""
    log = tmp_path / "log"
    watch = started(manager, log, "--controller", "virtual", "--name", "Test", WATCHDOG_USEC="400000")
    try:
        lines: list[str] = []
        while "READY=1" not in lines:
            lines = told(manager)
            assert lines in (["WATCHDOG=1"], lines if "READY=1" in lines else [])
        assert any(line.startswith("STATUS=Test: advertises for discovery every 20 ms") for line in lines)
        assert "phones can find the watch" in log.read_text()
        signs = 0
        while signs < 3:
            signs += told(manager) == ["WATCHDOG=1"]
        watch.terminate()
        while "STOPPING=1" not in told(manager):
            pass
        assert watch.wait(5) == 0
    finally:
        watch.kill()
    # The journal has times and priorities of its own.
    text = log.read_text().splitlines()
    assert [line for line in text if not re.match(r"<[2-7]>[a-z0-9]+ +\S", line)] == []
    assert any(line.startswith("<5>daemon    SIGTERM: ending") for line in text)


def test_a_watch_without_controller_has_started_all_the_same(manager: socket.socket, tmp_path: Path) -> None:
    """A service whose dongle is not plugged in does not keep the machine from starting: its status says what it waits for."""
    log = tmp_path / "log"
    watch = started(manager, log, "--controller", f"unix:{tmp_path}/none", "--controller-lost", "retry")
    try:
        lines = told(manager)
        assert "READY=1" in lines
        assert any("the controller is not ready" in line for line in lines), lines
        assert "phones can find the watch" not in log.read_text()
    finally:
        watch.kill()
        watch.wait(5)


def test_a_watchdog_that_is_for_another_process_is_left_alone(manager: socket.socket, tmp_path: Path) -> None:
    watch = started(manager, tmp_path / "log", "--controller", "virtual", WATCHDOG_USEC="100000", WATCHDOG_PID="1")
    try:
        assert "READY=1" in told(manager)
        watch.terminate()
        lines: list[str] = []
        while "STOPPING=1" not in lines:
            lines = told(manager)
            assert "WATCHDOG=1" not in lines
    finally:
        watch.kill()
        watch.wait(5)


@pytest.mark.parametrize(
    ("has_controller", "share"),
    # Without one, less was needed, and so a larger share of it stays. Nothing given back, it would be nearly all.
    [(True, 0.55), (False, 0.65)],
    ids=["on the air", "without a controller"],
)
def test_memory_that_only_the_start_needed_is_given_back(
    manager: socket.socket, tmp_path: Path, has_controller: bool, share: float
) -> None:
    """Small boards have little memory. Most pages that a start touches are of files, and are not needed again."""
    controller = ("virtual",) if has_controller else (f"unix:{tmp_path}/none", "--controller-lost", "retry")
    watch = started(manager, tmp_path / "log", "--controller", *controller)
    try:
        while "READY=1" not in told(manager):
            pass
        kilobytes = {
            name: int(value.split()[0])
            for name, value in (line.split(":") for line in Path(f"/proc/{watch.pid}/status").read_text().splitlines())
            if name in ("VmHWM", "RssAnon", "RssFile")
        }
        assert kilobytes["RssFile"] < share * (kilobytes["VmHWM"] - kilobytes["RssAnon"]), kilobytes
    finally:
        watch.kill()
        watch.wait(5)


def test_errors_have_a_priority_in_the_journal(manager: socket.socket, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert started(manager, log, "--controller", f"unix:{tmp_path}/none").wait(20) == 69
    assert all(line.startswith("<") for line in log.read_text().splitlines())
    assert "<3>cairn: cannot reach the controller at" in log.read_text()


async def test_a_stop_says_goodbye_and_leaves_nothing_on_the_air(tmp_path: Path) -> None:
    """SIGTERM with a phone connected: the phone is told why, the end comes within five seconds, and the radio is silent."""
    async with controllers() as room:
        command = [str(cairn.binary()), "run", "--controller", room.watch.address, "--address", ADDRESS]
        watch = await Program.start(command, tmp_path / "log")
        try:
            await watch.wait_for_line("phones can find the watch", cairn.START_SECONDS)
            async with Phone.on(room.phone.port) as phone:
                link = await phone.connect(ADDRESS)
                await watch.wait_for_line("connected to", cairn.START_SECONDS)
                assert await watch.stop(5) == 0
                assert await link.disconnected() == POWER_OFF
                with pytest.raises(GaveUp):
                    await phone.scan(ADDRESS, seconds=1)
        finally:
            watch.kill()


# The package


def test_the_package_is_laid_out_by_functions_that_there_are() -> None:
    """A list that is out of date costs a board a third of the watch's memory, and nothing else shows it before the package is built."""
    modules = {path.name for path in (REPOSITORY / "Sources").iterdir()}

    def is_ours(name: str) -> bool:
        # $s, the length of the module's name, and that name. Those that end with F are as they were written: the compiler makes the others
        # as it likes, and other ones in a build for debugging.
        found = re.match(r"\$s(\d+)(\w+)F$", name)
        return found is not None and found[2][: int(found[1])] in modules

    listed = {name for name in ORDER.read_text().split() if is_ours(name)}
    table = subprocess.run(["nm", cairn.binary()], capture_output=True, text=True, check=True, timeout=60).stdout
    there = {line.split()[-1] for line in table.splitlines()}
    gone = sorted(listed - there)
    assert len(listed) > 300
    assert len(gone) * 10 <= len(listed), f"{len(gone)} of {len(listed)} are gone: Boards/package amd64 --order; {gone}"
