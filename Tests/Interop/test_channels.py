"""L2CAP credit-based channels of the watch, which Bumble opens: the watch echoes what comes in on its loopback streams.

The letters are the rows of Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble import l2cap
from rig import gatt as uuids
from rig.channels import (
    CREDITS,
    DISCONNECTION_REQUEST,
    REJECT,
    RawChannel,
    RawL2CAP,
    open_bumble_channel,
    words,
)
from rig.controllers import controllers
from rig.footprint import Footprint
from rig.phone import Database, Phone, WatchLink
from rig.process import Program
from rig.waiting import within
from watches import ADDRESS, cairn_on

Result = l2cap.L2CAP_LE_Credit_Based_Connection_Response.Result
EnhancedResult = l2cap.L2CAP_Credit_Based_Connection_Response.Result

#: How many bytes the watch holds of what a client sends, and of what it sends to a client, before it lets neither side go on.
RECEIVE_LIMIT = TRANSMIT_LIMIT = 32768


class Setting:
    """A watch with loopback streams, and a phone that is connected to it."""

    def __init__(self, phone: Phone, watch: WatchLink, program: Program) -> None:
        self.phone = phone
        self.watch = watch
        self.program = program
        self.database: Database | None = None

    async def psms(self) -> list[int]:
        """The PSM of each loopback stream, as the database says it."""
        self.database = self.database or await self.watch.discover()
        found = []
        for service in self.database.services:
            if service.uuid != uuids.LOOPBACK_SERVICE:
                continue
            (characteristic,) = service.characteristics
            assert characteristic.uuid == uuids.PUBLISHED_PSM
            value = await self.watch.read(characteristic.handle)
            assert len(value) == 2
            found.append(int.from_bytes(value, "little"))
        assert found and all(0x80 <= psm <= 0xFF for psm in found), found
        return found

    async def psm(self) -> int:
        return (await self.psms())[0]


@contextlib.asynccontextmanager
async def setting(folder: Path, *options: str, paired: bool = True, log_level: str = "info") -> AsyncIterator[Setting]:
    # The flight recorder's memory fills up, and has a limit of its own: what grows here is a channel's.
    arguments = ("--loopback-streams", "2", "--record-memory", "0", *options)
    async with (
        controllers() as room,
        cairn_on(room.watch.address, folder, *arguments, log_level=log_level) as program,
        Phone.on(room.phone.port) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        await watch.exchange_mtu(517)
        if paired:
            await watch.pair()
        here = Setting(phone, watch, program)
        yield here
        assert room.faults == []
        await here.watch.disconnect()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Setting]:
    """A phone that has paired."""
    async with setting(tmp_path) as here:
        yield here


@pytest.fixture
async def stranger(tmp_path: Path) -> AsyncIterator[Setting]:
    """A phone that has not paired."""
    async with setting(tmp_path, paired=False) as here:
        yield here


def sample(count: int, number: int = 0) -> bytes:
    """Bytes without a pattern, so that an error shows; another sample for each number."""
    block = b"".join(hashlib.sha256(words(number, place)).digest() for place in range(min(4096, count // 32 + 1)))
    return (block * (count // len(block) + 1))[:count]


async def echo(channel: l2cap.LeCreditBasedChannel, count: int, number: int = 0, seconds: float = 120) -> None:
    """Sends bytes, and receives the same."""
    block = sample(1 << 16, number)
    sent, received = hashlib.sha256(), hashlib.sha256()
    received_count = 0
    done = asyncio.Event()

    def sink(data: bytes) -> None:
        nonlocal received_count
        received.update(data)
        received_count += len(data)
        if received_count >= count:
            done.set()

    channel.sink = sink

    async def transfer() -> None:
        for place in range(0, count, len(block)):
            portion = block[: count - place]
            sent.update(portion)
            for start in range(0, len(portion), 8192):
                channel.write(portion[start : start + 8192])
            await channel.drain()
        await done.wait()

    await within(seconds, f"{count} bytes to come back", transfer())
    assert received_count == count
    assert received.digest() == sent.digest()


# a: read the PSM, open, transfer, close


@pytest.mark.timeout(4000)
async def test_transfer(here: Setting, request: pytest.FixtureRequest) -> None:
    """a: the same bytes come back; 100 MB with --long."""
    megabytes = 100 if request.config.getoption("--long") else 2
    psm = await here.psm()
    channel = await open_bumble_channel(here.watch.connection, psm)
    # A link with packets of 251 octets: four of them in a K-frame.
    assert channel.peer_mps in (1000, 1022)
    before = Footprint.of(here.program.process_id).anonymous_kilobytes
    start = time.monotonic()
    await echo(channel, megabytes << 20, seconds=60 + megabytes * 30)
    elapsed = time.monotonic() - start
    growth = Footprint.of(here.program.process_id).anonymous_kilobytes - before
    print(f"{megabytes} MB each way in {elapsed:.1f} s, {growth} kB more in use")
    assert growth < 2048
    await within(10, "the channel to close", channel.disconnect())


async def test_eight_channels(here: Setting) -> None:
    """a: eight channels at once, to two services, none of which disturbs another."""
    psms = await here.psms()
    assert len(psms) == 2
    channels = [await open_bumble_channel(here.watch.connection, psms[number % 2]) for number in range(8)]
    await asyncio.gather(*(echo(channel, 100_000, number) for number, channel in enumerate(channels)))
    for channel in channels:
        await within(10, "the channel to close", channel.disconnect())


@pytest.mark.slow
async def test_reopening(here: Setting) -> None:
    """a: a thousand times open, used and closed, and as much memory in use as after a hundred."""
    psm = await here.psm()
    usage = 0
    with RawL2CAP(here.watch.connection) as raw:
        for number in range(1000):
            channel = await RawChannel.open(raw, psm, credits=10)
            # The same CID each time: the last one was given back.
            assert channel.destination == 0x40
            channel.send_sdu(sample(200, number))
            await here.watch.round_trip()
            assert channel.received == sample(200, number)
            await raw.disconnect(channel.destination)
            if number == 99:
                usage = Footprint.of(here.program.process_id).anonymous_kilobytes
    assert Footprint.of(here.program.process_id).anonymous_kilobytes - usage < 1024


async def test_bulk_and_requests(here: Setting) -> None:
    """a: while a channel transfers as much as it can, a read of a characteristic is answered soon."""
    channel = await open_bumble_channel(here.watch.connection, await here.psm())
    transfer = asyncio.create_task(echo(channel, 500_000))
    times: list[float] = []
    while not transfer.done():
        start = time.monotonic()
        await here.watch.round_trip()
        times.append(time.monotonic() - start)
    await transfer
    assert len(times) > 3
    assert max(times) < 2


# b: enhanced requests


async def test_enhanced(here: Setting) -> None:
    """b: five channels by one request."""
    specification = l2cap.LeCreditBasedChannelSpec(psm=await here.psm(), mtu=2048, mps=1000, max_credits=100)
    manager = here.phone.device.l2cap_channel_manager
    channels = await within(
        10,
        "five channels",
        manager.create_enhanced_credit_based_channels(here.watch.connection, specification, 5),
    )
    assert len({channel.destination_cid for channel in channels}) == 5
    await asyncio.gather(*(echo(channel, 50_000, number) for number, channel in enumerate(channels)))


async def test_partial_acceptance(here: Setting) -> None:
    """b: of channels that are asked for at once, the watch opens those that it can."""
    psm = await here.psm()
    with RawL2CAP(here.watch.connection) as raw:
        terms, first = await raw.connect_enhanced(psm, [0x50, 0x51, 0x52, 0x53, 0x54])
        assert terms[3] == EnhancedResult.ALL_CONNECTIONS_SUCCESSFUL and 0 not in first
        # Eight channels to one service, and no more.
        terms, second = await raw.connect_enhanced(psm, [0x55, 0x56, 0x57, 0x58, 0x59])
        assert terms[3] == EnhancedResult.SOME_CONNECTIONS_REFUSED_INSUFFICIENT_RESOURCES_AVAILABLE
        assert 0 not in second[:3] and second[3:] == [0, 0]
        assert len({*first, *second[:3]}) == 8
        for destination, source in zip(first, range(0x50, 0x55), strict=True):
            await raw.disconnect(destination, source)
        # A CID that is in use, one that cannot be one, and one of its own.
        terms, third = await raw.connect_enhanced(psm, [0x55, 0x50])
        assert terms[3] == EnhancedResult.SOME_CONNECTIONS_REFUSED_SOURCE_CID_ALREADY_ALLOCATED
        assert third[0] == 0 and third[1] != 0
        terms, fourth = await raw.connect_enhanced(psm, [0x51, 0x3F])
        assert terms[3] == EnhancedResult.SOME_CONNECTIONS_REFUSED_INVALID_SOURCE_CID
        assert fourth[0] != 0 and fourth[1] == 0
        # The channels that opened work.
        raw.send(third[1], words(3) + b"abc")
        assert await raw.frames.take(10, "the echo") == (0x50, words(3) + b"abc")


async def test_reconfiguration(here: Setting) -> None:
    """b: what the phone takes changes as it says, unless the Core forbids that."""
    psm = await here.psm()
    Outcome = l2cap.L2CAP_Credit_Based_Reconfigure_Response.Result
    with RawL2CAP(here.watch.connection) as raw:
        terms, destinations = await raw.connect_enhanced(psm, [0x50, 0x51], mtu=100, mps=64, credits=100)
        assert terms[3] == 0
        data = sample(500)
        raw.send(destinations[0], words(len(data)) + data)
        frames = [(await raw.frames.take(10, "the echo"))[1] for _ in range(10)]
        assert max(map(len, frames)) <= 64
        assert await raw.reconfigure([0x50, 0x51], mtu=600, mps=600) == Outcome.RECONFIGURATION_SUCCESSFUL
        raw.send(destinations[1], words(len(data)) + data)
        assert await raw.frames.take(10, "the echo", lambda each: each[0] == 0x51) == (0x51, words(500) + data)
        for sources, mtu, mps, outcome in [
            ([0x50, 0x51], 599, 600, 1),
            ([0x50, 0x51], 600, 599, 2),
            ([0x50, 0x57], 600, 600, 3),
            ([0x50], 600, 63, 4),
            ([0x50], 600, 64, 0),
        ]:
            assert await raw.reconfigure(sources, mtu=mtu, mps=mps) == outcome


# c: refusals


async def test_refused_to_strangers(stranger: Setting) -> None:
    """c: without a key, insufficient authentication: the PSM cannot even be read, but it can be guessed."""
    with RawL2CAP(stranger.watch.connection) as raw:
        results = set()
        for psm in range(0x80, 0x100):
            *nothing, result = await raw.connect(psm)
            assert nothing == [0, 0, 0, 0]
            results.add(result)
            terms, destinations = await raw.connect_enhanced(psm, [0x50])
            assert (terms, destinations) == ((0, 0, 0, result), [0])
        assert results == {
            Result.CONNECTION_REFUSED_LE_PSM_NOT_SUPPORTED,
            Result.CONNECTION_REFUSED_INSUFFICIENT_AUTHENTICATION,
        }


async def test_refused_unencrypted(here: Setting) -> None:
    """c: with a key that is not in use, insufficient encryption; when it is, the channel opens."""
    psm = await here.psm()
    await here.watch.disconnect()
    watch = await here.phone.connect(ADDRESS)
    with RawL2CAP(watch.connection) as raw:
        assert (await raw.connect(psm))[-1] == Result.CONNECTION_REFUSED_INSUFFICIENT_ENCRYPTION
        assert (await raw.connect_enhanced(psm, [0x50]))[0][3] == Result.CONNECTION_REFUSED_INSUFFICIENT_ENCRYPTION
        await watch.encrypt()
        assert (await raw.connect(psm))[-1] == Result.CONNECTION_SUCCESSFUL
    here.watch = watch


async def test_refusals(here: Setting) -> None:
    """c: each refusal has its own result."""
    psm = await here.psm()
    with RawL2CAP(here.watch.connection) as raw:
        taken = set(await here.psms())
        free = next(each for each in range(0x80, 0x100) if each not in taken and each != psm)
        for arguments, result in [
            ({"spsm": 0x25}, Result.CONNECTION_REFUSED_LE_PSM_NOT_SUPPORTED),
            ({"source": 0x3F}, Result.CONNECTION_REFUSED_INVALID_SOURCE_CID),
            ({"source": 0x80}, Result.CONNECTION_REFUSED_INVALID_SOURCE_CID),
            ({"mtu": 22}, Result.CONNECTION_REFUSED_UNACCEPTABLE_PARAMETERS),
            ({"mps": 22}, Result.CONNECTION_REFUSED_UNACCEPTABLE_PARAMETERS),
            ({"mps": 65534}, Result.CONNECTION_REFUSED_UNACCEPTABLE_PARAMETERS),
        ]:
            answer = await raw.connect(**{"spsm": psm, **arguments})
            assert answer == (0, 0, 0, 0, result), (arguments, answer)
        assert free not in taken
        for mtu, mps, credits in [(63, 64, 1), (64, 63, 1), (64, 65534, 1), (64, 64, 0)]:
            answer = await raw.connect_enhanced(psm, [0x50, 0x51], mtu=mtu, mps=mps, credits=credits)
            assert answer == ((0, 0, 0, EnhancedResult.ALL_CONNECTIONS_REFUSED_INVALID_PARAMETERS), [0, 0])
        opened = [(await raw.connect(psm, source))[0] for source in range(0x50, 0x58)]
        assert len({*opened}) == 8 and 0 not in opened
        assert (await raw.connect(psm, 0x57))[-1] == Result.CONNECTION_REFUSED_SOURCE_CID_ALREADY_ALLOCATED
        assert (await raw.connect(psm, 0x58))[-1] == Result.CONNECTION_REFUSED_NO_RESOURCES_AVAILABLE
        # Closing what is not open, and a command that is too long.
        assert await raw.ask(DISCONNECTION_REQUEST, words(0x7F, 0x50)) == (REJECT, words(2, 0x7F, 0x50))
        assert await raw.ask(0x17, words(psm, 64, 64, 1, *range(0x60, 0x66))) == (REJECT, words(1, 23))


# d: flow control


async def test_slow_reader(here: Setting) -> None:
    """d: a reader that sleeps stalls the watch, which stalls the writer; what was on its way comes when it wakes up."""
    before = Footprint.of(here.program.process_id).anonymous_kilobytes
    with RawL2CAP(here.watch.connection) as raw:
        # The watch may send two K-frames, and then nothing.
        channel = await RawChannel.open(raw, await here.psm(), credits=2)
        sent = bytearray()
        while channel.credits:
            while channel.credits:
                portion = sample(channel.watch_mps - 2, len(sent) % 251)
                channel.send_sdu(portion)
                sent += portion
            # The watch's other packets come before the answer.
            await here.watch.round_trip()
            assert len(sent) < 2 * (RECEIVE_LIMIT + TRANSMIT_LIMIT), "the watch takes more than it said"
        assert len(sent) > RECEIVE_LIMIT, "the watch stalls too soon"
        assert channel.given == 0 and 0 < len(channel.received) <= 2 * RawChannel.MPS
        assert Footprint.of(here.program.process_id).anonymous_kilobytes - before < 1024
        while len(channel.received) < len(sent):
            channel.grant(7)
            await here.watch.round_trip()
        assert channel.received == sent
        # The writer can go on.
        assert channel.credits > 0
        await raw.disconnect(channel.destination)


@pytest.mark.parametrize(
    "violation",
    ["no credit", "too many credits", "K-frame over the MPS", "SDU over the MTU", "SDU overrun", "no SDU length"],
)
async def test_violations(here: Setting, violation: str) -> None:
    """d: a peer that breaks the rules loses the channel, and only that."""
    psm = await here.psm()
    with RawL2CAP(here.watch.connection) as raw:
        other = await RawChannel.open(raw, psm, 0x60, credits=10)
        destination, mtu, mps, credits, result = await raw.connect(psm, credits=1)
        assert result == 0
        match violation:
            case "no credit":
                # The echo is not read, so that the watch cannot give back all.
                frame = words(mps - 2) + bytes(mps - 2)
                for _ in range(4 * credits):
                    raw.send(destination, frame)
            case "too many credits":
                raw.signal(CREDITS, words(0x50, 65535))
            case "K-frame over the MPS":
                raw.send(destination, words(mps + 100) + bytes(mps - 1))
            case "SDU over the MTU":
                raw.send(destination, words(mtu + 1) + bytes(10))
            case "SDU overrun":
                raw.send(destination, words(5) + bytes(6))
            case "no SDU length":
                raw.send(destination, b"\x01")
        await raw.closed_by_watch(destination)
        other.send_sdu(b"still here")
        await here.watch.round_trip()
        assert other.received == b"still here"
        # The CIDs can be used again.
        assert (await raw.connect(psm))[-1] == Result.CONNECTION_SUCCESSFUL


async def test_zero_credits_are_ignored(here: Setting) -> None:
    """d: a command that gives no credits is not allowed, and to be ignored (Core 5.4, Vol 3, Part A, 10.1)."""
    with RawL2CAP(here.watch.connection) as raw:
        channel = await RawChannel.open(raw, await here.psm(), credits=10)
        raw.signal(CREDITS, words(0x50, 0))
        channel.send_sdu(b"still here")
        await here.watch.round_trip()
        assert channel.received == b"still here"
