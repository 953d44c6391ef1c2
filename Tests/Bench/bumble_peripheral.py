"""The bench profile on Bumble: the peer that `cairn-bench peripheral` is measured against. See compare.py."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import sys
import time

from bumble import gatt, hci, l2cap
from bumble.core import AdvertisingData
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.transport.tcp_client import open_tcp_client_transport

FILLER = bytes(place * 31 & 0xFF for place in range(65535))


def uuid(number: int) -> str:
    return f"123456{number:02X}-1234-5678-1234-56789ABCDEF0"


def processor_microseconds() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e6)


class Peripheral:
    def __init__(self, device: Device) -> None:
        self.device = device
        self.reset()
        properties = gatt.Characteristic.Properties
        permissions = gatt.Characteristic.Permissions
        self.stream = gatt.Characteristic(uuid(1), properties.NOTIFY, permissions.READABLE, b"")
        sink = gatt.Characteristic(
            uuid(2),
            properties.WRITE | properties.WRITE_WITHOUT_RESPONSE,
            permissions.WRITEABLE,
            gatt.CharacteristicValue(write=self._written),
        )
        server = device.create_l2cap_server(
            l2cap.LeCreditBasedChannelSpec(mtu=2048, mps=1000, max_credits=64), self._opened
        )
        psm = gatt.Characteristic(uuid(3), properties.READ, permissions.READABLE, struct.pack("<H", server.psm))
        control = gatt.Characteristic(
            uuid(4),
            properties.READ | properties.WRITE,
            permissions.READABLE | permissions.WRITEABLE,
            gatt.CharacteristicValue(read=self._read, write=self._controlled),
        )
        device.add_service(gatt.Service(uuid(0x78), [self.stream, sink, psm, control]))

    def reset(self) -> None:
        self.count = 0
        self.first = self.last = 0.0
        self.processor = processor_microseconds()

    def _written(self, _: Connection, value: bytes) -> None:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.count += len(value)

    def _read(self, _: Connection) -> bytes:
        span = int((self.last - self.first) * 1e6)
        return struct.pack("<QII", self.count, span, processor_microseconds() - self.processor)

    def _controlled(self, connection: Connection, value: bytes) -> None:
        if value[0] == 2:
            self.reset()
        else:
            (count,) = struct.unpack_from("<I", value, 1)
            asyncio.ensure_future(self._notify(connection, count))

    async def _notify(self, connection: Connection, count: int) -> None:
        while count > 0:
            portion = FILLER[: min(count, connection.att_mtu - 3)]
            await self.device.notify_subscriber(connection, self.stream, portion)
            count -= len(portion)

    def _opened(self, channel: l2cap.LeCreditBasedChannel) -> None:
        left = 0

        def sink(sdu: bytes) -> None:
            nonlocal left
            if left > 0:
                left -= len(sdu)
                if left <= 0:
                    channel.write(bytes(12))
            elif sdu[:1] == b"S":
                (left,) = struct.unpack_from("<I", sdu, 1)
            elif sdu[:1] == b"G":
                count, length = struct.unpack_from("<IH", sdu, 1)
                asyncio.ensure_future(give(count, length))
            else:
                channel.write(sdu)

        async def give(count: int, length: int) -> None:
            while count > 0:
                portion = FILLER[: min(count, length)]
                channel.write(portion)
                await channel.drain()
                count -= len(portion)

        channel.sink = sink


async def main(port: int, address: str) -> None:
    transport = await open_tcp_client_transport(f"127.0.0.1:{port}")
    transport.sink.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    configuration = DeviceConfiguration(name="bench", address=hci.Address(address))
    device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
    Peripheral(device)
    await device.power_on()
    data = bytes(AdvertisingData([(AdvertisingData.FLAGS, bytes([6]))]))
    await device.start_advertising(advertising_data=data, auto_restart=True)
    print(f"advertises as {address}", flush=True)
    await transport.source.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
