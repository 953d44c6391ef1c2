"""PPoGATT as a phone speaks it: libpebble3's behaviour, watch-over-BLE sections 4.4 to 4.9.

Written from the protocol's description, not from Cairn. It follows libpebble3 in what it does, and it is stricter in
what it accepts: whatever a real watch never does is a `Violation`, kept in `violations`, so that a test can say that
there were none.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .waiting import within

#: libpebble3's numbers (section 4.9).
PHONE_WINDOW = 25
HANDSHAKE_SECONDS = 12.0
RETRANSMISSION_SECONDS = 10.0
MAXIMUM_RETRANSMISSIONS = 2
#: The windows of version 0, and of a version 1 side that sends none (section 4.5).
DEFAULT_WINDOW = 4
#: A watch never has more packets than this in flight, unless the MTU is tiny (section 4.5).
WATCH_TRANSMIT_WINDOW = 4
SERIAL_LENGTH = 12
SEQUENCE_NUMBERS = 32


class Kind(enum.IntEnum):
    DATA = 0
    ACK = 1
    RESET_REQUEST = 2
    RESET_COMPLETE = 3


class State(enum.Enum):
    IDLE = enum.auto()
    AWAITING_RESET_REQUEST = enum.auto()
    AWAITING_RESET_COMPLETE = enum.auto()
    OPEN = enum.auto()
    CLOSED = enum.auto()


class Violation(AssertionError):
    """The watch did what a watch never does."""


class Closed(ConnectionError):
    """The transport is gone, for the reason given."""


class Channel(Protocol):
    """Carries PPoGATT packets: one GATT write or notification each."""

    #: Called with each packet from the watch.
    on_packet: Callable[[bytes], None]

    @property
    def maximum_packet(self) -> int:
        """The longest packet that fits the present ATT MTU."""

    def send(self, packet: bytes) -> None: ...


def header(kind: Kind, sequence: int) -> int:
    return sequence << 3 | kind


@dataclass
class Statistics:
    """What went over the transport since it opened."""

    data_received: int = 0
    data_sent: int = 0
    acks_received: int = 0
    #: Data packets that were not the next one. On a lossless link there are none.
    out_of_order: int = 0
    #: Data packets that were sent again. On a lossless link there are none.
    retransmitted: int = 0


class PhoneTransport:
    """The phone's end of PPoGATT on one channel.

    `reversed_roles`: the watch is the GATT server (V2) and the phone speaks first; otherwise the watch does.
    """

    def __init__(self, channel: Channel, *, reversed_roles: bool = False, version: int = 1) -> None:
        self.version = version
        self.state = State.IDLE
        self.violations: list[Violation] = []
        self.statistics = Statistics()
        #: Called with each piece of the byte stream from the watch.
        self.on_bytes: Callable[[bytes], None] = lambda _: None
        #: Called once, when the transport can carry no more.
        self.on_closed: Callable[[Exception], None] = lambda _: None
        #: What the watch said in the handshake.
        self.watch_serial: bytes | None = None
        self.watch_windows: tuple[int, int] | None = None
        #: While true, nothing is acknowledged, as when the phone's application is busy.
        self.holding_acks = False
        self._channel = channel
        self._reversed = reversed_roles
        #: Whether this side sent the Reset Request.
        self._began = False
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._receive_window = self._send_window = DEFAULT_WINDOW
        self._expected = 0
        self._held: int | None = None
        self._unacknowledged = 0
        self._last_ack: int | None = None
        self._next_sequence = 0
        self._in_flight: deque[tuple[int, bytes]] = deque()
        self._last_acknowledged: int | None = None
        self._backlog = bytearray()
        self._data_arrived = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self._timer: asyncio.TimerHandle | None = None
        self._retransmissions = 0
        channel.on_packet = self._receive

    # The application's side

    def start(self) -> None:
        """Begins the handshake: waits for the watch's Reset Request, or sends the phone's own."""
        if self._reversed:
            self.request_reset()
        else:
            self.state = State.AWAITING_RESET_REQUEST

    async def opened(self, seconds: float = HANDSHAKE_SECONDS) -> None:
        """Returns when the handshake is done."""
        await within(
            seconds,
            f"PPoGATT to open (it is {self.state.name})",
            asyncio.shield(self._opened),
        )

    def request_reset(self) -> None:
        """Begins the handshake itself although that is the watch's part: what iOS does when nothing comes."""
        self._began = True
        self.state = State.AWAITING_RESET_COMPLETE
        self._channel.send(bytes([header(Kind.RESET_REQUEST, 0), self.version]))

    def say_goodbye(self) -> None:
        """Resets the session and is gone: what the app on iOS does before it ends, since the link outlives it."""
        self._channel.send(bytes([header(Kind.RESET_REQUEST, 0), self.version]))
        self.close("the app has ended")

    def send(self, stream: bytes) -> None:
        """Queues bytes of the Pebble Protocol stream."""
        if self.state is not State.OPEN:
            raise Closed(f"PPoGATT is {self.state.name}, not open")
        self._backlog += stream
        self._pump()

    def release_acks(self) -> None:
        """Acknowledges what was held back, and from now on each packet at once."""
        self.holding_acks = False
        if self._held is not None:
            self._acknowledge(self._held)
            self._held = None

    def close(self, reason: str) -> None:
        self._close(Closed(reason))

    @property
    def send_window(self) -> int:
        return self._send_window

    @property
    def receive_window(self) -> int:
        return self._receive_window

    async def received(self, packets: int, seconds: float = 10) -> None:
        """Returns when the watch has sent so many data packets since the transport opened."""

        async def count() -> None:
            while self.statistics.data_received < packets:
                self._data_arrived.clear()
                await self._data_arrived.wait()

        await within(seconds, f"data packet {packets} from the watch", count())

    async def drained(self, seconds: float = 10) -> None:
        """Returns when everything that was sent has been acknowledged."""
        await within(
            seconds,
            f"the watch to acknowledge {len(self._in_flight)} packets",
            self._drained.wait(),
        )

    # The watch's packets

    def _receive(self, packet: bytes) -> None:
        if self.state in (State.IDLE, State.CLOSED):
            return
        if not packet:
            self._violation("an empty packet")
            return
        if len(packet) > self._channel.maximum_packet:
            self._violation(f"a packet of {len(packet)} bytes where {self._channel.maximum_packet} fit")
        kind, sequence, payload = packet[0] & 7, packet[0] >> 3, packet[1:]
        if kind == Kind.DATA:
            self._receive_data(sequence, payload)
        elif kind == Kind.ACK:
            self._receive_ack(sequence, payload)
        elif kind == Kind.RESET_REQUEST:
            self._receive_reset_request(sequence, payload)
        elif kind == Kind.RESET_COMPLETE:
            self._receive_reset_complete(sequence, payload)
        else:
            self._violation(f"a packet of the invalid type {kind}: {packet.hex()}")

    def _receive_reset_request(self, sequence: int, payload: bytes) -> None:
        if self.state is State.OPEN:
            self._violation("a Reset Request in an open session")
            self._close(Closed("the watch reset the session"))
            return
        if sequence != 0 or len(payload) != 1 + SERIAL_LENGTH or payload[0] > 1:
            self._violation(f"a Reset Request of sequence number {sequence} and payload {payload.hex()}")
            # libpebble3 reads the version byte and throws without a valid one.
            self._close(Closed("malformed Reset Request"))
            return
        self.version = min(self.version, payload[0])
        self.watch_serial = payload[1:]
        self.state = State.AWAITING_RESET_COMPLETE
        self._send_reset_complete()

    def _receive_reset_complete(self, sequence: int, payload: bytes) -> None:
        if self.state is not State.AWAITING_RESET_COMPLETE:
            self._violation(f"a Reset Complete while {self.state.name}")
            self._close(Closed("unexpected Reset Complete"))
            return
        if sequence != 0 or len(payload) != (2 if self.version > 0 else 0):
            self._violation(f"a Reset Complete of sequence number {sequence} and payload {payload.hex()}")
        if self._began:
            self._send_reset_complete()
        if self.version > 0 and len(payload) >= 2:
            self.watch_windows = (payload[0], payload[1])
            self._send_window = min(payload[0], PHONE_WINDOW)
            self._receive_window = min(payload[1], PHONE_WINDOW)
        self.state = State.OPEN
        if not self._opened.done():
            self._opened.set_result(None)

    def _send_reset_complete(self) -> None:
        windows = bytes([PHONE_WINDOW, PHONE_WINDOW]) if self.version > 0 else b""
        self._channel.send(bytes([header(Kind.RESET_COMPLETE, 0)]) + windows)

    def _receive_data(self, sequence: int, payload: bytes) -> None:
        if self.state is not State.OPEN:
            self._violation(f"data while {self.state.name}")
            return
        self.statistics.data_received += 1
        self._data_arrived.set()
        if not payload:
            self._violation(f"data packet {sequence} without data")
        if sequence != self._expected:
            self.statistics.out_of_order += 1
            if self._last_ack is not None and not self.holding_acks:
                self._acknowledge(self._last_ack)
            return
        self._expected = (self._expected + 1) % SEQUENCE_NUMBERS
        self._unacknowledged += 1
        if self._unacknowledged > self._receive_window:
            self._violation(f"{self._unacknowledged} packets in flight in a window of {self._receive_window}")
        if self.holding_acks:
            self._held = sequence
        else:
            self._acknowledge(sequence)
        self.on_bytes(payload)

    def _acknowledge(self, sequence: int) -> None:
        self._last_ack = sequence
        self._unacknowledged = 0
        self._channel.send(bytes([header(Kind.ACK, sequence)]))

    def _receive_ack(self, sequence: int, payload: bytes) -> None:
        if self.state is not State.OPEN:
            self._violation(f"an Ack while {self.state.name}")
            return
        self.statistics.acks_received += 1
        if payload:
            self._violation(f"an Ack with the payload {payload.hex()}")
        if any(sent == sequence for sent, _ in self._in_flight):
            while self._in_flight:
                sent, _ = self._in_flight.popleft()
                if sent == sequence:
                    break
            self._last_acknowledged = sequence
            self._retransmissions = 0
        elif sequence == self._last_acknowledged:
            # libpebble3 takes it as "everything after this was lost".
            self._violation(f"Ack {sequence} once more")
            self._send_again()
        else:
            self._violation(f"Ack {sequence} for a packet that is not in flight")
            self._in_flight.clear()
        self._restart_timer()
        self._pump()

    # The phone's packets

    def _pump(self) -> None:
        limit = self._channel.maximum_packet - 1
        while self._backlog and len(self._in_flight) < self._send_window:
            piece = bytes(self._backlog[:limit])
            del self._backlog[:limit]
            packet = bytes([header(Kind.DATA, self._next_sequence)]) + piece
            self._in_flight.append((self._next_sequence, packet))
            self._next_sequence = (self._next_sequence + 1) % SEQUENCE_NUMBERS
            self.statistics.data_sent += 1
            self._channel.send(packet)
            if self._timer is None:
                self._restart_timer()
        if self._in_flight:
            self._drained.clear()
        else:
            self._drained.set()

    def _send_again(self) -> None:
        for _, packet in self._in_flight:
            self.statistics.retransmitted += 1
            self._channel.send(packet)

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._in_flight:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(RETRANSMISSION_SECONDS, self._timed_out)

    def _timed_out(self) -> None:
        self._timer = None
        self._retransmissions += 1
        if self._retransmissions > MAXIMUM_RETRANSMISSIONS:
            self._close(Closed(f"the watch did not acknowledge packet {self._in_flight[0][0]}"))
            return
        self._send_again()
        self._restart_timer()

    def _violation(self, what: str) -> None:
        self.violations.append(Violation(f"the watch sent {what}"))

    def _close(self, reason: Exception) -> None:
        if self.state is State.CLOSED:
            return
        self.state = State.CLOSED
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._opened.done():
            self._opened.set_exception(reason)
            self._opened.exception()  # seen: no task needs to await a transport that is being closed
        self.on_closed(reason)
