"""First light: a phone finds the watch, connects, opens the Pebble transport and exchanges AppMessages.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import re

import pytest
from bumble import att, gatt
from bumble.core import UUID
from conftest import Rig, on_rigs
from rig import capture, companion, vectors
from rig import gatt as uuids
from rig.pebble import PebbleSession, unexpected
from rig.phone import (
    META_IOS,
    META_VERSION_0,
    Database,
    ForwardChannel,
    Phone,
    WatchLink,
)
from rig.ppogatt import PhoneTransport, State, Statistics

PHONE_MTU = 517

Properties = gatt.Characteristic.Properties

#: The services in the order of the real watch's database, with the characteristics that a phone counts on and their
#: properties (watch-over-BLE sections 3.1, 3.3, 3.8 and 3.9).
SERVICES: dict[UUID, dict[UUID, Properties]] = {
    uuids.GAP_SERVICE: {uuids.DEVICE_NAME: Properties.READ, uuids.APPEARANCE: Properties.READ},
    uuids.GATT_SERVICE: {},
    uuids.DEVICE_INFORMATION: {
        uuids.MANUFACTURER_NAME: Properties.READ,
        uuids.MODEL_NUMBER: Properties.READ,
        uuids.SERIAL_NUMBER: Properties.READ,
        uuids.FIRMWARE_REVISION: Properties.READ,
        uuids.SOFTWARE_REVISION: Properties.READ,
    },
    uuids.PAIRING_SERVICE: {
        uuids.CONNECTIVITY: Properties.READ | Properties.NOTIFY,
        uuids.TRIGGER_PAIRING: Properties.READ | Properties.WRITE,
    },
    uuids.BATTERY_SERVICE: {uuids.BATTERY_LEVEL: Properties.READ | Properties.NOTIFY},
    uuids.REVERSED_SERVICE: {
        uuids.REVERSED_DATA: Properties.NOTIFY,
        uuids.REVERSED_WRITE: Properties.WRITE_WITHOUT_RESPONSE,
    },
    uuids.STREAM_SERVICE: {uuids.PUBLISHED_PSM: Properties.READ},
}


def advertisement(name: str) -> bytes:
    """The discovery advertisement without its last byte, the TX power, which means nothing (section 1.2)."""
    text = name.encode()
    return bytes.fromhex("020106 0303d9fe") + bytes([len(text) + 1, 0x09]) + text + b"\x02\x0a"


def check_structure(database: Database) -> None:
    """The two ways to discover a database agree, and handles and services are in the real watch's order."""
    grouped: dict[int, UUID] = {}
    for service in database.services:
        grouped[service.start] = gatt.GATT_PRIMARY_SERVICE_ATTRIBUTE_TYPE
        for characteristic in service.characteristics:
            grouped[characteristic.declaration] = gatt.GATT_CHARACTERISTIC_ATTRIBUTE_TYPE
            grouped[characteristic.handle] = characteristic.uuid
            grouped.update({each.handle: each.type for each in characteristic.descriptors})
        assert max(handle for handle in grouped) == service.end
    assert grouped == {each.handle: each.type for each in database.attributes}
    assert sorted(grouped) == list(range(1, len(grouped) + 1))
    assert [service.uuid for service in database.services] == list(SERVICES)


def check_content(database: Database, name: str) -> None:
    """The characteristics that phones count on are there, and say what a watch says that has never been paired."""
    for service, characteristics in SERVICES.items():
        for uuid, properties in characteristics.items():
            characteristic = database.characteristic(service, uuid)
            assert characteristic.properties == properties, characteristic
            has_cccd = uuids.CCCD in [each.type for each in characteristic.descriptors]
            assert has_cccd == bool(properties & Properties.NOTIFY), characteristic

    def value(service: UUID, uuid: UUID) -> bytes | None:
        return database.characteristic(service, uuid).value

    assert value(uuids.GAP_SERVICE, uuids.DEVICE_NAME) == name.encode()
    assert value(uuids.DEVICE_INFORMATION, uuids.MANUFACTURER_NAME) == b"Core Devices LLC"
    assert re.fullmatch(rb"[0-9A-Z]{12}", value(uuids.DEVICE_INFORMATION, uuids.SERIAL_NUMBER))
    assert re.fullmatch(rb"v\d+\.\d+\.\d+\S*", value(uuids.DEVICE_INFORMATION, uuids.FIRMWARE_REVISION))
    fresh = vectors.over_the_air("pps_conn_unpaired_fresh")
    assert value(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY) == fresh
    (level,) = value(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
    assert level <= 100


@on_rigs("self-test", "self-test-legacy", "cairn", "cairn-legacy", "cairn-air")
async def test_discovery(rig: Rig) -> None:
    """b, e: the exact advertisement, a connection, MTU 517, the whole database, and every readable value."""
    async with Phone.on(rig.phone_port) as phone:
        report = await phone.scan(rig.watch_address)
        assert report.is_connectable
        assert report.data[:-1] == advertisement(rig.watch_name)

        watch = await phone.connect(rig.watch_address)
        assert await watch.exchange_mtu(PHONE_MTU) == PHONE_MTU
        database = await watch.discover()
        check_structure(database)
        await watch.read_all(database)
        check_content(database, rig.watch_name)

        data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
        with pytest.raises(att.ATT_Error) as refusal:
            await watch.read(data.handle)
        assert refusal.value.error_code == att.ATT_READ_NOT_PERMITTED_ERROR
        await watch.disconnect()

        # A watch that lost its phone advertises again.
        assert (await phone.scan(rig.watch_address)).is_connectable


@on_rigs("cairn", "cairn-legacy", "cairn-air")
async def test_scan_response(rig: Rig) -> None:
    """e: the scan response, and that it says the same as the watch does when it is asked (section 1.3)."""
    async with Phone.on(rig.phone_port) as phone:
        report = await phone.scan(rig.watch_address, scan_response=True)
        watch = await phone.connect(rig.watch_address)
        database = await watch.discover()
        await watch.read_all(database)
        _, session = await watch.open_reversed(database)
        info = await companion.negotiate(session)
        serial = database.characteristic(uuids.DEVICE_INFORMATION, uuids.SERIAL_NUMBER).value
        assert serial == info.version.serial.encode()
        version = re.match(r"v(\d+)\.(\d+)\.(\d+)", info.version.running.version_tag)
        assert version
        firmware = bytes(int(part) for part in version.groups())
        model = bytes([info.version.running.hardware_platform, info.color])
        # Company 0x0EEA, payload type 0; in the end, no flags: neither recovery firmware nor first use.
        assert report.data == bytes.fromhex("16ff ea0e 00") + serial + model + firmware + b"\x00"
        # Neither Android's scan filter nor libpebble3's pairing path works for the older models (section 10, 2).
        assert info.version.running.hardware_platform >= 14 and info.color >= 24


async def open_forward(
    phone: Phone, rig: Rig, channel: ForwardChannel, *, mtu: int = PHONE_MTU, version: int = 1
) -> tuple[WatchLink, PhoneTransport, PebbleSession]:
    """Connects, and lets the watch find and open the phone's PPoGATT service."""
    transport = PhoneTransport(channel, version=version)
    session = PebbleSession(transport)
    transport.start()
    watch = await phone.connect(rig.watch_address)
    assert await watch.exchange_mtu(mtu) == mtu
    await transport.opened()
    for expected in ("read meta", "subscribe"):
        assert await channel.accesses.take(10, f"the watch to {expected}") == expected
    return watch, transport, session


async def converse(
    rig: Rig, transport: PhoneTransport, session: PebbleSession, *, pushes: int = 100, echoes_before: int = 0
) -> None:
    """Versions, colour, clock, ping, and pushes of every type and width, each ACKed and echoed.

    `echoes_before`: how many the watch has sent since it started; the watchapp outlives the sessions.
    """
    info = await companion.negotiate(session)
    assert bytes(info.version.bt_address) == bytes.fromhex(rig.watch_address.replace(":", ""))[::-1]
    # libpebble3 gives up on a version that this does not match.
    assert re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:-(.*))?", info.version.running.version_tag)
    await companion.ping(session, 0xCAFEBABE)
    await companion.launch(session)

    for index, tuples in enumerate(companion.dictionaries(pushes, seed=2, limit=600)):
        push = companion.push(index % 256, tuples)
        session.send(push)
        echo = await companion.expect_ack_and_echo(session, push)
        # The watch's transaction ids are its own: 1, 2, ... 255, 0 (pebble-protocol section 6.3).
        assert echo == (echoes_before + index + 1) % 256

    await transport.drained()
    assert unexpected(session) == []
    check_transport(transport)


def check_windows(transport: PhoneTransport) -> None:
    """A watch sends four packets at a time, and takes as many as it has room for (section 4.5)."""
    assert transport.watch_windows is not None
    receive, send = transport.watch_windows
    assert send == 4
    assert 4 <= receive <= 31


def check_transport(transport: PhoneTransport) -> None:
    """Nothing on a link that loses nothing was sent twice, out of order, or in a way that no watch sends it."""
    assert transport.state is State.OPEN
    assert transport.violations == []
    assert transport.statistics == Statistics(
        data_received=transport.statistics.data_received,
        data_sent=transport.statistics.data_sent,
        acks_received=transport.statistics.acks_received,
    )


@on_rigs("self-test", "self-test-legacy", "cairn", "cairn-legacy", "cairn-air")
async def test_forward(rig: Rig) -> None:
    """c, e: the watch opens the PPoGATT service that the phone hosts; h: and tshark decodes all of it."""
    async with Phone.on(rig.phone_port) as phone:
        watch, transport, session = await open_forward(phone, rig, phone.host_ppogatt())
        check_windows(transport)
        await converse(rig, transport, session)
        await watch.disconnect()
    await rig.stop_watch()
    check_capture(capture.decode(rig.capture), transport.statistics)


def check_capture(decoded: capture.Decoded, statistics: Statistics) -> None:
    assert decoded.malformed == []
    for protocol in ("bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"):
        assert decoded.protocols[protocol] > 0, decoded.protocols
    # Each packet either way is there: writes from the watch, notifications from the phone, and the handshake's three.
    sent = decoded.att_opcodes[att.Opcode.ATT_WRITE_COMMAND]
    received = decoded.att_opcodes[att.Opcode.ATT_HANDLE_VALUE_NOTIFICATION]
    assert sent == statistics.data_received + statistics.acks_received + 2
    assert received == statistics.data_sent + statistics.data_received + 1
    assert decoded.att_opcodes[att.Opcode.ATT_EXCHANGE_MTU_RESPONSE] >= 1


@on_rigs("self-test", "cairn", "cairn-air")
async def test_forward_to_an_iphone(rig: Rig) -> None:
    """c: the same with the meta value of an iPhone, whose session type follows from the UUID."""
    async with Phone.on(rig.phone_port) as phone:
        _, transport, session = await open_forward(phone, rig, phone.host_ppogatt(META_IOS))
        await converse(rig, transport, session, pushes=5)


@on_rigs("self-test", "cairn", "cairn-air")
async def test_forward_version_0(rig: Rig) -> None:
    """c: a phone that knows PPoGATT version 0 only."""
    async with Phone.on(rig.phone_port) as phone:
        _, transport, session = await open_forward(phone, rig, phone.host_ppogatt(META_VERSION_0))
        assert transport.version == 0
        await converse(rig, transport, session, pushes=40)


@on_rigs("self-test", "cairn", "cairn-air")
async def test_forward_to_a_late_service(rig: Rig) -> None:
    """c: the phone adds its PPoGATT service when the watch has discovered everything, as the Android app does."""
    async with Phone.on(rig.phone_port) as phone:
        watch = await phone.connect(rig.watch_address)
        assert await watch.exchange_mtu(PHONE_MTU) == PHONE_MTU
        assert await phone.service_changed_subscriptions.take(20, "the watch to subscribe to Service Changed")
        channel = phone.host_ppogatt()
        transport = PhoneTransport(channel)
        session = PebbleSession(transport)
        transport.start()
        await phone.indicate_service_changed(channel.service.handle, 0xFFFF)
        await transport.opened()
        await converse(rig, transport, session, pushes=5)


@on_rigs("self-test", "self-test-legacy", "cairn", "cairn-legacy", "cairn-air")
async def test_reversed(rig: Rig) -> None:
    """d, e: the phone opens the watch's own PPoGATT service, V2."""
    async with Phone.on(rig.phone_port) as phone:
        watch = await phone.connect(rig.watch_address)
        assert await watch.exchange_mtu(PHONE_MTU) == PHONE_MTU
        transport, session = await watch.open_reversed(await watch.discover())
        check_windows(transport)
        await converse(rig, transport, session)


@on_rigs("self-test", "cairn", "cairn-air")
async def test_window(rig: Rig) -> None:
    """c: a phone that stops acknowledging gets four packets and no more, and the rest when it goes on."""
    async with Phone.on(rig.phone_port, maximum_mtu=64) as phone:
        watch, transport, session = await open_forward(phone, rig, phone.host_ppogatt(), mtu=64)
        await companion.negotiate(session)
        await companion.launch(session)
        await transport.drained()
        received = transport.statistics.data_received
        transport.holding_acks = True
        push = companion.push(0, [companion.array(1, bytes(range(100)) * 5)])
        session.send(push)
        await transport.received(received + 4)
        # A fifth packet would come before the answer to a question that is asked now.
        await watch.round_trip()
        assert transport.statistics.data_received == received + 4
        transport.release_acks()
        await companion.expect_ack_and_echo(session, push)
        check_transport(transport)


@on_rigs("self-test", "cairn", "cairn-air")
async def test_second_connection(rig: Rig) -> None:
    """c: a phone that disconnects and comes back finds nothing left of the first session."""
    async with Phone.on(rig.phone_port) as phone:
        channel = phone.host_ppogatt()
        for earlier in range(3):
            watch, transport, session = await open_forward(phone, rig, channel)
            await converse(rig, transport, session, pushes=3, echoes_before=3 * earlier)
            await watch.disconnect()


@on_rigs("self-test", "cairn", "cairn-air")
async def test_phone_switched_off(rig: Rig) -> None:
    """c: a phone that vanishes in the middle of a session, and comes back."""
    for earlier in range(2):
        async with Phone.on(rig.phone_port) as phone:
            _, transport, session = await open_forward(phone, rig, phone.host_ppogatt())
            await converse(rig, transport, session, pushes=3, echoes_before=3 * earlier)
        if rig.controllers:
            await rig.controllers.phone.detached()
