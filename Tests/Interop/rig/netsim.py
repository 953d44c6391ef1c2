"""Netsim, played by others: gRPC servers in front of Bumble's controllers, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from bumble.transport.grpc_protobuf.emulated_bluetooth_packets_pb2 import HCIPacket as EmulatorPacket
from bumble.transport.grpc_protobuf.emulated_bluetooth_pb2_grpc import (
    EmulatedBluetoothServiceServicer,
    add_EmulatedBluetoothServiceServicer_to_server,
)
from bumble.transport.grpc_protobuf.netsim.hci_packet_pb2 import HCIPacket
from bumble.transport.grpc_protobuf.netsim.packet_streamer_pb2 import PacketResponse
from bumble.transport.grpc_protobuf.netsim.packet_streamer_pb2_grpc import (
    PacketStreamerServicer,
    add_PacketStreamerServicer_to_server,
)
from google.protobuf.message import Message

from .controllers import HostPort, VirtualController

#: What a server does with a stream: it gets the requests and what sends responses.
Behavior = Callable[[Any, grpc.aio.ServicerContext], Awaitable[None]]


@dataclass
class Netsim:
    """A gRPC server with the service of netsim, and what came in."""

    port: int
    #: The first message of each stream.
    infos: list[Message] = field(default_factory=list)
    streams: list[grpc.aio.ServicerContext] = field(default_factory=list)
    cuts: list[asyncio.Event] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"netsim:127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Ends the streams that there are."""
        for event in self.cuts:
            event.set()
        self.cuts.clear()


class Streamer(PacketStreamerServicer):
    """Netsim's service, which does with each stream what a test says."""

    def __init__(self, behavior: Behavior) -> None:
        self._behavior = behavior

    async def StreamPackets(self, requests: Any, context: grpc.aio.ServicerContext) -> None:
        await self._behavior(requests, context)


@contextlib.asynccontextmanager
async def misbehaving(behavior: Behavior) -> AsyncIterator[int]:
    """A server that does with each stream what `behavior` does. Yields its port."""
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    add_PacketStreamerServicer_to_server(Streamer(behavior), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0.2)


async def _carry(
    controller: VirtualController,
    first: Message | None,
    read: Callable[[], Awaitable[Any]],
    packet_of: Callable[[Any], bytes],
    write: Callable[[bytes], Awaitable[None]],
    cut: asyncio.Event,
) -> None:
    """Carries packets between a stream and one of Bumble's controllers, until the stream ends or is cut."""
    outbound: asyncio.Queue[bytes] = asyncio.Queue()

    class Sink:
        def on_packet(self, packet: bytes) -> None:
            outbound.put_nowait(packet)

    controller.host = Sink()

    async def receive() -> None:
        while (request := await read()) is not grpc.aio.EOF:
            controller.on_packet(packet_of(request))

    async def send() -> None:
        while True:
            await write(await outbound.get())

    tasks = [asyncio.ensure_future(each) for each in (receive(), send(), cut.wait())]
    try:
        if first is not None:
            controller.on_packet(packet_of(first))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        controller.power_cycle()


@contextlib.asynccontextmanager
async def netsim_over(port: HostPort, *, pause: float = 0) -> AsyncIterator[Netsim]:
    """A netsim that has one chip: a controller of Bumble's. `pause`: the seconds that it takes before each message."""
    netsim = Netsim(0)

    async def behavior(_: Any, context: grpc.aio.ServicerContext) -> None:
        netsim.infos.append(await context.read())
        cut = asyncio.Event()
        netsim.cuts.append(cut)

        async def read() -> Any:
            await asyncio.sleep(pause)
            return await context.read()

        await _carry(
            port.controller,
            None,
            read,
            lambda request: bytes([request.hci_packet.packet_type]) + request.hci_packet.packet,
            lambda packet: context.write(
                PacketResponse(hci_packet=HCIPacket(packet_type=packet[0], packet=packet[1:]))
            ),
            cut,
        )

    async with misbehaving(behavior) as netsim.port:
        yield netsim


@contextlib.asynccontextmanager
async def emulator_over(port: HostPort) -> AsyncIterator[int]:
    """An emulator's own, older service in front of a controller of Bumble's. Yields its port."""

    class Service(EmulatedBluetoothServiceServicer):
        async def registerHCIDevice(self, requests: Any, context: grpc.aio.ServicerContext) -> None:
            del requests
            await _carry(
                port.controller,
                None,
                context.read,
                lambda request: bytes([request.type]) + request.packet,
                lambda packet: context.write(EmulatorPacket(type=packet[0], packet=packet[1:])),
                asyncio.Event(),
            )

    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    add_EmulatedBluetoothServiceServicer_to_server(Service(), server)
    number = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield number
    finally:
        await server.stop(0.2)
