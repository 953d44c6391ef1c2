"""What packages say of the commands: a manual page for each, from the program's own help, and completions that shells read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rig.cairn import binary
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


def test_each_command_has_a_page(tmp_path: Path) -> None:
    """With all its options, and nothing in the text that roff would take for its own."""
    dump = run(binary(), "--experimental-dump-help")
    script = REPOSITORY / "Boards/debian/manual.py"
    run(sys.executable, script, "1.2.3", "Sat, 21 Nov 2026 20:00:00 +0000", tmp_path, text=dump)
    everything = commands(json.loads(dump)["command"], ("cairn",))
    assert {path.name for path in tmp_path.iterdir()} == {"-".join(path) + ".1" for path in everything}
    assert ("cairn", "run") in everything
    for path, command in everything.items():
        page = (tmp_path / ("-".join(path) + ".1")).read_text("utf-8")
        for argument in command.get("arguments", []):
            if argument["shouldDisplay"]:
                for name in argument.get("names", []):
                    dashes = "\\-\\-" if name["kind"] == "long" else "\\-"
                    assert dashes + name["name"].replace("-", "\\-") in page, f"{name['name']} is not in {path}"
        requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(shell: str) -> None:
    """Each shell's knows the command that is needed first."""
    script = run(binary(), "--generate-completion-script", shell)
    assert "controller" in script
    if shell == "bash":
        run("bash", "-n", text=script)
