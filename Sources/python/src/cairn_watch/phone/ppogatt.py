"""PPoGATT, the transport of the Pebble Protocol over GATT, as libpebble3 speaks it on a phone.

A packet is a byte with the type in bits 0 to 2 and the sequence number in bits 3 to 7, then the payload. Packets of data are
numbered, sent again when no acknowledgement comes, and given up after that.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable

#: The version that this side speaks: with windows in the Reset Complete.
VERSION = 1
#: The packets that may be in flight towards the phone, and towards a watch that does not say.
PHONE_WINDOW, DEFAULT_WINDOW = 25, 4
RETRANSMISSION_SECONDS = 10.0
MAXIMUM_RETRANSMISSIONS = 2
SEQUENCE_NUMBERS = 32


class Kind(enum.IntEnum):
    """The type of a packet."""

    DATA = 0
    ACK = 1
    RESET_REQUEST = 2
    RESET_COMPLETE = 3


class State(enum.Enum):
    """How far the handshake is."""

    WAITING_FOR_REQUEST = enum.auto()
    WAITING_FOR_COMPLETE = enum.auto()
    OPEN = enum.auto()
    CLOSED = enum.auto()


class PPoGATT:
    """The phone's end.

    `send` takes a packet; `maximum_packet` says how long one may be; `on_bytes` gets each piece of the stream from the watch;
    `on_closed` hears once why it carries no more. `begins`: the phone sends the Reset Request, since the service is the
    watch's; else the watch does.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        maximum_packet: Callable[[], int],
        on_bytes: Callable[[bytes], None],
        on_closed: Callable[[str], None],
        *,
        begins: bool,
    ) -> None:
        self.state = State.WAITING_FOR_REQUEST
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        #: Set while everything that was sent has been acknowledged.
        self.drained = asyncio.Event()
        self.drained.set()
        self._send = send
        self._maximum_packet = maximum_packet
        self._on_bytes = on_bytes
        self._on_closed = on_closed
        self._begins = begins
        self._version = VERSION
        self._window = DEFAULT_WINDOW
        self._expected = 0
        self._last_ack: int | None = None
        self._next = 0
        self._in_flight: deque[tuple[int, bytes]] = deque()
        self._backlog = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._retransmissions = 0

    def start(self) -> None:
        """Begins the handshake, or waits for the watch to begin it."""
        if self._begins:
            self.state = State.WAITING_FOR_COMPLETE
            self._send(bytes([Kind.RESET_REQUEST, self._version]))

    def send(self, stream: bytes) -> None:
        """Sends bytes of the stream; `drained` says when they have been acknowledged. Only while the state is OPEN."""
        self._backlog += stream
        self._pump()

    def close(self, reason: str) -> None:
        """Carries no more. Says so once."""
        if self.state is State.CLOSED:
            return
        self.state = State.CLOSED
        self._stop_timer()
        self.opened.cancel()
        self._on_closed(reason)

    def receive(self, packet: bytes) -> None:
        """A packet from the watch. What is malformed closes the transport, as it does in libpebble3."""
        if self.state is State.CLOSED:
            return
        if not packet:
            return self.close("the watch sent an empty PPoGATT packet")
        kind, sequence, payload = packet[0] & 7, packet[0] >> 3, packet[1:]
        if kind == Kind.DATA and self.state is State.OPEN:
            self._receive_data(sequence, payload)
        elif kind == Kind.ACK and self.state is State.OPEN:
            self._receive_ack(sequence)
        elif kind == Kind.RESET_REQUEST:
            self._receive_reset_request(payload)
        elif kind == Kind.RESET_COMPLETE and self.state is State.WAITING_FOR_COMPLETE:
            self._receive_reset_complete(payload)
        else:
            self.close(f"the watch sent the PPoGATT packet {packet[:8].hex()} while this side was {self.state.name}")

    def _receive_reset_request(self, payload: bytes) -> None:
        if self.state is State.OPEN:
            return self.close("the watch reset the session")
        if not payload:
            return self.close("the watch sent a Reset Request without a version")
        self._version = min(VERSION, payload[0])
        self.state = State.WAITING_FOR_COMPLETE
        self._send_reset_complete()

    def _receive_reset_complete(self, payload: bytes) -> None:
        if self._begins:
            self._send_reset_complete()
        if self._version > 0 and len(payload) >= 2:
            self._window = max(1, min(payload[0], PHONE_WINDOW))
        self.state = State.OPEN
        if not self.opened.done():
            self.opened.set_result(None)

    def _send_reset_complete(self) -> None:
        windows = bytes([PHONE_WINDOW, PHONE_WINDOW]) if self._version > 0 else b""
        self._send(bytes([Kind.RESET_COMPLETE]) + windows)

    def _receive_data(self, sequence: int, payload: bytes) -> None:
        if sequence != self._expected:
            # What is not the next one was sent again, or follows a lost one: the watch hears what is there.
            if self._last_ack is not None:
                self._acknowledge(self._last_ack)
            return
        self._expected = (self._expected + 1) % SEQUENCE_NUMBERS
        self._acknowledge(sequence)
        self._on_bytes(payload)

    def _acknowledge(self, sequence: int) -> None:
        self._last_ack = sequence
        self._send(bytes([sequence << 3 | Kind.ACK]))

    def _receive_ack(self, sequence: int) -> None:
        if all(sent != sequence for sent, _ in self._in_flight):
            return
        while self._in_flight.popleft()[0] != sequence:
            pass
        self._retransmissions = 0
        self._stop_timer()
        self._pump()

    def _pump(self) -> None:
        limit = max(1, self._maximum_packet() - 1)
        while self._backlog and len(self._in_flight) < self._window:
            packet = bytes([self._next << 3 | Kind.DATA]) + self._backlog[:limit]
            del self._backlog[:limit]
            self._in_flight.append((self._next, packet))
            self._next = (self._next + 1) % SEQUENCE_NUMBERS
            self._send(packet)
        if not self._in_flight:
            self.drained.set()
            return
        self.drained.clear()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(RETRANSMISSION_SECONDS, self._timed_out)

    def _timed_out(self) -> None:
        self._timer = None
        self._retransmissions += 1
        if self._retransmissions > MAXIMUM_RETRANSMISSIONS:
            return self.close(f"the watch did not acknowledge packet {self._in_flight[0][0]}")
        for _, packet in self._in_flight:
            self._send(packet)
        self._timer = asyncio.get_running_loop().call_later(RETRANSMISSION_SECONDS, self._timed_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
