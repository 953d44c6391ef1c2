"""What companions call: installing, updating, databases, logs, screenshots, logged data, music and calls.

libpebble2's own services, unchanged, over PPoGATT on a Bumble phone. The letters are the rows of the table in
Tests/README.md.
"""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import watches
from bumble.keys import MemoryKeyStore
from libpebble2.exceptions import GetBytesError, PutBytesError
from libpebble2.protocol.apps import AppRunState, AppRunStateStart
from libpebble2.protocol.blobdb import BlobDatabaseID, BlobStatus
from libpebble2.protocol.logs import LogDumpShipping, LogMessage, LogMessageDone, NoLogMessages, RequestLogs
from libpebble2.protocol.music import (
    MusicControl,
    MusicControlNextTrack,
    MusicControlUpdateCurrentTrack,
    MusicControlUpdateVolumeInfo,
)
from libpebble2.protocol.phone import AnswerCall, HangUpCall, IncomingCall, PhoneNotification
from libpebble2.protocol.system import Reset, SystemMessage
from libpebble2.protocol.timeline import TimelineActionEndpoint
from libpebble2.services.blobdb import BlobDBClient, SyncWrapper
from libpebble2.services.data_logging import DataLoggingService
from libpebble2.services.getbytes import GetBytesService
from libpebble2.services.install import AppInstaller
from libpebble2.services.notifications import Notifications
from libpebble2.services.putbytes import PutBytes, PutBytesType
from libpebble2.services.screenshot import Screenshot
from libpebble2.util.stm32_crc import crc32
from rig import bundles, control
from rig import gatt as uuids
from rig.libpebble import Companion
from rig.phone import Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.security import IoCapability, Person, pairing

APP = uuid.UUID("5ec1ce00-0000-4000-8000-000000000001")
#: An app that comes with the watch.
ECHO = uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
#: What the watch says when its link ends because it restarts (Core Vol 1, Part F: Power Off).
POWER_OFF = 0x15
#: Service Changed over every handle.
EVERYTHING = bytes.fromhex("0100FFFF")


@dataclass
class Watch:
    """A watch that keeps what it is given, on its own radio."""

    port: int
    state: Path


@contextlib.asynccontextmanager
async def running_watch(folder: Path) -> AsyncIterator[Watch]:
    state = folder / "state"
    arguments = ("--air-port", "0", "--insecure-test-link", "--state", str(state))
    async with watches.cairn_on("virtual", folder, *arguments) as program:
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        yield Watch(int(port[1]), state)


@pytest.fixture
async def watch(tmp_path: Path) -> AsyncIterator[Watch]:
    async with running_watch(tmp_path) as watch:
        yield watch


@contextlib.asynccontextmanager
async def connected(phone: Phone) -> AsyncIterator[tuple[WatchLink, Companion]]:
    """Connects, and lets libpebble2 have what the watch opens on the phone."""
    transport = PhoneTransport(phone.host_ppogatt())
    companion = Companion(transport)
    transport.start()
    link = await phone.connect(watches.ADDRESS)
    assert await link.exchange_mtu(517) == 517
    await transport.opened()
    await companion.start()
    try:
        yield link, companion
    finally:
        companion.close()


@contextlib.contextmanager
def listening(companion: Companion, kind: type) -> Iterator[Callable[[], Awaitable[Any]]]:
    """Hears every message of a class of libpebble2's from now on; what is yielded returns the next."""
    messages = companion.connection.get_endpoint_queue(kind)

    async def heard():
        return await companion.run(messages.get, timeout=10)

    try:
        yield heard
    finally:
        messages.close()


async def test_install(watch: Watch, tmp_path: Path) -> None:
    """d: an app is installed by libpebble2's installer, runs, and is there after a restart without being sent again."""
    bundle = tmp_path / "app.pbw"
    binary, resources = bundles.write_app(bundle, APP, "Rig app")
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        await companion.run(AppInstaller(companion.connection, str(bundle)).install)
        status = (await control.ask(watch.state, "status"))["status"]
        assert status["app"] == {"uuid": str(APP), "name": "Rig app"}
        assert status["services"]["apps"] == [{"uuid": str(APP), "name": "Rig app", "id": 1, "isCached": True}]

        # Once more: the watch ignores the parts that are there, and asks for all of them again.
        await companion.run(AppInstaller(companion.connection, str(bundle)).install)
        assert (await control.services(watch.state))["apps"][0]["isCached"]


async def test_an_app_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    """d, g: what was installed starts after a restart of the program as it is."""
    bundle = tmp_path / "app.pbw"
    bundles.write_app(bundle, APP, "Rig app")
    async with running_watch(tmp_path) as watch, Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        await companion.run(AppInstaller(companion.connection, str(bundle)).install)
    async with running_watch(tmp_path) as watch, Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        assert (await control.services(watch.state))["apps"][0]["isCached"]
        with listening(companion, AppRunState) as heard:
            companion.connection.send_packet(AppRunState(data=AppRunStateStart(uuid=APP)))
            while (state := (await heard()).data).uuid != APP:
                pass
        assert isinstance(state, AppRunStateStart)


async def send_firmware(companion: Companion, image: bytes, resources: bytes) -> None:
    """As `pebble fw install` does."""
    connection = companion.connection
    answer = await companion.run(
        connection.send_and_read, SystemMessage(message_type=SystemMessage.Type.FirmwareUpdateStart), SystemMessage
    )
    assert answer.message_type == SystemMessage.Type.FirmwareUpdateStartResponse
    assert answer.extra_data.response == 1
    await companion.run(PutBytes(connection, PutBytesType.Firmware, image, bank=0).send)
    await companion.run(PutBytes(connection, PutBytesType.SystemResources, resources, bank=0).send)
    connection.send_packet(SystemMessage(message_type=SystemMessage.Type.FirmwareUpdateComplete))


async def test_firmware_update(watch: Watch) -> None:
    """d: new firmware is uploaded, the watch restarts, comes back and says what runs now."""
    async with Phone.on(watch.port) as phone:
        async with connected(phone) as (link, companion):
            assert companion.connection.firmware_version[:3] == (4, 9, 100)
            await send_firmware(companion, bundles.firmware("v5.1.7-rig"), bytes(20_000))
            assert await link.disconnected() == POWER_OFF
        async with connected(phone) as (link, companion):
            assert companion.connection.firmware_version == (5, 1, 7, "rig")
            assert (await control.services(watch.state))["update"] == {}

            # An image for another board is not started.
            await send_firmware(companion, bundles.firmware("v6.0.0", hardware=10), bytes(100))
            assert await link.disconnected() == POWER_OFF
        async with connected(phone) as (_, companion):
            assert companion.connection.firmware_version == (5, 1, 7, "rig")


async def test_an_update_that_changes_the_database(tmp_path: Path) -> None:
    """d: a bonded phone installs firmware without a battery service; it is told Service Changed, and finds none."""
    pairs = pairing(Person(IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT))
    arguments = ("--air-port", "0", "--state", str(tmp_path / "state"), "--service-changed-delay", "0")
    async with watches.cairn_on("virtual", tmp_path, *arguments) as program:
        port = int((await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        async with Phone.on(port, keystore=MemoryKeyStore(), pairs=pairs) as phone:
            transport = PhoneTransport(phone.host_ppogatt())
            companion = Companion(transport)
            transport.start()
            link = await phone.connect(watches.ADDRESS)
            database = await link.discover()
            changed = database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)
            assert uuids.BATTERY_SERVICE in {service.uuid for service in database.services}
            await link.pair()
            await link.subscribe(changed, bits=2)
            await transport.opened()
            await companion.start()
            await send_firmware(companion, bundles.firmware("v4.8.0"), bytes(1000))
            assert await link.disconnected() == POWER_OFF
            companion.close()

            link = await phone.connect(watches.ADDRESS)
            indications = link.listen(changed.handle)
            await link.encrypt()
            assert await indications.take(10, "Service Changed") == EVERYTHING
            database = await link.discover()
            assert uuids.BATTERY_SERVICE not in {service.uuid for service in database.services}


async def test_firmware_needs_a_start(watch: Watch) -> None:
    """d: firmware without an announcement is refused, and a wrong checksum too."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        with pytest.raises(PutBytesError):
            await companion.run(PutBytes(companion.connection, PutBytesType.Firmware, bytes(100), bank=0).send)
        await companion.run(PutBytes(companion.connection, PutBytesType.File, bytes(100), bank=0, filename="lang").send)


async def test_interrupted_update(watch: Watch) -> None:
    """d: of an upload that a lost link interrupted, the watch has what it says it has."""
    image = bundles.firmware("v5.1.7")
    async with Phone.on(watch.port) as phone:
        async with connected(phone) as (link, companion):
            connection = companion.connection
            await companion.run(
                connection.send_and_read,
                SystemMessage(message_type=SystemMessage.Type.FirmwareUpdateStart),
                SystemMessage,
            )
            sender = PutBytes(connection, PutBytesType.Firmware, image, bank=0)
            cookie = await companion.run(sender._prepare)
            sender._object = image[:30_000]
            await companion.run(sender._send_object, cookie)
            await link.disconnect()
        async with connected(phone) as (_, companion):
            # libpebble2 has no class for the status: 0B is asked in bytes, and answered with 0C (section 5.6).
            answer = await companion.ask_raw(b"\x00\x02\x00\x12\x00\x0b")
            stored = struct.pack("<IIII", 0, 0, 29_999, crc32(image[:29_999]))
            assert answer == b"\x00\x14\x00\x12\x00\x0c\x00\x00" + stored


async def test_databases(watch: Watch) -> None:
    """d: inserting, deleting and clearing, with the right status for each."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        databases = BlobDBClient(companion.connection)

        async def status(call, *arguments) -> BlobStatus:
            return await companion.run(lambda: SyncWrapper(call, *arguments).wait())

        key = uuid.uuid4()
        assert (await control.services(watch.state))["isFaithful"] is False
        assert await status(databases.clear, BlobDatabaseID.Pin) == BlobStatus.Success
        assert (await control.services(watch.state))["isFaithful"] is True
        assert await status(databases.insert, BlobDatabaseID.App, key, bytes(125)) == BlobStatus.InvalidData
        assert await status(databases.insert, BlobDatabaseID.Pin, key, bytes(10)) == BlobStatus.InvalidData
        # Most databases do not say that there was nothing to delete.
        assert await status(databases.delete, BlobDatabaseID.Pin, key) == BlobStatus.Success
        assert await status(databases.delete, BlobDatabaseID.App, key) == BlobStatus.KeyDoesNotExist
        glance = BlobDatabaseID.AppGlance
        slices = b"\x01\x00\x00\x00\x00"
        assert await status(databases.insert, glance, key, slices) == BlobStatus.KeyDoesNotExist
        assert await status(databases.insert, glance, ECHO, slices) == BlobStatus.Success
        assert (await control.services(watch.state))["databases"] == {"11": 1}
        assert await status(databases.delete, glance, ECHO) == BlobStatus.Success
        assert (await control.services(watch.state))["databases"] == {}


async def test_notification_and_its_action(watch: Watch) -> None:
    """d: a notification is shown, and what the user does with it reaches the phone."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        notifications = Notifications(companion.connection)
        await companion.run(notifications.send_notification, "the subject", "the message", "the sender")
        known = await control.until(watch.state, "the notification to be shown", lambda known: known["notifications"])
        (notification,) = known["notifications"]
        assert notification["title"] == "the sender" and notification["body"] == "the message"
        assert notification["actions"] == {"0": "Dismiss"}
        with listening(companion, TimelineActionEndpoint) as heard:
            await control.ask(watch.state, "act", item=notification["id"], action=0)
            invoked = (await heard()).data
        assert str(invoked.item_id) == notification["id"] and invoked.action_id == 0


async def test_screenshot(watch: Watch) -> None:
    """d: the frame buffer, black and white, with something on it."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        image = await companion.run(Screenshot(companion.connection).grab_image)
        assert len(image) == 168
        assert {len(row) for row in image} == {3 * 144}
        assert {value for row in image for value in row} == {0, 255}


async def test_log_dump(watch: Watch) -> None:
    """d: the watch's own log, line by line, and an end; of a boot that never was, none."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        with listening(companion, LogDumpShipping) as heard:
            companion.connection.send_packet(LogDumpShipping(command=0x10, data=RequestLogs(generation=0, cookie=99)))
            lines = []
            while isinstance((answer := (await heard()).data), LogMessage):
                lines.append(answer)
            assert isinstance(answer, LogMessageDone)
            assert {line.cookie for line in lines} | {answer.cookie} == {99}
            assert any("runs Clock" in line.message for line in lines), [line.message for line in lines]
            companion.connection.send_packet(LogDumpShipping(command=0x10, data=RequestLogs(generation=7, cookie=98)))
            assert isinstance((await heard()).data, NoLogMessages)


async def test_data_logging(watch: Watch) -> None:
    """d: what an app has logged is listed and downloaded, whole, and then it is gone from the watch."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        data = bytes(range(256)) * 10
        await control.ask(watch.state, "log-data", app=str(APP), tag=42, itemSize=10, data=data.hex())
        service = DataLoggingService(companion.connection)
        assert await companion.run(service.get_send_enable)
        (listed,) = await companion.run(service.list)
        assert listed["log_tag"] == 42 and listed["data_item_size"] == 10
        _, downloaded = await companion.run(service.download, listed["session_id"])
        assert bytes(downloaded) == data
        (spool,) = (await control.services(watch.state))["logging"]
        assert spool["byteCount"] == 0 and spool["start"] == len(data)


async def test_core_dump(watch: Watch) -> None:
    """d: a watch that is told to dump its core comes back with one, which is unread until it has been read."""
    async with Phone.on(watch.port) as phone:
        async with connected(phone) as (link, companion):
            with pytest.raises(GetBytesError):
                await companion.run(GetBytesService(companion.connection).get_coredump)
            companion.connection.send_packet(Reset(command=Reset.Command.DumpCore))
            assert await link.disconnected() == POWER_OFF
        async with connected(phone) as (_, companion):
            service = GetBytesService(companion.connection)
            dump = await companion.run(service.get_coredump, require_fresh=True)
            assert b"core dumped" in dump
            with pytest.raises(GetBytesError):
                await companion.run(service.get_coredump, require_fresh=True)
            assert await companion.run(service.get_coredump) == dump


async def test_music_and_calls(watch: Watch) -> None:
    """d: what plays and who calls is shown, and the watch's keys reach the phone."""
    async with Phone.on(watch.port) as phone, connected(phone) as (_, companion):
        connection = companion.connection
        track = MusicControlUpdateCurrentTrack(
            artist="Bach", album="WTC", title="Fugue", track_length=1, track_count=2, current_track=1
        )
        connection.send_packet(MusicControl(data=track))
        connection.send_packet(MusicControl(data=MusicControlUpdateVolumeInfo(volume_percent=30)))
        caller = IncomingCall(number="123", name="Mum")
        connection.send_packet(PhoneNotification(cookie=7, message=caller))
        known = await control.until(watch.state, "the call to ring", lambda known: known["calls"])
        assert known["calls"] == [{"state": "incoming", "name": "Mum", "number": "123"}]
        assert known["music"] == {"artist": "Bach", "title": "Fugue", "volume": 30}

        with listening(companion, MusicControl) as heard:
            await control.ask(watch.state, "music", key="next")
            assert isinstance((await heard()).data, MusicControlNextTrack)
        with listening(companion, PhoneNotification) as heard:
            for command, kind in (("answer-call", AnswerCall), ("end-call", HangUpCall)):
                await control.ask(watch.state, command)
                answer = await heard()
                assert answer.cookie == 7 and isinstance(answer.message, kind)
