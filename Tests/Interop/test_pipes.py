"""Pipes: output that nothing reads any more, and captures that a program reads while they grow."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest
from rig import cairn
from rig.controllers import controllers
from rig.phone import Phone
from rig.process import Program
from rig.security import pairing
from test_control import command, watch_in
from watches import ADDRESS

#: The shell's number for SIGPIPE.
READER_GONE = 141


async def test_a_watch_whose_log_is_not_read_any_more_says_goodbye(tmp_path: Path) -> None:
    """As in `cairn run 2>&1 | head`: the phone is disconnected, not lost, and no socket is left behind."""
    async with controllers() as room:
        path = tmp_path / "control"
        reader, writer = os.pipe()
        watch = subprocess.Popen(
            [str(cairn.binary()), "run", "--controller", room.watch.address, "--address", ADDRESS, "--control", str(path)],
            stdout=writer,
            stderr=writer,
            stdin=subprocess.DEVNULL,
        )
        os.close(writer)
        try:
            assert (await command("wait", "ready", "--control", str(path)))[0] == 0
            async with Phone.on(room.phone.port, pairs=pairing()) as phone:
                connection = await phone.connect(ADDRESS)
                ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
                connection.connection.on("disconnection", ended.set_result)
                os.close(reader)
                # Remote User Terminated Connection, or Power Off, and no timeout.
                assert await asyncio.wait_for(ended, 10) in (0x13, 0x15)
                assert await asyncio.to_thread(watch.wait, 10) == READER_GONE
            assert not path.exists()
        finally:
            watch.kill()
        await room.watch.detached()


@pytest.mark.parametrize("which", ["run", "demo", "air"])
def test_a_loop_ends_when_nothing_reads(tmp_path: Path, which: str) -> None:
    """`| true`, before anything is printed or while it is."""
    words = {
        "run": ["run", "--controller", "virtual", "--state", str(tmp_path / "state")],
        "demo": ["demo", "--stay"],
        "air": ["air", "--port", "0"],
    }[which]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        process = subprocess.run([str(cairn.binary()), *words], stdout=gone, stderr=gone, stdin=subprocess.DEVNULL, timeout=30)
    assert process.returncode == READER_GONE
    assert not (tmp_path / "state/control.sock").exists()


async def test_a_capture_through_a_pipe(tmp_path: Path) -> None:
    """The watch waits for no reader, obeys signals without one, and begins the capture again for each reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    state = tmp_path / "state"
    header = b"btsnoop\0" + (1).to_bytes(4, "big") + (1002).to_bytes(4, "big")
    async with watch_in(state, "--capture", str(pipe)) as program:
        await program.wait_for_line("waits until something reads the pipe", 10)
        for _ in range(2):
            before = len(program.lines)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            await program.wait_for_line("has a reader: the capture begins", 10, after=before)
            assert await asyncio.to_thread(read_available, reader, 16) == header
            os.close(reader)
            # It is noticed although there is nothing to write, and the watch goes on without it.
            await program.wait_for_line("is gone: the capture waits for another", 10, after=before)
            assert (await command("wait", "ready", "--state", str(state)))[0] == 0
    # One that is there first gets everything, from the first command on: HCI_Reset.
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    async with watch_in(tmp_path / "third", "--capture", str(pipe)):
        data = await asyncio.to_thread(read_available, reader, 16 + 24 + 4)
        assert data.startswith(header) and data[40:44] == bytes.fromhex("01030c00")
        os.close(reader)
    # A reader that never takes anything does not hold up the watch: it answers, and ends when it is told to.
    async with watch_in(tmp_path / "other", "--capture", str(pipe)) as program:
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        await program.wait_for_line("the capture begins", 10)
        assert (await command("wait", "ready", "--state", str(tmp_path / "other")))[0] == 0
    os.close(reader)


def read_available(descriptor: int, count: int) -> bytes:
    """At least so many bytes."""
    data, end = b"", time.monotonic() + 10
    while time.monotonic() < end and len(data) < count:
        try:
            data += os.read(descriptor, 1 << 16)
        except BlockingIOError:
            time.sleep(0.02)
    return data


async def test_signals_end_a_watch_whose_capture_nobody_reads(tmp_path: Path) -> None:
    """It used to hang in open(2), where no signal reached it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = await Program.start(
        [str(cairn.binary()), "run", "--controller", "virtual", "--capture", str(pipe)], tmp_path / "cairn.log"
    )
    try:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        assert await program.stop() == 0
    finally:
        program.kill()
