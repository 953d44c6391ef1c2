"""A stand-in for `qemu-pebble`, as a program: it takes the arguments that QEMU takes, refuses what QEMU refuses, opens the sockets
of its serial ports, and runs the stand-in for PebbleOS (emulator.py) with a console (pulse.py).

What it is to do besides is in the file that the variable ORDERS names, as JSON; each start adds a line to that file's sibling
`starts`. Signals: USR1 hangs the firmware, after a few bytes that are in no frame; USR2 makes it crash and start again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import NoReturn

from .emulator import Firmware, recorded_cases
from .pulse import Console

#: The variable that names the file with what this emulator is to do.
ORDERS = "STAND_IN_ORDERS"
#: The machines of QEMU for Pebble, and the processor that each has.
MACHINES = {
    "pebble-bb2": "cortex-m3",
    "pebble-snowy-bb": "cortex-m4",
    "pebble-s4-bb": "cortex-m4",
    "pebble-silk-bb": "cortex-m4",
    "pebble-snowy-emery-bb": "cortex-m4",
    "pebble-emery": "cortex-m33",
    "pebble-gabbro": "cortex-m33",
    "pebble-flint": "cortex-m4",
}
#: What the board's number in the firmware's answer is.
BOARDS = {"pebble-gabbro": 0xF2, "pebble-s4-bb": 0xFB, "pebble-flint": 0xF6}
#: How long the firmware starts until it listens at its console, and until it listens at its port. PebbleOS takes some seconds.
CONSOLE_SECONDS, BOOT_SECONDS = 0.8, 1.5
#: The stand-in's flash: its first word counts the boots.
FLASH_SIZE = 1 << 16


def refuse(text: str) -> NoReturn:
    print(f"qemu-system-arm: {text}", file=sys.stderr, flush=True)
    sys.exit(1)


def options(words: list[str]) -> list[tuple[str, str]]:
    """QEMU's options with their values; all that Cairn gives have one."""
    pairs = []
    rest = iter(words)
    for word in rest:
        name = word.lstrip("-")
        known = ("rtc", "machine", "cpu", "kernel", "pflash", "drive", "mtdblock", "serial", "monitor", "audio", "display")
        if not word.startswith("-") or name not in known:
            refuse(f"{word}: invalid option")
        value = next(rest, None)
        if value is None:
            refuse(f"{word}: requires an argument")
        pairs.append((name, value))
    return pairs


def keys(value: str) -> dict[str, str]:
    """`a=b,c=d`; a first word without a sign stands under an empty name. A comma that is doubled is part of a value."""
    parts = [part.replace("\0", ",") for part in value.replace(",,", "\0").split(",")]
    return {name if sign else "": setting if sign else name for name, sign, setting in (part.partition("=") for part in parts)}


class Port:
    """A serial port on a Unix socket: `unix:PATH,server=on,wait=off`. It takes one connection at a time."""

    def __init__(self, value: str) -> None:
        kind, _, rest = value.partition(":")
        settings = keys(rest)
        if kind != "unix" or settings.get("server") != "on" or settings.get("wait") != "off":
            refuse(f"-serial {value}: could not connect serial device to character backend '{value}'")
        self.path = settings[""]
        self.on_bytes = lambda data: None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        await asyncio.start_unix_server(self._connected, self.path)

    def send(self, data: bytes) -> None:
        """What nobody reads is lost, as at QEMU's sockets."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(data)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._writer is not None:
            writer.close()
            return
        self._writer = writer
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                self.on_bytes(data)
        self._writer = None
        writer.close()


class Machine:
    """The emulator, from its start on."""

    def __init__(self, words: list[str], orders: dict[str, object]) -> None:
        given = options(words)
        single = dict(given)
        machine = single.get("machine", "")
        if machine not in MACHINES:
            refuse(f'unsupported machine type "{machine}"\nUse -machine help to list supported machines')
        if single.get("cpu") != MACHINES[machine]:
            refuse(f"Invalid CPU model: {single.get('cpu')}")
        if not Path(single.get("kernel", "")).is_file():
            refuse(f"could not load kernel '{single.get('kernel')}'")
        flash = keys(single["drive"])["file"] if "drive" in single else single.get("mtdblock", "")
        try:
            self._flash = open(flash, "r+b")
        except OSError as error:
            refuse(f"-drive {single.get('drive')}: Could not open '{flash}': {error.strerror}")
        if os.fstat(self._flash.fileno()).st_size != FLASH_SIZE:
            refuse(f"device requires {FLASH_SIZE} bytes, block backend provides {os.fstat(self._flash.fileno()).st_size} bytes")
        try:
            fcntl.flock(self._flash, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            refuse(f'Failed to get "write" lock\nIs another process using the image [{flash}]?')
        serial = [value for name, value in given if name == "serial"]
        if len(serial) != 3 or serial[0] != "null":
            refuse("the board has three serial ports")
        self._port, self._console_port = Port(serial[1]), Port(serial[2])
        self._board = BOARDS.get(machine)
        self._has_console = bool(orders.get("console", True))
        self._starts_connected = os.environ.get("PEBBLE_QEMU_START_CONNECTED") != "0"
        self._sessions = 0
        self._console: Console | None = None
        self._is_deaf = False
        self._opening: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        self._boot()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self._hang)
        loop.add_signal_handler(signal.SIGUSR2, self._restart)
        self._port.on_bytes = self._spoken
        self._console_port.on_bytes = self._typed
        await self._port.open()
        await self._console_port.open()
        await asyncio.Event().wait()

    def _restart(self) -> None:
        self.firmware.halt()
        if self._opening is not None:
            self._opening.cancel()
        # The machine forgets what it was told at its start.
        self._starts_connected = False
        self._boot()

    def _boot(self) -> None:
        self._flash.seek(0)
        boots = struct.unpack("<I", self._flash.read(4))[0] + 1 & 0xFFFFFFFF
        self._flash.seek(0)
        self._flash.write(struct.pack("<I", boots))
        self._flash.flush()
        self.firmware = Firmware(self._port.send, start_connected=self._starts_connected)
        self.firmware.board = self._board
        self.firmware.on_read = self._has_read
        self._had_session = False
        self.firmware.boot(BOOT_SECONDS)
        self.firmware.serve([case for case in recorded_cases() if case.name.startswith("phone version")])
        self._console, self._is_deaf = None, False
        if self._has_console:
            self._opening = asyncio.get_running_loop().call_later(CONSOLE_SECONDS, self._open_console, boots)

    def _open_console(self, boots: int) -> None:
        self._console = Console(self._console_port.send, self._command)
        self._log("I", "main.c", 100, f"boot {boots}")

    def _spoken(self, data: bytes) -> None:
        self.firmware.receive(data)
        if self.firmware.wedged:
            self._log("E", "session.c", 70, f"violations: {self.firmware.wedged}")

    def _typed(self, data: bytes) -> None:
        if self._console is None:
            # As the other port, it is deaf for good.
            self._is_deaf = True
        elif not self._is_deaf:
            self._console.receive(data)

    def _has_read(self) -> None:
        had_session, self._had_session = self._had_session, self.firmware.has_session
        if self.firmware.has_session and not had_session:
            self._sessions += 1
            self._log("I", "session.c", 50, f"session {self._sessions} of this emulator begins")
        if self.firmware.violations:
            self._log("E", "session.c", 60, f"violations: {self.firmware.violations}")

    def _command(self, text: str) -> str:
        """What the prompt of the firmware does."""
        if text == "bt airplane mode enter":
            self.firmware.enter_airplane_mode()
            self._had_session = False
            return "Entered airplane mode"
        if text == "bt airplane mode exit":
            self.firmware.leave_airplane_mode()
            return "Left airplane mode"
        return f"Invalid command <{text}>! Try 'help'"

    def _log(self, level: str, file: str, line: int, text: str) -> None:
        if self._console is not None:
            self._console.log(level, file, line, text)

    def _hang(self) -> None:
        self.firmware.silent = True
        self._port.send(b"no frame")


def main() -> None:
    words = sys.argv[1:]
    order = Path(os.environ[ORDERS])
    if words == ["--version"]:
        print("QEMU emulator version 10.1.0 (v10.1.0)\nCopyright (c) 2003-2025 Fabrice Bellard and the QEMU Project developers")
        return
    orders = json.loads(order.read_text(encoding="utf-8"))
    with order.with_name("starts").open("a", encoding="utf-8") as starts:
        starts.write(json.dumps({"pid": os.getpid(), "words": words, "folder": os.getcwd()}) + "\n")
    if "refuse" in orders:
        refuse(str(orders["refuse"]))
    asyncio.run(Machine(words, orders).run())


if __name__ == "__main__":
    main()
