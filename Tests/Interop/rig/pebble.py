"""The Pebble Protocol on a transport: libpebble2's packet classes encode what is sent and decode what arrives."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from libpebble2.protocol.appmessage import AppMessage
from libpebble2.protocol.base import PebblePacket
from libpebble2.protocol.system import PingPong
from libpebble2.protocol.transfers import PutBytesResponse

from .waiting import Mailbox

Packet = TypeVar("Packet", bound=PebblePacket)

HEADER = struct.Struct(">HH")


@dataclass(frozen=True)
class Message:
    """A whole message from the watch: its payload as it came, and libpebble2's view of it where it has one."""

    endpoint: int
    payload: bytes
    packet: PebblePacket | None

    def __repr__(self) -> str:
        if self.packet is not None:
            return repr(self.packet)
        return f"endpoint 0x{self.endpoint:04X}: {self.payload.hex()}"


def unexpected(*sessions: PebbleSession) -> list[Message]:
    """Answers and pushes that no test has waited for. What the watch asks of the phone by itself, such as what music plays,
    is not among them."""
    answers = (AppMessage, PingPong, PutBytesResponse)
    return [each for session in sessions for each in session.inbox.waiting if isinstance(each.packet, answers)]


class Transport(Protocol):
    """Carries the byte stream of a session."""

    #: Called with each piece of the stream from the watch.
    on_bytes: Callable[[bytes], None]
    #: Called once, when the transport can carry no more.
    on_closed: Callable[[Exception], None]

    def send(self, stream: bytes) -> None: ...


class PebbleSession:
    """Messages over an open transport."""

    def __init__(self, transport: Transport) -> None:
        self.inbox: Mailbox[Message] = Mailbox("what the watch said")
        self._transport = transport
        self._stream = bytearray()
        transport.on_bytes = self._receive
        transport.on_closed = self.inbox.fail

    def send(self, packet: PebblePacket) -> None:
        self._transport.send(packet.serialise_packet())

    def send_raw(self, endpoint: int, payload: bytes) -> None:
        self._transport.send(HEADER.pack(len(payload), endpoint) + payload)

    async def expect(
        self,
        kind: type[Packet],
        what: str,
        accept: Callable[[Packet], bool] = lambda _: True,
        seconds: float = 10,
    ) -> tuple[Packet, bytes]:
        """The next message of libpebble2's class `kind` that `accept` accepts, and its payload's bytes."""

        def fits(message: Message) -> bool:
            # Not its subclasses: to libpebble2 the launcher's message, of another endpoint, is an AppMessage too.
            return type(message.packet) is kind and accept(message.packet)

        message = await self.inbox.take(seconds, what, fits)
        assert isinstance(message.packet, kind)
        return message.packet, message.payload

    def _receive(self, piece: bytes) -> None:
        self._stream += piece
        while len(self._stream) >= HEADER.size:
            length, endpoint = HEADER.unpack_from(self._stream)
            end = HEADER.size + length
            if len(self._stream) < end:
                return
            message = bytes(self._stream[:end])
            del self._stream[:end]
            try:
                packet, _ = PebblePacket.parse_message(message)
            except Exception as error:  # libpebble2's decoders raise exceptions of any type
                self.inbox.fail(AssertionError(f"libpebble2 cannot decode {message.hex()}: {error!r}"))
                return
            self.inbox.put(Message(endpoint, message[HEADER.size :], packet))
