"""Errors say what is wrong and what to do, and have the right status: for every option and every command, with any value."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rig import cairn
from rig.process import Program
from rig.vectors import REPOSITORY
from test_command_line import CANNOT_CREATE, UNAVAILABLE, USAGE

#: The environment or a board file is wrong.
CONFIGURATION = 78

#: Sentences of the libraries, and names of types, which do not help a person.
LEAKS = re.compile(
    r"Error:|is invalid for '|Unexpected argument|unexpected arguments|Missing (expected|value)|Unknown option|Please provide"
    r"|Usage:|operation could ?n.t be completed|operation could not|NSCocoa|Domain|DecodingError|Optional\(|Swift\.|nil\b|YamlError"
    r"|SystemError|Error\(|\[_\]|Foundation"
)


def run(*arguments: str, folder: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    return subprocess.run(
        [str(cairn.binary()), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={**ours, **(environment or {})},
    )


def faults(result: subprocess.CompletedProcess[str]) -> list[str]:
    """What is wrong with how a failure is told."""
    # What was logged before the end came is the log's.
    text = re.sub(r"^\d\d:\d\d:\d\d\.\d{3} .*\n", "", result.stderr, flags=re.M)
    found = [f"it says “{leak[0]}”" for leak in [LEAKS.search(text)] if leak]
    if not text.startswith("cairn: "):
        found.append("it does not begin with the program's name")
    if len(text.splitlines()) < 2:
        found.append("it does not say what to do")
    if result.returncode not in {64, 69, 73, 74, 75, 77, 78}:
        found.append(f"its status is {result.returncode}")
    if result.stdout:
        found.append("it prints something besides")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a file, a folder, and board files and bundles with something wrong."""
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"controller: virtual\nname: K\xe4se\n")
    (tmp_path / "twice.yaml").write_text("controller: virtual\nname: a\npairing:\n  phones: 1\nname: b\n")
    (tmp_path / "tabs.yaml").write_text("pairing:\n\tphones: 1\n")
    (tmp_path / "alone.yaml").write_text("name: Nowhere\n")
    (tmp_path / "huge.yaml").write_text("# " + "x" * 300_000)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


VIRTUAL = ["run", "--controller", "virtual"]
APP = "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"


@pytest.mark.parametrize(
    ("words", "status", "parts"),
    [
        ([*VIRTUAL, "--qemu-port", "70000"], USAGE, ["--qemu-port", "“70000” is no port", "1 to 65535"]),
        ([*VIRTUAL, "--firmware", "12344"], USAGE, ["--firmware", "“12344” is no place of an emulator", "tcp:HOST:PORT"]),
        ([*VIRTUAL, "--firmware", "tcp:here"], USAGE, ["--firmware", "“tcp:here” names no port", "tcp:HOST:PORT"]),
        ([*VIRTUAL, "--air-port", "-1"], USAGE, ["--air-port", "“-1”", "a port, or 0 for any"]),
        (["rnu"], USAGE, ["“rnu” is no command", "did you mean run?", "cairn --help"]),
        (["rnu", "--help"], USAGE, ["“rnu” is no command", "did you mean run?"]),
        (["help", "nosuch"], USAGE, ["“nosuch” is no command", "status, events"]),
        (["help", "config", "chekc"], USAGE, ["“chekc” is no command of cairn config", "did you mean check?"]),
        (["config", "shwo"], USAGE, ["“shwo” is no command of cairn config", "did you mean show?", "cairn config --help"]),
        (["press", "up", "down"], USAGE, ["“down” is one word too many for cairn press"]),
        (["press", "upp"], USAGE, ["“upp”", "back, up, select, down", "did you mean up?"]),
        (["press"], USAGE, ["<button> is missing"]),
        (["battery", "ten"], USAGE, ["“ten”"]),
        (["adapters", "--jsn"], USAGE, ["cairn adapters has no option --jsn", "did you mean --json?"]),
        (["run", "--controler", "hci0"], USAGE, ["cairn run has no option --controler", "did you mean --controller?"]),
        (["status", "--json=yes"], USAGE, ["--json takes no value"]),
        ([*VIRTUAL, "--phones"], USAGE, ["--phones needs a value"]),
        ([*VIRTUAL, "--phones", "many"], USAGE, ["“many” is not understood by --phones", "a number from 1 to 16"]),
        ([*VIRTUAL, "--advertising", "aple"], USAGE, ["“aple”", "pebble, apple, saver, custom", "did you mean apple?"]),
        (["run"], USAGE, ["needs a Bluetooth controller", "cairn adapters", "--controller virtual", "board file"]),
        (["run", "--board", "alone.yaml"], USAGE, ["needs a Bluetooth controller", "cairn adapters"]),
        ([*VIRTUAL, "--state", ""], USAGE, ["--state", "a path is missing"]),
        (["status", "--state", ""], USAGE, ["--state", "a path is missing"]),
        ([*VIRTUAL, "--control", ""], USAGE, ["--control", "a path is missing"]),
        ([*VIRTUAL, "--capture", ""], USAGE, ["--capture", "a path is missing"]),
        ([*VIRTUAL, "--state", "file"], CANNOT_CREATE, ["state directory file", "is a file", "name a directory"]),
        ([*VIRTUAL, "--state", "file/below/it"], CANNOT_CREATE, ["file/below/it", "file is a file"]),
        ([*VIRTUAL, "--capture", "folder"], CANNOT_CREATE, ["folder", "name a file in it"]),
        ([*VIRTUAL, "--capture", "nowhere/a"], CANNOT_CREATE, ["nowhere/a", "create it first"]),
        ([*VIRTUAL, "--capture", "/dev/full"], CANNOT_CREATE, ["/dev/full", "make room"]),
        ([*VIRTUAL, "--record", ""], USAGE, ["--record", "a path is missing"]),
        ([*VIRTUAL, "--record", "folder"], CANNOT_CREATE, ["the recording folder", "name a file"]),
        ([*VIRTUAL, "--record", "nowhere/a"], CANNOT_CREATE, ["the recording nowhere/a", "a folder that is there"]),
        ([*VIRTUAL, "--record-limit", "1"], USAGE, ["--record-limit", "from 8 to 1000000"]),
        (["replay", "nothing"], UNAVAILABLE, ["the recording nothing cannot be read", "name a file that is there"]),
        (["replay", "folder"], UNAVAILABLE, ["the recording folder cannot be read: it is a directory"]),
        (["replay", "pipe"], UNAVAILABLE, ["the recording pipe cannot be read: it is not a file"]),
        (["replay", "file"], 74, ["file cannot be replayed, at byte 0: this is no recording of a watch", "cairn run --record"]),
        (["replay", "file", "--bisect", "conected"], USAGE, ["“conected”", "did you mean connected?"]),
        (["replay", "file", "--screen-at", "1"], USAGE, ["--screen-at and -o go together"]),
        ([*VIRTUAL, "--control", "file"], CANNOT_CREATE, ["file", "no socket"]),
        ([*VIRTUAL, "--serial-port", "file"], CANNOT_CREATE, ["serial port file", "a path that is free"]),
        ([*VIRTUAL, "--app", "folder"], UNAVAILABLE, ["folder is not installed", "it is a directory", ".pbw"]),
        ([*VIRTUAL, "--app", "nothing"], UNAVAILABLE, ["nothing is not installed", "there is no such file"]),
        ([*VIRTUAL, "--app", "pipe"], USAGE, ["pipe is not installed", "no zip archive"]),
        ([*VIRTUAL, "--app", "file"], USAGE, ["file is not installed", "no zip archive"]),
        ([*VIRTUAL, "--behaviour", f"{APP}=folder"], USAGE, ["folder: it cannot be read: it is a directory"]),
        ([*VIRTUAL, "--behaviour", f"{APP}=nothing"], USAGE, ["nothing: it cannot be read: there is no such file"]),
        ([*VIRTUAL, "--behaviour", "echo"], USAGE, ["names no app"]),
        (["run", "--board", "latin.yaml"], CONFIGURATION, ["latin.yaml:2: this is not UTF-8", "config check"]),
        (["run", "--board", "twice.yaml"], CONFIGURATION, ["twice.yaml:5: name stands more than once; keep one"]),
        (["run", "--board", "tabs.yaml"], CONFIGURATION, ["tabs.yaml:2: this is not YAML"]),
        (["run", "--board", "huge.yaml"], CONFIGURATION, ["huge.yaml", "larger than 256 KiB"]),
        (["run", "--board", "folder"], UNAVAILABLE, ["folder: this is a directory"]),
        (["run", "--board", "nothing"], UNAVAILABLE, ["nothing: there is no such file"]),
        (["ask", "{bad"], USAGE, ["“{bad” is no JSON object", '{"command":"status"}']),
        (["ask", "[1]"], USAGE, ["“[1]” is no JSON object"]),
        (["status", "--control", "file"], UNAVAILABLE, ["no watch runs at file"]),
        (["status", "--control", "folder"], UNAVAILABLE, ["no watch runs at folder"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words(folder: Path, words: list[str], status: int, parts: list[str]) -> None:
    """Each names what is wrong and what to do next."""
    result = run(*words, folder=folder, environment={"CAIRN_STATE": str(folder)} if words[0] in {"press", "ask", "battery"} else {})
    assert result.returncode == status, result.stderr
    assert faults(result) == [], result.stderr
    assert [part for part in parts if part not in result.stderr] == [], result.stderr


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("CAIRN_CONTROLER", "did you mean CAIRN_CONTROLLER?"),
        ("CAIRN_STAET", "did you mean CAIRN_STATE?"),
        ("CAIRN_FAVOURITE_COLOUR", "the variables are CAIRN_ and the name of a setting"),
    ],
)
def test_a_variable_that_means_nothing(folder: Path, variable: str, hint: str) -> None:
    for words in [VIRTUAL, ["config", "show"]]:
        result = run(*words, folder=folder, environment={variable: "x"})
        assert result.returncode == CONFIGURATION and faults(result) == [], result.stderr
        assert f"the environment variable {variable}: " in result.stderr and hint in result.stderr


#: How Python and Swift ask for a variable.
ASKED = re.compile(r'''environ(?:ment)?(?:\.get\(|\[)"(CAIRN_[A-Z_]+)"|"(CAIRN_[A-Z_]+)" in os\.environ''')


def test_variables_of_our_own_tests_mean_no_setting(folder: Path) -> None:
    """A shell may still have those that our own tests take."""
    files = [file for name in ("*.py", "*.swift") for file in (REPOSITORY / "Tests").rglob(name)]
    texts = [file.read_text(encoding="utf-8") for file in files if "Package" not in file.parts]
    names = {first or second for text in texts for first, second in ASKED.findall(text)}
    assert len(names) > 10
    result = run(*VIRTUAL, folder=folder, environment=dict.fromkeys([*names, "CAIRN_WRONG"], "1"))
    assert re.findall("the environment variable (CAIRN_[A-Z_]+): ", result.stderr) == ["CAIRN_WRONG"], result.stderr


@pytest.mark.parametrize(
    ("variable", "value", "hint"),
    [("CAIRN_PAIRING_PHONES", "many", "a number from 1 to 16"), ("CAIRN_BOARD", "nothing", "there is no such file")],
)
def test_a_variable_with_a_wrong_value(folder: Path, variable: str, value: str, hint: str) -> None:
    result = run(*VIRTUAL, folder=folder, environment={variable: value})
    assert result.returncode in {CONFIGURATION, UNAVAILABLE} and faults(result) == [], result.stderr
    assert hint in result.stderr


@functools.cache
def tree() -> dict[str, Any]:
    """Every command with its options, by the program's own account."""
    result = subprocess.run([str(cairn.binary()), "--experimental-dump-help"], capture_output=True, text=True, timeout=60)
    return json.loads(result.stdout)["command"]


def commands(command: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if not command.get("subcommands"):
        yield path, command
    for inner in command.get("subcommands", []):
        if inner["commandName"] != "help":
            yield from commands(inner, (*path, inner["commandName"]))


#: What is wrong for most options and arguments: nothing, no number, one that is too large, a folder, quotes.
WRONG = ["", "no such thing", "-1", "99999999999999999999", "folder", "nothing/at/all", "'", "1e999"]


def tries(path: tuple[str, ...], command: dict[str, Any], seen: set[tuple[str, str]]) -> Iterator[list[str]]:
    """Every option with wrong values, once if several commands have the same. A watch that could run finds no controller."""
    words = ["run", "--controller", "unix:/nowhere/controller"] if path == ("run",) else list(path)
    yield [*words, "one", "two", "three", "four"]
    yield [*words, "--nonsense"]
    for number, argument in enumerate(command.get("arguments", [])):
        names = [f"--{name['name']}" for name in argument.get("names", []) if name["kind"] == "long"]
        if names and (names[0], argument.get("abstract", "")) in seen:
            continue
        seen |= {(name, argument.get("abstract", "")) for name in names[:1]}
        # The value that all have to refuse or to understand differs from option to option: together they see all.
        other = WRONG[number % len(WRONG)]
        if argument["kind"] == "option" and names:
            yield [*words, names[0]]
            yield [*words, names[0], "-1"]
            yield [*words, f"{names[0]}={other}"]
        elif argument["kind"] == "flag" and names and names[0] not in {"--help", "--version"}:
            yield [*words, f"{names[0]}=1"]
        elif argument["kind"] == "positional":
            yield from ([*words, "--", value] for value in WRONG)


#: In how many parts all of it is tried, which can run at once.
SHARES = 12


@pytest.mark.parametrize("share", range(SHARES))
def test_no_wrong_word_leaks_what_libraries_say(folder: Path, share: int) -> None:
    """A failure is told in our words, with what to do; a value that happens to be valid may work."""

    def attempt(words: list[str]) -> list[str]:
        # A demonstration and a radio would run, so they get another wrong option as well.
        if words[0] in {"demo", "air"}:
            words = [*words, "--log-level=wrong"]
        result = run(*words, folder=folder, environment={"CAIRN_STATE": str(folder / "none")})
        if result.returncode == 0:
            return []
        return [f"cairn {' '.join(words)}: {fault}: {result.stderr}" for fault in faults(result)]

    seen: set[tuple[str, str]] = set()
    everything = [words for path, command in commands(tree()) for words in tries(path, command, seen)]
    assert len(everything) > 200
    with ThreadPoolExecutor(2) as pool:
        assert [fault for found in pool.map(attempt, everything[share::SHARES]) for fault in found] == []


FULL = "cannot write to standard output: No space left on device"


@pytest.mark.parametrize(
    "words",
    [["--help"], ["help", "run"], ["--version"], ["personalities"], ["config", "show"], ["personalities", "--json"], ["demo"], ["status"], ["events"]],
    ids=" ".join,
)
async def test_output_that_cannot_be_written(tmp_path: Path, words: list[str]) -> None:
    """A full disk is an error; a reader that has gone ends the command without a word."""
    needs_watch = words[0] in {"status", "events"}
    state = ["--state", str(tmp_path / "state")]
    here = [*words, *(state if needs_watch else [])]
    watch = None
    if needs_watch:
        watch = await Program.start([str(cairn.binary()), *VIRTUAL, *state], tmp_path / "cairn.log")
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
    try:
        if words == ["events"]:
            here += ["--since", "0"]
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [str(cairn.binary()), *here], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, stdin=subprocess.DEVNULL
            )
        assert result.returncode == 74 and FULL in result.stderr and len(result.stderr.splitlines()) == 2, result.stderr
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            result = subprocess.run(
                [str(cairn.binary()), *here], stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60, stdin=subprocess.DEVNULL
            )
        assert (result.returncode, result.stderr) == (141, ""), result.stderr
    finally:
        if watch:
            assert await watch.stop() == 0
