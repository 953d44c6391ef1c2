"""The SDK's tools beside a phone, on a watch whose brain is the firmware: the developer's port leads to the same firmware."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from PIL import Image
from rig import cairn, companion, emulator
from rig.phone import Phone
from rig.ports import free_port
from rig.process import Program
from rig.waiting import within
from test_emulator import Bridge, bridged, session_on
from test_pebble_tool import script


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools keep their files in the test's folder, and print without buffering."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")


async def port_of(bridge: Bridge) -> int:
    line = await bridge.program.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", cairn.START_SECONDS)
    return int(line[1])


async def pebble(word: str, *words: str, where: tuple[str, str]) -> tuple[int, str]:
    """Runs pebble-tool to its end; returns its status, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(script("pebble"), word, *where, *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output, _ = await within(60, f"pebble {word}", process.communicate())
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_pebble_tool_before_and_after_a_phone(tmp_path: Path) -> None:
    """It reaches the firmware while no phone has it; beside a phone it is told that the watch is busy, and the phone goes on."""
    async with bridged(tmp_path, "--qemu-port", "0") as (stand_in, bridge):
        where = ("--qemu", f"localhost:{await port_of(bridge)}")
        assert (await pebble("ping", where=where))[1].count("Pong!") == 1
        stand_in.firmware.screen = 9
        picture = tmp_path / "screen.png"
        status, text = await pebble("screenshot", "--no-open", "--no-correction", str(picture), where=where)
        assert status == 0, text
        with Image.open(picture) as image:
            assert image.size == (emulator.WIDTH, emulator.HEIGHT)
            # Two bits of each colour: 9 is 00 10 01.
            assert set(image.convert("RGB").get_flattened_data()) == {(0x00, 0xAA, 0x55)}
        async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (link, session):
            await companion.introduce(session)
            mark = len(bridge.program.lines)
            status, text = await pebble("ping", where=where)
            assert (status == 0, "Pong!" in text) == (False, False)
            await bridge.program.wait_for_line("over the emulator's port is told that the watch is busy", 5, after=mark)
            await companion.ping(session, 4)
            await link.disconnect()
        assert "Pong!" in (await pebble("ping", where=where))[1]


async def test_a_phone_takes_the_firmware_from_pypkjs(tmp_path: Path) -> None:
    """pypkjs is a phone to the firmware, with the tool behind it, until a phone comes."""
    port = free_port()
    persist = tmp_path / "persist"
    persist.mkdir()
    async with bridged(tmp_path, "--qemu-port", "0") as (stand_in, bridge):
        words = ("--qemu", f"127.0.0.1:{await port_of(bridge)}", "--port", str(port), "--persist", str(persist))
        pypkjs = await Program.start([script("pypkjs"), *words], tmp_path / "pypkjs.log")
        try:
            await stand_in.firmware.messages.take(
                30, "pypkjs to say its version", lambda each: each[0] == emulator.PHONE_VERSION
            )
            assert "Pong!" in (await pebble("ping", where=("--phone", f"127.0.0.1:{port}")))[1]
            mark = len(bridge.program.lines)
            async with Phone.on(bridge.phone_port) as phone, session_on(phone) as (_, session):
                await companion.introduce(session)
                await bridge.program.wait_for_line("session 1 .*a newer session replaced it", 5, after=mark)
                await companion.ping(session, 6)
        finally:
            pypkjs.kill()
            await pypkjs.wait_for_exit(10)
