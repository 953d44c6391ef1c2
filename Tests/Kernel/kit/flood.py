"""A controller behind /dev/vhci that answers every host's start, and then sends more than any radio."""

from __future__ import annotations

import asyncio
import os
import struct
import time
from pathlib import Path

from rig.waiting import within

COMMAND, EVENT, VENDOR = 0x01, 0x04, 0xFF
COMMAND_COMPLETE, HARDWARE_ERROR = 0x0E, 0x10
#: HCI allows any event here, and a host has to take it: it begins with a number, so that a gap shows.
VENDOR_EVENT = 0xFF
#: So many are sent before anything else is done.
SLICE = 500
SUCCESS = b"\x00"
RESET = 0x0C03
#: How such an event begins.
NUMBERED = bytes([EVENT, VENDOR_EVENT, 4])

#: Return parameters behind the status, by opcode; zeros for every other command. Core 5.4, Vol 4, Part E, 7.4 and 7.8.
ANSWERS = {
    0x1001: bytes.fromhex("0d0000 0d ffff 0000".replace(" ", "")),
    # Supported commands: Disconnect, the event masks, reset, what the controller is, and Core 4.0's LE commands.
    0x1002: bytes.fromhex("2000000000c0000000000000000000a80200000000000000000040f7fff70f".ljust(128, "0"))[:64],
    0x1003: bytes.fromhex("0000000060000000"),
    0x1009: bytes.fromhex("0100a1b20000"),
    0x2002: struct.pack("<HB", 251, 8),
    0x2003: bytes.fromhex("0100000000000000"),
    0x200F: b"\x08",
    0x201C: bytes.fromhex("ff03000000000000"),
}


class FloodingController:
    """An adapter whose controller this program is."""

    def __init__(self) -> None:
        self.resets = 0
        self.name = ""
        self._changed = asyncio.Event()
        self._file = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK)
        os.write(self._file, bytes([VENDOR, 0]))
        asyncio.get_running_loop().add_reader(self._file, self._read)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._file)
        os.close(self._file)

    async def until_named(self) -> str:
        await self._until("the kernel to name the adapter", lambda: bool(self.name))
        return self.name

    async def until_reset(self, count: int, seconds: float) -> None:
        """Returns when hosts, the kernel's among them, have reset it this often."""
        await self._until(f"reset number {count}", lambda: self.resets >= count, seconds)

    def send(self, first: int, count: int) -> None:
        """Events with numbers, as fast as the kernel takes them."""
        for number in range(first, first + count):
            os.write(self._file, NUMBERED + number.to_bytes(4, "little"))

    async def send_steadily(self, count: int, arrivals: Arrivals, ahead: int) -> None:
        """The same from 0 on, while it answers commands, and never more than so many ahead of those that have arrived."""
        for first in range(0, count, SLICE):
            await arrivals.until(first + SLICE - ahead)
            self.send(first, min(SLICE, count - first))
            # The other tasks here have a turn.
            await asyncio.sleep(0)

    def fail(self) -> None:
        """Reports a Hardware Error (Core 5.4, Vol 4, Part E, 7.7.16)."""
        os.write(self._file, bytes([EVENT, HARDWARE_ERROR, 1, 0x42]))

    async def _until(self, what: str, condition, seconds: float = 60) -> None:
        async def watch() -> None:
            while not condition():
                self._changed.clear()
                await self._changed.wait()

        await within(seconds, what, watch())

    def _read(self) -> None:
        try:
            packet = os.read(self._file, 4096)
        except BlockingIOError:
            return
        if packet[0] == VENDOR:
            self.name = f"hci{struct.unpack_from('<H', packet, 2)[0]}"
        elif packet[0] == COMMAND:
            (opcode,) = struct.unpack_from("<H", packet, 1)
            if opcode == RESET:
                self.resets += 1
            answer = SUCCESS + ANSWERS.get(opcode, bytes(8))
            body = struct.pack("<BH", 1, opcode) + answer
            os.write(self._file, bytes([EVENT, COMMAND_COMPLETE, len(body)]) + body)
        self._changed.set()


async def until_kept(size: int = 0) -> None:
    """Returns when the kernel has handed on what was sent, as far as it keeps it for a socket: at least so many bytes."""

    def kept() -> int:
        rows = Path("/proc/net/hci").read_text().splitlines()
        at = rows[0].split().index("Rmem")
        return max((int(row.split()[at]) for row in rows[1:]), default=0)

    async def look() -> None:
        before = -1
        while (now := kept()) != before or now < size:
            before = now
            await asyncio.sleep(0.5)

    await within(60, f"the kernel to keep {size} bytes", look())


class Arrivals:
    """The numbered events in the capture file of a watch, which grows: each has to be the next one, beginning with 0."""

    #: How long none may arrive.
    PATIENCE = 60
    _LENGTH = struct.Struct(">4xL")
    _PACKET = struct.Struct("<3sL")

    def __init__(self, capture: Path) -> None:
        self.count = 0
        self._file = capture.open("rb")
        self._rest = self._file.read(16)[16:]

    def _look(self) -> int:
        """How many have arrived by now."""
        data = self._rest + self._file.read()
        position = 0
        while position + 24 <= len(data):
            (length,) = self._LENGTH.unpack_from(data, position)
            if position + 24 + length > len(data):
                break
            if length == self._PACKET.size:
                beginning, number = self._PACKET.unpack_from(data, position + 24)
                if beginning == NUMBERED:
                    assert number == self.count, f"after {self.count} packets came number {number}"
                    self.count += 1
            position += 24 + length
        self._rest = data[position:]
        return self.count

    async def until(self, count: int) -> None:
        """Waits until this many have arrived. It waits as long as the number grows."""
        last, since = self.count, time.monotonic()
        while self._look() < count:
            if self.count > last:
                last, since = self.count, time.monotonic()
            waited = time.monotonic() - since
            assert waited < self.PATIENCE, f"{self.count} of {count} packets have arrived, and none for {waited:.0f} s"
            await asyncio.sleep(0.05)
