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


class MessageStream:
    """Cuts what comes of a stream into whole messages, each with its header."""

    def __init__(self) -> None:
        self._unfinished = bytearray()

    @property
    def is_in_the_middle(self) -> bool:
        """Whether a message has begun that is not whole."""
        return bool(self._unfinished)

    def take(self, piece: bytes) -> list[bytes]:
        """The messages that are whole with this piece."""
        self._unfinished += piece
        messages = []
        while len(self._unfinished) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self._unfinished)[0]
            if len(self._unfinished) < end:
                break
            messages.append(bytes(self._unfinished[:end]))
            del self._unfinished[:end]
        return messages


def endpoint_and_payload(message: bytes) -> tuple[int, bytes]:
    """The endpoint and the payload of a whole message."""
    return HEADER.unpack_from(message)[1], message[HEADER.size :]


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
        self._stream = MessageStream()
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
        for message in self._stream.take(piece):
            try:
                packet, _ = PebblePacket.parse_message(message)
            except Exception as error:  # libpebble2's decoders raise exceptions of any type
                self.inbox.fail(AssertionError(f"libpebble2 cannot decode {message.hex()}: {error!r}"))
                return
            self.inbox.put(Message(*endpoint_and_payload(message), packet))
