"""Long commands show on a terminal how much is done, nothing without one, and print what they have at Ctrl-C."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest
from rig import cairn
from rig.watchapps import AppBundle
from watches import cairn_on

INTERRUPTED = 130
#: What moves to the beginning of the line and what clears the rest of it: only a terminal understands it.
CLEAR = "\x1b[K"


@pytest.fixture
def bench() -> str:
    program = cairn.binary().parent / "cairn-bench"
    assert program.exists(), f"there is no {program}: run 'swift build' first"
    return str(program)


def on_terminal(program: str, *arguments: str, term: str = "xterm") -> pexpect.spawn:
    """The program with a terminal of 100 columns for its input and its output."""
    environment = {"TERM": term, "PATH": "/usr/bin:/bin"}
    return pexpect.spawn(program, list(arguments), env=environment, dimensions=(24, 100), encoding="utf-8", timeout=120)


def test_a_terminal_shows_how_long_the_rest_takes_and_interruption_keeps_what_there_is(bench: str) -> None:
    terminal = on_terminal(bench, "discovery", "--seeds", "20000")
    terminal.expect(r"Trials  \[[#·]{24}\] \d+ %")
    terminal.expect(r"\d+ (?:s|min|h)(?: \d+ (?:s|min))? left")
    terminal.sendintr()
    terminal.expect("advertising interval")
    terminal.expect(r"\| 20 ms +\| foreground")
    terminal.expect("Interrupted: ")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == INTERRUPTED


def test_the_line_is_gone_at_the_end(bench: str) -> None:
    terminal = on_terminal(bench, "ladder", "--seconds", "2", "--profile", "current")
    terminal.expect(pexpect.EOF)
    output = terminal.before
    terminal.close()
    assert terminal.exitstatus == 0
    assert "Ladder  [" in output and CLEAR in output
    # What comes after the last step is the table, on a line that was cleared.
    assert "Ladder  [" not in output.rsplit(CLEAR, 1)[1]


@pytest.mark.parametrize(("term", "options"), [("xterm", ["--progress", "never"]), ("dumb", [])])
def test_a_terminal_shows_nothing_if_it_is_not_to(bench: str, term: str, options: list[str]) -> None:
    terminal = on_terminal(bench, "ladder", "--seconds", "2", *options, term=term)
    terminal.expect(pexpect.EOF)
    assert CLEAR not in terminal.before and "Ladder  [" not in terminal.before
    terminal.close()
    assert terminal.exitstatus == 0


def test_without_a_terminal_nothing_is_shown(bench: str) -> None:
    result = subprocess.run([bench, "ladder", "--seconds", "2"], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and result.stderr == ""
    assert CLEAR not in result.stdout and "[#" not in result.stdout


def test_an_interrupted_report_is_whole_json(bench: str, tmp_path: Path) -> None:
    """What was measured up to Ctrl-C can be read by a program."""
    report = tmp_path / "report.json"
    command = f"exec '{bench}' cost --quick --json >'{report}'"
    terminal = on_terminal("/bin/bash", "-c", command)
    terminal.expect(r"Benchmarks  \[#")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == INTERRUPTED
    assert json.loads(report.read_text(encoding="utf-8"))["measurements"]


def test_a_wrong_mode_is_refused(bench: str) -> None:
    result = subprocess.run([bench, "ladder", "--progress", "maybe"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 64 and "auto" in result.stderr and "never" in result.stderr


async def test_an_installation_shows_how_much_is_sent(tmp_path: Path) -> None:
    state = tmp_path / "state"
    package = tmp_path / "app.pbw"
    bundle = AppBundle(code=bytes(60_000))
    package.write_bytes(bundle.pbw())
    async with cairn_on("virtual", tmp_path, "--state", str(state)):
        arguments = ("install", str(package), "--state", str(state))
        command = [str(cairn.binary()), *arguments]
        quiet = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert quiet.returncode == 0 and quiet.stderr == ""
        terminal = on_terminal(str(cairn.binary()), *arguments)
        terminal.expect(r"Installing  \[")
        terminal.expect_exact(f"Installed {bundle.name}")
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == 0


STEPS = """
set -euo pipefail
. Boards/progress
progress_of test
SECONDS=0
step "one thing"
SECONDS=$((SECONDS + 75))
step "another"
SECONDS=$((SECONDS + 5))
step "the last"
progress_ends
echo done
"""


def board_steps(folder: Path) -> str:
    """The steps of a program of Boards, on a terminal."""
    terminal = pexpect.spawn("/bin/bash", ["-c", STEPS], cwd=str(folder), dimensions=(24, 200), encoding="utf-8", timeout=30)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0, terminal.before
    return terminal.before.replace("\r\n", "\n")


def test_programs_for_boards_say_how_long_the_rest_takes(tmp_path: Path) -> None:
    """By what the steps took the last time; the first time, and without a terminal, they only say which begins."""
    (tmp_path / "Boards").mkdir()
    shutil.copy(Path(__file__).parents[2] / "Boards" / "progress", tmp_path / "Boards")
    plain = "== one thing\n== another\n== the last\ndone\n"
    assert board_steps(tmp_path) == plain
    first, second, *_ = board_steps(tmp_path).splitlines()
    assert re.fullmatch(r"== one thing \(last time 1 min 1\d s; all that is left takes about 1 min [12]\d s\)", first)
    assert re.fullmatch(r"== another \(last time \d s; all that is left takes about \d+ s\)", second)
    result = subprocess.run(["/bin/bash", "-c", STEPS], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert result.stdout == plain and result.stderr == ""
