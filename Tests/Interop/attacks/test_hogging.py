"""Hogging: a stranger's phone holds the link, so that the phone that the watch belongs to cannot connect.

The watch's radio is Cairn's own, and each phone is a guest on it with a controller of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig.control import Control
from rig.phone import Phone
from rig.security import IoCapability, Person, pairing, stored_bonds
from watches import ADDRESS, cairn_on

YES_NO = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
STRANGERS = ("E2:00:00:00:00:02", "E2:00:00:00:00:03", "E2:00:00:00:00:04")
STRANGER_IRK = bytes.fromhex("0badc0de0badc0de0badc0de0badc0de")
TURNED_AWAY = 0x14
ENDED = 0x13


@dataclass
class Place:
    """A watch that belongs to a phone, which is away, and the port where phones' hosts attach."""

    port: int
    folder: Path
    control: Control

    def owner(self) -> contextlib.AbstractAsyncContextManager[Phone]:
        """The owner's phone, under a private address that is new each time it is switched on."""
        bonds = stored_bonds(self.folder / "owner.json")
        return Phone.on(self.port, private=True, keystore=bonds, pairs=pairing(Person(YES_NO)))

    def stranger(self, address: str = STRANGERS[0]) -> contextlib.AbstractAsyncContextManager[Phone]:
        return Phone.on(self.port, address=address, irk=STRANGER_IRK)


@contextlib.asynccontextmanager
async def owned(folder: Path) -> AsyncIterator[Place]:
    state = folder / "state"
    async with (
        cairn_on("virtual", folder, "--air-port", "0", "--state", str(state)) as program,
        Control.on(state / "control.sock") as control,
    ):
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        place = Place(int(port[1]), folder, control)
        async with place.owner() as phone:
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            await watch.disconnect()
        await control.listen()
        yield place


async def test_the_owner_comes_beside_an_idle_stranger(tmp_path: Path) -> None:
    """The owner connects under a new private address and encrypts while a stranger sits idle; the stranger has to go."""
    async with owned(tmp_path) as place, place.stranger() as stranger:
        idle = await stranger.connect(ADDRESS)
        await idle.round_trip()
        async with place.owner() as owner:
            start = time.monotonic()
            link = await owner.connect(ADDRESS)
            await link.encrypt()
            await link.round_trip()
            assert time.monotonic() - start < 10
            assert await idle.disconnected() == ENDED
            ended = await place.control.event("link-ended")
            assert (ended["phone"], ended["tenure"]) == (STRANGERS[0], "the bonded phone has come")
            await link.round_trip()
            status = await place.control.status()
            assert status["lastStranger"]["phone"] == STRANGERS[0]
            (only,) = status["links"]
            assert only["isBonded"] and only["isEncrypted"]


@pytest.mark.slow
async def test_an_idle_stranger_is_sent_away(tmp_path: Path) -> None:
    """The owner is away: the stranger's link ends after 30 s, and status, log and events say why."""
    async with owned(tmp_path) as place, place.stranger() as stranger:
        idle = await stranger.connect(ADDRESS)
        start = time.monotonic()
        assert (await place.control.status())["air"].endswith("(strangers are about)")
        assert await idle.disconnected(60) == ENDED
        assert 29 <= time.monotonic() - start < 40
        ended = await place.control.event("link-ended")
        assert ended["tenure"] == "it was not encrypted within 30 s, and a phone is bonded"
        assert (await place.control.status())["lastStranger"]["cause"] == ended["tenure"]


async def test_a_third_stranger_is_turned_away(tmp_path: Path) -> None:
    """Two strangers may be there at once; a third is sent away at once, of which there is one event, and a count."""
    async with contextlib.AsyncExitStack() as stack:
        place = await stack.enter_async_context(owned(tmp_path))
        phones = [await stack.enter_async_context(place.stranger(address)) for address in STRANGERS]
        first, second = [await phone.connect(ADDRESS) for phone in phones[:2]]
        third = await phones[2].connect(ADDRESS)
        assert await third.disconnected() == TURNED_AWAY
        await place.control.event("strangers")
        await first.round_trip()
        await second.round_trip()
        assert (await place.control.status())["strangersTurnedAway"] == 1
