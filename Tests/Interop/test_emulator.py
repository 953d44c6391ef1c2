"""The real firmware behind the watch's radio: Bumble's phones and libpebble2 reach a stand-in for PebbleOS through Cairn.

The stand-in answers what PebbleOS answered, and has its traps (rig/emulator.py): the first tests show that a bridge which ignores
one of them is caught.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import operator
import os
import random
import struct
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import watches
from bumble import hci
from bumble.core import AdvertisingData
from libpebble2.exceptions import PutBytesError
from libpebble2.protocol.system import WatchVersion, WatchVersionRequest
from libpebble2.services.putbytes import PutBytes, PutBytesType
from libpebble2.services.screenshot import Screenshot
from libpebble2.util.stm32_crc import crc32
from rig import bare_phone, cairn, companion, emulator
from rig import gatt as uuids
from rig.bare_phone import BarePhone
from rig.control import Control
from rig.controllers import controllers
from rig.emulator import BarePort, Emulator, frame, message
from rig.libpebble import Companion
from rig.pebble import MessageStream, PebbleSession, endpoint_and_payload
from rig.phone import Phone, WatchLink
from rig.process import Program
from rig.waiting import Mailbox, within

#: How many links are lost in the middle of a message.
LOSSES = int(os.environ.get("CAIRN_EMULATOR_LOSSES", "100"))
#: How often Cairn is killed in the middle of messages.
KILLS = 5


@dataclass
class Bridge:
    """A watch whose brain is the emulator's firmware."""

    program: Program
    control: Control
    phone_port: int

    async def ready(self, *, after: int = 0) -> None:
        await self.program.wait_for_line("the firmware answers: v4.35.0, emery", 20, after=after)


@contextlib.asynccontextmanager
async def bridge_to(port: int, folder: Path, *options: str) -> AsyncIterator[Bridge]:
    """The watch on a radio of its own."""
    control = folder / "control"
    arguments = ("--air-port", "0", "--insecure-test-link", "--control", str(control), *options)
    async with watches.cairn_on("virtual", folder, "--firmware", f"tcp:127.0.0.1:{port}", *arguments, ) as program:
        air = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Control.on(control) as person:
            await person.listen()
            yield Bridge(program, person, int(air[1]))


@contextlib.asynccontextmanager
async def session_on(phone: Phone) -> AsyncIterator[tuple[WatchLink, PebbleSession]]:
    """A companion's session over the watch's own service, as on Android."""
    link = await phone.connect(watches.ADDRESS)
    await link.exchange_mtu(517)
    database = await link.discover(attribute_by_attribute=False)
    transport, session = await link.open_reversed(database)
    yield link, session
    assert transport.violations == []


@contextlib.asynccontextmanager
async def bridged(folder: Path, *options: str) -> AsyncIterator[tuple[Emulator, Bridge]]:
    async with Emulator.on() as pebble, bridge_to(pebble.port, folder, *options) as bridge:
        await bridge.ready()
        yield pebble, bridge
        assert pebble.firmware.wedged is None
        assert pebble.firmware.violations == []
        assert not pebble.firmware.is_in_the_middle


# The stand-in, and bridges that ignore its traps


async def test_a_long_frame_wedges() -> None:
    async with Emulator.on() as pebble, BarePort.on(pebble) as port:
        assert await port.is_answered(1)
        await port.send(frame(emulator.SPP, message(0x7777, bytes(2045))))
        assert not await port.is_answered(2)
        assert pebble.firmware.wedged == "a frame with 2049 bytes of data"


async def test_more_than_its_port_holds_stops_it() -> None:
    """Two frames at once, each of which it takes."""
    async with Emulator.on() as pebble, BarePort.on(pebble) as port:
        half = frame(emulator.SPP, message(0x7777, bytes(1500)))
        await port.send(half)
        assert await port.is_answered(1)
        await port.send(half + half)
        assert not await port.is_answered(2)
        assert pebble.firmware.wedged == "more came than its port holds"


async def test_what_comes_while_it_begins_to_read_stops_it() -> None:
    async with Emulator.on() as pebble, BarePort.on(pebble) as port:
        await port.send(frame(emulator.CONNECTION, b"\x01"))
        await port.pounce(frame(emulator.CONNECTION, b"\x01"))
        assert not await port.is_answered(1)
        assert pebble.firmware.wedged == "more came while it began to read"


async def test_what_comes_before_it_listens_stops_it() -> None:
    async with Emulator.on() as pebble:
        _, writer = await asyncio.open_connection("127.0.0.1", pebble.port)
        writer.write(frame(emulator.CONNECTION, b"\x01"))
        await asyncio.wait_for(pebble.firmware.listens.wait(), 5)
        assert pebble.firmware.wedged == "somebody spoke before it listened"
        writer.close()


async def test_half_a_message_is_never_forgotten() -> None:
    """Neither by a new connection, nor by the word that the phone is gone and back."""
    async with Emulator.on() as pebble:
        async with BarePort.on(pebble) as port:
            await port.send(frame(emulator.SPP, message(0x7777, bytes(2000))[:1000]))
            await port.send(frame(emulator.CONNECTION, b"\x00") + frame(emulator.CONNECTION, b"\x01"))
            assert not await port.is_answered(1)
        async with BarePort.on(pebble) as port:
            assert not await port.is_answered(2)


async def test_its_session_begins_once() -> None:
    async with Emulator.on(start_connected=False) as pebble:
        async with BarePort.on(pebble) as port:
            assert not await port.is_answered(1)
            await port.send(frame(emulator.CONNECTION, b"\x01"))
            assert await port.is_answered(2)
        async with BarePort.on(pebble) as port:
            assert await port.is_answered(3)


async def test_a_port_that_nobody_drains_stops_it() -> None:
    async with Emulator.on() as pebble, BarePort.on(pebble) as port:
        while pebble.firmware.wedged is None:
            await port.send(frame(emulator.SPP, message(emulator.APP_MESSAGE, b"\x01\x00" + emulator.ECHO_APP.bytes + bytes(2000))))
        assert pebble.firmware.wedged == "nobody drains the port"


async def test_an_upload_left_open_costs_the_next_one() -> None:
    async with Emulator.on() as pebble, BarePort.on(pebble) as port:
        begin = message(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
        await port.send(frame(emulator.SPP, begin + begin))
        assert await port.is_answered(1)
        assert pebble.firmware.upload is None


# Through the bridge


@pytest.mark.parametrize("start_connected", [True, False])
async def test_negotiation(tmp_path: Path, start_connected: bool) -> None:
    """A companion negotiates with the firmware, and sees a watch: its own address, a serial number, no recovery mode."""
    async with Emulator.on(start_connected=start_connected) as pebble, bridge_to(pebble.port, tmp_path) as bridge:
        await bridge.ready()
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
            info = await companion.negotiate(session)
            assert info.color == 0x24
            version = info.version
            assert version.running.version_tag == "v4.35.0"
            assert version.running.is_recovery is False
            assert version.recovery.version_tag and version.recovery.is_recovery
            assert version.running.hardware_platform == version.recovery.hardware_platform == 18
            assert version.serial == "CAIRN000" + watches.NAME.split()[-1]
            assert version.bt_address[::-1].hex(":").upper() == watches.ADDRESS
            # Asked once, whoever asked first; and the firmware has the answer.
            _, payload = await pebble.firmware.messages.take(
                5, "the phone's version", lambda each: each[0] == emulator.PHONE_VERSION
            )
            assert payload[0] == 1
            await companion.ping(session, 0xCAFEBABE)
            assert not [each for each in session.inbox.waiting if each.endpoint == emulator.PHONE_VERSION]


async def test_recorded_answers(tmp_path: Path) -> None:
    """What PebbleOS answered reaches the phone byte for byte and in order, whatever the message was."""
    cases = [case for case in emulator.recorded_cases() if not case.name.startswith(("watch version", "phone version"))]
    assert len(cases) > 200
    async with bridged(tmp_path) as (pebble, bridge):
        async with Phone.on(bridge.phone_port) as phone:
            link = await phone.connect(watches.ADDRESS)
            await link.exchange_mtu(517)
            transport, session = await link.open_reversed(await link.discover(attribute_by_attribute=False))
            await companion.introduce(session)
            # From here on every byte counts, libpebble2's view of it or not.
            heard: Mailbox[tuple[int, bytes]] = Mailbox("what the firmware said")
            stream = MessageStream()

            def hear(piece: bytes) -> None:
                for each in stream.take(piece):
                    heard.put(endpoint_and_payload(each))

            transport.on_bytes = hear
            # It says which app runs when it has taken note of the phone.
            await within(5, "the firmware to take note of the phone", pebble.firmware.has_noted.wait())
            transport.send(message(emulator.PING, bytes.fromhex("000000000100")))
            await heard.take(10, "an answer", lambda each: each == (emulator.PING, bytes.fromhex("0100000001")))
            while heard.waiting:
                assert (await heard.take(1, "what runs"))[0] == emulator.RUN_STATE
            pebble.firmware.serve(cases)
            for case in cases:
                transport.send(b"".join(case.sent))
                for answer in case.answers:
                    assert await heard.take(10, f"an answer to {case.name}") == answer, case.name
                if pebble.firmware.is_updating:
                    # It was over when the next case was recorded.
                    transport.send(message(emulator.SYSTEM, emulator.UPDATE_FAILED))
            # And nothing else.
            transport.send(message(emulator.PING, bytes.fromhex("001234567800")))
            assert await heard.take(10, "the last answer") == (emulator.PING, bytes.fromhex("0112345678"))
            assert transport.violations == []


async def test_libpebble2(tmp_path: Path) -> None:
    """libpebble2's own services: a picture of the firmware's screen, and 1 MB of upload."""
    content = random.Random(19).randbytes(1 << 20)
    async with bridged(tmp_path) as (pebble, bridge), Companion.on(bridge.phone_port, watches.ADDRESS) as libpebble:
        assert libpebble.connection.firmware_version.major == 4
        picture = await libpebble.run(Screenshot(libpebble.connection).grab_image)
        assert len(picture) == emulator.HEIGHT
        upload = PutBytes(libpebble.connection, PutBytesType.File, content, bank=0, filename="lang")
        await libpebble.run(upload.send)
        assert pebble.firmware.uploads == [content]


async def test_a_piece_that_the_firmware_refuses_at_last(tmp_path: Path) -> None:
    """The phone knows it to be acknowledged, and learns of the refusal in the end: no upload ends well that the firmware has not."""
    content = random.Random(7).randbytes(20_000)
    pieces = refused = 0

    def refuse_one(whole: bytes, answers: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        nonlocal pieces
        if endpoint_and_payload(whole)[0] != emulator.PUT_BYTES or whole[4] != 2:
            return answers
        pieces += 1
        if pieces != refused:
            return answers
        pebble.firmware.upload = None
        return [(emulator.PUT_BYTES, bytes.fromhex("0200000000"))]

    async with bridged(tmp_path) as (pebble, bridge), Companion.on(bridge.phone_port, watches.ADDRESS) as libpebble:
        pebble.firmware.bend = refuse_one
        for refused in (1, 5, 10):
            pieces = 0
            upload = PutBytes(libpebble.connection, PutBytesType.File, content, bank=0, filename="lang")
            with pytest.raises(PutBytesError):
                await libpebble.run(upload.send)
            assert pebble.firmware.uploads == []
        refused = 0
        await libpebble.run(PutBytes(libpebble.connection, PutBytesType.File, content, bank=0, filename="lang").send)
        assert pebble.firmware.uploads == [content]


async def test_app_messages_of_8_kilobytes(tmp_path: Path) -> None:
    """Both ways, each in frames that the firmware takes."""
    async with bridged(tmp_path) as (_, bridge):
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
            await companion.introduce(session)
            for number in range(8):
                data = random.Random(number).randbytes(8192 - number)
                sent = companion.push(number, [companion.array(1, data)])
                session.send(sent)
                await companion.expect_ack_and_echo(session, sent)


@pytest.mark.parametrize("trouble", ["its main task is slow", "it has no accelerometer"])
async def test_a_firmware_reads_in_its_own_time(trouble: str, tmp_path: Path) -> None:
    """No more comes than its port holds: the watch waits for answers, or makes pauses for a firmware that gives none."""
    async with Emulator.on() as pebble:
        pebble.firmware.answers_accelerometer = trouble != "it has no accelerometer"
        async with bridge_to(pebble.port, tmp_path) as bridge:
            await bridge.ready()
            if trouble == "its main task is slow":
                pebble.firmware.reading_seconds = 0.4
            async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
                await companion.introduce(session)
                sent = companion.push(1, [companion.array(1, random.Random(1).randbytes(8192))])
                session.send(sent)
                for number in range(40):
                    companion.send_ping(session, number)
                await companion.expect_ack_and_echo(session, sent)
                for number in range(40):
                    assert await companion.next_pong(session) == number
        assert pebble.firmware.wedged is None
        assert pebble.firmware.violations == []


async def test_what_was_for_a_phone_that_left_is_not_for_the_next(tmp_path: Path) -> None:
    """A phone leaves in the middle of an upload, and while the firmware answers: the next one finds the firmware as new."""
    async with bridged(tmp_path) as (pebble, bridge):
        async with Phone.on(bridge.phone_port) as phone:
            async with session_on(phone) as (link, session):
                await companion.introduce(session)
                session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
                await session.inbox.take(5, "the upload's name", lambda each: each.endpoint == emulator.PUT_BYTES)
                assert pebble.firmware.upload is not None
                session.send_raw(emulator.SCREENSHOT, b"\x00")
                await session.inbox.take(5, "a part of the picture", lambda each: each.endpoint == emulator.SCREENSHOT)
                await link.disconnect()
            async with session_on(phone) as (link, session):
                await companion.introduce(session)
                assert pebble.firmware.upload is None, "the upload was given up before the next session began"
                session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
                answer = await session.inbox.take(5, "an answer", lambda each: each.endpoint == emulator.PUT_BYTES)
                assert answer.payload[0] == 1
                assert not [each for each in session.inbox.waiting if each.endpoint == emulator.SCREENSHOT]
                # The app is told that its phone went and came.
                told = [data for protocol, data in pebble.firmware.told.waiting if protocol == emulator.CONNECTION]
                assert told[-3:] == [b"\x01", b"\x00", b"\x01"]


async def test_an_upload_that_begins_with_a_phone_s_arrival(tmp_path: Path) -> None:
    """The firmware gives up every upload when it takes note of a phone: one that begins before that waits, and ends well."""
    content = random.Random(3).randbytes(5000)
    begin = struct.pack(">BIBB", 1, len(content), 6, 0) + b"lang\0"
    async with bridged(tmp_path) as (pebble, bridge), Phone.on(bridge.phone_port) as phone:
        for number in (1, 2, 3):
            # It takes note of the phone when the watch has the upload's beginning, however fast this machine is.
            pebble.firmware.note_seconds = None
            async with session_on(phone) as (link, session):

                async def ask(payload: bytes, session: PebbleSession = session) -> bytes:
                    session.send_raw(emulator.PUT_BYTES, payload)
                    answer = await session.inbox.take(10, "an answer", lambda each: each.endpoint == emulator.PUT_BYTES)
                    assert answer.payload[0] == 1
                    return answer.payload[1:5]

                await companion.introduce(session)
                beginning = asyncio.create_task(ask(begin))
                await bridge.program.wait_for_line(rf"session {number} < PutBytes", 10)
                assert not pebble.firmware.has_noted.is_set()
                pebble.firmware.note_seconds = emulator.NOTE_SECONDS
                pebble.firmware.take_notes()
                token = await beginning
                for start in range(0, len(content), 2000):
                    piece = content[start : start + 2000]
                    await ask(b"\x02" + token + struct.pack(">I", len(piece)) + piece)
                await ask(b"\x03" + token + struct.pack(">I", crc32(content)))
                await ask(b"\x05" + token)
                await link.disconnect()
        assert pebble.firmware.uploads == [content] * 3


async def test_a_second_companion_is_told_that_the_watch_is_busy(tmp_path: Path) -> None:
    """A tool that comes while a phone has the firmware's one session is hung up on; when the phone has left, it is served."""
    async with bridged(tmp_path, "--qemu-port", "0") as (_, bridge):
        line = await bridge.program.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", 10)
        ping = frame(emulator.SPP, message(emulator.PING, bytes.fromhex("000000000700")))
        async with Phone.on(bridge.phone_port) as phone:
            async with session_on(phone) as (link, session):
                await companion.introduce(session)
                reader, writer = await asyncio.open_connection("127.0.0.1", int(line[1]))
                writer.write(ping)
                assert await within(10, "the tool to be hung up on", reader.read()) == b""
                writer.close()
                await bridge.program.wait_for_line("is told that the watch is busy: .* session 1 has it", 5)
                await companion.ping(session, 2)
                await link.disconnect()
            await bridge.program.wait_for_line("session 1 closed|session 1 ended|session 1 is", 10)
            reader, writer = await asyncio.open_connection("127.0.0.1", int(line[1]))
            writer.write(ping)
            pong = frame(emulator.SPP, message(emulator.PING, bytes.fromhex("0100000007")))
            question = frame(emulator.SPP, message(emulator.PHONE_VERSION, b"\x00"))
            assert (await within(10, "the firmware's answer", reader.readuntil(pong))).startswith(question)
            writer.close()


@pytest.mark.slow
async def test_what_the_firmware_is_busy_with_makes_the_link_fast(tmp_path: Path) -> None:
    """An upload and a picture want the phone near, as with the built-in watch; when nothing is asked for, the link is slow."""
    fast, slow = (12, 0, 600), (24, 3, 600)
    async with bridged(tmp_path) as (_, bridge), Phone.on(bridge.phone_port) as phone:
        changes: Mailbox[tuple[int, int, int]] = Mailbox("the parameters of the link")
        phone.device.host.on("connection_parameters_update", lambda _handle, *parameters: changes.put(parameters))
        async with session_on(phone) as (_, session):
            await companion.introduce(session)
            # The watch has looked for the phone's services; that is over.
            await changes.take(60, "a slow link", lambda each: each[1:] == slow[1:] and each[0] >= slow[0])
            session.send_raw(emulator.SCREENSHOT, b"\x00")
            await changes.take(10, "a fast link", lambda each: each == fast)
            await changes.take(30, "a slow link", lambda each: each[1:] == slow[1:])
            session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
            await changes.take(10, "a fast link", lambda each: each == fast)


async def test_links_lost_in_the_middle_of_messages(tmp_path: Path) -> None:
    """Whatever part of whatever message a phone has sent when its link is lost, the firmware gets whole messages."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    source = random.Random(seed)
    async with (
        Emulator.on() as pebble,
        controllers(extended=False) as room,
        watches.cairn_on(
            room.watch.address,
            tmp_path,
            *("--insecure-test-link", "--firmware", f"tcp:127.0.0.1:{pebble.port}"),
            log_level="warning,watch=info,session=info",
        ) as program,
    ):
        await program.wait_for_line("the firmware answers", 20)
        async with Phone.on(room.phone.port) as phone:
            watch = await phone.connect(watches.ADDRESS)
            database = await watch.discover(attribute_by_attribute=False)
            await watch.disconnect()
        data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
        write = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE)
        bare = BarePhone(room.watch, data.handle, write.handle)
        begin = message(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
        for number in range(LOSSES):
            bare.arrive()
            await bare.open_session()
            whole = source.choice((b"", begin, message(emulator.SCREENSHOT, b"\x00"), begin + begin))
            half = message(source.choice((emulator.APP_MESSAGE, 0x7777)), source.randbytes(source.randint(1000, 9000)))
            stream = whole + half[: source.randint(1, min(len(half) - 1, 4000 - len(whole)))]
            size = bare_phone.MTU - 4
            for sequence, start in enumerate(range(0, len(stream), size)):
                bare.send_packet(bytes([sequence << 3]) + stream[start : start + size])
            if source.random() < 0.5:
                await bare.is_heard()
            bare.vanish()
        # As on the first day.
        bare.arrive()
        await bare.open_session()
        before = pebble.firmware.message_count
        ping = message(emulator.PING, struct.pack(">BIB", 0, 0xCAFEBABE, 0))
        bare.send_packet(b"\x00" + ping)
        await pebble.firmware.messages.take(10, "the last ping", lambda each: each[1] == ping[4:])
        assert pebble.firmware.message_count > before
        assert pebble.firmware.upload is None
        bare.vanish()
    assert pebble.firmware.wedged is None
    assert pebble.firmware.violations == []
    assert not pebble.firmware.is_in_the_middle


# Who the watch is

#: The board in the firmware's answer, and what phones see of it: hardware, the maker, the name of the board, the screen.
FIRMWARES = {
    "emery": (None, 18, 0x0EEA, b"obelix", (200, 228)),
    "gabbro": (0xF2, 20, 0x0EEA, b"getafix", (260, 260)),
    "chalk": (0xFB, 11, 0x0154, b"spalding", (180, 180)),
    "flint": (0xF6, 15, 0x0EEA, b"asterix", (144, 168)),
}


@pytest.mark.parametrize("kind", FIRMWARES)
async def test_the_watch_is_the_firmware_s(kind: str, tmp_path: Path) -> None:
    """In its advertisement and in Device Information, before anybody has a session; its name and serial number stay."""
    number, hardware, company, board, size = FIRMWARES[kind]
    async with Emulator.on() as pebble:
        pebble.firmware.board = number
        async with bridge_to(pebble.port, tmp_path) as bridge:
            await bridge.program.wait_for_line(f"the firmware answers: v4.35.0, {kind}", 20)
            async with Phone.on(bridge.phone_port) as phone:
                report = await phone.scan(watches.ADDRESS, scan_response=True)
                data = AdvertisingData.from_bytes(report.data).get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)
                # The colour is what the registry answers, whatever the board.
                assert data is not None and data[0] == company
                assert data[1][13:] == bytes([hardware, 36, 4, 35, 0, 0])
                serial = data[1][1:13]
                link = await phone.connect(watches.ADDRESS)
                database = await link.discover(attribute_by_attribute=False)
                information = {
                    uuid: await link.read(database.characteristic(uuids.DEVICE_INFORMATION, uuid).handle)
                    for uuid in (uuids.MODEL_NUMBER, uuids.SERIAL_NUMBER, uuids.FIRMWARE_REVISION)
                }
                assert information == {
                    uuids.MODEL_NUMBER: board, uuids.SERIAL_NUMBER: serial, uuids.FIRMWARE_REVISION: b"v4.35.0"
                }  # fmt: skip
            screen = (await bridge.control.ask("screenshot", format="raw"))["screen"]
            assert (screen["width"], screen["height"]) == size


# Emulators that misbehave


async def test_an_emulator_that_comes_later(tmp_path: Path) -> None:
    """A phone that is there first waits, and gets its answers when the firmware has started."""
    async with Emulator.on() as pebble:
        await pebble.stop()
        async with bridge_to(pebble.port, tmp_path) as bridge:
            await bridge.program.wait_for_line("cannot reach the firmware's emulator at tcp:127.0.0.1:", 10)
            async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
                companion.send_ping(session, 7)
                await pebble.start()
                await companion.introduce(session)
                assert await companion.next_pong(session) == 7


async def test_an_emulator_that_crashes(tmp_path: Path) -> None:
    """The phone's link ends as that of a watch that restarts, in the middle of an upload; the phone finds it again."""
    async with bridged(tmp_path) as (pebble, bridge), Phone.on(bridge.phone_port) as phone:
        async with session_on(phone) as (link, session):
            await companion.introduce(session)
            session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
            await session.inbox.take(5, "the upload's name", lambda each: each.endpoint == emulator.PUT_BYTES)
            lines = len(bridge.program.lines)
            await pebble.stop()
            reason = await link.disconnected()
            assert reason == hci.HCI_REMOTE_DEVICE_TERMINATED_CONNECTION_DUE_TO_POWER_OFF_ERROR
        await pebble.start()
        await bridge.ready(after=lines)
        async with session_on(phone) as (_, session):
            await companion.introduce(session)
            session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
            answer = await session.inbox.take(5, "the upload's name", lambda each: each.endpoint == emulator.PUT_BYTES)
            assert answer.payload[0] == 1


async def test_cairn_killed_in_an_upload(tmp_path: Path) -> None:
    """The firmware has an upload open that nobody remembers: the next Cairn gives it up before a phone is let in."""
    begin = bytes.fromhex("010000020006006c616e6700")
    async with Emulator.on() as pebble:
        program, tool = await killed_while_a_phone_says(message(emulator.PUT_BYTES, begin), pebble, tmp_path)
        await pebble.firmware.messages.take(5, "the upload", lambda each: each == (emulator.PUT_BYTES, begin))
        assert pebble.firmware.upload is not None
        program.kill()
        await program.wait_for_exit(10)
        tool.close()
        assert not pebble.firmware.is_in_the_middle
        (tmp_path / "next").mkdir()
        async with bridge_to(pebble.port, tmp_path / "next") as bridge:
            await bridge.ready()
            assert pebble.firmware.upload is None
            async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
                await companion.introduce(session)
                session.send_raw(emulator.PUT_BYTES, begin)
                answer = await session.inbox.take(5, "an answer", lambda each: each.endpoint == emulator.PUT_BYTES)
                assert answer.payload[0] == 1


async def test_cairn_killed_in_messages(tmp_path: Path) -> None:
    """Whenever it is killed, the firmware has got whole messages, as far as they fit into a frame."""
    async with Emulator.on() as pebble:
        for number in range(KILLS):
            folder = tmp_path / str(number)
            folder.mkdir()
            # Bytes that are no header of a short message, so that half a message is never made up for.
            said = bytes([0x80 + number]) * 2044
            program, tool = await killed_while_a_phone_says(message(0x7777, said) * 80, pebble, folder)
            whole = (0x7777, said)
            for _ in range(number + 1):
                await pebble.firmware.messages.take(10, "a long message", functools.partial(operator.eq, whole))
            program.kill()
            await program.wait_for_exit(10)
            tool.close()
            async with BarePort.on(pebble) as port:
                assert await port.is_answered(number + 1), "out of step"
            assert not pebble.firmware.is_in_the_middle
        assert pebble.firmware.wedged is None
        assert pebble.firmware.violations == []


async def killed_while_a_phone_says(
    stream: bytes, pebble: Emulator, folder: Path
) -> tuple[Program, asyncio.StreamWriter]:
    """A Cairn that is to be killed, and what a phone at its emulator's port says goes to the firmware."""
    command = ("run", "--controller", "virtual", "--firmware", f"tcp:127.0.0.1:{pebble.port}", "--qemu-port", "0")
    program = await Program.start([str(cairn.binary()), *command, "--log-level", "debug"], folder / "cairn.log")
    await program.wait_for_line("the firmware answers: v4.35.0, emery", 20)
    line = await program.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", 10)
    _, writer = await asyncio.open_connection("127.0.0.1", int(line[1]))
    for start in range(0, len(stream), emulator.LONGEST_DATA):
        writer.write(frame(emulator.SPP, stream[start : start + emulator.LONGEST_DATA]))
    return program, writer


async def test_an_emulator_that_is_silent(tmp_path: Path) -> None:
    """It is said once, and what to do."""
    async with Emulator.on() as pebble:
        pebble.firmware.silent = True
        async with bridge_to(pebble.port, tmp_path) as bridge:
            await bridge.program.wait_for_line("the firmware does not answer: it may be starting, or out of step", 20)
            pebble.firmware.silent = False
            await bridge.ready()


async def test_an_emulator_that_floods(tmp_path: Path) -> None:
    """More than a phone takes is dropped in whole messages; the phone stays in step, and the port is drained."""
    async with bridged(tmp_path) as (pebble, bridge):
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
            await companion.introduce(session)
            for _ in range(3000):
                pebble.firmware.say(0x7777, bytes(1000))
                await asyncio.sleep(0)
            await bridge.program.wait_for_line("the firmware says more than the phone takes", 20)
            companion.send_ping(session, 9)
            await pebble.firmware.messages.take(10, "the ping", lambda each: each[0] == emulator.PING and each[1][4] == 9)


async def test_an_emulator_that_cuts_a_message(tmp_path: Path) -> None:
    """A message that ends too soon ends the phone's session, as a crash of the firmware does; the next one works."""
    async with bridged(tmp_path) as (pebble, bridge), Phone.on(bridge.phone_port) as phone:
        async with session_on(phone) as (link, session):
            await companion.introduce(session)
            pebble.send(frame(emulator.SPP, message(0x7777, bytes(1000))[:-400]))
            assert await link.disconnected(40) == hci.HCI_REMOTE_DEVICE_TERMINATED_CONNECTION_DUE_TO_POWER_OFF_ERROR
            await bridge.program.wait_for_line("the firmware has stopped in the middle of a message", 5)
        async with session_on(phone) as (_, session):
            await companion.introduce(session)
            await companion.ping(session, 3)


async def test_an_emulator_that_cuts_a_frame(tmp_path: Path) -> None:
    """Bytes in no frame are dropped with all that they were to say, and the firmware, which is in step, goes on."""
    async with bridged(tmp_path) as (pebble, bridge), Phone.on(bridge.phone_port) as phone:
        async with session_on(phone) as (_, session):
            await companion.introduce(session)
            pebble.send(b"no frame" + frame(emulator.SPP, message(emulator.PING, bytes.fromhex("0100000004"))))
            assert await companion.next_pong(session) == 4
            await bridge.program.wait_for_line("the emulator sends bytes that are in no frame", 5)
            await companion.ping(session, 3)


# A person at the watch


async def test_buttons_and_senses(tmp_path: Path) -> None:
    """What happens to the watch reaches the emulator, and a press lasts long enough to be seen."""
    async with bridged(tmp_path) as (pebble, bridge):
        told = pebble.firmware.told

        async def is_told(protocol: int, data: bytes) -> None:
            what = f"protocol {protocol}: {data.hex()}"
            await told.take(5, what, lambda each: each == (protocol, data))

        await bridge.control.ask("press", button="select")
        await is_told(emulator.BUTTON, b"\x04")
        await is_told(emulator.BUTTON, b"\x00")
        await bridge.control.ask("battery", percent=42, charging=True)
        await is_told(emulator.BATTERY, b"\x2a\x01")
        await bridge.control.ask("tap", axis="y", direction=-1)
        await is_told(emulator.TAP, b"\x01\xff")


async def test_presses_one_after_another_are_all_seen(tmp_path: Path) -> None:
    """A person and scripts press faster than the firmware looks."""
    async with bridged(tmp_path) as (pebble, bridge):
        for _ in range(5):
            await bridge.control.ask("press", button="up")
        pressed = [await pebble.firmware.presses.take(5, f"press {number + 1} of 5") for number in range(5)]
        assert pressed == [emulator.UP] * 5
        assert pebble.firmware.presses.waiting == []


async def test_pictures_take_turns(tmp_path: Path) -> None:
    """A phone asks for pictures again and again, and the watch takes its own: the firmware refuses none, and the screen is not stale."""
    async with bridged(tmp_path) as (pebble, bridge), Companion.on(bridge.phone_port, watches.ADDRESS) as libpebble:
        for color in range(4):
            pebble.firmware.screen = color
            await bridge.control.ask("press", button="up")
            # The watch's own picture is taken 0.4 s after the press: the phone's come before it, beside it and after it.
            for _ in range(8):
                picture = await libpebble.run(Screenshot(libpebble.connection).grab_image)
                assert len(picture) == emulator.HEIGHT
            await shows(bridge, color)
        assert pebble.firmware.lost_answers == []
        assert pebble.firmware.refused_pictures == 0


async def test_a_picture_costs_the_phone_no_answer(tmp_path: Path) -> None:
    """A phone that talks all the while, and uploads: pictures of the screen are taken in between."""
    content = random.Random(2).randbytes(50_000)
    async with bridged(tmp_path) as (pebble, bridge), Companion.on(bridge.phone_port, watches.ADDRESS) as libpebble:
        for color in range(4):
            pebble.firmware.screen = color
            await bridge.control.ask("press", button="up")
            pictures = emulator.endpoints(pebble.firmware.messages.waiting).count(emulator.SCREENSHOT)
            while emulator.endpoints(pebble.firmware.messages.waiting).count(emulator.SCREENSHOT) == pictures:
                assert await libpebble.run(libpebble.connection.send_and_read, WatchVersion(data=WatchVersionRequest()), WatchVersion)
            await libpebble.run(PutBytes(libpebble.connection, PutBytesType.File, content, bank=0, filename="x").send)
        assert pebble.firmware.uploads == [content] * 4
        assert pebble.firmware.lost_answers == []


async def shows(bridge: Bridge, color: int) -> None:
    """Waits until the watch's screen has one colour."""
    wanted = bytes([0xC0 | color]) * (emulator.WIDTH * emulator.HEIGHT)

    async def look() -> None:
        while bytes.fromhex((await bridge.control.ask("screenshot", format="raw"))["screen"]["data"]) != wanted:
            pass

    await within(10, f"the screen to be of colour {color}", look())


async def test_the_screen_is_the_firmware_s(tmp_path: Path) -> None:
    """It is there without a phone; after a press it is the new one; and a phone's own picture is whole meanwhile."""
    async with bridged(tmp_path) as (pebble, bridge):
        await shows(bridge, 0)
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
            await companion.introduce(session)
            pebble.firmware.screen = 5
            await bridge.control.ask("press", button="up")
            session.send_raw(emulator.SCREENSHOT, b"\x00")
            await shows(bridge, 5)
            picture = bytearray()
            while len(picture) < 13 + emulator.WIDTH * emulator.HEIGHT:
                part = await session.inbox.take(5, "the picture", lambda each: each.endpoint == emulator.SCREENSHOT)
                picture += part.payload
            assert len(picture) == 13 + emulator.WIDTH * emulator.HEIGHT
            assert set(picture[13:]) == {0xC5}
            await companion.ping(session, 8)
            assert not [each for each in session.inbox.waiting if each.endpoint == emulator.SCREENSHOT]


async def test_a_recording_runs_without_the_emulator(tmp_path: Path) -> None:
    recording = tmp_path / "run.cairnrec"
    async with bridged(tmp_path, "--record", str(recording)) as (_, bridge):
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
            await companion.negotiate(session)
            await companion.ping(session, 5)
    replay = await Program.start([str(cairn.binary()), "replay", str(recording)], tmp_path / "replay.log")
    assert await replay.wait_for_exit(60) == 0, replay.log


def test_its_app_is_the_rig_s() -> None:
    assert emulator.ECHO_APP == companion.ECHO_APP == uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
