"""The program under test: `cairn run`, as built."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from .process import Program
from .vectors import REPOSITORY

#: How long the watch may take from its start until it advertises.
START_SECONDS = 30


@functools.cache
def binary() -> Path:
    """The program that `swift build` has built; CAIRN_BINARY names another."""
    if named := os.environ.get("CAIRN_BINARY"):
        path = Path(named)
    else:
        show = subprocess.run(
            ["swift", "build", "--show-bin-path"],
            cwd=REPOSITORY,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        path = Path(show.stdout.strip()) / "cairn"
    assert path.exists(), f"there is no {path}: run 'swift build' first"
    return path


@contextlib.asynccontextmanager
async def running(*arguments: str, log: Path) -> AsyncIterator[Program]:
    """Runs `cairn` with arguments until the end of the block; by then it must still run, and end well when asked."""
    program = await Program.start([str(binary()), *arguments], log)
    try:
        yield program
        assert program.is_running, f"cairn ended with status {await program.wait_for_exit(10)}:\n{program.log}"
        status = await program.stop()
        assert status == 0, f"cairn ended with status {status} when it was asked to stop:\n{program.log}"
    finally:
        program.kill()
