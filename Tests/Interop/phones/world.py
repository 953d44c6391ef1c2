"""Where a watch and a phone meet: two of Bumble's controllers, the watch's own virtual air, or Cairn's netsim."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from rig import cairn
from rig.controllers import Controllers, controllers
from rig.phone import Phone
from rig.process import Program
from watches import cairn_on


@dataclass
class World:
    """A watch that can be switched off and on again, and the place where a phone's radio is.

    `port`: where the phone's host attaches, as `Phone.on` takes it; `detached`: returns when that radio is free again.
    """

    port: int | str
    detached: Callable[[], Awaitable[None]] | None
    folder: Path
    controller: str
    options: tuple[str, ...] = ()
    #: The controllers, where they are Bumble's.
    room: Controllers | None = None
    _watch: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @property
    def state(self) -> Path:
        """Where the watch keeps what it remembers."""
        return self.folder / "watch"

    @property
    def log(self) -> str:
        """What every watch has printed that ran here."""
        path = self.folder / "cairn.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    async def start_watch(self, *, log_level: str = "debug") -> Program:
        arguments = ("--state", str(self.state), *self.options)
        return await self._watch.enter_async_context(
            cairn_on(self.controller, self.folder, *arguments, log_level=log_level)
        )

    async def stop_watch(self) -> None:
        await self._watch.aclose()

    async def out_of_range(self, phone: Phone) -> None:
        """The phone is carried away for a moment: both ends lose the link by supervision timeout."""
        if self.room is not None:
            self.room.out_of_range()
        else:
            await phone.fall_silent()

    def check(self) -> None:
        """The watch has sent its controller nothing that a controller cannot take."""
        if self.room is not None:
            assert self.room.faults == []
            assert self.room.watch.controller.refused == []


@contextlib.asynccontextmanager
async def quiet_room(folder: Path, *options: str) -> AsyncIterator[World]:
    """Bumble's controllers, between which nothing gets lost. The watch is off."""
    async with controllers() as room:
        world = World(room.phone.port, room.phone.detached, folder, room.watch.address, options, room)
        try:
            yield world
        finally:
            await world.stop_watch()
            await room.watch.detached()
        world.check()


@contextlib.asynccontextmanager
async def lossy_air(folder: Path, loss: float, *options: str) -> AsyncIterator[World]:
    """A radio of the watch's own, which loses `loss` percent of all packets. The watch is on: the air is its own."""
    air = ("--air-port", "0", "--air-loss", f"{loss:g}", "--air-seed", "7")
    world = World(0, None, folder, "virtual", (*air, *options))
    try:
        program = await world.start_watch()
        world.port = int((await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        yield world
    finally:
        await world.stop_watch()


@contextlib.asynccontextmanager
async def netsim(folder: Path, loss: float, *options: str) -> AsyncIterator[World]:
    """`cairn air --netsim`, where each host is a stream of gRPC, as in an Android emulator. The watch is off."""
    arguments = ("air", "--netsim", "0", "--loss", f"{loss:g}", "--seed", "7")
    async with cairn.running(*arguments, log=folder / "air.log") as air:
        place = (await air.wait_for_line(r"netsim for emulators at (127\.0\.0\.1:\d+)", 20))[1]
        world = World(f"{place},name=phone", None, folder, f"netsim:{place},name=watch", options)
        try:
            yield world
        finally:
            await world.stop_watch()
        # Neither host sent what its controller cannot take. Data may be on its way while its link is lost.
        wrong = [line for line in air.lines if "no HCI packet" in line or re.search("packet dropped: (?!data for connection)", line)]
        assert wrong == []
