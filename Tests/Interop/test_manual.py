"""What packages say of the commands: a manual page for each, from the program's own help, and completions that shells read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from rig import cairn, web_server
from rig.vectors import REPOSITORY


def run(*command: str | Path, text: str | None = None) -> str:
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def commands(command: dict[str, Any], path: tuple[str, ...]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Each command that is not hidden, by the words that it is typed with."""
    found = {path: command}
    for subcommand in command.get("subcommands", []):
        if subcommand["shouldDisplay"] and subcommand["commandName"] != "help":
            found |= commands(subcommand, (*path, subcommand["commandName"]))
    return found


#: The programs of the packages: each has a command that is needed first, and an option of that.
PROGRAMS = {"cairn": (cairn.binary, ("cairn", "run"), "controller"), "cairn-web": (web_server.binary, ("cairn-web",), "watches")}
on_each_program = pytest.mark.parametrize(("binary", "first", "option"), PROGRAMS.values(), ids=PROGRAMS)


@on_each_program
def test_each_command_has_a_page(tmp_path: Path, binary: Callable[[], Path], first: tuple[str, ...], option: str) -> None:
    """With all its options, without references to pages that are not there, and nothing that roff would take for its own."""
    dump = run(binary(), "--experimental-dump-help")
    script = REPOSITORY / "Boards/debian/manual.py"
    run(sys.executable, script, "1.2.3", "Sat, 21 Nov 2026 20:00:00 +0000", tmp_path, text=dump)
    everything = commands(json.loads(dump)["command"], first[:1])
    pages = {path.name for path in tmp_path.iterdir()}
    assert pages == {"-".join(path) + ".1" for path in everything}
    assert any(option in name["name"] for argument in everything[first]["arguments"] for name in argument.get("names", []))
    for path, command in everything.items():
        page = (tmp_path / ("-".join(path) + ".1")).read_text("utf-8")
        for argument in command.get("arguments", []):
            if argument["shouldDisplay"]:
                for name in argument.get("names", []):
                    dashes = "\\-\\-" if name["kind"] == "long" else "\\-"
                    assert dashes + name["name"].replace("-", "\\-") in page, f"{name['name']} is not in {path}"
        for reference in re.findall(r"^\\fB(\S+)\\fR\(1\)$", page, re.MULTILINE):
            assert reference.replace("\\-", "-") + ".1" in pages, f"{path} refers to {reference}"
        requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"}


@on_each_program
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(shell: str, binary: Callable[[], Path], first: tuple[str, ...], option: str) -> None:
    """Each shell's knows the option that is needed first."""
    script = run(binary(), "--generate-completion-script", shell)
    assert option in script
    if shell == "bash":
        run("bash", "-n", text=script)
