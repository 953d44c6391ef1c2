"""Cairn, switched on for a test."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from fake_watch import FakeWatch
from rig import cairn
from rig.process import Program

#: Static random, and the same for both watches; the name follows from it.
ADDRESS = FakeWatch.address
NAME = FakeWatch.name


@contextlib.asynccontextmanager
async def cairn_on(controller: str, folder: Path, *arguments: str, log_level: str = "debug") -> AsyncIterator[Program]:
    """Runs Cairn, and returns when it advertises: to any phone, or to the one that it knows."""
    command = ("run", "--controller", controller, "--address", ADDRESS, "--log-level", log_level)
    async with cairn.running(*command, *arguments, log=folder / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        yield program
