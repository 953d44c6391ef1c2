#!/usr/bin/env python3
"""Measures what the flight recorder costs a watch's process: processor time of an AppMessage and back.

Three watches in processes of their own take turns, round by round, each with a phone: one that keeps the usual part of its recording
in memory, one that writes it to a file as well, and one that keeps as little as can be. Each round's figure is divided by that
of the least recorder in the same turn; the median of those is printed, with the quartiles.

    swift build -c release --product cairn
    CAIRN_BINARY=.build/release/cairn .venv/bin/python Tests/Bench/recorder.py [--rounds 40] [--messages 50]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from test_web_streams import pair_in  # noqa: E402


async def measure(rounds: int, messages: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = {
            "least": ("--record-memory", "0"),
            "memory": (),
            "file": ("--record", str(folder / "watch.cairnrec")),
        }
        async with contextlib.AsyncExitStack() as stack:
            pairs = {}
            for kind, options in kinds.items():
                (folder / kind).mkdir()
                pairs[kind] = await stack.enter_async_context(pair_in(folder / kind, *options))
                await pairs[kind].messages(messages)
            used: dict[str, list[float]] = {kind: [] for kind in kinds}
            order = list(kinds)
            for number in range(rounds):
                # Who goes first changes, since what one does to the next is not nothing.
                for kind in order[number % 3 :] + order[: number % 3]:
                    used[kind].append((await pairs[kind].messages(messages)).used)
        print(f"{rounds} rounds of {messages} AppMessages; the least recorder: {statistics.median(used['least']) * 1e6:.0f} us each")
        for kind in ("memory", "file"):
            ratios = [one / other for one, other in zip(used[kind], used["least"], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"{kind}: {middle:.3f} of that (quartiles {low:.3f} to {high:.3f})")
        size = (folder / "watch.cairnrec").stat().st_size if (folder / "watch.cairnrec").exists() else 0
        print(f"bytes of the file an AppMessage and back: {size / ((rounds + 1) * messages):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--messages", type=int, default=50)
    options = parser.parse_args()
    asyncio.run(measure(options.rounds, options.messages))


if __name__ == "__main__":
    main()
