"""Two phones in range of one watch: the owner's, and an attacker's that can take any address."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rig import companion
from rig import gatt as uuids
from rig.control import Control
from rig.controllers import Controllers
from rig.pebble import PebbleSession
from rig.phone import ANDROID_ADDRESS, ANDROID_IRK, Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.security import IoCapability, Person, pairing, stored_bonds
from rig.waiting import GaveUp
from watches import ADDRESS, cairn_on

YES_NO = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
NOTHING = IoCapability.NO_OUTPUT_NO_INPUT

#: Who the owner is. A stranger who has heard him once can take his address, but not his keys.
OWNER = ANDROID_ADDRESS
OWNER_IRK = ANDROID_IRK
STRANGER = "E2:00:00:00:00:02"
OTHER_IRK = bytes.fromhex("0badc0de0badc0de0badc0de0badc0de")

#: How long an attacker waits for an answer that he must not get.
PATIENCE = 3.0


@dataclass
class Scene:
    """A watch, a person at its buttons, and the air around it."""

    room: Controllers
    folder: Path
    watch: Program
    control: Control

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @contextlib.asynccontextmanager
    async def owner(self, person: Person | None = None, *, private: bool = False) -> AsyncIterator[Phone]:
        """The owner's phone, with the keys that it has."""
        bonds = stored_bonds(self.folder / "owner.json")
        async with Phone.on(
            self.room.phone.port,
            address=OWNER,
            irk=OWNER_IRK,
            private=private,
            keystore=bonds,
            pairs=pairing(person or Person(YES_NO)),
        ) as phone:
            yield phone
        await self.room.phone.detached()

    @contextlib.asynccontextmanager
    async def attacker(
        self,
        address: str = OWNER,
        *,
        bonding: bool = True,
        person: Person | None = None,
        irk: bytes = OTHER_IRK,
        private: bool = False,
        secure_connections: bool = True,
    ) -> AsyncIterator[Phone]:
        """A phone without keys: with the owner's address, unless another is given."""
        pairs = pairing(person or Person(NOTHING), bonding=bonding, secure_connections=secure_connections)
        async with Phone.on(
            self.room.phone.port, address=address, irk=irk, private=private, pairs=pairs
        ) as phone:
            yield phone
        await self.room.phone.detached()

    async def take_possession(self, *, with_a_yes: bool = False) -> None:
        """The owner pairs, has a session, and goes. `with_a_yes`: a person at the watch has to agree."""
        async with self.owner() as phone:
            session = host_session(phone)
            watch = await phone.connect(ADDRESS)
            attempt = asyncio.create_task(watch.pair())
            if with_a_yes:
                await self.control.event("pairing-waits")
                await self.control.ask("confirm")
            await attempt
            await session.opened()
            await companion.introduce(session.session)
            await self.control.event("session-opened")
            await watch.disconnect()
            await self.control.event("disconnected")

    async def owner_is_served(self) -> None:
        """The owner comes back with his key, and has a session: no attack has cost him anything."""
        seen = len(self.watch.lines)
        async with self.owner() as phone:
            session = host_session(phone)
            watch = await phone.connect(ADDRESS)
            await watch.encrypt()
            await session.opened()
            await companion.introduce(session.session)
            await self.watch.wait_for_line("is back", 5, after=seen)
            await watch.disconnect()


@dataclass
class HostedSession:
    """A phone's own PPoGATT service, and the session that a watch opens over it if it trusts the phone."""

    transport: PhoneTransport
    session: PebbleSession

    async def opened(self) -> None:
        await self.transport.opened()

    async def stays_closed(self) -> None:
        """Fails if the watch opens the session."""
        with contextlib.suppress(GaveUp):
            await self.session.inbox.take(PATIENCE, "what the watch must not say")
            raise AssertionError("the watch has opened a session to the attacker")


def host_session(phone: Phone) -> HostedSession:
    """Hosts PPoGATT. Call it before connecting."""
    transport = PhoneTransport(phone.host_ppogatt())
    session = PebbleSession(transport)
    transport.start()
    return HostedSession(transport, session)


async def connectivity(watch: WatchLink) -> bytes:
    """Connectivity Status: the flags in the first byte, the last pairing's result in the last."""
    (value,) = await watch.client.read_characteristics_by_uuid(uuids.CONNECTIVITY, None)
    assert len(value) == 4
    return value


@contextlib.asynccontextmanager
async def scene_of(room: Controllers, folder: Path, *options: str) -> AsyncIterator[Scene]:
    """A watch that is switched on, with a state of its own."""
    arguments = ("--state", str(folder / "state"), *options)
    async with (
        cairn_on(room.watch.address, folder, *arguments) as program,
        Control.on(folder / "state" / "control.sock") as control,
    ):
        await control.listen()
        yield Scene(room, folder, program, control)
    await room.watch.detached()
