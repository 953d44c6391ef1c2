"""The watch's Pebble stream as a companion on a phone opens it: PSM, channel, introduction, messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bumble import l2cap

from . import gatt as uuids
from .phone import META_ANDROID, WatchLink
from .ppogatt import Closed
from .waiting import within


async def read_psm(watch: WatchLink) -> int:
    """The PSM that the watch publishes. Raises what the watch refuses the read with, and LookupError without one."""
    for service in await within(10, "the stream's service", watch.client.discover_service(uuids.STREAM_SERVICE)):
        found = await within(
            10, "the PSM's characteristic", watch.client.discover_characteristics([uuids.PUBLISHED_PSM], service)
        )
        for characteristic in found:
            value = await watch.read(characteristic.handle)
            assert len(value) == 2, value
            return int.from_bytes(value, "little")
    raise LookupError("the watch publishes no PSM")


class Stream:
    """An open channel to the watch's stream. A `PebbleSession` runs over it as over PPoGATT."""

    def __init__(self, channel: l2cap.LeCreditBasedChannel) -> None:
        self.channel = channel
        #: Called with each piece of the byte stream from the watch.
        self.on_bytes: Callable[[bytes], None] = lambda _: None
        #: Called once, when the channel is closed.
        self.on_closed: Callable[[Exception], None] = lambda _: None
        self.received = 0
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        channel.sink = self._receive
        channel.on(channel.EVENT_CLOSE, self._on_close)

    @classmethod
    async def open(
        cls, watch: WatchLink, psm: int, *, mtu: int = 2048, mps: int = 1004, introduction: bytes = META_ANDROID
    ) -> Stream:
        """Opens a channel, and introduces the companion on it."""
        specification = l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=mtu, mps=mps, max_credits=64)
        channel = await within(10, "the stream to open", watch.connection.create_l2cap_channel(specification))
        stream = cls(channel)
        stream.send(introduction)
        return stream

    def send(self, stream: bytes) -> None:
        if self._closed.done():
            raise Closed("the stream is closed")
        self.channel.write(stream)

    async def close(self) -> None:
        """Closes the channel from the phone's side."""
        await within(10, "the stream to close", self.channel.disconnect())

    async def closed(self, seconds: float = 10) -> None:
        """Returns when the channel is closed."""
        await within(seconds, "the watch to close the stream", asyncio.shield(self._closed))

    def _receive(self, sdu: bytes) -> None:
        self.received += len(sdu)
        self.on_bytes(sdu)

    def _on_close(self) -> None:
        if not self._closed.done():
            self._closed.set_result(None)
            self.on_closed(Closed("the stream is closed"))
