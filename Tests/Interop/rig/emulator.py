"""A stand-in for PebbleOS in its emulator: the first serial port, as QEMU offers it, with the firmware's rules and their traps.

What it answers was recorded from PebbleOS 4.35 (`pebbleos-answers.json`); uploads, pings, the clock and one app that echoes are
made here after the same recordings. Written from what was measured at the emulator, not from Cairn:

- A frame has 2048 bytes of data at most. A longer one wedges the firmware: it reads nothing any more.
- Its port is easily deaf for good: by what comes before the firmware listens, by more at once than the 2175 bytes that it holds until
  the firmware's main task reads them, and (there now and then, here always) by what comes while that task begins to read. A frame
  of the accelerometer, even one without samples, is answered in its turn: then it has read.
- The firmware has one stream of messages, from its boot on. A new connection to the port does not begin another one, and so half
  a message followed by anything else puts it out of step for good.
- It has one session, too. `start_connected`: it begins at boot, where the firmware asks for the phone's version before anybody
  listens; else with the first word that the phone is there (protocol 3).
- It takes note of a phone that comes or goes (protocol 3) in a while. Then it gives up every upload, and says which app runs.
- It shows a window for each ping, and has no memory for more than some 220 of them.
- The port must be drained: a firmware whose port is full stops.
- A picture fills all the room for what is to leave, and the task that answers is the one that empties it: what is asked while a
  picture is on its way is answered never. It refuses the next picture until a moment after the last byte of one.
- It looks at buttons now and then: one that is up for less than that is not seen to be up.
- An upload that is open makes the firmware refuse the next one, and lose both.
- During an update of the firmware every command to a database is to be tried later.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from libpebble2.util.stm32_crc import crc32

from .pebble import HEADER, MessageStream, endpoint_and_payload
from .vectors import REPOSITORY
from .waiting import Mailbox

SIGNATURE, FOOTER = b"\xfe\xed", b"\xbe\xef"
LONGEST_DATA = 2048
#: How much of what came the firmware's main task may not have read, and how long that task lets it wait.
PORT_ROOM = 2175
READING_SECONDS = 0.003
#: How long a picture's parts are apart.
PICTURE_SECONDS = 0.005
#: For how long after the last byte of a picture the next one is refused.
PICTURE_END_SECONDS = 0.06
#: How long a button has to be down, or up, to be seen so.
BUTTON_SECONDS = 0.04
#: How long the firmware does not listen. It is switched on a moment before somebody connects to its port.
BOOT_SECONDS = 0.2
#: How long it takes to take note of a phone that has come or gone.
NOTE_SECONDS = 0.13
#: How many windows it has memory for.
WINDOW_LIMIT = 220
#: How long a frame may take to become whole.
FRAME_SECONDS = 10.0
#: What nobody reads stops the firmware.
PORT_LIMIT = 4 << 20

SPP, TAP, CONNECTION, BATTERY, ACCELEROMETER, VIBRATION, BUTTON, TIME_FORMAT = 1, 2, 3, 5, 6, 7, 8, 9
TIME, WATCH_VERSION, PHONE_VERSION, APP_MESSAGE, RUN_STATE = 0x000B, 0x0010, 0x0011, 0x0030, 0x0034
PING, SCREENSHOT, BLOB_DB, PUT_BYTES = 0x07D1, 0x1F40, 0xB1DB, 0xBEEF
SYSTEM = 0x0012
NO_DATABASE, INVALID_DATABASE, TRY_LATER = b"\xff", b"\x04", b"\x0b"
#: Ends an update of the firmware without success.
UPDATE_FAILED = b"\x00\x03"
#: A button, as the emulator is told of it.
UP = 0x02
ECHO_APP = uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
#: The screen of the board emery.
WIDTH, HEIGHT = 200, 228

ANSWERS = REPOSITORY / "Tests" / "PebbleWatchTests" / "Vectors" / "pebbleos-answers.json"


def frame(protocol: int, data: bytes) -> bytes:
    return SIGNATURE + struct.pack(">HH", protocol, len(data)) + data + FOOTER


def message(endpoint: int, payload: bytes) -> bytes:
    return HEADER.pack(len(payload), endpoint) + payload


@dataclass(frozen=True)
class Case:
    """A recorded case without uploads: what was sent, and what came."""

    name: str
    sent: tuple[bytes, ...]
    answers: tuple[tuple[int, bytes], ...]


def recorded_cases() -> list[Case]:
    """The recorded cases whose answers are given, but for uploads and what has no message."""
    cases = []
    for group in json.loads(ANSWERS.read_text(encoding="utf-8"))["groups"]:
        for case in group["cases"]:
            steps = [step["send"] for step in case["steps"]]
            if not steps or case["also"] is None or any(step.startswith("beef:") for step in steps):
                continue
            answers = tuple((int(each[:4], 16), bytes.fromhex(each[5:])) for each in case["also"] if ".." not in each)
            cases.append(Case(case["name"], tuple(map(_bytes, steps)), answers))
    return cases


def _bytes(text: str) -> bytes:
    """A message as it was sent; the last byte of a shortened one goes on."""
    start, shortened, length = text.partition("..(")
    data = bytes.fromhex(start)
    return data.ljust(int(length[:-1]), data[-1:]) if shortened else data


def answer_of(name: str) -> bytes:
    """The payload of the only answer of a recorded case."""
    (case,) = {case.sent: case for case in recorded_cases() if case.name == name}.values()
    ((_, payload),) = case.answers
    return payload


@dataclass
class Upload:
    token: int
    size: int
    data: bytearray = field(default_factory=bytearray)


class Firmware:
    """The firmware from one boot on: what it keeps is kept whoever connects to the port."""

    def __init__(self, send: Callable[[bytes], None], *, start_connected: bool = True) -> None:
        self._send = send
        #: Whether it has stopped for good, and why.
        self.wedged: str | None = None
        #: What is wrong with what it was sent.
        self.violations: list[str] = []
        #: Every frame but those of the stream, in order.
        self.told: Mailbox[tuple[int, bytes]] = Mailbox("what the emulator was told")
        #: Every message, in order.
        self.messages: Mailbox[tuple[int, bytes]] = Mailbox("the messages that reached the firmware")
        self.message_count = 0
        self.uploads: list[bytes] = []
        self.upload: Upload | None = None
        #: Messages that it takes in without a word.
        self.silent = False
        #: Is given what the phone said, whole, and the answers to it; what it returns is said instead.
        self.bend: Callable[[bytes, list[tuple[int, bytes]]], list[tuple[int, bytes]]] = lambda _, answers: answers
        #: The answers to what is worked on.
        self._answers_now: list[tuple[int, bytes]] | None = None
        #: The board that it says it is for; None for the recorded one, which is the emulator's of emery.
        self.board: int | None = None
        #: The recorded answers of each message, in the order in which the same message came.
        self._answers: dict[bytes, deque[tuple[tuple[int, bytes], ...]]] = {}
        self._start_connected = start_connected
        self.has_session = start_connected
        #: What it has not taken note of. None is something that waits for `take_notes`.
        self._notes: list[asyncio.TimerHandle | None] = []
        #: How long it takes to take note of a phone that has come or gone; None is until `take_notes`.
        self.note_seconds: float | None = NOTE_SECONDS
        #: Whether it has taken note of all phones that came or went.
        self.has_noted = asyncio.Event()
        self.has_noted.set()
        #: Whether it was told that a phone is there.
        self._is_connected = start_connected
        #: The radio is off: a phone that is there (protocol 3) begins no session.
        self.is_in_airplane_mode = False
        #: How long its main task is busy with something else before it reads.
        self.reading_seconds = READING_SECONDS
        #: Whether it answers what it is told of the accelerometer.
        self.answers_accelerometer = True
        #: Called when it has read, and has worked on what it read.
        self.on_read: Callable[[], None] = lambda: None
        #: How many bytes have come.
        self.byte_count = 0
        #: Whether it listens.
        self.listens = asyncio.Event()
        self._port = bytearray()
        self._reading: asyncio.TimerHandle | None = None
        self._booting: asyncio.TimerHandle | None = None
        self._frames = bytearray()
        self._frame_began = 0.0
        self._stream = MessageStream()
        self._tokens = 0x10F00000
        self._transaction = 0
        self._windows = 0
        self.screen = 0
        #: What of a picture has not left.
        self._picture: deque[bytes] = deque()
        self._showing: asyncio.TimerHandle | None = None
        self._is_ending = False
        self.is_updating = False
        #: How often it has refused a picture because of another.
        self.refused_pictures = 0
        #: The buttons that it has seen go down, as they are told.
        self.presses: Mailbox[int] = Mailbox("the presses that the firmware sees")
        self._buttons = self._seen_buttons = 0
        self._looking: asyncio.TimerHandle | None = None
        #: Answers that a picture has cost.
        self.lost_answers: list[tuple[int, bytes]] = []

    def serve(self, cases: list[Case]) -> None:
        """Answers as recorded, from now on."""
        for case in cases:
            for sent in case.sent[:-1]:
                self._answers.setdefault(sent, deque()).append(())
            self._answers.setdefault(case.sent[-1], deque()).append(case.answers)

    @property
    def is_in_the_middle(self) -> bool:
        """Whether a message has begun that is not whole."""
        return self._stream.is_in_the_middle

    @property
    def is_reading(self) -> bool:
        """Whether its main task is about to read."""
        return self._reading is not None

    def say(self, endpoint: int, payload: bytes) -> None:
        if self._answers_now is not None:
            self._answers_now.append((endpoint, payload))
            return
        data = message(endpoint, payload)
        for start in range(0, len(data), LONGEST_DATA):
            self._send(frame(SPP, data[start : start + LONGEST_DATA]))

    def enter_airplane_mode(self) -> None:
        """By its console: its session is over, with what was the middle of a message and with what it has open."""
        self.is_in_airplane_mode = True
        self.has_session = False
        self._stream = MessageStream()
        self.upload = None
        for note in self._notes:
            if note is not None:
                note.cancel()
        self._notes.clear()

    def leave_airplane_mode(self) -> None:
        """A session begins as at the start."""
        self.is_in_airplane_mode = False
        self.has_session = self._start_connected
        if self.has_session:
            self._begin_session()

    def _begin_session(self) -> None:
        self.say(PHONE_VERSION, b"\x00")
        self._is_connected = True
        self._notice()

    def _notice(self) -> None:
        """It will take note of a phone that has come or gone."""
        self.has_noted.clear()
        if self.note_seconds is None:
            self._notes.append(None)
        else:
            self._notes.append(asyncio.get_running_loop().call_later(self.note_seconds, self._take_note))

    def take_notes(self) -> None:
        """Takes note of all phones that came or went."""
        while self._notes:
            if (note := self._notes[0]) is not None:
                note.cancel()
            self._take_note()

    def _take_note(self) -> None:
        self._notes.pop(0)
        if not self._notes:
            self.has_noted.set()
        self.upload = None
        if not self.silent:
            self.say(RUN_STATE, b"\x01" + ECHO_APP.bytes)

    # What comes in

    def receive(self, data: bytes) -> None:
        if self.wedged:
            return
        self._port += data
        self.byte_count += len(data)
        if not self.listens.is_set():
            self.wedged = "somebody spoke before it listened"
        elif len(self._port) >= PORT_ROOM:
            self.wedged = "more came than its port holds"
        elif self._reading is not None:
            self.wedged = "more came while it began to read"
        else:
            self._reading = asyncio.get_running_loop().call_later(self.reading_seconds, self._read)

    def boot(self, seconds: float = BOOT_SECONDS) -> None:
        """Is switched on, unless it is."""
        if self._booting is None:
            self._booting = asyncio.get_running_loop().call_later(seconds, self._listen)

    def _listen(self) -> None:
        self.listens.set()
        if self.has_session and not self.silent:
            self._begin_session()

    def halt(self) -> None:
        """Runs no more."""
        for timer in (self._booting, self._reading, self._showing, self._looking, *self._notes):
            if timer is not None:
                timer.cancel()

    def _read(self) -> None:
        self._reading = None
        data, self._port = bytes(self._port), bytearray()
        if self.wedged:
            return
        now = time.monotonic()
        if self._frames and now - self._frame_began > FRAME_SECONDS:
            self._frames.clear()
        if not self._frames:
            self._frame_began = now
        self._frames += data
        while (parts := self._next_frame()) and not self.wedged:
            self._frame_began = now
            self._take(*parts)
        self.on_read()

    def _next_frame(self) -> tuple[int, bytes] | None:
        start = self._frames.find(SIGNATURE)
        if start > 0:
            self.violations.append(f"bytes in no frame: {bytes(self._frames[:start]).hex()}")
            del self._frames[:start]
        if len(self._frames) < 6 or start < 0:
            return None
        protocol, length = struct.unpack_from(">HH", self._frames, 2)
        if length > LONGEST_DATA:
            self.wedged = f"a frame with {length} bytes of data"
            return None
        if len(self._frames) < length + 8:
            return None
        data, footer = bytes(self._frames[6 : 6 + length]), bytes(self._frames[6 + length : 8 + length])
        del self._frames[: 8 + length]
        if footer != FOOTER:
            self.violations.append(f"a footer {footer.hex()}")
        return protocol, data

    def _take(self, protocol: int, data: bytes) -> None:
        if protocol != SPP:
            self.told.put((protocol, data))
            if protocol == CONNECTION and not self.is_in_airplane_mode:
                self._take_connection(data[:1] == b"\x01")
            if protocol == BUTTON:
                self._take_buttons(data[0])
            if protocol == ACCELEROMETER and self.answers_accelerometer:
                self._send(frame(ACCELEROMETER, b"\x01\x00"))
            return
        if not self.has_session:
            return
        for whole in self._stream.take(data):
            endpoint, payload = endpoint_and_payload(whole)
            self.message_count += 1
            self.messages.put((endpoint, payload))
            if not self.silent:
                answers: list[tuple[int, bytes]] = []
                is_showing = bool(self._picture)
                self._answers_now = answers
                self._answer(whole, endpoint, payload)
                self._answers_now = None
                for each in self.bend(whole, answers):
                    if is_showing:
                        self.lost_answers.append(each)
                    else:
                        self.say(*each)

    def _take_buttons(self, buttons: int) -> None:
        self._buttons = buttons
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.get_running_loop().call_later(BUTTON_SECONDS, self._look)

    def _look(self) -> None:
        """Buttons are as they were a while ago: so they are seen."""
        if pressed := self._buttons & ~self._seen_buttons:
            self.presses.put(pressed)
        self._seen_buttons = self._buttons

    def _take_connection(self, is_connected: bool) -> None:
        if is_connected and not self.has_session:
            self.has_session = True
            self._begin_session()
        elif is_connected != self._is_connected and self.has_session:
            self._is_connected = is_connected
            self._notice()

    # What it answers

    def _answer(self, whole: bytes, endpoint: int, payload: bytes) -> None:
        # Whatever the first byte is.
        if endpoint == SYSTEM and payload[1:2] in (b"\x01", b"\x02", b"\x03"):
            self.is_updating = payload[1] == 1
        if self.is_updating and endpoint == BLOB_DB and len(payload) >= 3:
            self.say(BLOB_DB, payload[1:3] + TRY_LATER)
            return
        recorded = self._answers.get(whole)
        if recorded:
            answers = recorded.popleft() if len(recorded) > 1 else recorded[0]
            for each in answers:
                self.say(*each)
            return
        if endpoint == PING and payload[:1] == b"\x00" and len(payload) in (5, 6):
            self._windows += 1
            if self._windows > WINDOW_LIMIT:
                self.wedged = "out of memory"
            self.say(PING, b"\x01" + payload[1:5])
        elif endpoint == WATCH_VERSION and payload[:1] == b"\x00":
            self.say(WATCH_VERSION, self._version())
        elif endpoint == TIME and payload[:1] == b"\x00":
            self.say(TIME, b"\x01" + struct.pack(">I", int(time.time())))
        elif endpoint == RUN_STATE and payload == b"\x03":
            self.say(RUN_STATE, b"\x01" + ECHO_APP.bytes)
        elif endpoint == 0x1389:
            self.say(endpoint, answer_of("registry: mfg_color") if b"mfg_color" in payload else b"\xff")
        elif endpoint == APP_MESSAGE and payload[:1] == b"\x01" and len(payload) > 18:
            self._answer_push(payload)
        elif endpoint == BLOB_DB and len(payload) >= 3:
            self.say(BLOB_DB, payload[1:3] + (INVALID_DATABASE if payload[3:] == NO_DATABASE else b"\x01"))
        elif endpoint == SCREENSHOT and payload == b"\x00":
            self._answer_screenshot()
        elif endpoint == PUT_BYTES:
            accepted, token = self._answer_upload(payload)
            self.say(PUT_BYTES, bytes([1 if accepted else 2]) + struct.pack(">I", token))

    def _version(self) -> bytes:
        """As recorded, but for the board: byte 45 of the running firmware's block, which begins at 1."""
        version = bytearray(answer_of("watch version"))
        if self.board is not None:
            version[46] = self.board
        return bytes(version)

    def _answer_push(self, payload: bytes) -> None:
        if payload[2:18] != ECHO_APP.bytes:
            self.say(APP_MESSAGE, b"\x7f" + payload[1:2])
            return
        self.say(APP_MESSAGE, b"\xff" + payload[1:2])
        self._transaction = (self._transaction + 1) % 256
        self.say(APP_MESSAGE, bytes([1, self._transaction]) + payload[2:])

    def _answer_screenshot(self) -> None:
        """A picture of one colour, in messages of 2000 bytes: 8 bits a pixel."""
        picture = struct.pack(">BIII", 0, 2, WIDTH, HEIGHT) + bytes([0xC0 | self.screen]) * (WIDTH * HEIGHT)
        if self._picture or self._is_ending:
            # There is one already.
            self.refused_pictures += 1
            self.say(SCREENSHOT, struct.pack(">BIII", 3, 1, 0, 0))
            return
        self._picture.extend(picture[start : start + 2000] for start in range(0, len(picture), 2000))
        self._show()

    def _show(self) -> None:
        """The next part of the picture leaves."""
        self._send(frame(SPP, message(SCREENSHOT, self._picture.popleft())))
        if self._picture:
            self._showing = asyncio.get_running_loop().call_later(PICTURE_SECONDS, self._show)
        else:
            self._is_ending = True
            self._showing = asyncio.get_running_loop().call_later(PICTURE_END_SECONDS, self._end_picture)

    def _end_picture(self) -> None:
        self._is_ending = False

    def _answer_upload(self, payload: bytes) -> tuple[bool, int]:
        command = payload[0] if payload else 0
        if command == 1:
            if self.upload is not None or len(payload) < 6:
                self.upload = None
                return False, 0
            self._tokens += 1
            self.upload = Upload(self._tokens, struct.unpack_from(">I", payload, 1)[0])
            return True, self._tokens
        token = struct.unpack_from(">I", payload.ljust(5, b"\x00"), 1)[0]
        if command == 5:
            return True, 0
        if self.upload is None or token != self.upload.token:
            self.upload = None
            return False, token if command in (3, 4) else 0
        upload, self.upload = self.upload, None
        if command == 4:
            return True, token
        if command == 3:
            whole = len(upload.data) == upload.size and crc32(bytes(upload.data)) == struct.unpack_from(">I", payload, 5)[0]
            if whole:
                self.uploads.append(bytes(upload.data))
            return whole, token
        if command != 2 or len(payload) - 9 > 2044 or len(payload) - 9 != struct.unpack_from(">I", payload, 5)[0]:
            return False, 0
        upload.data += payload[9:]
        self.upload = upload
        return True, token


class Emulator:
    """The emulator: its port, which takes one connection at a time, and the firmware that runs in it."""

    def __init__(self, *, start_connected: bool) -> None:
        self._start_connected = start_connected
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self.firmware = self._boot()
        #: How often somebody connected to the port.
        self.connections: Mailbox[int] = Mailbox("the connections to the emulator's port")
        #: Is given what comes before the firmware is; what it returns goes on.
        self.on_bytes: Callable[[bytes], bytes] = lambda data: data
        self.port = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, port: int = 0, *, start_connected: bool = True) -> AsyncIterator[Emulator]:
        """Runs until the end of the block."""
        emulator = cls(start_connected=start_connected)
        await emulator.start(port)
        try:
            yield emulator
        finally:
            await emulator.stop()

    def _boot(self) -> Firmware:
        firmware = Firmware(self.send, start_connected=self._start_connected)
        firmware.serve([case for case in recorded_cases() if case.name.startswith("phone version")])
        return firmware

    async def start(self, port: int = 0) -> None:
        """Is switched on: a new boot of the firmware."""
        self.firmware = self._boot()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port or self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Is switched off."""
        self.firmware.halt()
        if self._server is not None:
            self._server.close()
            self._server = None
        self.hang_up()

    def hang_up(self) -> None:
        """Loses its connection; the firmware goes on."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def send(self, data: bytes) -> None:
        """Writes to the port, where nobody may be."""
        if self._writer is None or self._writer.is_closing():
            return
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > PORT_LIMIT:
            self.firmware.wedged = "nobody drains the port"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._writer is not None:
            writer.close()
            return
        self._writer = writer
        self.firmware.boot()
        self.connections.put(len(self.connections.waiting) + 1)
        # The loop ends with what still reads.
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                self.firmware.receive(self.on_bytes(data))
        if self._writer is writer:
            self._writer = None
        writer.close()


class BarePort:
    """A client of the port that obeys no rule: a bridge of one's own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, firmware: Firmware) -> None:
        self._reader = reader
        self._writer = writer
        self._firmware = firmware
        self._sent = firmware.byte_count

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, emulator: Emulator) -> AsyncIterator[BarePort]:
        reader, writer = await asyncio.open_connection("127.0.0.1", emulator.port)
        await emulator.firmware.listens.wait()
        try:
            yield cls(reader, writer, emulator.firmware)
        finally:
            writer.close()
            await writer.wait_closed()

    async def send(self, data: bytes) -> None:
        """Sends when the firmware has read what was sent before."""
        while self._firmware.wedged is None and (self._firmware.byte_count < self._sent or self._firmware.is_reading):
            await asyncio.sleep(READING_SECONDS)
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._sent += len(data)
        self._writer.write(data)

    async def pounce(self, data: bytes) -> None:
        """Sends when the firmware has got what was sent before, and begins to read it."""
        while not self._firmware.is_reading:
            await asyncio.sleep(0)
        self._write(data)

    async def is_answered(self, cookie: int, seconds: float = 1.0) -> bool:
        """Whether the firmware answers a ping. It answers at once, if at all."""
        wanted = message(PING, struct.pack(">BI", 1, cookie))
        await self.send(frame(SPP, message(PING, struct.pack(">BIB", 0, cookie, 0))))
        seen = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while wanted not in seen:
                    piece = await self._reader.read(65536)
                    if not piece:
                        return False
                    seen += piece
                return True
        return False


def endpoints(messages: list[tuple[int, Any]]) -> list[int]:
    return [endpoint for endpoint, _ in messages]
