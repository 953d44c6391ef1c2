"""The log of a running watch: what a flood writes, and what is never in it.

Once a hostile phone wrote 48 KB a second at level `info`, and what it wrote were messages and titles.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attacks.floods import FLOODS
from libpebble2.protocol.appmessage import AppMessageTuple
from libpebble2.protocol.apps import AppRunState, AppRunStateStart
from libpebble2.protocol.music import MusicControl, MusicControlUpdateCurrentTrack
from libpebble2.protocol.phone import IncomingCall, PhoneNotification
from libpebble2.services.blobdb import BlobDBClient, SyncWrapper
from libpebble2.services.notifications import Notifications
from rig import companion
from rig import gatt as uuids
from rig.bare_phone import BarePhone
from rig.control import Control
from rig.controllers import Controllers, controllers
from rig.libpebble import Companion
from rig.phone import Phone
from rig.process import Program
from rig.security import IoCapability, Person, pairing
from rig.waiting import within
from watches import ADDRESS, cairn_on

#: What a flood may write in a minute, in bytes, with all that the watch says besides.
LIMIT = 64 << 10
#: How many steps of a flood are sent: some tens of kilobytes a second, if each of them wrote a line.
STEPS = 4000


@dataclass
class Place:
    room: Controllers
    program: Program
    control: Control


@contextlib.asynccontextmanager
async def watch_in(room: Controllers, folder: Path, *options: str, log_level: str = "info") -> AsyncIterator[Place]:
    arguments = ("--control", str(folder / "control"), *options)
    async with (
        cairn_on(room.watch.address, folder, *arguments, log_level=log_level) as program,
        Control.on(folder / "control") as control,
    ):
        yield Place(room, program, control)


async def bare_phone(place: Place) -> BarePhone:
    async with Phone.on(place.room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        database = await watch.discover(attribute_by_attribute=False)
        await watch.disconnect()
    data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
    write = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE)
    return BarePhone(place.room.watch, data.handle, write.handle)


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_is_a_few_lines(tmp_path: Path, name: str) -> None:
    """A few lines, and how many more there would have been; and the watch works afterwards as before."""
    step, needs_session = FLOODS[name]
    async with controllers(extended=False) as room, watch_in(room, tmp_path, "--insecure-test-link") as place:
        phone = await bare_phone(place)
        phone.arrive()
        if needs_session:
            await phone.open_session()
        before = len(place.program.log)
        for number in range(STEPS):
            step(phone, number)
            if number % 100 == 99:
                # It has handled what it was sent; its answers do not matter.
                await within(30, "the watch", place.control.status())
                phone.forget_answers()
        written = len(place.program.log) - before
        print(f"{name}: {written} bytes, {place.program.log[before:].count(chr(10))} lines")
        assert written < LIMIT
        phone.vanish()
        # A working watch accepts the next phone.
        phone.arrive(0x0EFE, "E1:B0:0B:1E:5A:02")
        await phone.open_session()
        phone.vanish()
    if written > LIMIT // 8:
        # By the end of the run, at the latest, the log says what it left out.
        assert "left out here" in place.program.log


@pytest.mark.slow
async def test_programs_that_press_buttons(tmp_path: Path) -> None:
    """From the control socket: events are complete for those who listen, and the log is short."""
    async with controllers() as room, watch_in(room, tmp_path) as place:
        before = len(place.program.log)
        await place.control.listen()
        for _ in range(2000):
            await place.control.ask("press", button="up")
        for _ in range(2000):
            await place.control.event("button")
        assert len(place.program.log) - before < LIMIT
    assert "left out here like “up pressed”" in place.program.log


PLANTED = "planted"


async def test_contents_are_not_in_the_log(tmp_path: Path) -> None:
    """Each kind of content with a word in it: programs at the control socket are told, the log at level `info` says how much it
    was, and at level `debug` what."""
    for level in ("info", "debug"):
        folder = tmp_path / level
        folder.mkdir()
        events: list[str] = []
        async with controllers() as room, watch_in(room, folder, "--insecure-test-link", log_level=level) as place:
            await place.control.listen()
            async with Companion.on(room.phone.port, ADDRESS) as app:
                await plant(app)
                await place.control.event("app-message-received")
                # A notification, a title, a caller and a key.
                for _ in range(4):
                    events.append(str(await place.control.events.take(10, f"a service's event with {PLANTED}", tells_contents)))
        log = place.program.log
        if level == "info":
            assert PLANTED not in log, [line for line in log.splitlines() if PLANTED in line]
            for discreet in ("AppMessage to app .*, \\d+ bytes", "a notification is shown, \\d+ bytes", "another track plays", "call, incoming$"):
                await place.program.wait_for_line(discreet, 1)
        else:
            assert log.count(PLANTED) > len(events)


def tells_contents(event: dict[str, Any]) -> bool:
    return event["event"] == "service" and PLANTED in str(event)


async def plant(app: Companion) -> None:
    connection = app.connection
    connection.send_packet(AppRunState(data=AppRunStateStart(uuid=companion.ECHO_APP)))
    text = AppMessageTuple(key=1, type=AppMessageTuple.Type.CString, data=f"{PLANTED} message\0".encode())
    connection.send_packet(companion.push(7, [text]))
    await app.run(Notifications(connection).send_notification, f"{PLANTED} subject", f"{PLANTED} text", f"{PLANTED} sender")
    track = MusicControlUpdateCurrentTrack(
        artist=f"{PLANTED} artist", album="-", title=f"{PLANTED} title", track_length=1, track_count=2, current_track=1
    )
    connection.send_packet(MusicControl(data=track))
    caller = IncomingCall(number="123", name=f"{PLANTED} caller")
    connection.send_packet(PhoneNotification(cookie=7, message=caller))
    # libpebble2 takes keys to be UUIDs; the watch takes any bytes.
    key = SimpleNamespace(bytes=f"{PLANTED} key".encode())
    # Notification preferences: any key, any value of six bytes or more.
    await app.run(lambda: SyncWrapper(BlobDBClient(connection).insert, 6, key, b"values").wait())


async def test_a_passkey_is_not_in_the_log(tmp_path: Path) -> None:
    """Where the control socket shows it, the log does not, at any level."""
    person = Person(IoCapability.KEYBOARD_INPUT_ONLY)
    async with (
        controllers() as room,
        watch_in(room, tmp_path, "--io-capability", "display-only", log_level="trace,hci=debug") as place,
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        await place.control.listen()
        link = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(link.pair())
        shown = (await place.control.event("pairing-waits"))["number"]
        await place.program.wait_for_line("type on the phone what cairn status shows", 5)
        person.watch_shows(int(shown))
        await attempt
    assert f"{int(shown):06}" not in place.program.log
