"""PPoGATT through bluetoothd: what `rig.ppogatt` needs to talk to the watch's own service, or from one of the phone's."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable

from rig.pebble import PebbleSession
from rig.ppogatt import PhoneTransport

from dbus_fast import Message, Variant

from .bluez import CHARACTERISTIC, OBJECTS, SERVICE, BlueZ, Characteristic
from .uuids import PPOGATT_DATA, PPOGATT_META, PPOGATT_SERVICE

#: Of a PPoGATT packet in a value: the opcode and the handle are not part of it, and a value has no more than 512 octets.
VALUE_OVERHEAD = 3
MAXIMUM_VALUE = 512
#: libpebble3's meta value: PPoGATT 0 to 1, system UUID, hybrid session (watch-over-BLE section 4.3).
META = bytes([0, 1]) + bytes(16) + bytes([1])
#: A watch has to be told of the service, and to discover it.
OPEN_SECONDS = 60
GATT_MANAGER = "org.bluez.GattManager1"


class ReversedChannel:
    """Reversed PPoGATT: the service is the watch's. bluetoothd gives a socket for each direction."""

    def __init__(self, notifications: int, writes: int, mtu: int) -> None:
        self.on_packet: Callable[[bytes], None] = lambda _: None
        self.maximum_packet = min(mtu - VALUE_OVERHEAD, MAXIMUM_VALUE)
        self._incoming = socket.socket(fileno=notifications)
        self._outgoing = socket.socket(fileno=writes)
        self._incoming.setblocking(False)
        asyncio.get_running_loop().add_reader(self._incoming, self._receive)

    @classmethod
    async def on(cls, data: Characteristic, write: Characteristic) -> ReversedChannel:
        notifications, mtu = await data.acquire("AcquireNotify")
        writes, _ = await write.acquire("AcquireWrite")
        return cls(notifications, writes, mtu)

    def send(self, packet: bytes) -> None:
        self._outgoing.send(packet)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._incoming)
        self._incoming.close()
        self._outgoing.close()

    def _receive(self) -> None:
        try:
            packet = self._incoming.recv(MAXIMUM_VALUE)
        except BlockingIOError:
            return
        if packet:
            self.on_packet(packet)
        else:
            asyncio.get_running_loop().remove_reader(self._incoming)


@contextlib.asynccontextmanager
async def reversed_session(data: Characteristic, write: Characteristic) -> AsyncIterator[tuple[PhoneTransport, PebbleSession]]:
    """A session over the watch's own service, as long as the block."""
    channel = await ReversedChannel.on(data, write)
    try:
        transport = PhoneTransport(channel, reversed_roles=True)
        session = PebbleSession(transport)
        transport.start()
        await transport.opened()
        yield transport, session
        transport.close("the app has ended")
    finally:
        channel.close()


class ForwardChannel:
    """Forward PPoGATT: the service is the phone's, and bluetoothd serves it for us."""

    APPLICATION = "/cairn/application"
    SERVICE_PATH = APPLICATION + "/service"
    DATA_PATH = SERVICE_PATH + "/data"
    META_PATH = SERVICE_PATH + "/meta"

    def __init__(self, bluez: BlueZ) -> None:
        self.on_packet: Callable[[bytes], None] = lambda _: None
        #: Until the watch has read meta, neither side knows better.
        self.maximum_packet = 20
        self._bluez = bluez
        bluez.hosts[self.APPLICATION] = self._describe
        bluez.hosts[self.DATA_PATH] = self._data
        bluez.hosts[self.META_PATH] = self._meta

    async def register(self, adapter: str) -> None:
        await self._bluez.call(adapter, GATT_MANAGER, "RegisterApplication", "oa{sv}", self.APPLICATION, {})

    async def unregister(self, adapter: str) -> None:
        await self._bluez.call(adapter, GATT_MANAGER, "UnregisterApplication", "o", self.APPLICATION)

    def send(self, packet: bytes) -> None:
        self._bluez.emit_value(self.DATA_PATH, packet)

    def _describe(self, message: Message) -> Message | None:
        if message.interface != OBJECTS:
            return None

        def characteristic(uuid: str, *flags: str) -> dict[str, dict[str, Variant]]:
            service = Variant("o", self.SERVICE_PATH)
            return {
                CHARACTERISTIC: {"UUID": Variant("s", uuid), "Service": service, "Flags": Variant("as", list(flags))}
            }

        service = {SERVICE: {"UUID": Variant("s", PPOGATT_SERVICE), "Primary": Variant("b", True)}}
        objects = {
            self.SERVICE_PATH: service,
            self.DATA_PATH: characteristic(PPOGATT_DATA, "write-without-response", "notify"),
            self.META_PATH: characteristic(PPOGATT_META, "read"),
        }
        return Message.new_method_return(message, "a{oa{sa{sv}}}", [objects])

    def _meta(self, message: Message) -> Message:
        self.maximum_packet = min(message.body[0]["mtu"].value - VALUE_OVERHEAD, MAXIMUM_VALUE)
        return Message.new_method_return(message, "ay", [META])

    def _data(self, message: Message) -> Message:
        if message.member == "WriteValue":
            # After the answer: what the packet brings about may be sent at once.
            asyncio.get_running_loop().call_soon(self.on_packet, bytes(message.body[0]))
        return Message.new_method_return(message)


@contextlib.asynccontextmanager
async def forward_session(bluez: BlueZ, adapter: str) -> AsyncIterator[tuple[PhoneTransport, PebbleSession]]:
    """A session over a service of the phone's, which the watch has to find; the service goes with the block's end."""
    channel = ForwardChannel(bluez)
    transport = PhoneTransport(channel)
    session = PebbleSession(transport)
    transport.start()
    await channel.register(adapter)
    await transport.opened(OPEN_SECONDS)
    yield transport, session
    transport.close("the app has ended")
    await channel.unregister(adapter)
