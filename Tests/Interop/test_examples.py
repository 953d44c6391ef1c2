"""The examples (Sources/Examples), run as a reader runs them, with Bumble as their central."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from bumble import gatt
from bumble.core import UUID, AdvertisingData
from bumble.l2cap import LeCreditBasedChannelSpec
import pytest
from rig import cairn
from rig.controllers import Controllers, controllers
from rig.phone import Phone, Report
from rig.process import Program
from rig.waiting import within

SOURCES = Path(__file__).resolve().parents[2] / "Sources" / "Examples"
HEART_RATE_MEASUREMENT = UUID.from_16_bits(0x2A37)
BODY_SENSOR_LOCATION = UUID.from_16_bits(0x2A38)
HEART_RATE = UUID.from_16_bits(0x180D)
BATTERY = UUID.from_16_bits(0x180F)
BATTERY_LEVEL = UUID.from_16_bits(0x2A19)
ECHO = UUID("EC400000-C0DE-4B1D-9A5E-0C0FFEE00001")
SPSM = UUID("EC400001-C0DE-4B1D-9A5E-0C0FFEE00001")
#: Apple's company identifier, the type and the length of an iBeacon.
BEACON = b"\x4c\x00\x02\x15"


@contextlib.asynccontextmanager
async def example(name: str, folder: Path) -> AsyncIterator[tuple[Controllers, Phone]]:
    """An example on one controller, and a phone's host on another."""
    async with controllers() as room:
        program = await Program.start([str(cairn.binary().parent / name), room.watch.address], folder / f"{name}.log")
        try:
            async with Phone.on(room.phone.port) as phone:
                yield room, phone
            assert program.is_running, program.log
            assert await program.stop() == 0, program.log
        finally:
            program.kill()
        assert room.faults == []


def services(report: Report) -> list[UUID]:
    """The services that an advertisement names."""
    data = AdvertisingData.from_bytes(report.data)
    kinds = (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS)
    return [uuid for kind in kinds for found in data.get_all(kind) for uuid in found]


@pytest.mark.parametrize("name", ["HeartRate", "BatteryReader"])
def test_a_first_program_takes_thirty_lines(name: str) -> None:
    lines = (SOURCES / name / "main.swift").read_text().splitlines()
    assert len(lines) <= 30


async def test_heart_rate(tmp_path: Path) -> None:
    """A central finds the sensor by its service, reads where it is worn, and hears a rate each second."""
    async with example("heart-rate", tmp_path) as (_, phone):
        address = await phone.find(lambda report: HEART_RATE in services(report), 20)
        watch = await phone.connect(str(address))
        (location,) = await watch.client.read_characteristics_by_uuid(BODY_SENSOR_LOCATION, None)
        assert location == b"\x01"
        await watch.client.discover_services()
        (service,) = [each for each in watch.client.services if each.uuid == HEART_RATE]
        await service.discover_characteristics()
        (measurement,) = [each for each in service.characteristics if each.uuid == HEART_RATE_MEASUREMENT]
        rates: asyncio.Queue[bytes] = asyncio.Queue()
        await measurement.discover_descriptors()
        await measurement.subscribe(rates.put_nowait)
        values = [await within(5, "a heart rate", rates.get()) for _ in range(3)]
        assert all(len(value) == 2 and value[0] == 0 for value in values)
        assert values[1][1] == values[0][1] + 1 and values[2][1] == values[1][1] + 1
        await watch.disconnect()
        # It can be found again.
        assert await phone.find(lambda report: HEART_RATE in services(report), 20) == address


async def test_echo(tmp_path: Path) -> None:
    """The published SPSM leads to a channel on which everything comes back."""
    async with example("l2cap-echo", tmp_path) as (_, phone):
        address = await phone.find(lambda report: ECHO in services(report), 20)
        watch = await phone.connect(str(address))
        (value,) = await watch.client.read_characteristics_by_uuid(SPSM, None)
        spsm = int.from_bytes(value, "little")
        assert 0x80 <= spsm <= 0xFF
        channel = await within(
            10, "the channel", watch.connection.create_l2cap_channel(LeCreditBasedChannelSpec(psm=spsm))
        )
        sent = bytes(range(256)) * 64
        echo = bytearray()
        whole = asyncio.Event()

        def take(data: bytes) -> None:
            echo.extend(data)
            if len(echo) >= len(sent):
                whole.set()

        channel.sink = take
        channel.write(sent)
        await within(20, "the echo", whole.wait())
        assert bytes(echo) == sent
        await within(10, "the end of the channel", channel.disconnect())
        await watch.disconnect()


async def test_beacon(tmp_path: Path) -> None:
    """An iBeacon is heard, as Apple specifies it, and is not connectable. On Cairn's own air: Bumble's controllers report every
    advertisement as connectable."""
    air = await Program.start([str(cairn.binary()), "air", "--port", "0"], tmp_path / "air.log")
    try:
        found = await air.wait_for_line(r"other hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        port = int(found[1])
        beacon = await Program.start(
            [str(cairn.binary().parent / "ibeacon"), f"tcp:127.0.0.1:{port}"], tmp_path / "ibeacon.log"
        )
        try:
            async with Phone.on(port) as phone:
                await within(10, "the scan to start", phone.device.start_scanning(active=False))
                report = await phone.reports.take(10, "the beacon", lambda report: BEACON in report.data)
                data = report.data[report.data.index(BEACON) + len(BEACON) :]
                assert len(data) == 21 and data[16:] == b"\x00\x01\x00\x02\xc5"
                assert not report.is_connectable
                await within(10, "the scan to stop", phone.device.stop_scanning())
            assert await beacon.stop() == 0, beacon.log
        finally:
            beacon.kill()
        assert await air.stop() == 0, air.log
    finally:
        air.kill()


def battery(level: int) -> tuple[gatt.Service, gatt.Characteristic]:
    """A battery service whose level is read and notified."""
    properties = gatt.Characteristic.Properties
    characteristic = gatt.Characteristic(
        BATTERY_LEVEL, properties.READ | properties.NOTIFY, gatt.Characteristic.Permissions.READABLE, bytes([level])
    )
    return gatt.Service(BATTERY, [characteristic]), characteristic


async def advertise(phone: Phone, service: UUID, name: str) -> None:
    data = AdvertisingData(
        [
            (AdvertisingData.FLAGS, b"\x06"),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, service.to_bytes()),
            (AdvertisingData.COMPLETE_LOCAL_NAME, name.encode()),
        ]
    )
    await within(10, "the advertising to start", phone.device.start_advertising(advertising_data=bytes(data)))


def levels(program: Program) -> list[str]:
    """What the battery reader has printed, without the log."""
    return [line for line in program.log.splitlines() if line.endswith(" %")]


async def test_battery_reader(tmp_path: Path) -> None:
    """A central finds Bumble's battery by its service, reads the level and hears of each new one; it ends when the battery is gone."""
    async with controllers() as room, Phone.on(room.phone.port) as phone:
        service, level = battery(87)
        phone.device.add_services([service])
        subscribed = asyncio.Event()
        level.on(gatt.Characteristic.EVENT_SUBSCRIPTION, lambda _, notifies, indicates: subscribed.set())
        await advertise(phone, BATTERY, "Torch")
        command = [str(cairn.binary().parent / "battery-reader"), room.watch.address, "--follow"]
        program = await Program.start(command, tmp_path / "battery-reader.log")
        try:
            await within(20, "the subscription", subscribed.wait())
            (connection,) = phone.device.connections.values()
            for value in (86, 85):
                await within(5, "the notification", phone.device.notify_subscriber(connection, level, bytes([value])))
            await program.wait_for_line(r"^85 %$", 5)
            await within(5, "the end of the connection", connection.disconnect())
            # With `--follow` the program reports that the battery is gone.
            assert await program.wait_for_exit(10) == 1
        finally:
            program.kill()
        assert levels(program) == ["Torch: 87 %", "86 %", "85 %"]
        assert "the peripheral is disconnected" in program.log
        assert room.faults == []


async def test_battery_reader_reads_once(tmp_path: Path) -> None:
    """Without `--follow` it reads, disconnects and ends."""
    async with controllers() as room, Phone.on(room.phone.port) as phone:
        phone.device.add_services([battery(42)[0]])
        await advertise(phone, BATTERY, "Torch")
        command = [str(cairn.binary().parent / "battery-reader"), room.watch.address]
        program = await Program.start(command, tmp_path / "battery-reader.log")
        try:
            assert await program.wait_for_exit(20) == 0
        finally:
            program.kill()
        assert levels(program) == ["Torch: 42 %"]
        assert not phone.device.connections
        assert room.faults == []


async def test_battery_reader_names_a_controller_that_is_not_there(tmp_path: Path) -> None:
    command = [str(cairn.binary().parent / "battery-reader"), f"unix:{tmp_path}/nothing"]
    program = await Program.start(command, tmp_path / "battery-reader.log")
    try:
        assert await program.wait_for_exit(20) == 69
    finally:
        program.kill()
    assert f"{tmp_path}/nothing" in program.log
