"""The long run by hand (Tests/Soak/run), in short: two watches are visited in turn, and what is wrong with them is reported."""

from __future__ import annotations

import asyncio
import importlib.machinery
import importlib.util
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rig import cairn
from rig.vectors import REPOSITORY

SCRIPT = REPOSITORY / "Tests/Soak/run"


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("soak", str(SCRIPT))
    spec = importlib.util.spec_from_loader("soak", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module
    loader.exec_module(module)
    return module


async def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Runs the script; its status, and what it reports."""
    command = (sys.executable, str(SCRIPT), "--pause", "0", "--seed", "7", "--output", str(folder / "report"), *arguments)
    program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    printed, _ = await program.communicate()
    report = folder / "report/report.md"
    assert report.exists(), printed.decode()
    return program.returncode or 0, report.read_text()


@pytest.mark.slow
async def test_two_watches_are_visited(tmp_path: Path) -> None:
    status, report = await run(tmp_path, "--visits", "20")
    assert (status, report.splitlines()[-1]) == (0, "All was as it should be."), report
    assert "| visits | 20 | 20 |" in report and "| failed | 0 | 0 |" in report
    assert len((tmp_path / "report/visits.jsonl").read_text().splitlines()) == 40


@pytest.mark.slow
async def test_what_a_watch_forgets_is_reported(tmp_path: Path) -> None:
    """Of this watch nothing is left behind a power cut."""
    forgetful = tmp_path / "forgetful"
    forgetful.write_text(f'#!/bin/sh\nrm -rf {tmp_path}/report/cut/state\nexec {cairn.binary()} "$@"\n')
    forgetful.chmod(0o755)
    status, report = await run(tmp_path, "--visits", "12", "--program", str(forgetful))
    assert status == 1 and "- cut, visit" in report and "| failed | 0 |" in report, report


def changed(change: Callable[[Any, int], None]) -> Callable[[list[Any]], None]:
    def apply(visits: list[Any]) -> None:
        for number, visit in enumerate(visits):
            change(visit, number)

    return apply


def later(name: str, value: object) -> Callable[[list[Any]], None]:
    """From the last quarter on."""
    return changed(lambda visit, number: setattr(visit, name, value) if number >= 31 else None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda visits: None, []),
        (later("anonymous_kilobytes", 4200), ["the steady watch: anonymous kilobytes grew from 3000 to 4200"]),
        (later("anonymous_kilobytes", 4000), []),
        (later("descriptors", 9), ["the steady watch: descriptors grew from 8 to 9"]),
        (later("threads", 2), ["the steady watch: threads grew from 1 to 2"]),
        (lambda visits: setattr(visits[3], "drift", -2), ["steady, visit 3: the clock is -2 s off"]),
        (lambda visits: setattr(visits[3], "failure", "Traceback\nE: no\n"), ["steady, visit 3: E: no"]),
        (lambda visits: visits.__delitem__(slice(17, None)), ["too short to judge: 7 visits of the steady watch after 10 to warm up"]),
    ],
)
def test_what_is_wrong(soak: ModuleType, change: Callable[[list[Any]], None], complaint: list[str]) -> None:
    visits = [
        soak.Visit("steady", number, number % 5, number / 100, "leaves", drift=-1, anonymous_kilobytes=3000, descriptors=8, threads=1)
        for number in range(40)
    ]
    change(visits)
    assert soak.judge(visits) == complaint


def test_what_a_store_has_lost(soak: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with sqlite3.connect(tmp_path / "state/watch.sqlite") as file:
        file.execute("CREATE TABLE record (database INTEGER, key BLOB, value BLOB)")
        file.executemany("INSERT INTO record VALUES (6, ?, ?)", [(b"a", b"new"), (b"b", b"other"), (b"d", b"")])
    # Of "a" nobody knows whether its command was still carried out; "d" was deleted.
    store = soak.Store({b"a": b"old", b"b": b"mine", b"c": b"gone"}, doubt=(b"a", b"old", b"new"))
    assert store.lost(tmp_path / "state", tmp_path / "copy") == [
        "record b'b' was acknowledged as b'mine', and is b'other'",
        "record b'c' was acknowledged as b'gone', and is None",
        "record b'd' was acknowledged as None, and is b''",
    ]
    assert store.lost(tmp_path / "state", tmp_path / "copy") == []
