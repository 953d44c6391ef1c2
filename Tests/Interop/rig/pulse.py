"""A firmware's console: PULSEv2 as PebbleOS documents it (docs/pulse2), on the firmware's side. COBS is the package `cobs`."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Callable

from cobs import cobs

FLAG = 0x55
LCP, TRAIN_CONTROL, TRAIN_COMMAND, TRAIN_RESPONSE, PUSH = 0xC021, 0xBA33, 0x3A33, 0x3A35, 0x5021
CONFIGURE_REQUEST, CONFIGURE_ACK, CONFIGURE_REJECT, TERMINATE_REQUEST, TERMINATE_ACK = 1, 2, 4, 5, 6
LOG_PORT, PROMPT_PORT = 0x0003, 0x3E20
DONE = 101


def frame(protocol: int, information: bytes) -> bytes:
    content = struct.pack(">H", protocol) + information
    stuffed = cobs.encode(content + struct.pack("<I", zlib.crc32(content)))
    return bytes([FLAG]) + stuffed.replace(bytes([FLAG]), b"\0") + bytes([FLAG])


def unframe(stuffed: bytes) -> tuple[int, bytes] | None:
    """What stands between two flags; None if it is no frame."""
    try:
        content = cobs.decode(stuffed.replace(b"\0", bytes([FLAG])))
    except cobs.DecodeError:
        return None
    if len(content) < 6 or zlib.crc32(content[:-4]) != struct.unpack("<I", content[-4:])[0]:
        return None
    return struct.unpack(">H", content[:2])[0], content[2:-4]


class _Layer:
    """A control protocol of PPP (RFC 1661), of an end that accepts everything that has no options."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self.is_open = False
        self._has_acknowledged = False
        self._is_acknowledged = False
        self._number = 0

    def request(self) -> None:
        self._number = (self._number + 1) % 256
        self._packet(CONFIGURE_REQUEST, self._number)

    def receive(self, packet: bytes) -> None:
        code, number, length = struct.unpack_from(">BBH", packet)
        assert 4 <= length <= len(packet), f"a packet of a control protocol: {packet.hex()}"
        if code == CONFIGURE_REQUEST:
            if length > 4:
                self._packet(CONFIGURE_REJECT, number, packet[4:length])
                return
            if self.is_open or not self._is_acknowledged:
                self.is_open = self._is_acknowledged = False
                self.request()
            self._packet(CONFIGURE_ACK, number)
            self._has_acknowledged = True
        elif code == CONFIGURE_ACK and number == self._number:
            self._is_acknowledged = True
        elif code == TERMINATE_REQUEST:
            self.is_open = self._is_acknowledged = self._has_acknowledged = False
            self._packet(TERMINATE_ACK, number)
        self.is_open = self._is_acknowledged and self._has_acknowledged

    def _packet(self, code: int, number: int, data: bytes = b"") -> None:
        self._send(struct.pack(">BBH", code, number, 4 + len(data)) + data)


class Console:
    """The console of one boot. `run` carries out a command, and returns what it prints."""

    def __init__(self, send: Callable[[bytes], None], run: Callable[[str], str]) -> None:
        self._send = send
        self._run = run
        self._link = _Layer(lambda packet: send(frame(LCP, packet)))
        self._control = _Layer(lambda packet: send(frame(TRAIN_CONTROL, packet)))
        self._stuffed = bytearray()
        self._queue: deque[bytes] = deque()
        self._is_waiting = False
        self._sent = self._received = 0
        # A firmware tells its host first of all that it knows of no link.
        send(frame(LCP, struct.pack(">BBH", TERMINATE_ACK, 255, 4)))

    def log(self, level: str, file: str, line: int, text: str) -> None:
        """A line of the log; no link is needed."""
        contents = struct.pack("<B16sccQH", 1, file.encode(), level.encode(), b"K", 1_700_000_000_000, line) + text.encode()
        self._send(frame(PUSH, struct.pack(">HH", LOG_PORT, 4 + len(contents)) + contents))

    def receive(self, data: bytes) -> None:
        for byte in data:
            if byte != FLAG:
                self._stuffed.append(byte)
                continue
            stuffed, self._stuffed = bytes(self._stuffed), bytearray()
            if stuffed and (parts := unframe(stuffed)):
                self._take(*parts)

    def _take(self, protocol: int, information: bytes) -> None:
        if protocol == LCP:
            was_open = self._link.is_open
            self._link.receive(information)
            if self._link.is_open and not was_open:
                self._control.request()
        elif protocol == TRAIN_CONTROL and self._link.is_open:
            was_open = self._control.is_open
            self._control.receive(information)
            if self._control.is_open and not was_open:
                self._sent = self._received = 0
                self._queue.clear()
                self._is_waiting = False
        elif protocol == TRAIN_COMMAND and self._control.is_open:
            self._command(information)
        elif protocol == TRAIN_RESPONSE and self._control.is_open:
            self._acknowledged(information[1] >> 1)

    def _command(self, packet: bytes) -> None:
        if packet[0] & 1:
            self._acknowledged(packet[1] >> 1)
            if packet[1] & 1:
                self._respond()
            return
        port, length = struct.unpack_from(">HH", packet, 2)
        is_new = packet[0] >> 1 == self._received
        if is_new:
            self._received = (self._received + 1) % 128
        self._respond()
        if is_new and port == PROMPT_PORT:
            text = packet[6:length].decode()
            # What commands print is bare text, in no frame.
            self._send(self._run(text).encode() + b"\r\n")
            self._answer(DONE)

    def _respond(self) -> None:
        self._send(frame(TRAIN_RESPONSE, bytes([1, self._received << 1 | 1])))

    def _answer(self, kind: int) -> None:
        self._queue.append(struct.pack("<BQ", kind, 1_700_000_000_000))
        self._next()

    def _next(self) -> None:
        if self._is_waiting or not self._queue:
            return
        self._is_waiting = True
        information = self._queue[0]
        header = struct.pack(">BBHH", self._sent << 1, self._received << 1 | 1, PROMPT_PORT, 6 + len(information))
        self._send(frame(TRAIN_COMMAND, header + information))

    def _acknowledged(self, number: int) -> None:
        if self._is_waiting and number == (self._sent + 1) % 128:
            self._is_waiting = False
            self._sent = number
            self._queue.popleft()
            self._next()
