"""A table of all faults by name (Docs/faults.md), and for each a function that shows it as somebody else sees it: Bumble's
phone, libpebble2 on it, tshark on the capture, or a second program where a phone sees nothing of it.

What a fault changes is looked at without it first, so that a fault which does nothing fails its test.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import test_faults
import watches
from bumble import att, hci
from bumble.device import Connection
from bumble.keys import MemoryKeyStore
from bumble.smp import ErrorCode
from libpebble2.exceptions import PutBytesError
from libpebble2.protocol.appmessage import AppMessage, AppMessageACK, AppMessagePush
from libpebble2.protocol.apps import AppRunState, AppRunStateStart, AppRunStateStop
from libpebble2.protocol.blobdb import BlobDatabaseID, BlobStatus
from libpebble2.services.blobdb import BlobDBClient, SyncWrapper
from libpebble2.services.putbytes import PutBytes, PutBytesType
from rig import channels, companion
from rig import gatt as uuids
from rig.control import Control
from rig.libpebble import Companion
from rig.pebble import PebbleSession
from rig.phone import Database, Phone, WatchLink
from rig.ppogatt import Closed, PhoneTransport
from rig.security import (
    ATT_CID,
    SMP_CID,
    EncryptionRefused,
    PairingRefused,
    Person,
    RawChannel,
    RawInitiator,
    pairing,
)
from rig.waiting import GaveUp
from test_command_line import run
from test_faults import add, fired, phone_at, session_at

#: How long the phone listens before it says that nothing comes.
SILENCE_SECONDS = 1.5
#: The endpoints of messages that are bent.
TIME, PING, APP_MESSAGE = 0x000B, 0x07D1, 0x0030
#: What a phone is told when the watch restarts (Core 5.4, Vol 1, Part F: Power Off).
POWER_OFF = 0x15
TIMEOUT = 0x08
KEY_MISSING = 0x06


# --- What they share


@contextlib.asynccontextmanager
async def companion_at(folder: Path) -> AsyncIterator[tuple[Companion, Control]]:
    """A watch, and libpebble2 with its own services."""
    async with phone_at(folder, "--insecure-test-link") as (phone, control):
        transport = PhoneTransport(phone.host_ppogatt())
        guest = Companion(transport)
        transport.start()
        await phone.connect(watches.ADDRESS)
        await transport.opened()
        await guest.start()
        try:
            yield guest, control
        finally:
            guest.close()


async def clear(control: Control) -> None:
    """Takes all faults away."""
    await control.ask("fault-clear")


# --- Messages


async def message_lost(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        await companion.ping(session, 1)
        await add(control, "message.lost", endpoint=PING, direction="to-phone", count=1)
        companion.send_ping(session, 2)
        await fired(control, "message.lost")
        await companion.ping(session, 3)


async def message_cut(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        await companion.ping(session, 1)
        await add(control, "message.cut", endpoint=PING, direction="to-phone", length=2)
        companion.send_ping(session, 2)
        # Length, endpoint, and the first two bytes of a pong.
        with pytest.raises(AssertionError, match="cannot decode 000207d10100"):
            await companion.next_pong(session)


async def message_late(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        for cookie in (1, 2):
            companion.send_ping(session, cookie)
        assert [await companion.next_pong(session) for _ in range(2)] == [1, 2]
        await add(control, "message.late", endpoint=PING, direction="to-phone", delay="1s", count=1)
        for cookie in (3, 4):
            companion.send_ping(session, cookie)
        assert [await companion.next_pong(session) for _ in range(2)] == [4, 3]


async def version_old(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        assert (await companion.ask_version(session)).running.version_tag.startswith("v4.")
        await add(control, "version.old", version=2)
        assert (await companion.ask_version(session)).running.version_tag.startswith("v2.")


async def version_without_capability(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        before = (await companion.ask_version(session)).capabilities
        assert before & 1
        await add(control, "version.without-capability", capability=0)
        assert (await companion.ask_version(session)).capabilities == before & ~1


# --- Uploads and databases


async def upload(guest: Companion, size: int) -> int:
    """Uploads a file; how much of it the watch has taken when the upload is over. Raises PutBytesError if it refused."""
    sender = PutBytes(guest.connection, PutBytesType.File, bytes(size), bank=0, filename="lang")
    taken = 0

    def progress(_: int, so_far: int, __: int) -> None:
        nonlocal taken
        taken = so_far

    sender.register_handler("progress", progress)
    try:
        await guest.run(sender.send)
    except PutBytesError as error:
        raise UploadRefused(taken) from error
    return taken


class UploadRefused(Exception):
    """The watch has refused an upload after so many bytes."""

    def __init__(self, taken: int) -> None:
        self.taken = taken
        super().__init__(taken)


async def upload_refused(folder: Path, *, fault: str, taken: int, **arguments: object) -> None:
    """An upload of 7000 bytes, of which the watch takes some."""
    async with companion_at(folder) as (guest, control):
        assert await upload(guest, 7000) == 7000
        await add(control, fault, **arguments)
        with pytest.raises(UploadRefused) as refusal:
            await upload(guest, 7000)
        assert refusal.value.taken == taken
        await fired(control, fault)


async def database_refuses(folder: Path, *, fault: str, status: BlobStatus) -> None:
    """A record that the watch took before."""
    async with companion_at(folder) as (guest, control):
        client = BlobDBClient(guest.connection)

        async def insert() -> BlobStatus:
            record = (BlobDatabaseID.AppGlance, companion.ECHO_APP, b"\x01\x00\x00\x00\x00")
            return await guest.run(lambda: SyncWrapper(client.insert, *record).wait())

        assert await insert() == BlobStatus.Success
        await add(control, fault, count=1)
        assert await insert() == status
        assert await insert() == BlobStatus.Success


# --- AppMessages and apps


def text(length: int) -> list[Any]:
    """A dictionary with so much text in it."""
    return [companion.string(1, "x" * length)]


async def heard_echo(session: PebbleSession, transaction: int) -> bool:
    """Whether the app has seen a push: it echoes each. A ping that is answered after it says that nothing else comes."""
    try:
        echo, _ = await session.expect(
            AppMessage, "the echo", lambda packet: isinstance(packet.data, AppMessagePush), SILENCE_SECONDS
        )
    except GaveUp:
        return False
    session.send(AppMessage(transaction_id=echo.transaction_id, data=AppMessageACK()))
    return True


async def answered(session: PebbleSession, transaction: int) -> bool | None:
    """Whether the watch takes a push; None if it says nothing."""
    push = companion.push(transaction, text(10))
    session.send(push)
    try:
        answer, _ = await session.expect(
            AppMessage,
            "the answer",
            lambda packet: not isinstance(packet.data, AppMessagePush) and packet.transaction_id == transaction,
            SILENCE_SECONDS,
        )
    except GaveUp:
        return None
    return isinstance(answer.data, AppMessageACK)


async def app_message(folder: Path, *, fault: str, answer: bool | None, is_seen: bool) -> None:
    """What the phone hears of a push, and whether the app saw it."""
    async with session_at(folder) as (session, control, _):
        await companion.launch(session)
        assert await answered(session, 1) is True
        assert await heard_echo(session, 1)
        await add(control, fault, count=1)
        assert await answered(session, 2) is answer
        assert await heard_echo(session, 2) is is_seen
        assert await answered(session, 3) is True


async def message_too_long(folder: Path, *, fault: str) -> None:
    """A push of more bytes than the fault allows is refused, and a shorter one is not."""
    async with session_at(folder) as (session, control, _):
        await companion.launch(session)
        long = companion.push(1, text(100))
        session.send(long)
        await companion.expect_ack_and_echo(session, long)
        await add(control, fault, bytes=64)
        long = companion.push(2, text(100))
        session.send(long)
        await companion.expect_refusal(session, long)
        short = companion.push(3, text(10))
        session.send(short)
        await companion.expect_ack_and_echo(session, short)


async def memory_short(folder: Path) -> None:
    (folder / "upload").mkdir()
    (folder / "message").mkdir()
    await upload_refused(folder / "upload", fault="watch.memory-short", taken=0)
    await message_too_long(folder / "message", fault="watch.memory-short")


async def app_crash(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        await companion.launch(session)
        await add(control, "app.crash")
        ended, _ = await session.expect(AppRunState, "the app's end")
        assert isinstance(ended.data, AppRunStateStop) and ended.data.uuid == companion.ECHO_APP
        begun, _ = await session.expect(AppRunState, "the watchface")
        assert isinstance(begun.data, AppRunStateStart) and begun.data.uuid != companion.ECHO_APP


async def app_slow(folder: Path) -> None:
    """A ping that is sent after the push overtakes its answer."""
    async with session_at(folder) as (session, control, _):
        await companion.launch(session)

        async def order(transaction: int) -> list[int]:
            session.send(companion.push(transaction, text(10)))
            companion.send_ping(session, transaction)
            messages = [
                await session.inbox.take(
                    10, "both answers", lambda each: each.endpoint in (PING, APP_MESSAGE) and not is_push(each.packet)
                )
                for _ in range(2)
            ]
            return [each.endpoint for each in messages]

        assert await order(1) == [APP_MESSAGE, PING]
        await add(control, "app.slow", delay="1s")
        assert await order(2) == [PING, APP_MESSAGE]


def is_push(packet: object) -> bool:
    return isinstance(packet, AppMessage) and isinstance(packet.data, AppMessagePush)


# --- PPoGATT


async def data_corrupted(folder: Path) -> None:
    """The last bit of a pong is that of its cookie."""
    async with session_at(folder) as (session, control, _):
        await companion.ping(session, 6)
        await add(control, "ppogatt.data-corrupted", count=1)
        companion.send_ping(session, 6)
        assert await companion.next_pong(session) == 7


async def transport_reset(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        await companion.ping(session, 1)
        await add(control, "ppogatt.reset")
        with pytest.raises(Closed, match="the watch reset the session"):
            await companion.ping(session, 2)


async def opened(phone: Phone) -> PhoneTransport:
    """Connects, and has the watch open PPoGATT on the phone's service."""
    transport = PhoneTransport(phone.host_ppogatt())
    transport.start()
    await phone.connect(watches.ADDRESS)
    await transport.opened()
    return transport


async def opens_otherwise(
    folder: Path, *, fault: str, seen: Callable[[PhoneTransport], object], before: object, after: object
) -> None:
    """What the phone hears in the handshake, with and without the fault."""
    for name, expected in ((None, before), (fault, after)):
        place = folder / str(name)
        place.mkdir()
        async with phone_at(place, "--insecure-test-link") as (phone, control):
            if name:
                await add(control, name)
            assert seen(await opened(phone)) == expected


# --- ATT and GATT


async def never_answered(folder: Path) -> None:
    """The link stays: the next request is answered."""
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        with RawChannel(watch.connection, ATT_CID) as channel:
            request = b"\x08\x01\x00\xff\xff\x00\x2a"
            answer = await channel.ask(request)
            await add(control, "att.never", count=1)
            channel.send(request)
            await fired(control, "att.never")
            assert await channel.ask(b"\x0a\xff\xff") == b"\x01\x0a\xff\xff\x01"
            assert await channel.ask(request) == answer


@contextlib.asynccontextmanager
async def bonded_at(
    folder: Path, *options: str
) -> AsyncIterator[tuple[WatchLink, Database, Control]]:
    """A watch and a phone that has paired and subscribed to Service Changed."""
    bonds = {"pairs": pairing(Person()), "keystore": MemoryKeyStore()}
    async with phone_at(folder, "--service-changed-delay", "0", *options, **bonds) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.pair()
        database = await watch.discover()
        await watch.subscribe(service_changed(database), bits=2)
        yield watch, database, control


def service_changed(database: Database) -> Any:
    return database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)


async def has_battery(watch: WatchLink) -> bool:
    services = (await watch.discover(attribute_by_attribute=False)).services
    return uuids.BATTERY_SERVICE in {each.uuid for each in services}


async def database_changed(folder: Path) -> None:
    async with bonded_at(folder) as (watch, database, control):
        told = watch.listen(service_changed(database).handle)
        await add(control, "gatt.database-changed", told="no")
        assert not await has_battery(watch)
        assert told.waiting == []
        await add(control, "gatt.database-changed")
        await told.take(10, "Service Changed")
        assert await has_battery(watch)


async def service_changed_lost(folder: Path) -> None:
    async with bonded_at(folder) as (watch, database, control):
        told = watch.listen(service_changed(database).handle)
        await control.ask("offer-battery", offered=False)
        await told.take(10, "Service Changed")
        await add(control, "gatt.service-changed-lost", count=1)
        await control.ask("offer-battery", offered=True)
        await fired(control, "gatt.service-changed-lost")
        assert await has_battery(watch)
        assert told.waiting == []
        await control.ask("offer-battery", offered=False)
        await told.take(10, "Service Changed")


async def wrong_hash(folder: Path) -> None:
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)

        async def read() -> list[bytes]:
            return await watch.client.read_characteristics_by_uuid(uuids.DATABASE_HASH, None)

        right = await read()
        assert await read() == right
        await add(control, "gatt.wrong-hash")
        assert await read() != right
        await clear(control)
        assert await read() == right


async def confirmation_not_awaited(folder: Path) -> None:
    """A phone that confirms nothing gets one indication, and with the fault the next."""
    async with bonded_at(folder) as (watch, _, control):
        with RawChannel(watch.connection, ATT_CID) as channel:
            await control.ask("offer-battery", offered=False)
            first = await channel.receive("an indication")
            assert first[0] == att.ATT_HANDLE_VALUE_INDICATION
            await control.ask("offer-battery", offered=True)
            with pytest.raises(GaveUp):
                await channel.receive("another indication", SILENCE_SECONDS)
            await add(control, "att.confirmation-not-awaited")
            channel.send(bytes([att.ATT_HANDLE_VALUE_CONFIRMATION]))
            await channel.receive("an indication")
            await fired(control, "att.confirmation-not-awaited")
            await control.ask("offer-battery", offered=False)
            assert (await channel.receive("another indication"))[0] == att.ATT_HANDLE_VALUE_INDICATION


Show = Callable[[Path], Awaitable[None]]

#: What shows each fault.
SHOWN: dict[str, Show] = {
    "att.never": never_answered,
    "att.confirmation-not-awaited": confirmation_not_awaited,
    "gatt.database-changed": database_changed,
    "gatt.service-changed-lost": service_changed_lost,
    "gatt.wrong-hash": wrong_hash,
    "ppogatt.data-corrupted": data_corrupted,
    "ppogatt.reset": transport_reset,
    "ppogatt.window-one": functools.partial(
        opens_otherwise, fault="ppogatt.window-one", seen=lambda it: it.watch_windows, before=(25, 25), after=(1, 1)
    ),
    "ppogatt.other-version": functools.partial(
        opens_otherwise, fault="ppogatt.other-version", seen=lambda it: it.version, before=1, after=0
    ),
    "message.lost": message_lost,
    "message.cut": message_cut,
    "message.late": message_late,
    "version.old": version_old,
    "version.without-capability": version_without_capability,
    "putbytes.nack": functools.partial(upload_refused, fault="putbytes.nack", taken=4000, bytes=4000),
    "putbytes.wrong-crc": functools.partial(upload_refused, fault="putbytes.wrong-crc", taken=7000),
    "blobdb.busy": functools.partial(database_refuses, fault="blobdb.busy", status=BlobStatus.TryLater),
    "blobdb.full": functools.partial(database_refuses, fault="blobdb.full", status=BlobStatus.DatabaseFull),
    "blobdb.stale": functools.partial(database_refuses, fault="blobdb.stale", status=BlobStatus.DataStale),
    "appmessage.nack": functools.partial(app_message, fault="appmessage.nack", answer=False, is_seen=True),
    "appmessage.silence": functools.partial(app_message, fault="appmessage.silence", answer=None, is_seen=True),
    "appmessage.busy": functools.partial(app_message, fault="appmessage.busy", answer=False, is_seen=False),
    "appmessage.inbox-small": functools.partial(message_too_long, fault="appmessage.inbox-small"),
    "app.crash": app_crash,
    "app.slow": app_slow,
    "watch.memory-short": memory_short,
}


@pytest.mark.parametrize("name", SHOWN)
async def test_a_fault_is_what_it_claims_to_be(tmp_path: Path, name: str) -> None:
    await SHOWN[name](tmp_path)
