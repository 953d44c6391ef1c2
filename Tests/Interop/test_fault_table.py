"""A table of all faults by name (Docs/faults.md), and for each a function that shows it as somebody else sees it: Bumble's
phone, libpebble2 on it, tshark on the capture, or a second program where a phone sees nothing of it.

What a fault changes is looked at without it first, so that a fault which does nothing fails its test.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import re
import statistics
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import test_faults
import watches
from bumble import att
from bumble.keys import MemoryKeyStore
from bumble.smp import AuthReq, ErrorCode
from libpebble2.exceptions import PutBytesError
from libpebble2.protocol.appmessage import AppMessage, AppMessageACK, AppMessagePush
from libpebble2.protocol.apps import AppRunState, AppRunStateStart, AppRunStateStop
from libpebble2.protocol.blobdb import BlobDatabaseID, BlobStatus
from libpebble2.services.putbytes import PutBytes, PutBytesType
from rig import channels, companion
from rig import gatt as uuids
from rig.control import Control
from rig.libpebble import Companion
from rig.pebble import PebbleSession
from rig.phone import Phone, WatchLink
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
from rig.waiting import GaveUp, Mailbox
from test_command_line import run
from test_faults import add, fired, phone_at, session_at

#: How long the phone listens before it says that nothing comes.
SILENCE_SECONDS = 1.5
#: Endpoints.
PING, APP_MESSAGE, BLOB_DB = 0x07D1, 0x0030, 0xB1DB
#: What a phone is told when the watch restarts (Core 5.4, Vol 1, Part F: Power Off).
POWER_OFF = 0x15
TIMEOUT = 0x08
KEY_MISSING = 0x06
MIC_FAILURE = 0x3D
#: Read By Type Request of the Device Name, over all handles.
NAME_REQUEST = b"\x08\x01\x00\xff\xff\x00\x2a"


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
    async with session_at(folder) as (session, control, _):

        times = itertools.count(1)

        async def insert() -> int:
            # libpebble2's client keeps Try Later to itself, and sends once more. A glance that is not newer is refused.
            key, value = companion.ECHO_APP.bytes, b"\x01" + next(times).to_bytes(4, "little")
            record = bytes([1, 7, 0, BlobDatabaseID.AppGlance, len(key)]) + key + bytes([len(value), 0]) + value
            session.send_raw(BLOB_DB, record)
            answer = await session.inbox.take(10, "the answer", lambda message: message.endpoint == BLOB_DB)
            assert answer.payload[:2] == b"\x07\x00"
            return answer.payload[2]

        # Whatever this watch says to the record: it is something else.
        usual = await insert()
        assert usual != status
        await add(control, fault, count=1)
        assert await insert() == status
        assert await insert() == usual


# --- AppMessages and apps


def text(length: int) -> list[Any]:
    """A dictionary with so much text in it."""
    return [companion.string(1, "x" * length)]


async def heard_echo(session: PebbleSession) -> bool:
    """Whether the app has seen a push: it echoes each."""
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
        assert await heard_echo(session)
        await add(control, fault, count=1)
        assert await answered(session, 2) is answer
        assert await heard_echo(session) is is_seen
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
        companion.send_ping(session, 2)
        with pytest.raises(Closed, match="the watch reset the session"):
            await session.inbox.take(10, "the end of the session", lambda _: False)


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
            answer = await channel.ask(NAME_REQUEST)
            await add(control, "att.never", count=1)
            channel.send(NAME_REQUEST)
            await fired(control, "att.never")
            assert await channel.ask(b"\x0a\xff\xff") == b"\x01\x0a\xff\xff\x01"
            assert await channel.ask(NAME_REQUEST) == answer


@contextlib.asynccontextmanager
async def bonded_at(folder: Path) -> AsyncIterator[tuple[Phone, WatchLink, Control]]:
    """A watch and a phone that has paired."""
    bonds = {"pairs": pairing(Person()), "keystore": MemoryKeyStore()}
    async with phone_at(folder, "--service-changed-delay", "0", **bonds) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.pair()
        yield phone, watch, control


async def changes(watch: WatchLink) -> Mailbox[bytes]:
    """What the watch indicates of Service Changed from now on."""
    changed = (await watch.discover()).characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)
    await watch.subscribe(changed, bits=2)
    return watch.listen(changed.handle)


async def has_battery(watch: WatchLink) -> bool:
    services = (await watch.discover(attribute_by_attribute=False)).services
    return uuids.BATTERY_SERVICE in {each.uuid for each in services}


async def database_changed(folder: Path) -> None:
    async with bonded_at(folder) as (_, watch, control):
        told = await changes(watch)
        await add(control, "gatt.database-changed", told="no")
        assert not await has_battery(watch)
        assert told.waiting == []
        await add(control, "gatt.database-changed")
        await told.take(10, "Service Changed")
        assert await has_battery(watch)


async def service_changed_lost(folder: Path) -> None:
    async with bonded_at(folder) as (_, watch, control):
        told = await changes(watch)
        await control.ask("offer-battery", offered=False)
        await told.take(10, "Service Changed")
        # The watch has the Confirmation: a change that it undoes before that needs no other indication.
        assert not await has_battery(watch)
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
    """A phone that confirms nothing gets one indication, and with the fault the next as well."""
    async with bonded_at(folder) as (_, watch, control):
        await changes(watch)
        with RawChannel(watch.connection, ATT_CID) as channel:
            await add(control, "att.confirmation-not-awaited")
            for offered in (False, True):
                await control.ask("offer-battery", offered=offered)
                assert (await channel.receive("an indication"))[0] == att.Opcode.ATT_HANDLE_VALUE_INDICATION


# --- The radio


async def heard_of(phone: Phone, seconds: float = SILENCE_SECONDS) -> bool:
    """Whether the watch advertises."""
    phone.reports = Mailbox("the advertising reports")
    try:
        await phone.scan(watches.ADDRESS, seconds=seconds)
    except GaveUp:
        return False
    return True


async def loss(folder: Path) -> None:
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.round_trip()
        await add(control, "radio.loss", percent=100)
        assert await watch.disconnected(60) == TIMEOUT


async def bursts(folder: Path) -> None:
    """Round trips are held up, each time for a while; those between are as before, and the link stands it."""
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        loop = asyncio.get_running_loop()

        async def seconds() -> float:
            start = loop.time()
            await watch.round_trip()
            return loop.time() - start

        # One of them may fall into a time in which this machine does something else.
        assert statistics.median([await seconds() for _ in range(20)]) < 0.7
        await add(control, "radio.burst", length="1s", over="500ms")
        async with asyncio.timeout(90):
            while await seconds() < 0.7:
                pass
            while await seconds() > 0.3:
                pass


async def fade(folder: Path) -> None:
    """Advertisements get weaker."""
    async with phone_at(folder) as (phone, control):
        strengths: Mailbox[int] = Mailbox("the strengths of advertisements, in dBm")
        phone.device.host.on("advertising_report", lambda report: strengths.put(report.rssi))
        await phone.device.start_scanning(active=False)
        near = [await strengths.take(10, "an advertisement") for _ in range(20)]
        assert max(near) - min(near) < 15
        await add(control, "radio.fade", from_=1, to=60, over="5s")
        await strengths.take(30, "a weak one", lambda strength: strength < min(near) - 15)


async def deaf(folder: Path) -> None:
    """The link is lost either way. A watch that still hears the phone keeps it for as long as the phone does, and then for
    a supervision timeout of 6 s more; a deaf one loses it when the phone does."""
    for direction in ("phone", "watch"):
        place = folder / direction
        place.mkdir()
        async with session_at(place) as (session, control, watch):
            await companion.ping(session, 1)
            await add(control, "radio.deaf", direction=direction)
            assert await watch.disconnected(60) == TIMEOUT
            loop = asyncio.get_running_loop()
            start = loop.time()
            await control.event("disconnected", 60)
            assert (loop.time() - start > 3) is (direction == "phone")


async def drift(folder: Path) -> None:
    """A link stays with a clock that is wrong by no more than it claims, and both sides lose one with a clock that is."""
    async with session_at(folder) as (session, control, watch):
        await add(control, "radio.clock-drift", ppm=100)
        for cookie in range(20):
            await companion.ping(session, cookie)
        await clear(control)
        await add(control, "radio.clock-drift", ppm=20_000)
        assert await watch.disconnected(60) == TIMEOUT
        await control.event("disconnected", 60)


# --- The controller


def packets(file: Path, display_filter: str) -> int:
    """How many packets of a capture tshark finds by a filter."""
    command = ["tshark", "-r", str(file), "-Y", display_filter, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.split())


async def hang(folder: Path) -> None:
    """The controller still makes a connection, of which the host hears when the fault ends."""
    async with phone_at(folder) as (phone, control):
        await add(control, "controller.hang")
        watch = await phone.connect(watches.ADDRESS)
        with RawChannel(watch.connection, ATT_CID) as channel:
            channel.send(NAME_REQUEST)
            with pytest.raises(GaveUp):
                await channel.receive("the watch's name", SILENCE_SECONDS)
            await clear(control)
            assert watches.NAME.encode() in await channel.receive("the watch's name")


async def controller_restarts(folder: Path, *, fault: str, code: int) -> None:
    """The link is lost without a word, and the watch is there again."""
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.round_trip()
        await add(control, fault)
        assert (await control.event("controller-restarting"))["code"] == code
        assert await watch.disconnected(60) == TIMEOUT
        await (await phone.connect(watches.ADDRESS)).round_trip()


async def event_lost(folder: Path) -> None:
    """The controller says that the link is over, as tshark has it; the host does not hear of it, and does not advertise."""
    file = folder / "watch.btsnoop"
    async with phone_at(folder, "--capture", str(file)) as (phone, control):
        await (await phone.connect(watches.ADDRESS)).disconnect()
        assert await heard_of(phone, 10)
        watch = await phone.connect(watches.ADDRESS)
        await watch.round_trip()
        await add(control, "controller.event-lost", event=0x05)
        await watch.disconnect()
        await fired(control, "controller.event-lost")
        assert not await heard_of(phone)
    assert packets(file, "bthci_evt.code == 0x05") == 2


async def event_late(folder: Path) -> None:
    """The watch advertises again when it hears of the link's end."""
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.round_trip()
        await add(control, "controller.event-late", event=0x05, delay="5s")
        await watch.disconnect()
        assert not await heard_of(phone)
        assert await heard_of(phone, 20)


async def command_refused(folder: Path) -> None:
    """The host would end the link, and the controller has none of it."""
    file = folder / "watch.btsnoop"
    async with phone_at(folder, "--capture", str(file)) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await control.ask("disconnect")
        await watch.disconnected()
        watch = await phone.connect(watches.ADDRESS)
        await watch.round_trip()
        await add(control, "controller.command-refused", opcode=0x0406)
        await control.ask("disconnect")
        await fired(control, "controller.command-refused")
        await watch.round_trip()
    assert packets(file, "bthci_cmd.opcode == 0x0406") == 1


async def no_buffers(folder: Path) -> None:
    """The watch answers as often as it has buffers, and goes on when there are some again."""
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        with RawChannel(watch.connection, ATT_CID) as channel:

            async def answers() -> int:
                for count in range(40):
                    channel.send(NAME_REQUEST)
                    try:
                        await channel.receive("the watch's name", SILENCE_SECONDS)
                    except GaveUp:
                        return count
                return 40

            assert await answers() == 40
            await add(control, "controller.no-buffers")
            assert await answers() < 40
            await clear(control)
            assert watches.NAME.encode() in await channel.receive("the watch's name")


async def sets_lost(folder: Path) -> None:
    async with phone_at(folder) as (phone, control):
        assert await heard_of(phone, 10)
        await add(control, "controller.sets-lost")
        await fired(control, "controller.sets-lost")
        await control.status()
        assert not await heard_of(phone)


# --- L2CAP


@contextlib.asynccontextmanager
async def stream_at(folder: Path) -> AsyncIterator[tuple[channels.RawL2CAP, int, Control]]:
    """A watch with a stream on which every byte comes back, and its PSM."""
    async with phone_at(folder, "--loopback-streams", "1", pairs=pairing(Person())) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await watch.exchange_mtu(517)
        await watch.pair()
        published = (await watch.discover()).characteristic(uuids.LOOPBACK_SERVICE, uuids.PUBLISHED_PSM)
        psm = int.from_bytes(await watch.read(published.handle), "little")
        with channels.RawL2CAP(watch.connection) as raw:
            yield raw, psm, control


async def credits_withheld(folder: Path) -> None:
    """Of the credits for half of the frames that the phone may send the watch gives some back, and then none."""
    async with stream_at(folder) as (raw, psm, control):
        destination, _, _, credits, result = await raw.connect(psm, credits=2000)
        assert result == 0 and credits > 1

        def send_half() -> None:
            for _ in range(credits // 2):
                raw.send(destination, channels.words(100) + bytes(100))

        async def given() -> None:
            await raw.commands.take(SILENCE_SECONDS, "credits", lambda each: each[0] == channels.CREDITS)

        send_half()
        await given()
        await add(control, "l2cap.credits-withheld")
        send_half()
        await fired(control, "l2cap.credits-withheld")
        raw.commands = Mailbox("the watch's signaling commands")
        with pytest.raises(GaveUp):
            await given()


async def opened_otherwise(folder: Path, *, fault: str, place: int, accept: Callable[[int], bool], after: int) -> None:
    """A number in the watch's answer to a connection request: destination, MTU, MPS, credits, result."""
    async with stream_at(folder) as (raw, psm, control):
        assert accept((await raw.connect(psm, 0x50))[place])
        await add(control, fault)
        assert (await raw.connect(psm, 0x51))[place] == after


async def channel_dropped(folder: Path) -> None:
    async with stream_at(folder) as (raw, psm, control):
        channel = await channels.RawChannel.open(raw, psm, credits=10)
        channel.send_sdu(b"before")
        with pytest.raises(GaveUp):
            await raw.commands.take(SILENCE_SECONDS, "the watch to close the channel")
        await raw.disconnect(channel.destination)
        await add(control, "l2cap.channel-dropped")
        channel = await channels.RawChannel.open(raw, psm, 0x51, credits=10)
        channel.send_sdu(b"after")
        await raw.closed_by_watch(channel.destination, 0x51)


async def parameters_refused(folder: Path) -> None:
    """The watch wants fast parameters for discovery: the phone hears of them, and with the fault of none."""
    for fault in (None, "l2cap.parameters-refused"):
        place = folder / str(fault)
        place.mkdir()
        async with phone_at(place) as (phone, control):
            updates: Mailbox[tuple[int, ...]] = Mailbox("the parameters of the link")
            phone.device.host.on("connection_parameters_update", lambda _, *each, to=updates: to.put(each))
            if fault:
                await add(control, fault)
            watch = await phone.connect(watches.ADDRESS)
            await watch.discover()
            if not fault:
                await updates.take(20, "the fast parameters")
                continue
            await control.events.take(20, "a firing", lambda event: event["event"] == "fault")
            await control.events.take(
                20, "the refusal", lambda event: event["event"] == "link" and event["name"] == "refused"
            )
            await watch.round_trip()
            assert updates.waiting == []


# --- Pairing and encryption


async def stalled(folder: Path) -> None:
    """After the watch's public key the phone waits for a Pairing Confirm that never comes."""
    for fault in (None, "smp.stalled"):
        place = folder / str(fault)
        place.mkdir()
        async with phone_at(place, pairs=pairing(Person())) as (phone, control):
            if fault:
                await add(control, fault)
            watch = await phone.connect(watches.ADDRESS)
            with RawChannel(watch.connection, SMP_CID) as channel:
                initiator = RawInitiator(watch.connection, channel)
                await initiator.negotiate()
                if not fault:
                    await initiator.exchange_keys()
                    continue
                await channel.ask(initiator.public_key_pdu())
                with pytest.raises(GaveUp):
                    await channel.receive("the watch's confirm value", SILENCE_SECONDS)


async def wrong_confirm(folder: Path) -> None:
    async with phone_at(folder, pairs=pairing(Person())) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "smp.wrong-confirm", count=1)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.CONFIRM_VALUE_FAILED


async def other_model(folder: Path) -> None:
    """The IO capability in the Pairing Response: DisplayYesNo becomes NoInputNoOutput, and protection is not asked for."""
    found = []
    for fault in (None, "smp.other-model"):
        place = folder / str(fault)
        place.mkdir()
        async with phone_at(place, pairs=pairing(Person())) as (phone, control):
            if fault:
                await add(control, fault, to="just-works")
            watch = await phone.connect(watches.ADDRESS)
            with RawChannel(watch.connection, SMP_CID) as channel:
                initiator = RawInitiator(watch.connection, channel)
                await initiator.negotiate()
                found.append((initiator.response_pdu[1], bool(initiator.response_pdu[3] & AuthReq.MITM)))
    assert found == [(1, True), (3, False)]


async def back(phone: Phone, watch: WatchLink) -> WatchLink:
    """Disconnects, and connects again."""
    await watch.disconnect()
    return await phone.connect(watches.ADDRESS)


async def not_encrypted(watch: WatchLink, status: int) -> None:
    """The phone has a key, and the watch does not take it."""
    with pytest.raises(EncryptionRefused) as refusal:
        await watch.encrypt()
    assert refusal.value.status == status


async def bond_forgotten(folder: Path) -> None:
    """The link stays, encrypted as it is; the next one is not encrypted."""
    async with bonded_at(folder) as (phone, watch, control):
        watch = await back(phone, watch)
        await watch.encrypt()
        await add(control, "bond.forgotten")
        await fired(control, "bond.forgotten")
        await watch.round_trip()
        await not_encrypted(await back(phone, watch), KEY_MISSING)


async def key_corrupted(folder: Path) -> None:
    """The link ends for the packet that fails its check; with the same key the next one is encrypted."""
    async with bonded_at(folder) as (phone, watch, control):
        watch = await back(phone, watch)
        await watch.encrypt()
        watch = await back(phone, watch)
        await add(control, "encryption.key-corrupted", count=1)
        # Whether the central counts the link as encrypted before that is its own matter.
        with contextlib.suppress(EncryptionRefused):
            await watch.encrypt()
        # The watch's controller is gone without a word (Core 5.4, Vol 6, Part B, 2.4), and knows why.
        assert await watch.disconnected(20) == TIMEOUT
        await control.events.take(
            10, "why", lambda event: event["event"] == "disconnected" and event["status"] == MIC_FAILURE
        )
        await (await phone.connect(watches.ADDRESS)).encrypt()


async def encryption_refused(folder: Path) -> None:
    """Once; with the same key the next link is encrypted."""
    async with bonded_at(folder) as (phone, watch, control):
        watch = await back(phone, watch)
        await watch.encrypt()
        watch = await back(phone, watch)
        await add(control, "encryption.refused", count=1)
        await not_encrypted(watch, KEY_MISSING)
        await (await back(phone, watch)).encrypt()


# --- The watch


async def reboot(folder: Path) -> None:
    """The phone is told of the end, and what it has with the watch is as before."""
    async with bonded_at(folder) as (phone, watch, control):
        await add(control, "watch.reboot")
        assert await watch.disconnected() == POWER_OFF
        await (await phone.connect(watches.ADDRESS)).encrypt()


async def factory_reset(folder: Path) -> None:
    async with bonded_at(folder) as (phone, watch, control):
        await add(control, "watch.factory-reset")
        assert await watch.disconnected() == POWER_OFF
        await not_encrypted(await phone.connect(watches.ADDRESS), KEY_MISSING)


async def battery(folder: Path) -> None:
    async with phone_at(folder) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        level = (await watch.discover()).characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
        levels = watch.listen(level.handle)
        await watch.subscribe(level)
        await control.ask("battery", percent=95)
        await levels.take(10, "the charge", lambda charge: charge == bytes([95]))
        await add(control, "watch.battery", from_=90, to=80, over="5s")
        seen = [(await levels.take(20, "the charge"))[0] for _ in range(5)]
        assert seen == sorted(set(seen), reverse=True) and seen[0] <= 90 and seen[-1] >= 80


async def clock_jump(folder: Path) -> None:
    async with session_at(folder) as (session, control, _):
        before = await companion.ask_time(session)
        assert 0 <= await companion.ask_time(session) - before < 300
        await add(control, "watch.clock-jump", seconds=100_000)
        assert 100_000 <= await companion.ask_time(session) - before < 100_300


async def time_zone(folder: Path) -> None:
    """A phone is told the time in UTC, which is as before; a second program sees the zone. The phone has set it to UTC+1."""
    async with session_at(folder) as (session, control, _):
        before = await companion.ask_time(session)
        assert (await control.ask("time"))["time"]["offsetMinutes"] == 60
        await add(control, "watch.time-zone", minutes=330)
        assert (await control.ask("time"))["time"]["offsetMinutes"] == 330
        assert 0 <= await companion.ask_time(session) - before < 300


async def button_stuck(folder: Path) -> None:
    """No phone sees a button: a second program does."""
    async with phone_at(folder) as (_, control):
        await control.ask("press", button="up")
        assert (await control.event("button"))["isLong"] is False
        await add(control, "watch.button-stuck", button="up")
        event = await control.event("button")
        assert event["button"] == "up" and event["isLong"] is True


async def address_rotates(folder: Path) -> None:
    async with phone_at(folder, "--private-address", "60") as (phone, control):
        first = await phone.find(lambda _: True)
        assert first.is_resolvable
        phone.reports = Mailbox("the advertising reports")
        await phone.find(lambda _: True)
        assert {report.address for report in phone.reports.waiting} <= {first}
        await add(control, "watch.address-rotates")
        other = await phone.find(lambda report: report.address != first, seconds=20)
        assert other.is_resolvable


async def storage_fails(folder: Path, *, fault: str) -> None:
    """An upload is refused, and a bond is gone when the watch's process is started again."""
    place = folder / "upload"
    place.mkdir()
    async with companion_at(place) as (guest, control):
        assert await upload(guest, 3000) == 3000
        await add(control, fault)
        with pytest.raises(UploadRefused):
            await upload(guest, 3000)
        await fired(control, fault)
    for number, added in enumerate((None, fault)):
        place = folder / f"bond-{number}"
        place.mkdir()
        bonds = {"pairs": pairing(Person()), "keystore": MemoryKeyStore()}
        async with phone_at(place, **bonds) as (phone, control):
            if added:
                await add(control, added)
            watch = await phone.connect(watches.ADDRESS)
            await watch.pair()
            await watch.disconnect()
        async with phone_at(place, **bonds) as (phone, _):
            watch = await phone.connect(watches.ADDRESS)
            await (not_encrypted(watch, KEY_MISSING) if added else watch.encrypt())


async def storage_slow(folder: Path) -> None:
    """The end of an upload is told when the store has it."""
    async with companion_at(folder) as (guest, control):
        loop = asyncio.get_running_loop()
        start = loop.time()
        await upload(guest, 3000)
        assert loop.time() - start < 4.5
        await add(control, "storage.slow", delay="5s", count=1)
        start = loop.time()
        await upload(guest, 3000)
        assert loop.time() - start > 4.5




# --- The table


Show = Callable[[Path], Awaitable[None]]

#: What shows each fault.
SHOWN: dict[str, Show] = {
    "radio.loss": loss,
    "radio.burst": bursts,
    "radio.fade": fade,
    "radio.deaf": deaf,
    "radio.clock-drift": drift,
    "controller.hang": hang,
    "controller.reset": functools.partial(controller_restarts, fault="controller.reset", code=0),
    "controller.hardware-error": functools.partial(controller_restarts, fault="controller.hardware-error", code=66),
    "controller.event-lost": event_lost,
    "controller.event-late": event_late,
    "controller.command-refused": command_refused,
    "controller.no-buffers": no_buffers,
    "controller.sets-lost": sets_lost,
    "l2cap.credits-withheld": credits_withheld,
    "l2cap.psm-refused": functools.partial(
        opened_otherwise, fault="l2cap.psm-refused", place=4, accept=lambda result: result == 0, after=2
    ),
    "l2cap.channel-dropped": channel_dropped,
    "l2cap.tiny-mps": functools.partial(
        opened_otherwise, fault="l2cap.tiny-mps", place=2, accept=lambda mps: mps > 64, after=23
    ),
    "l2cap.parameters-refused": parameters_refused,
    "smp.stalled": stalled,
    "smp.wrong-confirm": wrong_confirm,
    "smp.other-model": other_model,
    "bond.forgotten": bond_forgotten,
    "encryption.key-corrupted": key_corrupted,
    "encryption.refused": encryption_refused,
    "watch.reboot": reboot,
    "watch.factory-reset": factory_reset,
    "watch.battery": battery,
    "watch.clock-jump": clock_jump,
    "watch.time-zone": time_zone,
    "watch.memory-short": memory_short,
    "watch.button-stuck": button_stuck,
    "watch.address-rotates": address_rotates,
    "storage.full": functools.partial(storage_fails, fault="storage.full"),
    "storage.slow": storage_slow,
    "storage.read-only": functools.partial(storage_fails, fault="storage.read-only"),
    "storage.corrupt-row": functools.partial(storage_fails, fault="storage.corrupt-row"),
    "att.never": never_answered,
    "att.confirmation-not-awaited": confirmation_not_awaited,
    "gatt.database-changed": database_changed,
    "gatt.service-changed-lost": service_changed_lost,
    "gatt.wrong-hash": wrong_hash,
    "ppogatt.data-corrupted": data_corrupted,
    "ppogatt.reset": transport_reset,
    "ppogatt.window-one": functools.partial(
        opens_otherwise,
        fault="ppogatt.window-one",
        seen=lambda it: it.watch_windows == (1, 1),
        before=False,
        after=True,
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
}


#: The faults that test_faults.py shows, and what shows each.
ELSEWHERE: dict[str, Callable[..., Awaitable[None]]] = {
    "link.lost": test_faults.test_a_link_is_lost_silently,
    "link.dropped": test_faults.test_a_link_ends_for_the_reason_that_was_ordered,
    "link.mute": test_faults.test_a_phone_that_gets_no_answer_gives_up,
    "att.error": test_faults.test_an_att_error_comes_as_often_as_it_was_ordered,
    "att.late": test_faults.test_an_answer_is_late,
    "att.twice": test_faults.test_a_capture_tells_of_a_firing,
    "att.mtu-refused": test_faults.test_the_exchange_of_mtus_is_refused,
    "smp.pairing-refused": test_faults.test_a_pairing_is_refused,
    "smp.wrong-dhkey-check": test_faults.test_the_check_of_a_pairing_is_wrong,
    "ppogatt.ack-lost": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "ppogatt.ack-late": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "ppogatt.ack-doubled": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "ppogatt.data-lost": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "ppogatt.data-reordered": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "ppogatt.data-repeated": test_faults.test_ppogatt_stands_what_it_is_made_for,
    "message.doubled": test_faults.test_a_message_comes_twice,
    "ping.unanswered": test_faults.test_a_ping_is_not_answered,
    "version.recovery": test_faults.test_the_version_answer_says_recovery,
}


@pytest.mark.parametrize("name", SHOWN)
async def test_a_fault_is_what_it_claims_to_be(name: str) -> None:
    # A socket's path is short, and the names of the tests' own folders are long.
    with tempfile.TemporaryDirectory(prefix="fault") as folder:
        await SHOWN[name](Path(folder))


def test_all_faults_are_shown() -> None:
    """Each that there is, by its name, and once."""
    names = re.findall(r"^\s*([a-z0-9]+\.[a-z0-9-]+)\b", run("fault", "names").stdout, re.MULTILINE)
    assert sorted([*SHOWN, *ELSEWHERE]) == sorted(names)
