"""How fast the way to the firmware is, against the built-in watch and against the emulator's own port. Figures are printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import statistics
import struct
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import watches
from libpebble2.services.putbytes import PutBytes, PutBytesType
from rig import emulator
from rig.emulator import Emulator, frame, message
from rig.libpebble import Companion
from test_emulator import bridge_to

#: Time is measured where nothing else runs: by hand.
pytestmark = pytest.mark.skipif(
    "CAIRN_EMULATOR_SPEED" not in os.environ, reason="measures time; set CAIRN_EMULATOR_SPEED=1"
)
QUESTIONS = 400
UPLOAD = 100_000
ROUNDS = 3


class Asker:
    """Asks at a port of the emulator's kind: a command to a database that does not exist, since a ping opens a window."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, port: int) -> AsyncIterator[Asker]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()

    async def time(self, token: int) -> float:
        """Seconds until the answer."""
        name = struct.pack("<H", token)
        wanted = frame(emulator.SPP, message(emulator.BLOB_DB, name + b"\x04"))
        began = time.perf_counter()
        self._writer.write(frame(emulator.SPP, message(emulator.BLOB_DB, b"\x05" + name + emulator.NO_DATABASE)))
        await self._reader.readuntil(wanted)
        return time.perf_counter() - began


async def test_latency(tmp_path: Path) -> None:
    """A question through Cairn and one to the stand-in itself, in turns: below 2 ms more."""
    words = ("--qemu-port", "0", "--log-level", "warning,session=info,watch=info,air=info")
    async with Emulator.on() as direct, Emulator.on() as behind:
        async with bridge_to(behind.port, tmp_path, *words) as bridge:
            await bridge.ready()
            line = await bridge.program.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", 10)
            async with Asker.on(direct.port) as near, Asker.on(int(line[1])) as far:
                await direct.firmware.listens.wait()
                times: dict[str, list[float]] = {"direct": [], "bridged": []}
                for number in range(QUESTIONS):
                    times["direct"].append(await near.time(number))
                    times["bridged"].append(await far.time(number))
    medians = {name: statistics.median(each) * 1000 for name, each in times.items()}
    print(f"median of {QUESTIONS} questions, in ms: {medians}")
    assert medians["bridged"] - medians["direct"] < 2


async def test_throughput(tmp_path: Path) -> None:
    """An upload by libpebble2 to the firmware, and to the built-in watch, in turns: at least 90 % of its speed."""
    content = random.Random(4).randbytes(UPLOAD)

    async def upload(port: int) -> float:
        async with Companion.on(port, watches.ADDRESS) as libpebble:
            began = time.perf_counter()
            await libpebble.run(PutBytes(libpebble.connection, PutBytesType.File, content, bank=0, filename="x").send)
            return len(content) / (time.perf_counter() - began) / 1000

    rates: dict[str, list[float]] = {"built-in": [], "bridged": []}
    for turn in range(ROUNDS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        words = ("--air-port", "0", "--insecure-test-link")
        async with watches.cairn_on("virtual", folder, *words, log_level="warning,watch=info,air=info") as program:
            air = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
            rates["built-in"].append(await upload(int(air[1])))
        async with Emulator.on() as pebble, bridge_to(pebble.port, folder) as bridge:
            await bridge.ready()
            rates["bridged"].append(await upload(bridge.phone_port))
    best = {name: max(each) for name, each in rates.items()}
    print(f"best of {ROUNDS} uploads of {UPLOAD} bytes, in kB/s: {best}; all: {rates}")
    assert best["bridged"] >= 0.9 * best["built-in"]
