#!/usr/bin/env python3
"""Measures Cairn and Bumble as the same peripheral, with the same central, on the same controllers, in one run.

Both peripherals are processes of their own with the bench profile (`cairn-bench peripheral`, bumble_peripheral.py). The
central and the two virtual controllers are Bumble's, in this process; they are what limits the throughput, so look at
the processor time of the peripheral. It is that of the whole process: sockets, HCI, L2CAP, ATT and the application. Each
round's figure is divided by Bumble's in the same round, and the median of those is the ratio. System calls and allocations are
counted in front of the C library (counters.c). With --base, the program of another build takes its turns as well.

With --netsim, Cairn is measured once more with its controller behind a netsim, which is Bumble's gRPC server in this process. Its processor
time is then that of both processes, the peripheral and `cairn-netsim`; calls are those of the peripheral.

    swift build -c release --product cairn-bench
    swift build -c release --product cairn-netsim
    .venv/bin/python Tests/Bench/compare.py [--rounds 7] [--kilobytes 2000] [--buffers 8] [--base FOLDER] [--netsim]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Interop")]

from bumble import att, l2cap  # noqa: E402
from counting import Calls, Counting  # noqa: E402
from rig.controllers import ACL_PACKET_COUNT, Controllers, controllers  # noqa: E402
from rig.netsim import netsim_over  # noqa: E402
from rig.phone import Phone, WatchLink  # noqa: E402
from rig.process import Program  # noqa: E402
from rig.security import ATT_CID  # noqa: E402
from rig.waiting import within  # noqa: E402

ADDRESS = "C0:BE:11:C4:00:01"
ATT_MTU = 247
SDU_LENGTH = 2000
PATIENCE = 300.0
#: How many values are read one after the other, to see how long each takes.
READS = 300


@dataclass
class Sample:
    """One transfer."""

    seconds: float
    processor_seconds: float
    calls: Calls


@dataclass
class Round:
    """What was measured of one peripheral in one round."""

    samples: dict[str, Sample]
    #: How long reading a value took, in seconds: the median.
    latency: float


def helpers_processor_seconds(process: int) -> float:
    """The processor time of the programs that a process has started, such as cairn-netsim."""
    children = [word for task in Path(f"/proc/{process}/task").iterdir() for word in (task / "children").read_text().split()]
    ticks = 0
    for child in children:
        # The name, in brackets, may have spaces. utime and stime are fields 14 and 15, and the state behind the name is the third.
        words = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Central:
    def __init__(self, watch: WatchLink, peripheral: int, counting: Counting) -> None:
        self.watch = watch
        self.peripheral = peripheral
        self.counting = counting
        self.handles: dict[int, int] = {}
        self.descriptor = 0

    async def prepare(self) -> None:
        await self.watch.exchange_mtu(ATT_MTU)
        database = await self.watch.discover()
        for service in database.services:
            for characteristic in service.characteristics:
                text = str(characteristic.uuid)
                if text.startswith("123456"):
                    self.handles[int(text[6:8], 16)] = characteristic.handle
                    for descriptor in characteristic.descriptors:
                        self.descriptor = descriptor.handle
        client = self.watch.client
        await client.write_value(self.descriptor, struct.pack("<H", 1), with_response=True)
        (psm,) = struct.unpack("<H", await client.read_value(self.handles[3]))
        specification = l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=2048, mps=1000, max_credits=256)
        self.channel = await self.watch.connection.create_l2cap_channel(specification)

    async def measure(self, transfer: Callable[[int], Awaitable[None]], count: int) -> Sample:
        client = self.watch.client
        await client.write_value(self.handles[4], bytes([2]), with_response=True)
        helpers = helpers_processor_seconds(self.peripheral)
        before = self.counting.calls
        start = time.monotonic()
        await within(PATIENCE, "the transfer", transfer(count))
        seconds = time.monotonic() - start
        calls = self.counting.calls - before
        helpers = helpers_processor_seconds(self.peripheral) - helpers
        value = await client.read_value(self.handles[4])
        _, _, processor = struct.unpack_from("<QII", value)
        if len(value) >= 24:
            # Of a program that counts its allocations itself.
            calls = replace(calls, allocations=struct.unpack_from("<Q", value, 16)[0])
        return Sample(seconds, processor / 1e6 + helpers, calls)

    async def latency(self) -> float:
        """How long reading a value takes, in seconds."""
        took = []
        for _ in range(READS):
            start = time.perf_counter()
            await self.watch.client.read_value(self.handles[3])
            took.append(time.perf_counter() - start)
        return statistics.median(took)

    async def notify(self, count: int) -> None:
        client = self.watch.client
        done = asyncio.Event()
        received = 0

        def receive(value: bytes) -> None:
            nonlocal received
            received += len(value)
            if received >= count:
                done.set()

        client.notification_subscribers[self.handles[1]] = {receive}
        await client.write_value(self.handles[4], struct.pack("<BI", 1, count), with_response=True)
        await done.wait()
        assert received == count

    async def write(self, count: int) -> None:
        value = bytes(ATT_MTU - 3)
        for place in range(0, count, len(value)):
            command = att.ATT_Write_Command(
                attribute_handle=self.handles[2], attribute_value=value[: min(len(value), count - place)]
            )
            self.watch.connection.send_l2cap_pdu(ATT_CID, bytes(command))
        # Behind all of them in the queue.
        value = await self.watch.client.read_value(self.handles[4])
        (received,) = struct.unpack_from("<Q", value)
        assert received == count, f"{received} of {count} bytes arrived"

    async def channel_up(self, count: int) -> None:
        done = asyncio.Event()
        self.channel.sink = lambda _: done.set()
        self.channel.write(struct.pack("<cI", b"S", count))
        await self.channel.drain()
        for place in range(0, count, SDU_LENGTH):
            self.channel.write(bytes(min(SDU_LENGTH, count - place)))
            await self.channel.drain()
        await done.wait()

    async def channel_down(self, count: int) -> None:
        done = asyncio.Event()
        received = 0

        def receive(sdu: bytes) -> None:
            nonlocal received
            received += len(sdu)
            if received >= count:
                done.set()

        self.channel.sink = receive
        self.channel.write(struct.pack("<cIH", b"G", count, SDU_LENGTH))
        await done.wait()
        assert received == count


#: Where the controller is: makes the peripheral's arguments of the room with Bumble's controllers.
Place = Callable[[Controllers], contextlib.AbstractAsyncContextManager[list[str]]]


@contextlib.asynccontextmanager
async def cairn_over_tcp(room: Controllers) -> AsyncIterator[list[str]]:
    yield ["--controller", room.watch.address, "--address", ADDRESS]


@contextlib.asynccontextmanager
async def cairn_over_netsim(room: Controllers) -> AsyncIterator[list[str]]:
    async with netsim_over(room.watch) as netsim:
        yield ["--controller", netsim.address, "--address", ADDRESS]


@contextlib.asynccontextmanager
async def bumble_over_tcp(room: Controllers) -> AsyncIterator[list[str]]:
    yield [str(room.watch.port), ADDRESS]


async def run(folder: Path, command: list[str], place: Place, count: int, buffers: int) -> Round:
    """One round of one peripheral."""
    counting = Counting(folder, "peripheral")
    async with controllers(buffers=buffers) as room, place(room) as arguments:
        program = await Program.start([*counting.prefix, *command, *arguments], folder / "log")
        try:
            await program.wait_for_line("advertises", 30)
            async with Phone.on(room.phone.port) as phone:
                central = Central(await phone.connect(ADDRESS), program.process_id, counting)
                await central.prepare()
                samples = {}
                for name, transfer in [
                    ("notify", central.notify),
                    ("write command", central.write),
                    ("channel up", central.channel_up),
                    ("channel down", central.channel_down),
                ]:
                    # Buffers and caches.
                    await central.measure(transfer, count // 10)
                    samples[name] = await central.measure(transfer, count)
                return Round(samples, await central.latency())
        finally:
            program.kill()
            await program.wait_for_exit(10)


def report(results: dict[str, list[Round]], count: int) -> None:
    calls = [each.name for each in fields(Calls)]
    print(f"| transfer | peripheral | kB/s | CPU ms per MB | ratio | {' | '.join(calls)} per MB |")
    print("|---|---|---|---|---|" + "---|" * len(calls))
    for transfer in results["Bumble"][0].samples:
        bumble = [each.samples[transfer].processor_seconds for each in results["Bumble"]]
        for name, rounds in results.items():
            samples = [each.samples[transfer] for each in rounds]
            speed = statistics.median(count / 1000 / each.seconds for each in samples)
            processor = statistics.median(each.processor_seconds * 1e9 / count for each in samples)
            ratio = statistics.median(one.processor_seconds / other for one, other in zip(samples, bumble, strict=True))
            counts = [statistics.median(getattr(each.calls, call) * 1e6 / count for each in samples) for call in calls]
            figures = " | ".join(f"{each:.0f}" for each in counts)
            print(f"| {transfer} | {name} | {speed:.0f} | {processor:.1f} | {ratio:.3f} | {figures} |")
    print("\n| peripheral | a value read, median |\n|---|---|")
    for name, rounds in results.items():
        print(f"| {name} | {statistics.median(each.latency for each in rounds) * 1e6:.0f} µs |")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each peripheral is measured, in turn")
    parser.add_argument("--kilobytes", type=int, default=2000, help="how much each transfer moves")
    parser.add_argument(
        "--buffers",
        type=int,
        default=ACL_PACKET_COUNT,
        help="how many ACL packets the peripheral's controller takes before it has sent one",
    )
    parser.add_argument("--base", metavar="FOLDER", help="where another build's cairn-bench is: the state before a change")
    parser.add_argument("--program", metavar="FILE", help="the cairn-bench that is measured; else the release build's")
    parser.add_argument("--json", metavar="FILE", help="where each round's figures are left")
    parser.add_argument("--netsim", action="store_true", help="measure Cairn behind a netsim too")
    arguments = parser.parse_args()
    program = arguments.program
    if program is None:
        command = ["swift", "build", "-c", "release", "--show-bin-path"]
        shown = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
        program = f"{shown.stdout.strip()}/cairn-bench"
    count = arguments.kilobytes * 1000
    peripherals: dict[str, tuple[list[str], Place]] = {"Cairn": ([program, "peripheral"], cairn_over_tcp)}
    if arguments.base is not None:
        peripherals["Cairn before"] = ([f"{arguments.base}/cairn-bench", "peripheral"], cairn_over_tcp)
    if arguments.netsim:
        peripherals["Cairn over netsim"] = ([program, "peripheral"], cairn_over_netsim)
    peripherals["Bumble"] = ([sys.executable, str(HERE / "bumble_peripheral.py")], bumble_over_tcp)
    results: dict[str, list[Round]] = {name: [] for name in peripherals}
    for number in range(arguments.rounds):
        # Who goes first changes, since what one does to the next is not nothing.
        names = list(peripherals)
        place = number % len(names)
        for name in names[place:] + names[:place]:
            with tempfile.TemporaryDirectory() as folder:
                results[name].append(await run(Path(folder), *peripherals[name], count, arguments.buffers))
    print(f"{arguments.kilobytes} kB a transfer, ATT MTU {ATT_MTU}, SDUs of {SDU_LENGTH} bytes, {arguments.buffers} buffers, ", end="")
    print(f"medians of {arguments.rounds} rounds\n")
    report(results, count)
    if arguments.json is not None:
        figures = {name: [asdict(each) for each in rounds] for name, rounds in results.items()}
        Path(arguments.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
