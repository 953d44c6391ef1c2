"""Bluetooth adapters of the guest's kernel that are not there: Cairn's own air behind /dev/vhci, or BlueZ's btvirt."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from rig.process import Program
from rig.waiting import within

from .checks import RIG

#: The watch's adapter, and the phone's.
WATCH, PHONE = "hci0", "hci1"
#: The same addresses every time: so a phone's bonds outlive its adapter.
COMMANDS = {"air": ["cairn", "air", "--vhci", "2", "--seed", "1"], "btvirt": ["btvirt", "-L", "-l2"]}
SECONDS = 60
#: The kernel gives an adapter 10 s for an answer.
SET_UP_SECONDS = 30
ATTEMPTS = 3


def present() -> set[str]:
    """The adapters that the kernel has (and not their connections, which are next to them)."""
    return {each.name for each in Path("/sys/class/bluetooth").glob("hci*") if re.fullmatch(r"hci\d+", each.name)}


async def until_present(*wanted: str) -> None:
    """Returns when the kernel has exactly these adapters."""

    async def watch() -> None:
        while present() != set(wanted):
            await asyncio.sleep(0.02)

    await within(SECONDS, f"the adapters {sorted(wanted)} and no others", watch())


async def until_set_up(*adapters: str) -> None:
    """Returns when the kernel has initialised them: then debugfs shows their features."""

    async def watch() -> None:
        while not all(Path(f"/sys/kernel/debug/bluetooth/{each}/features").exists() for each in adapters):
            await asyncio.sleep(0.02)

    await within(SET_UP_SECONDS, f"the adapters {sorted(adapters)} to be set up", watch())


class Adapters:
    """Both adapters, which come and go together."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._program: Program | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def plugged_in(cls, out: Path) -> AsyncIterator[Adapters]:
        subprocess.run(["modprobe", "hci_vhci"], check=True)
        adapters = cls(out)
        await adapters.plug_in()
        try:
            yield adapters
        finally:
            await adapters.unplug()

    async def plug_in(self) -> None:
        """A kernel that got no answer in time leaves an adapter as it is: on a busy machine, it is tried once more."""
        for _ in range(ATTEMPTS):
            self._program = await Program.start(COMMANDS[RIG], self._out / "adapters.log")
            try:
                await until_present(WATCH, PHONE)
                return await until_set_up(WATCH, PHONE)
            except AssertionError as error:
                failure = AssertionError(f"{error}; {COMMANDS[RIG][0]} printed:\n{self._program.log}")
            await self.unplug()
        raise failure

    async def unplug(self) -> None:
        """At once, as when a dongle is pulled."""
        if self._program:
            self._program.kill()
            await self._program.wait_for_exit(SECONDS)
            self._program = None
        await until_present()
