"""Reconnection: what the watch asks a phone that it knows, and what it does when the phone is not what it was.

The letters are the rows of the table in Tests/README.md. Three kinds of phone: one with a Database Hash, one that only
promises to indicate changes, and one that does neither.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bumble import att, gatt
from bumble.core import UUID
from rig import cairn, capture, companion, control
from rig.controllers import Controllers, controllers
from rig.pebble import PebbleSession
from rig.phone import META_ANDROID, ForwardChannel, Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.security import IoCapability, Person, pairing
from watches import ADDRESS, cairn_on

KINDS = pytest.mark.parametrize("kind", ["hash", "indications", "nothing"])

#: The requests that find out where something is; Read By Type does so if it asks for declarations.
DISCOVERY = (att.ATT_Find_Information_Request, att.ATT_Find_By_Type_Value_Request, att.ATT_Read_By_Group_Type_Request)
DECLARATIONS = (gatt.GATT_CHARACTERISTIC_ATTRIBUTE_TYPE, gatt.GATT_INCLUDE_ATTRIBUTE_TYPE)

#: What a watch must not use, where handles that it knew pointed before.
FILLER = UUID("0f111e4a-0000-4000-8000-000000000000")


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []
        assert room.watch.controller.refused == []


@dataclass
class Known:
    """A phone of a kind, with one companion, and what the watch asked of it."""

    phone: Phone
    kind: str
    channel: ForwardChannel
    requests: list[att.ATT_PDU] = field(default_factory=list)
    #: What the watch wrote to characteristics that it must not use.
    wrong_writes: list[bytes] = field(default_factory=list)

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, room: Controllers, kind: str) -> AsyncIterator[Known]:
        async with Phone.on(room.phone.port, pairs=pairing(Person(IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT))) as phone:
            if kind != "hash":
                phone.hide_database_hash()
            if kind == "nothing":
                phone.hide_service_changed_configuration()
            known = cls(phone, kind, phone.host_ppogatt(encrypted=True))
            server = phone.device.gatt_server
            answer = server.on_gatt_pdu

            def note(bearer: Any, pdu: att.ATT_PDU) -> None:
                known.requests.append(pdu)
                answer(bearer, pdu)

            server.on_gatt_pdu = note  # type: ignore[method-assign]
            yield known

    async def first_connection(self, watch: Program) -> None:
        """Pairs, talks, and stays until the watch knows everything."""
        async with self.session(pairs=True):
            await watch.wait_for_line("services are remembered", 10)

    @contextlib.asynccontextmanager
    async def session(self, *, pairs: bool = False, changed: bool = False) -> AsyncIterator[WatchLink]:
        """A connection on which the companion's session is up. `changed`: the phone says so, if it is one that does."""
        self.requests.clear()
        transport = PhoneTransport(self.channel)
        session = PebbleSession(transport)
        transport.start()
        link = await self.phone.connect(ADDRESS)
        try:
            await (link.pair() if pairs else link.encrypt())
            if changed and self.kind != "nothing":
                await self.phone.indicate_service_changed(1, 0xFFFF, everybody=True)
            await transport.opened()
            await companion.introduce(session)
            await companion.ping(session, 0x5EED)
            assert transport.violations == []
            yield link
        finally:
            await link.disconnect()
            await link.disconnected()

    def fill(self, count: int) -> None:
        """Adds a service with characteristics that any client may write."""
        properties = gatt.Characteristic.Properties
        permissions = gatt.Characteristic.Permissions
        self.phone.device.add_service(
            gatt.Service(
                FILLER,
                [
                    gatt.Characteristic(
                        FILLER,
                        properties.READ | properties.WRITE | properties.WRITE_WITHOUT_RESPONSE,
                        permissions.READABLE | permissions.WRITEABLE,
                        gatt.CharacteristicValue(
                            read=lambda _: META_ANDROID, write=lambda _, value: self.wrong_writes.append(value)
                        ),
                    )
                    for _ in range(count)
                ],
            )
        )

    def move(self) -> None:
        """The companion is installed again: its services are elsewhere, and others are where they were."""
        self.phone.remove(self.channel)
        self.fill(6)
        self.channel = self.phone.host_ppogatt(encrypted=True)

    @property
    def discoveries(self) -> list[att.ATT_PDU]:
        return [
            pdu
            for pdu in self.requests
            if isinstance(pdu, DISCOVERY)
            or (isinstance(pdu, att.ATT_Read_By_Type_Request) and pdu.attribute_type in DECLARATIONS)
        ]


# a: what has not changed


@pytest.mark.parametrize("kind", ["hash", "indications"])
async def test_nothing_is_looked_for_twice(room: Controllers, tmp_path: Path, kind: str) -> None:
    """a: the second connection has no request that discovers anything."""
    async with (
        cairn_on(room.watch.address, tmp_path, "--state", str(tmp_path / "watch")) as watch,
        Known.on(room, kind) as known,
    ):
        await known.first_connection(watch)
        assert known.discoveries
        for _ in range(3):
            async with known.session() as link:
                await link.round_trip()
                await asyncio.sleep(0.3)
            assert known.discoveries == []
            assert known.requests


async def test_a_phone_without_a_promise(room: Controllers, tmp_path: Path) -> None:
    """a: the session is open before anything is looked for; but then it is."""
    async with (
        cairn_on(room.watch.address, tmp_path, "--state", str(tmp_path / "watch")) as watch,
        Known.on(room, "nothing") as known,
    ):
        await known.first_connection(watch)
        async with known.session():
            subscriptions = [pdu for pdu in known.requests if isinstance(pdu, att.ATT_Write_Request)]
            first = known.requests.index(subscriptions[0])
            assert not any(pdu in known.discoveries for pdu in known.requests[:first])
            while not known.discoveries:
                await asyncio.sleep(0.02)


async def test_memory_survives_a_power_cut(room: Controllers, tmp_path: Path) -> None:
    """a: `kill -9`, and a new process knows; tshark counts what it sent."""
    second = tmp_path / "second.btsnoop"
    arguments = ("--state", str(tmp_path / "watch"))
    async with Known.on(room, "hash") as known:
        command = [str(cairn.binary()), "run", "--controller", room.watch.address, "--address", ADDRESS]
        first = await Program.start([*command, "--log-level", "debug", *arguments], tmp_path / "first.log")
        try:
            await first.wait_for_line("advertises for", cairn.START_SECONDS)
            await known.first_connection(first)
        finally:
            first.kill()
            await first.wait_for_exit(10)
        await room.watch.detached()
        async with cairn_on(room.watch.address, tmp_path, *arguments, "--capture", str(second)):
            async with known.session() as link:
                await link.round_trip()
        await room.watch.detached()
    opcodes = capture.decode(second).att_opcodes
    assert [opcodes[opcode] for opcode in (0x04, 0x06, 0x10)] == [0, 0, 0]
    hashes = [pdu for pdu in known.requests if isinstance(pdu, att.ATT_Read_By_Type_Request)]
    assert {str(pdu.attribute_type) for pdu in hashes} == {str(gatt.GATT_DATABASE_HASH_CHARACTERISTIC)}
    assert opcodes[0x08] >= len(hashes) > 0


# b: what has changed while the watch was away


@KINDS
async def test_moved_services_are_found_again(room: Controllers, tmp_path: Path, kind: str) -> None:
    """b: other characteristics are where the companion's were; nothing is written to them, and the session is up."""
    async with (
        cairn_on(room.watch.address, tmp_path, "--state", str(tmp_path / "watch")) as watch,
        Known.on(room, kind) as known,
    ):
        await known.first_connection(watch)
        known.move()
        seen = len(watch.lines)
        async with known.session(changed=True):
            await watch.wait_for_line("services are remembered", 10, after=seen)
        assert known.discoveries
        assert known.wrong_writes == []
        # And what was found is what is remembered.
        async with known.session():
            pass
        assert known.wrong_writes == []
        if kind != "nothing":
            assert known.discoveries == []


async def test_silent_change(room: Controllers, tmp_path: Path) -> None:
    """b: a phone that promised to tell of changes, and does not."""
    async with (
        cairn_on(room.watch.address, tmp_path, "--state", str(tmp_path / "watch")) as watch,
        Known.on(room, "indications") as known,
    ):
        await known.first_connection(watch)
        known.move()
        async with known.session():
            assert known.discoveries
        assert known.wrong_writes == []


# c: forgetting


async def test_forgetting_the_phone_forgets_its_services(room: Controllers, tmp_path: Path) -> None:
    """c: a phone that pairs again is treated as a new one."""
    state = tmp_path / "watch"
    async with (
        cairn_on(room.watch.address, tmp_path, "--state", str(state)) as watch,
        Known.on(room, "hash") as known,
    ):
        await known.first_connection(watch)
        await control.ask(state, "forget-all")
        await known.phone.forget(ADDRESS)
        async with known.session(pairs=True):
            assert known.discoveries
