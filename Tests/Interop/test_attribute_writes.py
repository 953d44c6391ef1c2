"""Writes in every way that the Attribute Protocol has, by a phone that is not paired: each is done or refused, and the link
answers afterwards. Raw PDUs, since Bumble's client sends only valid ones."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator

import pytest
from bumble import att
from bumble.core import UUID
from conftest import Rig, on_rigs
from rig import gatt as uuids
from rig.phone import Characteristic, Database, Phone, WatchLink

#: Error codes of the Attribute Protocol.
WRITE_NOT_PERMITTED = 0x03
REQUEST_NOT_SUPPORTED = 0x06
INVALID_OFFSET = 0x07


class RawATT:
    """Requests as bytes, and the one response to each."""

    def __init__(self, watch: WatchLink) -> None:
        self.watch = watch

    async def request(self, pdu: bytes) -> bytes:
        response = await self.watch.client.send_request(att.ATT_PDU.from_bytes(pdu))
        return bytes(response)

    async def prepare(self, handle: int, offset: int, value: bytes) -> bytes:
        return await self.request(struct.pack("<BHH", 0x16, handle, offset) + value)

    async def execute(self) -> bytes:
        return await self.request(bytes([0x18, 0x01]))

    async def command(self, pdu: bytes) -> None:
        await self.watch.client.send_command(att.ATT_PDU.from_bytes(pdu))

    async def is_alive(self) -> bool:
        """The link answers a discovery."""
        return (await self.request(bytes.fromhex("10 0100 ffff 0028")))[0] == 0x11


@pytest.fixture
async def link(rig: Rig) -> AsyncIterator[tuple[RawATT, Database]]:
    async with Phone.on(rig.phone_port) as phone:
        watch = await phone.connect(rig.watch_address)
        database = await watch.discover()
        yield RawATT(watch), database
        await watch.disconnect()


def error(request: int, handle: int, code: int) -> bytes:
    return struct.pack("<BBHB", 0x01, request, handle, code)


def cccd(characteristic: Characteristic) -> int:
    return next(each.handle for each in characteristic.descriptors if each.type == uuids.CCCD)


@on_rigs("cairn")
async def test_a_queued_write_reaches_the_service(link: tuple[RawATT, Database]) -> None:
    """Trigger Pairing takes a queued write as it takes a Write Request, from any phone; the response is never missing."""
    raw, database = link
    trigger = database.characteristic(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING).handle
    for _ in range(3):
        assert await raw.prepare(trigger, 0, b"\0") == struct.pack("<BHH", 0x17, trigger, 0) + b"\0"
        assert await raw.execute() == b"\x19"
        assert await raw.is_alive()
    # A value that only the service knows cannot be written from an offset.
    await raw.prepare(trigger, 3, b"\0")
    assert await raw.execute() == error(0x18, trigger, INVALID_OFFSET)
    assert await raw.execute() == b"\x19"
    assert await raw.is_alive()


@on_rigs("cairn")
async def test_several_values_are_not_written_together(link: tuple[RawATT, Database]) -> None:
    """None of the watch's characteristics has Reliable Write."""
    raw, database = link
    trigger = database.characteristic(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING).handle
    configuration = cccd(database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTION_PARAMETERS))
    await raw.prepare(trigger, 0, b"\0")
    await raw.prepare(configuration, 0, b"\1\0")
    assert await raw.execute() == error(0x18, trigger, REQUEST_NOT_SUPPORTED)
    assert await raw.watch.read(configuration) == b"\0\0"
    assert await raw.is_alive()


@on_rigs("cairn")
@pytest.mark.parametrize("way", ["request", "queue", "command"])
@pytest.mark.parametrize("uuid", [uuids.PAIRING_MTU, uuids.CONNECTIVITY], ids=["mtu", "connectivity"])
async def test_a_subscription_is_answered_by_its_service(
    link: tuple[RawATT, Database], uuid: UUID, way: str
) -> None:
    """Whichever way a phone subscribes, the service hears of it and notifies at once, in front of any response."""
    raw, database = link
    value = database.characteristic(uuids.PAIRING_SERVICE, uuid)
    configuration = cccd(value)
    values = raw.watch.listen(value.handle)
    match way:
        case "request":
            assert await raw.request(struct.pack("<BHH", 0x12, configuration, 1)) == b"\x13"
        case "queue":
            await raw.prepare(configuration, 0, b"\1")
            await raw.prepare(configuration, 1, b"\0")
            assert await raw.execute() == b"\x19"
        case "command":
            await raw.command(struct.pack("<BHH", 0x52, configuration, 1))
    assert await values.take(5, "the first notification")
    assert await raw.watch.read(configuration) == b"\1\0"
    assert await raw.is_alive()


@on_rigs("cairn")
async def test_each_procedure_needs_its_property(link: tuple[RawATT, Database]) -> None:
    """What has Write takes no commands; what has Write Without Response takes no requests; nothing takes signed writes."""
    raw, database = link
    trigger = database.characteristic(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING)
    assert "WRITE_WITHOUT_RESPONSE" not in str(trigger.properties)
    await raw.command(struct.pack("<BHB", 0x52, trigger.handle, 1))
    await raw.command(struct.pack("<BHB12x", 0xD2, trigger.handle, 1))
    assert await raw.is_alive()
    assert raw.watch.security_requests.waiting == [], "neither command was carried out"

    data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE).handle
    assert await raw.request(struct.pack("<BHB", 0x12, data, 0)) == error(0x12, data, WRITE_NOT_PERMITTED)
    assert await raw.prepare(data, 0, b"\0") == error(0x16, data, WRITE_NOT_PERMITTED)
    connectivity = database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY).handle
    assert await raw.request(struct.pack("<BHB", 0x12, connectivity, 0)) == error(0x12, connectivity, WRITE_NOT_PERMITTED)
    assert await raw.is_alive()
