"""The radio of Android emulators: the watch on netsim, and phones on a netsim that is Cairn's own air.

The other side is Bumble's: its netsim as a server (`mode=controller`) and as a client (`mode=host`), and gRPC servers in Python that
misbehave. CAIRN_NETSIM_CUTS says how often the stream is cut; the usual number is that of continuous integration.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from bumble import hci
from bumble.bridge import HCI_Bridge
from bumble.transport.android_netsim import open_android_netsim_transport
from bumble.transport.grpc_protobuf.netsim.common_pb2 import ChipKind
from bumble.transport.grpc_protobuf.netsim.hci_packet_pb2 import HCIPacket
from bumble.transport.grpc_protobuf.netsim.packet_streamer_pb2 import PacketRequest, PacketResponse
from bumble.transport.grpc_protobuf.netsim.packet_streamer_pb2_grpc import PacketStreamerStub
from bumble.transport.grpc_protobuf.netsim.startup_pb2 import Chip, ChipInfo
from bumble.transport.tcp_client import open_tcp_client_transport
from libpebble2.protocol.apps import AppRunState, AppRunStateStart
from phones.clients import KINDS
from phones.matrix import LOSSY, SITUATIONS, Outcome, Story, promises
from rig import cairn, companion
from rig.controllers import controllers
from rig.footprint import Footprint
from rig.netsim import emulator_over, misbehaving, netsim_over
from rig.phone import Phone
from rig.process import Program
from rig.security import Person, pairing
from rig.waiting import within
from test_channels import Setting, echo, open_bumble_channel
from watches import ADDRESS, cairn_on

UNAVAILABLE = 69
LOOPBACK = ("--loopback-streams", "1", "--record-memory", "0")
# Taken out: Cairn refuses a variable that begins with its name and is no setting.
CUTS = int(os.environ.pop("CAIRN_NETSIM_CUTS", "5"))
#: How much a program may grow, in kB: what gRPC and the kernel keep of a stream, and what an allocator keeps of it.
GROWTH_LIMIT = 8192
#: Channels 9, 10, 21, 22, 23 and 33 to 36.
DATA_CHANNELS = 0x1E_00E0_0600
#: Far more messages than all of that holds.
MESSAGE_LIMIT = 400_000


async def echo_a_message(phone: Phone, *, pair: bool = False) -> None:
    """Connects, pairs if so asked, opens a session, and has an AppMessage echoed."""
    watch = await phone.connect(ADDRESS)
    if pair:
        await watch.pair()
    database = await watch.discover(attribute_by_attribute=False)
    _, session = await watch.open_reversed(database)
    session.send(AppRunState(data=AppRunStateStart(uuid=companion.ECHO_APP)))
    push = companion.push(1, [companion.string(1, "over netsim")])
    session.send(push)
    await companion.expect_ack_and_echo(session, push)
    await watch.disconnect()


async def megabyte(phone: Phone, program: Program) -> None:
    """Pairs, and has 1 MB echoed by a loopback stream."""
    watch = await phone.connect(ADDRESS)
    await watch.exchange_mtu(517)
    await watch.pair()
    psm = await Setting(phone, watch, program).psm()
    channel = await open_bumble_channel(watch.connection, psm)
    start = time.monotonic()
    await echo(channel, 1 << 20)
    print(f"1 MB each way in {time.monotonic() - start:.1f} s")
    await watch.disconnect()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of this test's own where netsims announce themselves."""
    folder = tmp_path / "announced"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


# The watch on netsim


async def test_the_watch_on_netsim(tmp_path: Path) -> None:
    """a: connect, pair, AppMessages; netsim is told which device it is."""
    async with controllers() as room, netsim_over(room.watch) as netsim:
        async with (
            cairn_on(f"{netsim.address},name=wrist", tmp_path, "--state", str(tmp_path / "state")),
            Phone.on(room.phone.port, pairs=pairing(Person())) as phone,
        ):
            await echo_a_message(phone, pair=True)
        (info,) = netsim.infos
        assert info.WhichOneof("request_type") == "initial_info"
        assert info.initial_info.name == info.initial_info.device_info.name == "wrist"
        assert info.initial_info.chip.kind == ChipKind.BLUETOOTH
        assert info.initial_info.chip.manufacturer == "Cairn"
        assert room.watch.controller.refused == []


async def test_bumbles_own_netsim(tmp_path: Path, announced: Path) -> None:
    """a: Bumble's netsim in mode=controller, found by the netsim.ini that Bumble writes, bridged to one of its controllers."""
    async with controllers() as room:
        port = free_port()
        server = await open_android_netsim_transport(f"127.0.0.1:{port},mode=controller,instance=3")
        assert (announced / "netsim_3.ini").read_text().strip() == f"grpc.port={port}"
        controller = await open_tcp_client_transport(f"127.0.0.1:{room.watch.port}")
        HCI_Bridge(server.source, server.sink, controller.source, controller.sink)
        listed = subprocess.run(
            [str(cairn.binary()), "adapters", "--json"], capture_output=True, text=True, timeout=60, check=False
        )
        (found,) = [each for each in json.loads(listed.stdout) if each["bus"] == "netsim"]
        assert found["name"] == "netsim,instance=3" and found["port"] == port and "problem" not in found
        assert listed.returncode == 0
        async with (
            cairn_on("netsim,instance=3", tmp_path, "--insecure-test-link"),
            Phone.on(room.phone.port) as phone,
        ):
            await echo_a_message(phone)
        await controller.close()
        await server.close()


async def test_a_megabyte(tmp_path: Path) -> None:
    """b: 1 MB each way over a channel of the link."""
    async with controllers() as room, netsim_over(room.watch) as netsim:
        async with (
            cairn_on(netsim.address, tmp_path, *LOOPBACK, log_level="info") as program,
            Phone.on(room.phone.port) as phone,
        ):
            await megabyte(phone, program)


# The wait for a controller doubles up to 30 s.
@pytest.mark.timeout(120 + 40 * CUTS)
async def test_the_stream_is_cut(tmp_path: Path) -> None:
    """c: each time that netsim ends the stream, the watch resets the controller, comes back, and says why. It keeps nothing of the
    streams that were: no descriptor, no program, and no memory."""
    async with controllers() as room, netsim_over(room.watch) as netsim:
        arguments = ("--insecure-test-link", "--controller-lost", "retry", "--record-memory", "0")
        async with cairn_on(netsim.address, tmp_path, *arguments, log_level="info") as program:
            before = None
            for number in range(CUTS):
                position = len(program.lines)
                netsim.cut()
                await program.wait_for_line("ended the stream; trying again", 20, after=position)
                await program.wait_for_line("advertises for", 60, after=position)
                assert len(netsim.infos) == number + 2
                assert len(children(program)) == 1
                # What is made once is there after the first time.
                before = before or Footprint.of(program.process_id)
            after = Footprint.of(program.process_id)
            print(f"{CUTS} cuts: {before} before, {after} after")
            assert before is not None
            assert after.descriptors == before.descriptors
            assert after.anonymous_kilobytes - before.anonymous_kilobytes < GROWTH_LIMIT
            async with Phone.on(room.phone.port) as phone:
                await echo_a_message(phone)


async def test_the_helper_is_killed(tmp_path: Path) -> None:
    """c: the program that carries the packets is killed: the watch says so, and starts it again."""
    async with controllers() as room, netsim_over(room.watch) as netsim:
        arguments = ("--insecure-test-link", "--controller-lost", "retry")
        async with cairn_on(netsim.address, tmp_path, *arguments) as program:
            (helper,) = children(program)
            position = len(program.lines)
            os.kill(helper, signal.SIGKILL)
            await program.wait_for_line("the program cairn-netsim was ended by signal 9", 10, after=position)
            await program.wait_for_line("advertises for", 20, after=position)
            (successor,) = children(program)
            assert successor != helper
        assert not Path(f"/proc/{successor}").exists()


def children(program: Program) -> list[int]:
    task = Path(f"/proc/{program.process_id}/task")
    return [int(word) for each in task.iterdir() for word in (each / "children").read_text().split()]


async def test_the_older_service(tmp_path: Path) -> None:
    """a: the emulator's own service."""
    async with controllers() as room, emulator_over(room.watch) as port:
        async with (
            cairn_on(f"android-emulator:127.0.0.1:{port}", tmp_path, "--insecure-test-link"),
            Phone.on(room.phone.port) as phone,
        ):
            await echo_a_message(phone)


# Netsims that misbehave


async def says_no(_: Any, context: grpc.aio.ServicerContext) -> None:
    await context.read()
    await context.write(PacketResponse(error="Device\nbusy\x1b[31m"))
    await context.read()


async def ends_at_once(_: Any, context: grpc.aio.ServicerContext) -> None:
    await context.read()


async def breaks_off(_: Any, context: grpc.aio.ServicerContext) -> None:
    await context.read()
    await context.abort(grpc.StatusCode.UNAVAILABLE, "netsimd is shutting down")


@pytest.mark.parametrize(
    ("behavior", "text"),
    [
        (says_no, r"netsim at 127\.0\.0\.1:\d+ says: Device busy \[31m"),
        (ends_at_once, r"netsim at 127\.0\.0\.1:\d+ ended the stream"),
        (breaks_off, r"the stream to netsim at 127\.0\.0\.1:\d+ broke: netsimd is shutting down"),
    ],
)
async def test_a_netsim_that_misbehaves(behavior: Callable[..., Any], text: str, tmp_path: Path) -> None:
    """d: each is a named error, and the end of a watch that does not wait."""
    async with misbehaving(behavior) as port:
        command = [str(cairn.binary()), "run", "--controller", f"netsim:127.0.0.1:{port}", "--log-level", "info"]
        program = await Program.start(command, tmp_path / "cairn.log")
        try:
            await program.wait_for_line(text, 20)
            assert await program.wait_for_exit(10) in (UNAVAILABLE, 74)
        finally:
            program.kill()


async def test_netsim_is_gone_in_mid_packet(tmp_path: Path) -> None:
    """d: the connection ends in the middle of a message, at several places: the watch says so, resets the controller and comes back."""
    # After how many bytes of netsim's: in what follows the start of HTTP/2, each message has 20 and more.
    limits = [120, 250, 381]
    cuts = len(limits)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: list[int]) -> None:
        passed = 0
        while data := await reader.read(1):
            writer.write(data)
            passed += 1
            # gRPC connects again by itself: a connection without a stream has fewer bytes than any of them.
            if limits and passed == limits[0]:
                del limits[0]
                return

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            netsim_reader, netsim_writer = await asyncio.open_connection("127.0.0.1", netsim.port)
        except ConnectionError:
            # The test is over.
            return writer.transport.abort()
        ways = [carry(reader, netsim_writer, []), carry(netsim_reader, writer, limits)]
        tasks = [asyncio.ensure_future(each) for each in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            for end in (netsim_writer, writer):
                end.transport.abort()

    async with controllers() as room, netsim_over(room.watch) as netsim:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        arguments = ("--controller", f"netsim:127.0.0.1:{port}", "--controller-lost", "retry", "--address", ADDRESS)
        async with cairn.running("run", *arguments, "--insecure-test-link", log=tmp_path / "cairn.log") as program:
            await program.wait_for_line("advertises for", 40)
            assert len(re.findall(r"the stream to netsim at \S+ broke", program.log)) == cuts
            async with Phone.on(room.phone.port) as phone:
                await echo_a_message(phone)
        server.close()
        assert room.watch.controller.refused == []


async def test_a_netsim_that_is_slow(tmp_path: Path) -> None:
    """d: netsim takes one message in a tenth of a second: the watch starts all the same, and a phone has its message echoed."""
    async with controllers() as room, netsim_over(room.watch, pause=0.1) as netsim:
        async with (
            cairn_on(netsim.address, tmp_path, "--insecure-test-link"),
            Phone.on(room.phone.port) as phone,
        ):
            await echo_a_message(phone)


async def test_garbage_is_left_out(tmp_path: Path) -> None:
    """d: messages that hold no packet are counted and left out; the watch stays up."""

    async def behavior(_: Any, context: grpc.aio.ServicerContext) -> None:
        await context.read()
        await context.write(PacketResponse(hci_packet=HCIPacket(packet_type=4, packet=b"\x0e\xff\x01")))
        await context.write(PacketResponse(hci_packet=HCIPacket(packet_type=9, packet=b"\xde\xad")))
        await context.write(PacketResponse())
        await context.write(PacketResponse(packet=b"raw"))
        await context.write(PacketResponse(hci_packet=HCIPacket(packet_type=4, packet=bytes(1 << 20))))
        # A packet that is whole wakes the watch, which ignores it: an event of the manufacturer's.
        await context.write(PacketResponse(hci_packet=HCIPacket(packet_type=4, packet=b"\xff\x01\x00")))
        while await context.read() is not grpc.aio.EOF:
            pass

    async with misbehaving(behavior) as port:
        arguments = ("run", "--controller", f"netsim:127.0.0.1:{port}", "--controller-lost", "retry")
        async with cairn.running(*arguments, log=tmp_path / "cairn.log") as program:
            await program.wait_for_line(r"skipped \d+ bytes that begin no HCI packet: 0e ?ff ?01", 20)


async def test_another_version(tmp_path: Path) -> None:
    """d: a gRPC server without the service."""
    async with controllers() as room, emulator_over(room.watch) as port:
        command = [str(cairn.binary()), "run", "--controller", f"netsim:127.0.0.1:{port}"]
        program = await Program.start(command, tmp_path / "cairn.log")
        try:
            await program.wait_for_line("has no service netsim.packet.PacketStreamer", 20)
            assert await program.wait_for_exit(10) in (UNAVAILABLE, 74)
        finally:
            program.kill()


async def test_no_grpc_at_all(tmp_path: Path) -> None:
    """d: what answers is a server of something else."""

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n" * 20)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    command = [str(cairn.binary()), "run", "--controller", f"netsim:127.0.0.1:{port}"]
    program = await Program.start(command, tmp_path / "cairn.log")
    try:
        await program.wait_for_line(r"cairn: .*netsim:127\.0\.0\.1", 20)
        assert await program.wait_for_exit(10) in (UNAVAILABLE, 74)
    finally:
        program.kill()
        server.close()


async def test_a_netsim_that_does_not_read(tmp_path: Path) -> None:
    """d: netsim takes nothing, and the watch says that the controller is silent."""

    async def behavior(_: Any, context: grpc.aio.ServicerContext) -> None:
        await context.read()
        await asyncio.Event().wait()

    async with misbehaving(behavior) as port:
        arguments = ("run", "--controller", f"netsim:127.0.0.1:{port}", "--controller-lost", "retry")
        async with cairn.running(*arguments, log=tmp_path / "cairn.log") as program:
            await program.wait_for_line("connected to the controller at netsim", 20)
            await program.wait_for_line("cannot use the controller at netsim.*", 40)


async def test_a_watch_that_does_not_read(tmp_path: Path) -> None:
    """d: the watch stands still while netsim has more and more for it: the program between them stops reading, and does not grow."""
    packet = PacketResponse(hci_packet=HCIPacket(packet_type=4, packet=b"\xff\xff" + bytes(255)))
    streams: asyncio.Queue[grpc.aio.ServicerContext] = asyncio.Queue()

    async def behavior(_: Any, context: grpc.aio.ServicerContext) -> None:
        await context.read()
        streams.put_nowait(context)
        await asyncio.Event().wait()

    async with misbehaving(behavior) as port:
        arguments = ("run", "--controller", f"netsim:127.0.0.1:{port}", "--controller-lost", "retry")
        async with cairn.running(*arguments, log=tmp_path / "cairn.log") as program:
            await program.wait_for_line("connected to the controller at netsim", 20)
            stream = await within(10, "the stream", streams.get())
            (helper,) = children(program)
            os.kill(program.process_id, signal.SIGSTOP)
            try:
                before = Footprint.of(helper)
                taken = await fill(lambda: stream.write(packet))
                after = Footprint.of(helper)
            finally:
                os.kill(program.process_id, signal.SIGCONT)
            print(f"took {taken} packets; {before} before, {after} after")
            assert after.anonymous_kilobytes - before.anonymous_kilobytes < GROWTH_LIMIT
            await program.wait_for_line("cannot use the controller at netsim.*", 40)


async def fill(write: Callable[[], Awaitable[Any]]) -> int:
    """Writes until nothing more is taken for two seconds.

    Returns: how many messages were taken."""
    for count in range(MESSAGE_LIMIT):
        try:
            async with asyncio.timeout(2):
                await write()
        except TimeoutError:
            return count
    raise AssertionError(f"{MESSAGE_LIMIT} messages were taken, and nobody reads")


# Where a netsim is


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "no netsim is announced: there is no netsim.ini in"),
        ("web.port=7681\n", "names no port"),
        ("grpc.port=70000\n", "names no port"),
        ("\x00\xff" * 3000, "names no port"),
        ("stale", "is stale: it names port"),
    ],
)
def test_netsim_ini(content: str | None, text: str, announced: Path, tmp_path: Path) -> None:
    """e: what is wrong with the file is told, with its path."""
    if content == "stale":
        content = f"grpc.port={free_port()}\n"
    if content is not None:
        (announced / "netsim.ini").write_text(content, encoding="latin-1")
    result = subprocess.run(
        [str(cairn.binary()), "run", "--controller", "netsim"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == UNAVAILABLE
    assert text in result.stderr and str(announced) in result.stderr, result.stderr
    if content is not None:
        listed = subprocess.run(
            [str(cairn.binary()), "adapters"], capture_output=True, text=True, timeout=60, check=False
        )
        assert text in listed.stdout and str(announced) in listed.stdout


# A netsim that is Cairn's air


@contextlib.asynccontextmanager
async def air(folder: Path, *arguments: str) -> AsyncIterator[tuple[Program, int]]:
    async with cairn.running("air", "--netsim", "0", *arguments, log=folder / "air.log") as program:
        line = await program.wait_for_line(r"netsim for emulators at 127\.0\.0\.1:(\d+)", 20)
        if "--announce" in arguments:
            await program.wait_for_line(r"announced in \S+/netsim\.ini", 10)
        yield program, int(line[1])


async def test_phone_and_watch_on_cairns_netsim(tmp_path: Path, announced: Path) -> None:
    """f: the air announces itself; a watch finds it, a Bumble phone joins, and they connect, pair and exchange AppMessages."""
    async with air(tmp_path, "--announce") as (program, port):
        assert (announced / "netsim.ini").read_text() == f"grpc.port={port}\n"
        async with (
            cairn_on("netsim", tmp_path, "--state", str(tmp_path / "state")),
            Phone.on(f"127.0.0.1:{port},name=pixel", pairs=pairing(Person())) as phone,
        ):
            await program.wait_for_line("pixel is on the air", 10)
            # The hosts of phones want BR/EDR.
            assert phone.device.host.supports_command(hci.HCI_READ_LOCAL_EXTENDED_FEATURES_COMMAND)
            await echo_a_message(phone, pair=True)
        await program.wait_for_line("pixel is off the air: it ended its stream", 10)
        await program.wait_for_line("cairn is off the air: it ended its stream", 10)
    assert not (announced / "netsim.ini").exists()
    assert list(announced.iterdir()) == []


async def test_a_megabyte_through_cairns_netsim(tmp_path: Path) -> None:
    """f: 1 MB each way, both sides on streams."""
    async with air(tmp_path) as (_, port):
        async with (
            cairn_on(f"netsim:127.0.0.1:{port}", tmp_path, *LOOPBACK, log_level="info") as program,
            Phone.on(f"127.0.0.1:{port},name=pixel") as phone,
        ):
            await megabyte(phone, program)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("client", KINDS)
async def test_each_client_on_cairns_netsim(client: str, tmp_path: Path) -> None:
    """h: each client that Pebbles meet, with the first personality that serves it, in every situation of the matrix."""
    promise = next(each for each in promises() if each.client == client and each.works)
    for situations in (list(SITUATIONS[:-1]), [LOSSY]):
        folder = tmp_path / situations[0].replace(" ", "-")
        folder.mkdir()
        story = Story(promise, folder, on_netsim=True)
        await story.tell(situations)
        for situation in situations:
            outcome = story.outcomes.get(situation) or Outcome(failure=story.not_reached())
            print(f"{promise.personality}, {client}, {situation}: {outcome.seconds:.1f} s")
            if outcome.failure is not None:
                raise outcome.failure


async def test_enhanced_bearers_on_cairns_netsim(tmp_path: Path) -> None:
    """i: the watch opens three enhanced bearers with a phone that has them, and the phone opens none more, since there is room for no other."""
    async with air(tmp_path) as (_, port):
        async with (
            cairn_on(f"netsim:127.0.0.1:{port}", tmp_path, "--enhanced-bearers", "3") as program,
            Phone.on(f"127.0.0.1:{port},name=pixel", enhanced_bearers=True) as phone,
        ):
            phone.host_ppogatt()
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            await program.wait_for_line("enhanced bearer 3, with an MTU of", 20)
            database = await watch.discover(attribute_by_attribute=False)
            assert len(database.services) > 3
            await watch.disconnect()


async def test_a_phone_that_subrates_and_classifies_channels(tmp_path: Path) -> None:
    """i: the phone has the link meet at one event in four, on nine channels; the watch says what the phone has set, and AppMessages pass."""
    async with air(tmp_path) as (_, port):
        async with (
            cairn_on(f"netsim:127.0.0.1:{port}", tmp_path, "--insecure-test-link") as program,
            Phone.on(f"127.0.0.1:{port},name=pixel") as phone,
        ):
            host = phone.device.host
            bit = hci.LeFeature.CONNECTION_SUBRATING_HOST_SUPPORT
            await host.send_sync_command(hci.HCI_LE_Set_Host_Feature_Command(bit_number=bit, bit_value=1))
            watch = await phone.connect(ADDRESS)
            features = await within(10, "the watch's features", watch.connection.get_remote_le_features())
            assert features & hci.LeFeatureMask.CONNECTION_SUBRATING_HOST_SUPPORT
            subrated = watch.connection.update_subrate(
                subrate_min=4, subrate_max=4, max_latency=0, continuation_number=2, supervision_timeout=6000
            )
            await within(10, "the subrating", subrated)
            await program.wait_for_line("subrate factor 4, continuation number 2", 10)
            assert watch.connection.parameters.subrate_factor == 4
            nine = DATA_CHANNELS.to_bytes(5, "little")
            classify = hci.HCI_Command(nine, op_code=hci.HCI_LE_SET_HOST_CHANNEL_CLASSIFICATION_COMMAND)
            assert (await host.send_sync_command_raw(classify)).parameters[-1] == 0
            database = await watch.discover(attribute_by_attribute=False)
            _, session = await watch.open_reversed(database)
            session.send(AppRunState(data=AppRunStateStart(uuid=companion.ECHO_APP)))
            push = companion.push(1, [companion.string(1, "one event in four")])
            session.send(push)
            await companion.expect_ack_and_echo(session, push)
            read = hci.HCI_Command(
                struct.pack("<H", watch.connection.handle), op_code=hci.HCI_LE_READ_CHANNEL_MAP_COMMAND
            )

            async def changed() -> None:
                while (await host.send_sync_command_raw(read)).parameters[-5:] != nine:
                    await asyncio.sleep(0.05)

            # Both sides change their channels at an event to come.
            await within(10, "the nine channels", changed())
            # Other parameters end subrating.
            position = len(program.lines)
            update = watch.connection.update_parameters(30, 30, 0, 6000)
            await within(10, "other parameters", update)
            line = await program.wait_for_line(r"the phone set interval .*", 10, after=position)
            assert "subrate" not in line[0], line[0]
            await watch.disconnect()


async def test_streams_that_make_no_sense(tmp_path: Path) -> None:
    """g: each wrong stream is answered with why, and ends; the air stays."""

    async def first_answer(*requests: PacketRequest) -> str:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = PacketStreamerStub(channel).StreamPackets()
            for request in requests:
                await call.write(request)
            while (answer := await within(10, "an answer", call.read())) is not grpc.aio.EOF:
                if answer.WhichOneof("response_type") == "error":
                    return str(answer.error)
            return "nothing"

    def info(kind: int = ChipKind.BLUETOOTH, name: str = "odd") -> PacketRequest:
        return PacketRequest(initial_info=ChipInfo(name=name, chip=Chip(kind=kind)))

    def packet(kind: int, data: bytes) -> PacketRequest:
        return PacketRequest(hci_packet=HCIPacket(packet_type=kind, packet=data))

    async with air(tmp_path) as (program, port):
        assert "initial_info" in await first_answer(packet(1, b"\x03\x0c\x00"))
        assert "Bluetooth chips only" in await first_answer(info(ChipKind.WIFI))
        assert "no HCI packet" in await first_answer(info(), packet(9, b"\x00"))
        assert "no HCI packet" in await first_answer(info(), packet(1, b"\x03\x0c\x05"))
        assert "no HCI packet" in await first_answer(info(), PacketRequest(packet=b"raw"))
        assert "no HCI packet" in await first_answer(info(), info())
        # Two of one name each have a controller.
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            calls = [PacketStreamerStub(channel).StreamPackets() for _ in range(2)]
            for call in calls:
                await call.write(info(name="twin"))
                await call.write(packet(1, b"\x03\x0c\x00"))
                answer = await within(10, "the answer to Reset", call.read())
                assert bytes(answer.hci_packet.packet) == bytes.fromhex("0e0401030c00")
        assert re.search("twin is on the air", program.log)


async def test_a_device_that_does_not_read(tmp_path: Path) -> None:
    """g: a device asks more and more, and takes no answer: neither program grows, what is left out is said without a flood of lines,
    others are served, and the device gets whole answers when it reads."""
    request = PacketRequest(hci_packet=HCIPacket(packet_type=1, packet=b"\x02\x10\x00"))
    count = 60_000

    async with air(tmp_path) as (program, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = PacketStreamerStub(channel).StreamPackets()
        await call.write(PacketRequest(initial_info=ChipInfo(name="deaf", chip=Chip(kind=ChipKind.BLUETOOTH))))
        await program.wait_for_line("deaf is on the air", 10)
        (helper,) = children(program)
        processes = (program.process_id, helper)
        # A burst of commands takes some 30 MB, for as long as the allocator likes; what a program keeps is the least that it has.
        # The first third fills what gRPC and the allocator keep for good.
        least = [[1 << 40] * len(processes) for _ in range(3)]
        for number in range(count):
            await within(20, "a command to be taken", call.write(request))
            if number % 500 == 0:
                third = least[number * len(least) // count]
                third[:] = [min(each, Footprint.of(process).anonymous_kilobytes) for each, process in zip(third, processes, strict=True)]

        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as another:
            other = PacketStreamerStub(another).StreamPackets()
            await other.write(PacketRequest(initial_info=ChipInfo(name="keen", chip=Chip(kind=ChipKind.BLUETOOTH))))
            await other.write(PacketRequest(hci_packet=HCIPacket(packet_type=1, packet=b"\x03\x0c\x00")))
            assert (await within(10, "an answer to another", other.read())).hci_packet.packet_type == 4
        print(f"at least {least} kB in each third of {count} commands; {len(program.lines)} lines of log")
        for middle, last in zip(*least[1:], strict=True):
            assert last - middle < GROWTH_LIMIT // 4

        await call.done_writing()
        answers = 0
        while (answer := await within(10, "an answer, or the end", call.read())) is not grpc.aio.EOF:
            assert bytes(answer.hci_packet.packet[:6]) == bytes.fromhex("0e4401021000"), answers
            answers += 1
        print(f"{answers} answers")
        assert 1024 <= answers <= count
        await program.wait_for_line("packet dropped: command while 1024 packets wait for the host", 10)
        assert len(program.lines) < 100


async def test_too_many_devices(tmp_path: Path) -> None:
    """g: the air has 16 controllers for guests; the next device is told."""
    async with air(tmp_path) as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        calls = []
        for number in range(17):
            call = PacketStreamerStub(channel).StreamPackets()
            calls.append(call)
            await call.write(PacketRequest(initial_info=ChipInfo(name=f"d{number}", chip=Chip(kind=ChipKind.BLUETOOTH))))
            await call.write(PacketRequest(hci_packet=HCIPacket(packet_type=1, packet=b"\x03\x0c\x00")))
            answer = await within(10, "an answer", call.read())
            assert answer.WhichOneof("response_type") == ("error" if number == 16 else "hci_packet")


async def test_the_netsim_of_an_air_is_killed(tmp_path: Path) -> None:
    """g: the program that answers emulators is killed: it is started again, at the same port."""
    async with air(tmp_path) as (program, port):
        (helper,) = children(program)
        os.kill(helper, signal.SIGKILL)
        await program.wait_for_line("does not answer: the program cairn-netsim was ended by signal 9", 10)
        await program.wait_for_line("answers again", 10)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = PacketStreamerStub(channel).StreamPackets()
            await call.write(PacketRequest(initial_info=ChipInfo(name="late", chip=Chip(kind=ChipKind.BLUETOOTH))))
            await call.write(PacketRequest(hci_packet=HCIPacket(packet_type=1, packet=b"\x03\x0c\x00")))
            assert (await within(10, "an answer", call.read())).hci_packet.packet_type == 4


async def test_two_netsims_of_one_instance(tmp_path: Path, announced: Path) -> None:
    """g: the second is told that the first runs; a stale file is replaced."""
    (announced / "netsim.ini").write_text(f"grpc.port={free_port()}\n")
    async with air(tmp_path, "--announce") as (_, port):
        assert (announced / "netsim.ini").read_text() == f"grpc.port={port}\n"
        second = subprocess.run(
            [str(cairn.binary()), "air", "--netsim", "0", "--announce"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 73
        assert f"another netsim runs at port {port}" in second.stderr
        assert (announced / "netsim.ini").read_text() == f"grpc.port={port}\n"
