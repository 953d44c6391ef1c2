"""A controller behind /dev/vhci that answers whatever starts a host, and then sends more than any radio brings."""

from __future__ import annotations

import asyncio
import os
import struct

from rig.waiting import within

COMMAND, EVENT, VENDOR = 0x01, 0x04, 0xFF
COMMAND_COMPLETE, HARDWARE_ERROR = 0x0E, 0x10
#: HCI allows any event here, and a host has to take it: it begins with a number, so that a gap shows.
VENDOR_EVENT = 0xFF
SUCCESS = b"\x00"
RESET = 0x0C03
#: What one of the numbered events takes in a btsnoop file.
RECORD = 24 + 7

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
            os.write(self._file, struct.pack("<BBBL", EVENT, VENDOR_EVENT, 4, number))

    def fail(self) -> None:
        """Says that something went wrong in it: Hardware Error (Core 5.4, Vol 4, Part E, 7.7.16)."""
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


def numbers(capture: bytes) -> list[int]:
    """The numbers of the events in a btsnoop file, in the order in which they were received."""
    found = []
    position = 16
    while position + 24 <= len(capture):
        (length,) = struct.unpack_from(">L", capture, position + 4)
        packet = capture[position + 24 : position + 24 + length]
        if packet[:3] == bytes([EVENT, VENDOR_EVENT, 4]) and len(packet) == 7:
            found.append(struct.unpack_from("<L", packet, 3)[0])
        position += 24 + length
    return found
