"""The watch in the guest: `cairn run` on an adapter's user channel."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from rig.process import Program

from .adapters import WATCH

ADDRESS = "F0:11:22:33:12:34"
NAME = "Pebble 1234"
SECONDS = 60


async def start(out: Path, state: Path, *options: str, on: str = WATCH) -> Program:
    """A watch that advertises: to any phone, or to the one that it knows."""
    command = ["cairn", "run", "--controller", on, "--address", ADDRESS, "--state", str(state)]
    program = await Program.start([*command, "--log-level", "debug", *options], out / "cairn.log")
    try:
        await program.wait_for_line("advertises for", SECONDS)
    except BaseException:
        program.kill()
        raise
    return program


@contextlib.asynccontextmanager
async def running(out: Path, state: Path, *options: str) -> AsyncIterator[Program]:
    """A watch until the end of the block; by then it must still run, and end well when asked."""
    program = await start(out, state, *options)
    try:
        yield program
        assert program.is_running, f"cairn ended with status {await program.wait_for_exit(SECONDS)}:\n{program.log}"
        status = await program.stop(SECONDS)
        assert status == 0, f"cairn ended with status {status} when it was asked to stop:\n{program.log}"
    finally:
        program.kill()
