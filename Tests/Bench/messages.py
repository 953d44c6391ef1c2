#!/usr/bin/env python3
"""Measures what an AppMessage to a running watch and back costs the watch's process, whole as it is installed.

The watch is `cairn run` with the app Echo, the phone `cairn phone run`, which has the radio. A round trip is the phone's push, its
acknowledgement, the app's own push and its acknowledgement, with all that PPoGATT adds. Processor time is that of the process;
allocations and system calls are counted in front of the C library (counters.c). With --base, another build's program takes turns.

On a radio a message comes every 30 ms, and other programs have the processor's caches meanwhile. With --at-once the radio is that of
Bumble's controllers, which wait for no connection event: one message comes right behind the other.

    swift build -c release --product cairn
    .venv/bin/python Tests/Bench/messages.py --program .build/release/cairn [--rounds 10] [--messages 100] [--base FILE] [--at-once]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Interop")]

from counting import Calls, Counting  # noqa: E402

#: The phone is one of both programs at all times: only the watch is measured.
PHONE_ADDRESS = "C0:CA:12:00:00:02"
WATCH_ADDRESS = "C0:CA:12:00:00:01"


@dataclass
class Sample:
    """Some round trips, each begun when the one before was acknowledged."""

    used: float
    latency: float
    calls: Calls
    count: int


async def measure(arguments: argparse.Namespace) -> None:
    from rig import cairn
    from rig.controllers import controllers
    from rig.footprint import Footprint
    from rig.process import Program
    from test_web_streams import ECHO_APP, Pair, done, open_session
    from rig.control import Control

    @contextlib.asynccontextmanager
    async def pair(folder: Path, program: str) -> AsyncIterator[tuple[Pair, Counting]]:
        state = folder / "state"
        counting = Counting(folder.parent, folder.name)
        async with contextlib.AsyncExitStack() as radios:
            phone = ["phone", "run", "--address", PHONE_ADDRESS, "--state", str(state)]
            if arguments.at_once:
                room = await radios.enter_async_context(controllers())
                phone += ["--controller", f"tcp:127.0.0.1:{room.phone.port}"]
                port = f"tcp:127.0.0.1:{room.watch.port}"
                air = await radios.enter_async_context(cairn.running(*phone, log=folder / "phone.log"))
            else:
                phone += ["--controller", "virtual", "--air-port", "0"]
                air = await radios.enter_async_context(cairn.running(*phone, log=folder / "phone.log"))
                port = (await air.wait_for_line(r"hosts at (tcp:127\.0\.0\.1:\d+)", cairn.START_SECONDS))[1]
            await air.wait_for_line("takes commands at", cairn.START_SECONDS)
            command = [program, "run", "--controller", port, "--address", WATCH_ADDRESS, "--state", str(state)]
            watch = await Program.start([*counting.prefix, *command], folder / "watch.log")
            try:
                await watch.wait_for_line("advertises for", cairn.START_SECONDS)
                await open_session(state)
                await done(state, "launch", ECHO_APP)
                async with Control.on(state / "phone.sock") as control:
                    yield Pair(state, watch.process_id, control), counting
            finally:
                await watch.stop()

    programs = {"Cairn": arguments.program}
    if arguments.base is not None:
        programs["Cairn before"] = arguments.base
    results: dict[str, list[Sample]] = {name: [] for name in programs}
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pairs = {}
        for name, program in programs.items():
            place = folder / name.replace(" ", "-")
            place.mkdir()
            pairs[name] = await stack.enter_async_context(pair(place, program))
            # Buffers and caches.
            await pairs[name][0].messages(arguments.messages)
        for number in range(arguments.rounds):
            for name in list(programs) if number % 2 else list(programs)[::-1]:
                watch, counting = pairs[name]
                before = counting.calls
                round_trips = await watch.messages(arguments.messages)
                calls = counting.calls - before
                results[name].append(
                    Sample(round_trips.used, statistics.median(round_trips.took), calls, arguments.messages)
                )
        # Long after its session began: what only that needed has been given back.
        resident = {name: Footprint.of(pairs[name][0].watch).resident_kilobytes for name in programs}
    names = [each.name for each in fields(Calls)]
    print(f"an AppMessage and back, medians of {arguments.rounds} rounds of {arguments.messages}\n")
    print(f"| watch | CPU µs | latency µs | {' | '.join(names)} | resident MB |")
    print("|---|---|---|" + "---|" * (len(names) + 1))
    for name, samples in results.items():
        counts = [statistics.median(getattr(each.calls, call) / each.count for each in samples) for call in names]
        figures = " | ".join(f"{each:.1f}" for each in counts)
        used = statistics.median(each.used for each in samples) * 1e6
        latency = statistics.median(each.latency for each in samples) * 1e6
        print(f"| {name} | {used:.0f} | {latency:.0f} | {figures} | {resident[name] * 1024 / 1e6:.1f} |")
    if arguments.base is not None:
        both = zip(results["Cairn"], results["Cairn before"], strict=True)
        print(f"\nprocessor time, after by before: {statistics.median(one.used / other.used for one, other in both):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the cairn that is measured; its phone is used for all")
    parser.add_argument("--base", metavar="FILE", help="another build's cairn: the state before a change")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--messages", type=int, default=100, help="round trips a round")
    parser.add_argument("--at-once", action="store_true", help="one right behind the other, on Bumble's controllers")
    options = parser.parse_args()
    os.environ["CAIRN_BINARY"] = os.path.abspath(options.program)
    asyncio.run(measure(options))


if __name__ == "__main__":
    main()
