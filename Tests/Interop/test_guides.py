"""The guides: every command in them is one that the programs have."""

from __future__ import annotations

import functools
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from rig import cairn
from rig.vectors import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("Docs/*.md"), *REPOSITORY.glob("Boards/*/README.md"), REPOSITORY / "README.md"])


@functools.cache
def tree() -> dict:
    """Every command of `cairn` with its options, by its own account."""
    result = subprocess.run([str(cairn.binary()), "--experimental-dump-help"], capture_output=True, text=True, timeout=60)
    return json.loads(result.stdout)["command"]


def commands(page: Path) -> list[str]:
    """The lines of a page's `sh` blocks, continued ones put together."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def check(line: str) -> str | None:
    """What is wrong with a command line, if it is one of ours."""
    words = shlex.split(line, comments=True)
    while words and (words[0] == "sudo" or re.match(r"^[A-Z_]+=", words[0])):
        words = words[1:]
    if not words:
        return None
    program, *rest = words
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
