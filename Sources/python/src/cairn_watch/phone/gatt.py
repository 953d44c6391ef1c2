"""GATT as an app on Android has it: one operation at a time.

`BluetoothGatt` refuses an operation while another is under way, from the call until its callback; a write without response is
an operation too. Apps have a queue before it, and so has this: an operation waits for its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bumble import att
from bumble.core import UUID
from bumble.device import Connection
from bumble.gatt_client import CharacteristicProxy

#: The L2CAP channel of ATT.
ATT_CID = 4
#: An attribute value has at most this many octets, at any MTU (Core 5.4, Vol 3, Part F, 3.2.9).
MAXIMUM_ATTRIBUTE_VALUE = 512
CCCD = UUID.from_16_bits(0x2902)


def pebble(first: str) -> UUID:
    """A UUID of the Pebble family by its first 32 bits."""
    return UUID(f"{first}-328E-0FBB-C642-1AA6699BDADA")


#: What every Pebble advertises.
PAIRING_SERVICE = UUID.from_16_bits(0xFED9)
#: PPoGATT's service where the phone hosts it, with its two characteristics.
PHONE_SERVICE, PHONE_DATA, PHONE_META = pebble("10000000"), pebble("10000001"), pebble("10000002")
#: PPoGATT's service where the watch hosts it: what the watch notifies, and where the phone writes.
WATCH_SERVICE, WATCH_DATA, WATCH_WRITE = pebble("40000000"), pebble("40000001"), pebble("40000003")
#: The service that Android's companions add after PPoGATT's.
DUMMY = UUID("BADBADBA-DBAD-BADB-ADBA-BADBADBADBAD")


@dataclass
class WatchService:
    """The watch's own PPoGATT service, as it was discovered. Each is a handle of its value."""

    data: CharacteristicProxy[bytes]
    write: int
    configuration: int


class OneAtATime:
    """The GATT client of one link. Every operation waits for the one before it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.gatt_client
        self._turn = asyncio.Lock()
        self._packets: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._sender = asyncio.create_task(self._send())
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: self._sender.cancel())

    @property
    def maximum_packet(self) -> int:
        """The longest value that one write or notification carries, in octets."""
        return min(self._connection.att_mtu - 3, MAXIMUM_ATTRIBUTE_VALUE)

    async def exchange_mtu(self, mtu: int) -> None:
        """Offers an ATT_MTU. Raises ATT_Error if the watch refuses."""
        async with self._turn:
            await self._client.request_mtu(mtu)

    async def find_watch_service(self) -> WatchService | None:
        """Discovers the watch's PPoGATT service, which need not be there."""
        async with self._turn:
            services = await self._client.discover_service(WATCH_SERVICE)
            if not services:
                return None
            found = await self._client.discover_characteristics((), services[0])
            data = next((each for each in found if each.uuid == WATCH_DATA), None)
            write = next((each for each in found if each.uuid == WATCH_WRITE), None)
            if data is None or write is None:
                return None
            descriptors = await self._client.discover_descriptors(data)
            configuration = next((each.handle for each in descriptors if each.type == CCCD), None)
            return None if configuration is None else WatchService(data, write.handle, configuration)

    async def subscribe(self, service: WatchService, on_packet: Callable[[bytes], None]) -> None:
        """Has the watch notify its data. Raises ATT_Error if it refuses, such as an unencrypted link."""
        self._client.notification_subscribers[service.data.handle] = {on_packet}
        async with self._turn:
            await self._client.write_value(service.configuration, b"\x01\x00", True)

    def write_later(self, handle: int, value: bytes) -> None:
        """Queues a write without response. What waits is bounded by PPoGATT's window."""
        self._packets.put_nowait((handle, value))

    async def _send(self) -> None:
        while True:
            handle, value = await self._packets.get()
            async with self._turn:
                command = att.ATT_Write_Command(attribute_handle=handle, attribute_value=value)
                self._connection.send_l2cap_pdu(ATT_CID, bytes(command))
                # Its callback comes once the packet is on its way.
                await asyncio.sleep(0)
