"""The ports of a running watch: which programs are let in, and what it costs to keep the others out.

The attackers are a web browser, another user of the machine, and programs that connect and send nothing. Each of these attacks
succeeded once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
import statistics
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from attacks import ports
from attacks.browser import visited_page
from bumble.transport import open_transport
from rig import cairn
from rig.control import Control
from rig.footprint import Footprint
from rig.process import Program
from rig.waiting import GaveUp, within
from watches import ADDRESS

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")

#: What every tool is asked first, by a watch that has let it in.
QUESTION = bytes.fromhex("feed 0001 0005 0001 0011 00 beef")
#: A first frame by which a tool is recognised: the state of the buttons, none of which is down.
NOTHING_PRESSED = ports.press(0)


@dataclass
class Bench:
    watch: Program
    control: Control
    #: The emulator's port, and the air's.
    qemu: int
    air: int

    @contextlib.asynccontextmanager
    async def tool(self) -> AsyncIterator[asyncio.StreamReader]:
        """A tool that has sent a frame. The test finds out whether it is let in."""
        reader, writer = await ports.connected(self.qemu)
        writer.write(NOTHING_PRESSED)
        try:
            yield reader
        finally:
            writer.close()

    async def tool_is_served(self, seconds: float = 10) -> None:
        async with self.tool() as reader:
            assert await within(seconds, "the watch's question to a tool", reader.readexactly(len(QUESTION))) == QUESTION

    async def host_is_served(self, seconds: float = 10) -> None:
        reader, writer = await ports.connected(self.air)
        writer.write(ports.HCI_RESET)
        answer = await within(seconds, "the answer to Reset", reader.readexactly(len(ports.HCI_RESET_COMPLETE)))
        assert answer == ports.HCI_RESET_COMPLETE
        writer.close()

    async def is_served(self, port: str) -> None:
        await (self.tool_is_served() if port == "qemu" else self.host_is_served())

    def number(self, port: str) -> int:
        return self.qemu if port == "qemu" else self.air

    def warnings(self) -> list[str]:
        return [line for line in self.watch.lines if " warning " in line]

    def assert_nothing_was_let_in(self) -> None:
        assert "a tool is connected" not in self.watch.log
        assert "attached to" not in self.watch.log
        assert "restarts" not in self.watch.log


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    control = tmp_path / "control"
    arguments = ("--controller", "virtual", "--address", ADDRESS, "--control", str(control))
    listening = ("--qemu-port", "0", "--air-port", "0")
    async with cairn.running("run", *arguments, *listening, log=tmp_path / "cairn.log") as watch:
        qemu = await watch.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", cairn.START_SECONDS)
        air = await watch.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", cairn.START_SECONDS)
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        async with Control.on(control) as person:
            await person.listen()
            yield Bench(watch, person, int(qemu[1]), int(air[1]))


# Ports that are not asked for are not opened


async def test_a_watch_listens_nowhere_unless_asked_to(tmp_path: Path) -> None:
    async with cairn.running("run", "--controller", "virtual", log=tmp_path / "cairn.log") as watch:
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        assert listening_sockets(watch.process_id) == set()


async def test_every_port_is_of_this_machine_alone(bench: Bench) -> None:
    """The kernel's list of what the process listens on: nothing but 127.0.0.1 and the control socket."""
    assert listening_sockets(bench.watch.process_id) == {
        f"127.0.0.1:{bench.qemu}",
        f"127.0.0.1:{bench.air}",
        "unix",
    }


def listening_sockets(process: int) -> set[str]:
    """What a process listens on, by the kernel's account."""
    own = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor)):
                own.add(match[1])
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[9] not in own or (name.startswith("tcp") and fields[3] != "0A"):
                continue
            address, port = fields[1].split(":")
            number = int(address, 16).to_bytes(len(address) // 2, sys.byteorder)
            found.add(f"{'.'.join(map(str, number))}:{int(port, 16)}")
    for row in Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]:
        fields = row.split()
        # __SO_ACCEPTCON.
        if fields[6] in own and int(fields[3], 16) & 0x10000:
            found.add("unix")
    return found


# Web pages


@pytest.mark.slow
@pytest.mark.parametrize("port", ["qemu", "air"])
async def test_a_web_page_gets_nowhere(bench: Bench, tmp_path: Path, port: str) -> None:
    """A page of another origin posts what resets the watch to factory, or the radio's controller: by fetch, form, WebSocket and
    TLS."""
    body = ports.factory_reset() if port == "qemu" else ports.HCI_RESET
    async with visited_page(bench.number(port), body, tmp_path):
        bench.assert_nothing_was_let_in()
        assert any("an HTTP request, as a web page makes it" in line for line in bench.warnings())
        # Once, not once a connection.
        assert len(bench.warnings()) <= 4
        await bench.is_served(port)


@pytest.mark.parametrize("port", ["qemu", "air"])
@pytest.mark.parametrize("words", ports.FOREIGN.values(), ids=ports.FOREIGN.keys())
async def test_what_begins_otherwise_is_closed(bench: Bench, port: str, words: bytes) -> None:
    """What a browser can be made to begin with, and what is no first packet: closed, with any bytes after it."""
    reader, writer = await ports.connected(bench.number(port))
    writer.write(words + ports.factory_reset() + ports.HCI_RESET)
    if words == b"\xfe":
        # Together with what follows it, that is no beginning either.
        writer.write(b"\xfe")
    with contextlib.suppress(ConnectionResetError):
        assert await within(5, "the end of the connection", reader.read()) == b""
    writer.close()
    bench.assert_nothing_was_let_in()
    await bench.is_served(port)


# Other users of the machine


@as_root
@pytest.mark.parametrize("port", ["qemu", "air"])
async def test_another_user_is_not_let_in(bench: Bench, port: str) -> None:
    words = ports.factory_reset() if port == "qemu" else ports.HCI_RESET
    assert await asyncio.to_thread(ports.try_as_stranger, bench.number(port), words) == b""
    await bench.watch.wait_for_line(f"the user with the number {ports.STRANGER}, who may not use it", 5)
    bench.assert_nothing_was_let_in()
    await bench.is_served(port)


@as_root
async def test_another_user_is_not_let_in_by_leaving_early(bench: Bench) -> None:
    """The kernel shows a socket that was closed as root's. What it has sent is still to be read then."""
    for _ in range(20):
        await asyncio.to_thread(ports.flee_as_stranger, bench.qemu, ports.factory_reset())
    await bench.tool_is_served()
    await bench.watch.wait_for_line("a tool is connected", 5)
    assert bench.watch.log.count("a tool is connected") == 1
    assert "restarts" not in bench.watch.log


# Connections that send nothing, and too many of them


@pytest.mark.parametrize("port", ["qemu", "air"])
@pytest.mark.parametrize("words", [b"", b"\xfe\xed", b"\x01"], ids=["silent", "half a signature", "half a command"])
async def test_one_that_says_nothing_blocks_nobody(bench: Bench, port: str, words: bytes) -> None:
    held = ports.hold(bench.number(port), 1, words)
    try:
        await bench.is_served(port)
        # Of who was served; one that says nothing has none.
        while (await bench.control.status())["sessions"]:
            await asyncio.sleep(0.05)
    finally:
        for each in held:
            each.close()


@pytest.mark.slow
@pytest.mark.parametrize("port", ["qemu", "air"])
async def test_a_thousand_connections_cost_little(bench: Bench, port: str) -> None:
    """A thousand that send nothing or half a frame: little memory, hardly any of the watch's time, and the owner is served."""
    await bench.is_served(port)
    before = Footprint.of(bench.watch.process_id)
    used = ports.processor_seconds(bench.watch.process_id)
    held = ports.hold(bench.number(port), 1000)
    most_descriptors = 0
    try:
        took = []
        end = time.monotonic() + 10
        while time.monotonic() < end:
            began = time.monotonic()
            await bench.control.status()
            took.append(time.monotonic() - began)
            most_descriptors = max(most_descriptors, Footprint.of(bench.watch.process_id).descriptors)
            for each in held[::7]:
                with contextlib.suppress(OSError):
                    each.send(b"\x01" if port == "air" else b"\xfe")
            await asyncio.sleep(0.05)
        await within(20, "the owner to be served", bench.is_served(port))
    finally:
        for each in held:
            each.close()
    # Those that wait, and those of one look at who has come: PortGate.silentLimit and connectionsPerLook.
    assert most_descriptors <= before.descriptors + 32 + 64
    # Some are still in the kernel's queue when they are closed; the watch takes them from there, and lets go of all.
    while (after := Footprint.of(bench.watch.process_id)).descriptors > before.descriptors:
        assert time.monotonic() < end + 40, f"{before} before, {after} after"
        await asyncio.sleep(0.05)
    assert after.anonymous_kilobytes - before.anonymous_kilobytes < 8 << 10
    # Of ten seconds; the kernel's list of sockets is read for them, some dozens of times.
    assert ports.processor_seconds(bench.watch.process_id) - used < 2.5
    # A single one may fall into a time in which this machine does something else.
    assert statistics.median(took) < 0.5, took


# Several tools


async def test_tools_wait_in_their_order(bench: Bench) -> None:
    """The next one is served when the one before has gone. One that has closed in that time is passed over."""
    async with contextlib.AsyncExitStack() as first_stack:
        first = await first_stack.enter_async_context(bench.tool())
        assert await within(10, "the question to the first", first.readexactly(len(QUESTION))) == QUESTION
        async with contextlib.AsyncExitStack() as second_stack, bench.tool() as third:
            second = await second_stack.enter_async_context(bench.tool())
            del second
            await bench.watch.wait_for_line("a tool waits for the emulator's port", 5)
            await second_stack.aclose()
            with pytest.raises(GaveUp):
                await within(0.5, "nothing", third.readexactly(1))
            await first_stack.aclose()
            assert await within(5, "the question to the third", third.readexactly(len(QUESTION))) == QUESTION


async def test_an_idle_tool_makes_room(bench: Bench) -> None:
    """If another tool waits, one has to leave after five seconds without a byte: not sooner, and never if none waits."""
    async with bench.tool() as first:
        assert await within(10, "the question to the first", first.readexactly(len(QUESTION))) == QUESTION
        with pytest.raises(GaveUp):
            await within(6, "nothing", first.readexactly(1))
        began = time.monotonic()
        async with bench.tool() as second:
            assert await within(10, "the question to the second", second.readexactly(len(QUESTION))) == QUESTION
            assert await within(5, "the end of the first", first.read()) == b""
        assert time.monotonic() - began < 5, "it had been idle for long enough"
    await bench.watch.wait_for_line("it was idle for 5.0 seconds, and another one waits", 5)


async def test_a_busy_tool_keeps_its_place(bench: Bench) -> None:
    reader, writer = await ports.connected(bench.qemu)
    writer.write(NOTHING_PRESSED)
    assert await within(10, "the question to the first", reader.readexactly(len(QUESTION))) == QUESTION
    async with bench.tool() as second:
        waiting = asyncio.create_task(second.readexactly(len(QUESTION)))
        for _ in range(16):
            writer.write(NOTHING_PRESSED)
            await asyncio.sleep(0.5)
        assert not waiting.done()
        writer.close()
        assert await within(5, "the question to the second", waiting) == QUESTION


async def test_too_many_tools_are_turned_away(bench: Bench) -> None:
    async with contextlib.AsyncExitStack() as stack:
        tools = [await stack.enter_async_context(bench.tool()) for _ in range(10)]
        await bench.watch.wait_for_line("a tool is turned away from the emulator's port: 8 wait already", 5)
        ends = [asyncio.create_task(each.read()) for each in tools]
        done, _ = await asyncio.wait(ends, timeout=2, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        for end in ends:
            end.cancel()


# A Unix socket instead


@pytest.mark.parametrize("command", ["run", "air"])
async def test_the_airs_unix_socket(tmp_path: Path, command: str) -> None:
    """Bumble attaches to it; its file is this user's alone, and gone in the end."""
    path = tmp_path / "air.sock"
    arguments = ("run", "--controller", "virtual", "--air-socket") if command == "run" else ("air", "--socket")
    async with cairn.running(*arguments, str(path), log=tmp_path / "cairn.log") as watch:
        await watch.wait_for_line(f"hosts at unix:{path}", cairn.START_SECONDS)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = await within(10, "Bumble to attach", open_transport(f"unix:{path}"))
        await watch.wait_for_line("guest 1 attached", 5)
        await transport.close()
    assert not path.exists()
