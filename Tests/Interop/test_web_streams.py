"""What readers of `cairn-web` cost the watch: nothing that it could notice, and a reader that is too slow concerns itself alone.

CAIRN_WEB_SECONDS: for how many seconds fifty readers are measured, such as 60 for a long run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import selectors
import socket
import statistics
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig import cairn
from rig.control import Control
from rig.footprint import Footprint
from rig.promtool import promtool
from rig.scheduling import Turns
from rig.web_server import PATIENCE, Server, serving
from test_control import ECHO_APP
from test_phone_command import PHONE_ADDRESS, both_on_air, done, open_session
from test_web_api import bench_in, named
from watches import ADDRESS

SECONDS = float(os.environ.get("CAIRN_WEB_SECONDS", "10"))
READERS = 50
#: How many AppMessages a round has: a watch that carries them takes some hundredths of a second of a processor.
MESSAGES = 25
#: By how much an AppMessage may take longer with readers.
LIMIT = 1.05
#: Events of some 190 bytes: more than the kernel keeps for a reader (4 MiB, with what it needs itself), and the server.
EVENTS = 25_000
#: By how much a watch with readers may be larger than one with a program at its socket, in KiB: what two watches differ by.
MEMORY_LIMIT = 128


def request_for_events(server: Server) -> bytes:
    lines = ["GET /api/watches/bench/events HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}"]
    return "\r\n".join([*lines, "", ""]).encode()


class Readers:
    """Clients that read events, on a thread of their own: what they cost is not the measuring side's."""

    def __init__(self, server: Server, count: int) -> None:
        self.heard = [bytearray() for _ in range(count)]
        self._selector = selectors.DefaultSelector()
        for heard in self.heard:
            end = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            end.sendall(request_for_events(server))
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ, heard)
        self._wake, wake = socket.socketpair()
        self._selector.register(wake, selectors.EVENT_READ)
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                piece = key.fileobj.recv(1 << 16)
                with self._changed:
                    key.data.extend(piece)
                    self._changed.notify_all()

    def wait(self, name: str, count: int) -> None:
        """Waits until each has heard of so many events of a name, and of no more."""
        mark = b"event: %s\n" % name.encode()
        counted = [(0, 0)] * len(self.heard)

        def counts() -> set[int]:
            # Only what is new: a reader may have heard megabytes.
            for number, (heard, (place, count)) in enumerate(zip(self.heard, counted, strict=True)):
                start = max(0, place - len(mark) + 1)
                counted[number] = (len(heard), count + heard.count(mark, start))
            return {count for _, count in counted}

        with self._changed:
            # Among other programs it may take long; it must not stand still.
            while (least := min(counts())) < count:
                assert self._changed.wait_for(lambda least=least: min(counts()) > least, PATIENCE), f"{name}: {counts()} of {count}"
            assert counts() == {count}

    def wait_for_all(self, words: bytes) -> None:
        """Waits until each has heard words."""
        with self._changed:
            assert self._changed.wait_for(lambda: all(words in heard for heard in self.heard), PATIENCE), words

    def close(self) -> None:
        self._wake.close()
        self._thread.join(PATIENCE)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()


@contextlib.contextmanager
def reading(server: Server, count: int) -> Iterator[Readers]:
    """So many readers, who have heard that the watch is up."""
    readers = Readers(server, count)
    try:
        readers.wait("state", 1)
        readers.wait_for_all(b'"state":"up"')
        yield readers
    finally:
        readers.close()


@dataclass(frozen=True)
class Round:
    """Some AppMessages, each sent when the one before was acknowledged."""

    #: What the watch's process used a processor for each, in seconds.
    used: float
    #: How long each took, in seconds.
    took: list[float]


@dataclass
class Pair:
    """A watch whose process has no radio in it, and a phone with a session and the Echo app."""

    state: Path
    watch: int
    phone: Control

    async def messages(self, count: int = MESSAGES) -> Round:
        """Sends AppMessages."""
        loop = asyncio.get_running_loop()
        before = Turns.of(self.watch).used
        took = []
        for number in range(count):
            start = loop.time()
            await self.phone.ask("push", entries=[{"key": 0, "type": "uint8", "number": number % 256}])
            took.append(loop.time() - start)
        return Round((Turns.of(self.watch).used - before) / count, took)


@contextlib.asynccontextmanager
async def pair_in(folder: Path, *options: str) -> AsyncIterator[Pair]:
    """The radio is the phone's; the options are the watch's."""
    state = folder / "state"
    phone = ("phone", "run", "--controller", "virtual", "--air-port", "0", "--address", PHONE_ADDRESS, "--state", str(state))
    async with cairn.running(*phone, log=folder / "phone.log") as air:
        port = (await air.wait_for_line(r"hosts at (tcp:127\.0\.0\.1:\d+)", cairn.START_SECONDS))[1]
        await air.wait_for_line("takes commands at", cairn.START_SECONDS)
        watch = ("run", "--controller", port, "--address", ADDRESS, "--state", str(state), *options)
        async with cairn.running(*watch, log=folder / "watch.log") as program:
            await program.wait_for_line("advertises for", cairn.START_SECONDS)
            await open_session(state)
            await done(state, "launch", ECHO_APP)
            async with Control.on(state / "phone.sock") as control:
                yield Pair(state, program.process_id, control)


# MARK: What readers cost


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(240 + 12 * SECONDS)
async def test_fifty_readers_slow_no_message(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """What an AppMessage costs the watch's process, without and with fifty readers, in rounds that alternate.

    Processor time, since on a machine of two processors the readers themselves and other tests take them from watch and
    phone: how long a message takes there says more of those than of the watch. A round is compared with the one beside it,
    so that what the machine does meanwhile concerns both; the median passes over rounds that something else fell into. A
    watch that is slower stays so: as long as the median is above the limit, more rounds are made.
    """
    async with pair_in(tmp_path) as pair, serving(tmp_path, *named("bench", pair.state), "--patience", "0.9") as server:
        await pair.messages()
        loop = asyncio.get_running_loop()
        alone: list[Round] = []
        read: list[Round] = []
        seconds = 0.0

        async def with_readers() -> None:
            nonlocal seconds
            with reading(server, READERS) as readers:
                start = loop.time()
                read.append(await pair.messages())
                seconds += loop.time() - start
                # Each has heard of every message.
                await asyncio.to_thread(readers.wait, "app-message-received", MESSAGES)

        def ratio() -> float:
            return statistics.median(after.used / before.used for before, after in zip(alone, read, strict=True))

        while seconds < SECONDS or (ratio() > LIMIT and seconds < 4 * SECONDS):
            # What the first of two does to the second is not always on the same side.
            if len(read) % 2:
                await with_readers()
                alone.append(await pair.messages())
            else:
                alone.append(await pair.messages())
                await with_readers()
        took = [statistics.quantiles([each for one in rounds for each in one.took], n=10) for rounds in (alone, read)]
        figures = {
            "rounds": len(read),
            "processor time of an AppMessage, alone": f"{statistics.median(one.used for one in alone) * 1e6:.0f} us",
            "processor time of an AppMessage, fifty readers": f"{statistics.median(one.used for one in read) * 1e6:.0f} us",
            "ratio": round(ratio(), 3),
            "deciles of an AppMessage's time, alone": " ".join(f"{each * 1000:.0f}" for each in took[0]),
            "deciles of an AppMessage's time, fifty readers": " ".join(f"{each * 1000:.0f}" for each in took[1]),
        }
        for name, value in figures.items():
            record_property(name, value)
        assert ratio() <= LIMIT, figures
        # A watch that waited for readers would be late with every message, however free the processors are.
        assert took[1][0] <= 1.25 * took[0][0], figures


# MARK: Memory


async def memory_with(folder: Path, client: Callable[[Pair], contextlib.AbstractAsyncContextManager[object]]) -> int:
    """The kilobytes that a watch takes after AppMessages, while a client listens."""
    folder.mkdir()
    async with pair_in(folder) as pair, client(pair):
        for _ in range(4):
            await pair.messages()
        return Footprint.of(pair.watch).anonymous_kilobytes


@pytest.mark.slow
async def test_the_watch_takes_no_memory_for_readers(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Fifty readers over `cairn-web` take what one program at the control socket takes."""

    @contextlib.asynccontextmanager
    async def one_program(pair: Pair) -> AsyncIterator[None]:
        async with Control.on(pair.state / "control.sock") as control:
            await control.listen()
            yield

    @contextlib.asynccontextmanager
    async def web(pair: Pair) -> AsyncIterator[None]:
        folder = pair.state.parent
        async with serving(folder, *named("bench", pair.state)) as server:
            with reading(server, READERS) as readers:
                yield
                await asyncio.to_thread(readers.wait, "app-message-received", 4 * MESSAGES)

    took = {
        # A socket's path is short.
        name: [await memory_with(tmp_path / f"{name[:3]}{number}", client) for number in range(3)]
        for name, client in (("one program", one_program), ("fifty readers", web))
    }
    record_property("KiB that are of no file", took)
    assert statistics.median(took["fifty readers"]) - statistics.median(took["one program"]) <= MEMORY_LIMIT, took


# MARK: A reader that is too slow


@pytest.mark.alone
async def test_a_slow_reader_is_cut_off_and_others_go_on(tmp_path: Path) -> None:
    """It is told so when it reads again; a reader beside it has every event, and the watch answers meanwhile."""
    async with bench_in(tmp_path) as (server, state), Control.on(state / "control.sock") as control:
        with slow_reader(server) as slow, reading(server, 1) as quick:
            for sent in range(1000, EVENTS + 1, 1000):
                for _ in range(1000):
                    control.send('{"command":"tap","axis":"x"}')
                for _ in range(1000):
                    await control.answer()
                # On a machine that does other things as well, this reader would be too slow, too.
                await asyncio.to_thread(quick.wait, "sensed", sent)
            heard = await asyncio.to_thread(all_of, slow)
            await control.ask("tap", axis="y")
            await asyncio.to_thread(quick.wait, "sensed", EVENTS + 1)
            numbers = [int(each) for each in re.findall(rb"id: (\d+)\nevent: sensed\n", quick.heard[0])]
        assert numbers == list(range(numbers[0], numbers[0] + EVENTS + 1))
        assert heard.count(b"event: overrun\n") == 1
        end = heard[heard.index(b"event: overrun\n") :]
        assert b'"lost":' in end and b"event: sensed" not in end
        # It had what the kernel has kept for it.
        assert 0 < heard.count(b"event: sensed\n") < EVENTS
        assert await overruns(server) == 1


async def overruns(server: Server) -> float:
    page = (await server.ask("GET", "/metrics")).body.decode()
    return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith("cairn_web_overruns_total"))


@contextlib.contextmanager
def slow_reader(server: Server) -> Iterator[socket.socket]:
    """Asks for events and reads nothing; the kernel keeps little for it."""
    with socket.socket() as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        end.settimeout(PATIENCE)
        end.connect(("127.0.0.1", server.port))
        end.sendall(request_for_events(server))
        yield end


def all_of(end: socket.socket) -> bytes:
    """What comes until the other side closes, or has sent the end of the response."""
    heard = bytearray()
    while not heard.endswith(b"0\r\n\r\n") and (piece := end.recv(1 << 16)):
        heard += piece
    return bytes(heard)


# MARK: Metrics


async def test_promtool_accepts_the_metrics(tmp_path: Path) -> None:
    """Format, types, help and names, of a watch with a phone, of one that is down, and of the program."""
    down = named("down", tmp_path / "nowhere")
    async with both_on_air(tmp_path) as state, serving(tmp_path, *named("bench", state), *down) as server:
        await open_session(state)
        # By the phone: its push comes after it on the same way.
        await done(state, "launch", ECHO_APP)
        async with server.events("bench") as events:
            await done(state, "push", "0=uint8:7")
            await events.until("app-message-received")
            page = (await server.ask("GET", "/metrics", token=server.read_only_token)).body
        assert b"cairn_app_message_seconds_bucket" in page and b'cairn_up{watch="down"} 0' in page

        def checked(page: bytes) -> tuple[int, str]:
            result = subprocess.run([promtool(), "check", "metrics"], input=page, capture_output=True, timeout=60)
            return result.returncode, (result.stdout + result.stderr).decode()

        assert checked(page) == (0, "")
        # It can fail: a metric without help, and one that is no metric.
        assert checked(page + b"# TYPE cairn_count counter\ncairn_count 1\n")[0] != 0
        assert checked(page + b"cairn_up{watch=} 1\n")[0] != 0
