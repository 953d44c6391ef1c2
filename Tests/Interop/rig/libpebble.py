"""libpebble2's own connection, over a transport of the rig: so its services, which block, talk to a watch over Bluetooth."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import AsyncIterator, Callable
from typing import ParamSpec, TypeVar

from libpebble2.communication import PebbleConnection
from libpebble2.communication.transports import BaseTransport, MessageTarget, MessageTargetWatch
from libpebble2.exceptions import ConnectionError as PebbleConnectionError

from .pebble import MessageStream
from .phone import Phone
from .ppogatt import PhoneTransport
from .waiting import within

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BluetoothTransport(BaseTransport):
    """Carries bytes between the loop, where Bluetooth lives, and libpebble2's threads."""

    #: libpebble2 answers the watch's question for the phone's version.
    must_initialise = True

    def __init__(self, transport: PhoneTransport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._received: queue.Queue[bytes | None] = queue.Queue()
        self._is_connected = True
        #: The watch's whole messages so far, for those that libpebble2 has no class for.
        self.messages: list[bytes] = []
        self._stream = MessageStream()
        self._grown = asyncio.Event()
        transport.on_bytes = self._take
        transport.on_closed = lambda _: self.close()

    @property
    def connected(self) -> bool:
        return self._is_connected

    def connect(self) -> None:
        """The link is there before libpebble2 is."""

    def _take(self, piece: bytes) -> None:
        self.messages += self._stream.take(piece)
        self._grown.set()
        self._received.put(piece)

    async def message_on(self, endpoint: bytes, *, after: int) -> bytes:
        """The first message on an endpoint behind the first `after` messages."""
        while True:
            for message in self.messages[after:]:
                if message[2:4] == endpoint:
                    return message
            self._grown.clear()
            await self._grown.wait()

    def close(self) -> None:
        self._is_connected = False
        self._received.put(None)

    def read_packet(self) -> tuple[MessageTarget, bytes]:
        piece = self._received.get()
        if piece is None:
            raise PebbleConnectionError("the watch is gone")
        return MessageTargetWatch(), piece

    def send_packet(self, message: bytes, target: MessageTarget | None = None) -> None:
        self._loop.call_soon_threadsafe(self._transport.send, message)


class Companion:
    """A companion that is libpebble2."""

    def __init__(self, transport: PhoneTransport) -> None:
        self._transport = BluetoothTransport(transport)
        self.connection = PebbleConnection(self._transport)

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, port: int, address: str) -> AsyncIterator[Companion]:
        """libpebble2 on a phone of its own, which hosts PPoGATT, until the end of the block."""
        async with Phone.on(port) as phone:
            transport = PhoneTransport(phone.host_ppogatt())
            companion = cls(transport)
            transport.start()
            link = await phone.connect(address)
            await link.exchange_mtu(517)
            await transport.opened()
            await companion.start()
            try:
                yield companion
            finally:
                companion.close()

    async def start(self) -> None:
        """Reads from now on, and asks for the watch's version."""
        await self.run(self.connection.connect)
        await self.run(self.connection.run_async)

    async def run(
        self, call: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Runs a blocking call of libpebble2 beside the loop."""
        return await asyncio.to_thread(call, *arguments, **named)

    async def ask_raw(self, message: bytes) -> bytes:
        """Asks what libpebble2 has no class for. The answer is the next message on that endpoint: what the watch says of its own accord
        on another one, such as its question about music, may come in between."""
        before = len(self._transport.messages)
        self.connection.send_raw(message)
        answer = self._transport.message_on(message[2:4], after=before)
        return await within(10, f"the watch to answer {message.hex()}", answer)

    def close(self) -> None:
        self._transport.close()
