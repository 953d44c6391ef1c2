#!/usr/bin/env python3
"""Measures Cairn and Bumble as the same peripheral, with the same central, on the same controllers, in one run.

Both peripherals are processes of their own with the bench profile (`cairn-bench peripheral`, bumble_peripheral.py). The
central and the two virtual controllers are Bumble's, in this process; they are what limits the throughput, so look at
the processor time of the peripheral. It is that of the whole process: sockets, HCI, L2CAP, ATT and the application.

With --netsim, Cairn is measured once more with its controller behind a netsim, which is Bumble's gRPC server in this process. Its processor
time is then that of both processes, the peripheral and `cairn-netsim`.

    swift build -c release --product cairn-bench
    swift build -c release --product cairn-netsim
    .venv/bin/python Tests/Bench/compare.py [--rounds 3] [--kilobytes 2000] [--netsim]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from bumble import att, l2cap  # noqa: E402
from rig.controllers import Controllers, controllers  # noqa: E402
from rig.netsim import netsim_over  # noqa: E402
from rig.phone import Phone, WatchLink  # noqa: E402
from rig.process import Program  # noqa: E402
from rig.security import ATT_CID  # noqa: E402
from rig.waiting import within  # noqa: E402

ADDRESS = "C0:BE:11:C4:00:01"
ATT_MTU = 247
SDU_LENGTH = 2000
PATIENCE = 300.0


@dataclass
class Sample:
    """One transfer."""

    seconds: float
    processor_seconds: float
    allocations: int | None


def helpers_processor_seconds(process: int) -> float:
    """The processor time of the programs that a process has started, such as cairn-netsim."""
    children = [word for task in Path(f"/proc/{process}/task").iterdir() for word in (task / "children").read_text().split()]
    ticks = 0
    for child in children:
        # The name, in brackets, may have spaces. utime and stime are fields 14 and 15, and the state behind the name is the third.
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Central:
    def __init__(self, watch: WatchLink, peripheral: int) -> None:
        self.watch = watch
        self.peripheral = peripheral
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
        start = time.monotonic()
        await within(PATIENCE, "the transfer", transfer(count))
        seconds = time.monotonic() - start
        helpers = helpers_processor_seconds(self.peripheral) - helpers
        value = await client.read_value(self.handles[4])
        _, _, processor = struct.unpack_from("<QII", value)
        allocations = struct.unpack_from("<Q", value, 16)[0] if len(value) >= 24 else None
        return Sample(seconds, processor / 1e6 + helpers, allocations)

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


async def run(command: list[str], place: Place, count: int) -> dict[str, Sample]:
    """One round of one peripheral."""
    with tempfile.TemporaryDirectory() as folder:
        async with controllers() as room, place(room) as arguments:
            program = await Program.start([*command, *arguments], Path(folder) / "log")
            try:
                await program.wait_for_line("advertises", 30)
                async with Phone.on(room.phone.port) as phone:
                    central = Central(await phone.connect(ADDRESS), program.process_id)
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
                    return samples
            finally:
                program.kill()
                await program.wait_for_exit(10)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each peripheral is measured, in turn")
    parser.add_argument("--kilobytes", type=int, default=2000, help="how much each transfer moves")
    parser.add_argument("--netsim", action="store_true", help="measure Cairn behind a netsim too")
    arguments = parser.parse_args()
    folder = subprocess.run(
        ["swift", "build", "-c", "release", "--show-bin-path"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    count = arguments.kilobytes * 1000
    cairn = [f"{folder}/cairn-bench", "peripheral"]
    peripherals: dict[str, tuple[list[str], Place]] = {
        "Cairn": (cairn, cairn_over_tcp),
        "Bumble": ([sys.executable, str(HERE / "bumble_peripheral.py")], bumble_over_tcp),
    }
    if arguments.netsim:
        peripherals["Cairn over netsim"] = (cairn, cairn_over_netsim)
    results: dict[str, list[dict[str, Sample]]] = {name: [] for name in peripherals}
    for _ in range(arguments.rounds):
        for name, (command, place) in peripherals.items():
            results[name].append(await run(command, place, count))
    print(f"{arguments.kilobytes} kB a transfer, ATT MTU {ATT_MTU}, SDUs of {SDU_LENGTH} bytes, ", end="")
    print(f"medians of {arguments.rounds} rounds\n")
    print("| transfer | peripheral | kB/s | CPU ms per MB | heap allocations per MB |")
    print("|---|---|---|---|---|")
    for transfer in results["Cairn"][0]:
        for name, rounds in results.items():
            samples = [each[transfer] for each in rounds]
            speed = statistics.median(count / 1000 / each.seconds for each in samples)
            processor = statistics.median(each.processor_seconds * 1e9 / count for each in samples)
            allocations = [each.allocations for each in samples if each.allocations is not None]
            heap = f"{statistics.median(allocations) * 1e6 / count:.0f}" if allocations else "–"
            print(f"| {transfer} | {name} | {speed:.0f} | {processor:.1f} | {heap} |")


if __name__ == "__main__":
    asyncio.run(main())
