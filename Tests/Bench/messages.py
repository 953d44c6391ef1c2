#!/usr/bin/env python3
"""Measures what an AppMessage to a running watch and back costs the watch's process, whole as it is installed.

The watch is `cairn run` with the app Echo, the phone `cairn phone run`, which has the radio. A round trip is the phone's push, its
acknowledgement, the app's own push and its acknowledgement, with all that PPoGATT adds. Processor time is that of the process;
allocations and system calls are counted in front of the C library (counters.c). With --base, another build's program takes turns.

Where a process lies in memory makes some hundredths more or less, for as long as it runs: the programs are started several times, and
the medians are over all of them. On which processor it runs makes a tenth: the watch keeps to one.

On a radio a message comes every 30 ms, and other programs have the processor's caches meanwhile. With --at-once the radio is that of
Bumble's controllers, which wait for no connection event: one message comes right behind the other.

With --instructions they are counted by valgrind, at once: the same on every machine but for some hundredths, as packets come together
or not. Of a program that was made for another Debian, --library-path says where its loader and its libraries are.

    swift build -c release --product cairn
    .venv/bin/python Tests/Bench/messages.py --program .build/release/cairn [--base FILE] [--at-once | --instructions]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Interop")]

from counting import Calls, Counting  # noqa: E402

if TYPE_CHECKING:
    from test_web_streams import Pair

#: The phone is one of both programs at all times: only the watch is measured.
PHONE_ADDRESS = "C0:CA:12:00:00:02"
WATCH_ADDRESS = "C0:CA:12:00:00:01"
NOW = "Cairn"
BASE = "Cairn before"
#: How long a program may take to start that is fifty times slower.
VALGRIND_SECONDS = 120


@dataclass
class Sample:
    """Some round trips, each begun when the one before was acknowledged."""

    used: float
    latency: float
    calls: Calls
    count: int


@dataclass
class Measured:
    """What one program cost."""

    samples: list[Sample]
    resident_kilobytes: int

    def calls(self, name: str) -> float:
        """How many calls of a kind a message took."""
        return statistics.median(getattr(each.calls, name) / each.count for each in self.samples)


@contextlib.asynccontextmanager
async def pair(
    folder: Path, state: Path, watch_command: list[str], *, at_once: bool, start_seconds: float
) -> AsyncIterator[Pair]:
    """A watch with the app Echo, and a phone that has a session with it."""
    from rig import cairn
    from rig.control import Control
    from rig.controllers import controllers
    from rig.process import Program
    from test_web_streams import ECHO_APP, Pair, done, open_session

    async with contextlib.AsyncExitStack() as radios:
        phone = ["phone", "run", "--address", PHONE_ADDRESS, "--state", str(state)]
        if at_once:
            room = await radios.enter_async_context(controllers())
            phone += ["--controller", f"tcp:127.0.0.1:{room.phone.port}"]
            port = f"tcp:127.0.0.1:{room.watch.port}"
            air = await radios.enter_async_context(cairn.running(*phone, log=folder / "phone.log"))
        else:
            phone += ["--controller", "virtual", "--air-port", "0"]
            air = await radios.enter_async_context(cairn.running(*phone, log=folder / "phone.log"))
            port = (await air.wait_for_line(r"hosts at (tcp:127\.0\.0\.1:\d+)", cairn.START_SECONDS))[1]
        await air.wait_for_line("takes commands at", cairn.START_SECONDS)
        command = [*watch_command, "run", "--controller", port, "--address", WATCH_ADDRESS, "--state", str(state)]
        watch = await Program.start(command, folder / "watch.log")
        try:
            await watch.wait_for_line("advertises for", start_seconds)
            await open_session(state)
            await done(state, "launch", ECHO_APP)
            async with Control.on(state / "phone.sock") as control:
                yield Pair(state, watch.process_id, control)
        finally:
            await watch.stop()


async def measure(
    programs: dict[str, str], *, launches: int = 1, rounds: int, messages: int, at_once: bool
) -> dict[str, Measured]:
    """Starts programs several times, and measures them in turns. The phone is that of `CAIRN_BINARY`."""
    from rig import cairn
    from rig.footprint import Footprint

    processor = ["taskset", "--cpu-list", str(max(os.sched_getaffinity(0)))]
    results: dict[str, list[Sample]] = {name: [] for name in programs}
    resident: dict[str, list[int]] = {name: [] for name in programs}
    for _ in range(launches):
        async with contextlib.AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pairs = {}
            for name, program in programs.items():
                place = folder / name.replace(" ", "-")
                place.mkdir()
                counting = Counting(folder, place.name)
                command = [*processor, *counting.prefix, program]
                running = pair(place, place / "state", command, at_once=at_once, start_seconds=cairn.START_SECONDS)
                pairs[name] = (await stack.enter_async_context(running), counting)
                # Buffers and caches.
                await pairs[name][0].messages(messages)
            for number in range(rounds):
                for name in list(programs) if number % 2 else list(programs)[::-1]:
                    watch, counting = pairs[name]
                    before = counting.calls
                    round_trips = await watch.messages(messages)
                    calls = counting.calls - before
                    results[name].append(Sample(round_trips.used, statistics.median(round_trips.took), calls, messages))
            # Long after its session began: what only that needed has been given back.
            for name in programs:
                resident[name].append(Footprint.of(pairs[name][0].watch).resident_kilobytes)
    return {name: Measured(results[name], round(statistics.median(resident[name]))) for name in programs}


async def count_instructions(program: list[str], messages: int) -> float:
    """Instructions of the watch's process for a round trip. The phone is that of `CAIRN_BINARY`.

    `program`: a program that valgrind can start, with what stands in front of it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'counts'}"]
        command = [*valgrind, *program]
        async with pair(folder, folder / "state", command, at_once=True, start_seconds=VALGRIND_SECONDS) as watch:
            await watch.messages(messages)
            tell_callgrind(watch, "--instr=on")
            await watch.messages(messages)
            tell_callgrind(watch, "--instr=off")
            tell_callgrind(watch, "--dump")
        counted = re.search(r"^totals: (\d+)$", (folder / "counts.1").read_text(), re.MULTILINE)
        assert counted is not None
        return int(counted[1]) / messages


def tell_callgrind(watch: Pair, option: str) -> None:
    """Has the valgrind around a watch do something, and waits until it has."""
    command = ["callgrind_control", option, str(watch.watch)]
    subprocess.run(command, check=True, capture_output=True, timeout=VALGRIND_SECONDS)


def without_symbols(program: str, folder: Path) -> str:
    """A copy of a program that valgrind can read: it gives up at some of what is there for debuggers."""
    copy = folder / Path(program).name
    subprocess.run(["strip", "--strip-debug", "-o", str(copy), program], check=True)
    return str(copy)


def show_instructions(programs: dict[str, str], loader: list[str], messages: int) -> None:
    for name, program in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            count = asyncio.run(count_instructions([*loader, without_symbols(program, Path(folder))], messages))
        print(f"{name}: {count:.0f} instructions an AppMessage and back")


def show(measured: dict[str, Measured], launches: int, rounds: int, messages: int) -> None:
    names = [each.name for each in fields(Calls)]
    print(f"an AppMessage and back, medians of {launches} launches with {rounds} rounds of {messages}\n")
    print(f"| watch | CPU µs | latency µs | {' | '.join(names)} | resident MB |")
    print("|---|---|---|" + "---|" * (len(names) + 1))
    for name, one in measured.items():
        figures = " | ".join(f"{one.calls(call):.1f}" for call in names)
        used = statistics.median(each.used for each in one.samples) * 1e6
        latency = statistics.median(each.latency for each in one.samples) * 1e6
        resident = one.resident_kilobytes * 1024 / 1e6
        print(f"| {name} | {used:.0f} | {latency:.0f} | {figures} | {resident:.1f} |")
    if BASE in measured:
        both = zip(measured[NOW].samples, measured[BASE].samples, strict=True)
        print(f"\nprocessor time, after by before: {statistics.median(one.used / other.used for one, other in both):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the cairn that is measured")
    parser.add_argument("--base", metavar="FILE", help="another build's cairn: the state before a change")
    parser.add_argument("--phone", metavar="FILE", help="the cairn whose phone is used for all (default: the one that is measured)")
    parser.add_argument("--launches", type=int, default=8, help="how often the programs are started")
    parser.add_argument("--rounds", type=int, default=4, help="rounds a launch")
    parser.add_argument("--messages", type=int, default=100, help="round trips a round")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--at-once", action="store_true", help="one right behind the other, on Bumble's controllers")
    ways.add_argument("--instructions", action="store_true", help="count instructions instead; needs valgrind")
    parser.add_argument("--library-path", metavar="LOADER:FOLDERS", help="what loads the programs, and where their libraries are")
    options = parser.parse_args()
    if options.library_path is not None and not options.instructions:
        parser.error("--library-path goes with --instructions")
    os.environ["CAIRN_BINARY"] = os.path.abspath(options.phone or options.program)
    programs = {NOW: options.program}
    if options.base is not None:
        programs[BASE] = options.base
    if options.instructions:
        loader = []
        if options.library_path is not None:
            program, _, folders = options.library_path.partition(":")
            loader = [program, "--library-path", folders]
        return show_instructions(programs, loader, options.messages)
    sizes = {"launches": options.launches, "rounds": options.rounds, "messages": options.messages}
    show(asyncio.run(measure(programs, at_once=options.at_once, **sizes)), **sizes)


if __name__ == "__main__":
    main()
