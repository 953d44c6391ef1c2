"""The Pebble Protocol as a companion app speaks it: what it answers by itself, and what it asks.

A message is its length (UInt16), its endpoint (UInt16), both big-endian, and the payload.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections import deque
from collections.abc import Callable

from ..appmessage import Dictionary, Message, decode, encode

HEADER = struct.Struct(">HH")
PHONE_VERSION, APP_MESSAGE, APP_RUN_STATE, PING = 0x0011, 0x0030, 0x0034, 2001
#: Which AppMessages wait to be expected at most; the oldest goes first.
INBOX_LIMIT = 256

#: Endpoint 0x0011: protocol version, session capabilities, platform flags, version of the response, 3.0.0, capabilities.
_PHONE_ANSWER = struct.pack(">BIIIBBBBQ", 1, 0xFFFFFFFF, 0x80000000, 0x32, 2, 3, 0, 0, (1 << 64) - 1)
_PUSH, _NACK, _ACK = 0x01, 0x7F, 0xFF
_RUNS, _ASK_WHAT_RUNS = 0x01, 0x03
_IS_PING, _IS_PONG = 0, 1


class Session:
    """A session with a watch, over a transport that `send` is the end of."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        #: The AppMessages that came and were not taken, oldest first.
        self.inbox: deque[Message] = deque(maxlen=INBOX_LIMIT)
        #: The UUID of the app that runs, as the watch said last.
        self.app: str | None = None
        #: Set once the watch has been told what it asks every phone.
        self.introduced = asyncio.Event()
        #: Why it carries no more.
        self.closed: str | None = None
        #: Each time that something came, or the session ended.
        self._changed = asyncio.Event()
        self._send = send
        self._stream = bytearray()
        self._transaction = 0
        #: Of each push that was not answered, nothing; of the others, whether the watch took them.
        self._answers: dict[int, bool | None] = {}
        self._pongs: deque[int] = deque(maxlen=INBOX_LIMIT)

    def receive(self, piece: bytes) -> None:
        """A piece of the stream from the watch."""
        self._stream += piece
        while len(self._stream) >= HEADER.size:
            length, endpoint = HEADER.unpack_from(self._stream)
            end = HEADER.size + length
            if len(self._stream) < end:
                return
            payload = bytes(self._stream[HEADER.size : end])
            del self._stream[:end]
            self._take(endpoint, payload)
            self._changed.set()

    def close(self, reason: str) -> None:
        """Carries no more."""
        self.closed = self.closed or reason
        self._changed.set()

    async def until(self, so: Callable[[], bool]) -> None:
        """Returns when it is so, which is looked at whenever something came. Raises ConnectionError when it ends."""
        while not so():
            if self.closed is not None:
                raise ConnectionError(self.closed)
            self._changed.clear()
            await self._changed.wait()

    def push(self, app: str, entries: Dictionary) -> int:
        """Sends an AppMessage to an app, and returns its transaction."""
        self._transaction = (self._transaction + 1) % 256
        self._answers[self._transaction] = None
        message = bytes([_PUSH, self._transaction]) + uuid.UUID(app).bytes + encode(entries)
        self._write(APP_MESSAGE, message)
        return self._transaction

    async def answer(self, transaction: int) -> bool:
        """Whether the watch took a push."""
        try:
            await self.until(lambda: self._answers[transaction] is not None)
            return bool(self._answers[transaction])
        finally:
            del self._answers[transaction]

    async def running(self) -> str:
        """Asks which app runs."""
        self.app = None
        self._write(APP_RUN_STATE, bytes([_ASK_WHAT_RUNS]))
        await self.until(lambda: self.app is not None)
        return self.app or ""

    async def launch(self, app: str) -> None:
        """Starts an app, unless it runs."""
        if await self.running() != app:
            self._write(APP_RUN_STATE, bytes([_RUNS]) + uuid.UUID(app).bytes)
            await self.until(lambda: self.app == app)

    async def ping(self) -> None:
        """Has the watch answer: everything that it sent before has arrived then."""
        self._transaction = (self._transaction + 1) % 256
        cookie = 0xCA120000 | self._transaction
        self._write(PING, struct.pack(">BIB", _IS_PING, cookie, 0))
        await self.until(lambda: cookie in self._pongs)

    async def take(self, accept: Callable[[Message], bool]) -> Message:
        """The first AppMessage that is accepted. Those before it stay."""
        found: list[Message] = []

        def search() -> bool:
            found.extend(each for each in self.inbox if accept(each))
            return bool(found)

        await self.until(search)
        self.inbox.remove(found[0])
        return found[0]

    def _write(self, endpoint: int, payload: bytes) -> None:
        if self.closed is not None:
            raise ConnectionError(self.closed)
        if len(payload) > 0xFFFF:
            raise ValueError(f"a message of {len(payload)} bytes; the Pebble Protocol has 65535 at most")
        self._send(HEADER.pack(len(payload), endpoint) + payload)

    def _take(self, endpoint: int, payload: bytes) -> None:
        if endpoint == PHONE_VERSION and payload[:1] == b"\0":
            self._write(PHONE_VERSION, _PHONE_ANSWER)
            self.introduced.set()
        elif endpoint == PING and len(payload) >= 5:
            (cookie,) = struct.unpack_from(">I", payload, 1)
            if payload[0] == _IS_PING:
                self._write(PING, struct.pack(">BI", _IS_PONG, cookie))
            else:
                self._pongs.append(cookie)
        elif endpoint == APP_RUN_STATE and payload[:1] == bytes([_RUNS]) and len(payload) == 17:
            self.app = str(uuid.UUID(bytes=payload[1:]))
        elif endpoint == APP_MESSAGE and len(payload) >= 2:
            self._take_app_message(payload)

    def _take_app_message(self, payload: bytes) -> None:
        command, transaction = payload[0], payload[1]
        if command in (_ACK, _NACK):
            if transaction in self._answers:
                self._answers[transaction] = command == _ACK
        elif command == _PUSH and len(payload) >= 18:
            try:
                entries = decode(payload[18:])
            except ValueError:
                self._write(APP_MESSAGE, bytes([_NACK, transaction]))
                return
            app = str(uuid.UUID(bytes=payload[2:18]))
            self.inbox.append(Message(app, entries, at=asyncio.get_running_loop().time()))
            self._write(APP_MESSAGE, bytes([_ACK, transaction]))
