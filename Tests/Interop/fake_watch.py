"""A watch made of Bumble, for the tests of the rig itself: the phone is tried on it before it is used with Cairn.

It has a watch's database, advertisement, PPoGATT and Pebble Protocol handshake, written from the description of the
real watch, and nothing of Cairn's. It isn't a good watch: only what the phone's tests need is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from bumble import att, gatt, hci
from bumble.core import UUID
from bumble.device import Connection, Device, DeviceConfiguration, Peer
from bumble.keys import KeyStore, MemoryKeyStore
from bumble.pairing import PairingConfig
from bumble.snoop import BtSnooper
from bumble.transport.tcp_client import open_tcp_client_transport
from rig import gatt as uuids
from rig import vectors
from rig.security import ATT_CID, pairing

SERIAL = b"2DQ0135B3424"
ECHO_APP = UUID("2C1D6F5E-8F3A-4C57-9D0E-EC0EC0EC0EC0").to_bytes(force_128=True)[::-1]
ADDRESS = "C4:D3:AF:55:12:34"


def watch_version() -> bytes:
    """A real watch's version response, with the serial number and the address of this one (section 5.3)."""
    message = bytearray(vectors.pebble_protocol("watch-version-response-full"))
    message[4 + 108 : 4 + 120] = SERIAL
    message[4 + 120 : 4 + 126] = bytes.fromhex(ADDRESS.replace(":", ""))[::-1]
    return bytes(message)


READ = gatt.Characteristic.Properties.READ
WRITE = gatt.Characteristic.Properties.WRITE
NOTIFY = gatt.Characteristic.Properties.NOTIFY
WRITE_COMMAND = gatt.Characteristic.Properties.WRITE_WITHOUT_RESPONSE
READABLE = gatt.Characteristic.Permissions.READABLE
WRITEABLE = gatt.Characteristic.Permissions.WRITEABLE


class WatchTransport:
    """The watch's end of PPoGATT.

    Version 1 has windows 17 and 4, and Acks for eight packets together or after 200 ms. Version 0 acknowledges each.
    """

    def __init__(self, send: Callable[[bytes], None], maximum_packet: Callable[[], int], version: int) -> None:
        self._version = version
        self.on_bytes: Callable[[bytes], None] = lambda _: None
        self.on_open: Callable[[], None] = lambda: None
        self.send_packet = send
        self._maximum_packet = maximum_packet
        self._state = "closed"
        self._asked_first = False
        self._reset()

    def start_reset(self) -> None:
        self._reset()
        self._state, self._asked_first = "awaiting reset complete", True
        self.send_packet(vectors.over_the_air(f"ppog_reset_request_v{self._version}"))

    def receive(self, packet: bytes) -> None:
        kind, sequence = packet[0] & 7, packet[0] >> 3
        if kind == 2 and self._state != "awaiting reset complete":
            self._reset()
            self._state, self._asked_first = "awaiting reset complete", False
            self._send_reset_complete()
        elif kind == 3 and self._state == "awaiting reset complete":
            if self._asked_first:
                self._send_reset_complete()
            self._state = "open"
            self.on_open()
        elif kind == 1 and self._state == "open":
            while self._in_flight and self._in_flight.popleft() != sequence:
                pass
            self._pump()
        elif kind == 0 and self._state == "open" and sequence == self._expected:
            self._expected = (self._expected + 1) % 32
            self._unacknowledged += 1
            if self._unacknowledged >= (8 if self._version else 1):
                self._acknowledge()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(0.2, self._acknowledge)
            self.on_bytes(packet[1:])

    def send(self, stream: bytes) -> None:
        self._backlog += stream
        self._pump()

    def _send_reset_complete(self) -> None:
        name = "ppog_reset_complete_v1_pebbleos" if self._version else "ppog_reset_complete_v0"
        self.send_packet(vectors.over_the_air(name))

    def _reset(self) -> None:
        self._expected = self._next = self._unacknowledged = 0
        self._in_flight: deque[int] = deque()
        self._backlog = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def _acknowledge(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._unacknowledged:
            self._unacknowledged = 0
            self.send_packet(bytes([(self._expected - 1) % 32 << 3 | 1]))

    def _pump(self) -> None:
        while self._backlog and len(self._in_flight) < 4:
            limit = self._maximum_packet() - 1
            piece = bytes(self._backlog[:limit])
            del self._backlog[:limit]
            self._in_flight.append(self._next)
            self.send_packet(bytes([self._next << 3]) + piece)
            self._next = (self._next + 1) % 32


class WatchProtocol:
    """The Pebble Protocol's handshake, Ping, and the Echo watchapp."""

    def __init__(self, transport: WatchTransport, echoes: Iterator[int]) -> None:
        self._transport = transport
        self._stream = bytearray()
        self._echoes = echoes
        transport.on_bytes = self._receive
        transport.on_open = lambda: transport.send(vectors.pebble_protocol("phone-version-request"))

    def _receive(self, piece: bytes) -> None:
        self._stream += piece
        while len(self._stream) >= 4:
            length, endpoint = struct.unpack_from(">HH", self._stream)
            if len(self._stream) < 4 + length:
                return
            payload = bytes(self._stream[4 : 4 + length])
            del self._stream[: 4 + length]
            self._handle(endpoint, payload)

    def _handle(self, endpoint: int, payload: bytes) -> None:
        if endpoint == 0x0010 and payload == b"\x00":
            self._transport.send(watch_version())
        elif endpoint == 2001 and payload[0] == 0:
            self._send(endpoint, b"\x01" + payload[1:5])
        elif endpoint == 5001 and payload == b"\x00\x09mfg_color":
            self._transport.send(vectors.pebble_protocol("factory-registry-response"))
        elif endpoint == 0x000B and payload == b"\x00":
            self._transport.send(vectors.pebble_protocol("time-get-response"))
        elif endpoint == 0x0034 and payload[:1] == b"\x03":
            self._send(endpoint, b"\x01" + ECHO_APP)
        elif endpoint == 0x0030 and payload[0] == 1:
            if payload[2:18] != ECHO_APP:
                self._send(endpoint, bytes([0x7F, payload[1]]))
                return
            self._send(endpoint, bytes([0xFF, payload[1]]))
            self._send(endpoint, bytes([1, next(self._echoes) % 256]) + payload[2:])

    def _send(self, endpoint: int, payload: bytes) -> None:
        self._transport.send(struct.pack(">HH", len(payload), endpoint) + payload)


class FakeWatch:
    """The watch, advertising from `start` on."""

    address = ADDRESS
    name = "Pebble 1234"
    serial = SERIAL.decode()

    def __init__(self, device: Device, *, encrypted: bool) -> None:
        self.device = device
        self._encrypted = encrypted
        self._transport: WatchTransport | None = None
        # The transaction ids of the Echo watchapp, which outlives the sessions.
        self._echoes = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._build_database()
        device.on(Device.EVENT_CONNECTION, self._on_connection)

    @classmethod
    @contextlib.asynccontextmanager
    async def on(
        cls,
        port: int,
        capture: Path | None = None,
        *,
        encrypted: bool = False,
        keystore: KeyStore | None = None,
        pairs: PairingConfig | None = None,
    ) -> AsyncIterator[FakeWatch]:
        """Switches the watch on at the H4 port of a controller. `encrypted`: PPoGATT needs an encrypted link."""
        transport = await open_tcp_client_transport(f"127.0.0.1:{port}")
        transport.sink.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.ExitStack() as stack:
            stack.callback(transport.sink.transport.close)
            configuration = DeviceConfiguration(
                name=cls.name,
                address=hci.Address(cls.address),
                irk=bytes(range(16)),
                gap_service_enabled=False,
                gatt_service_enabled=False,
            )
            device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            if capture:
                device.host.snooper = BtSnooper(stack.enter_context(capture.open("wb")))
            device.keystore = keystore or MemoryKeyStore()
            device.pairing_config_factory = lambda _: pairs or pairing()
            watch = cls(device, encrypted=encrypted)
            await device.power_on()
            await device.start_advertising(
                own_address_type=hci.OwnAddressType.RANDOM,
                advertising_data=vectors.over_the_air("adv_discovery_pebbleos"),
                scan_response_data=vectors.over_the_air("scanrsp_pebbleos_asterix"),
                auto_restart=True,
                advertising_interval_min=20,
                advertising_interval_max=20,
            )
            try:
                yield watch
            finally:
                for task in watch._tasks:
                    task.cancel()
                device.host.snooper = None

    def _build_database(self) -> None:
        def value(uuid: UUID, content: bytes, properties=READ) -> gatt.Characteristic:
            return gatt.Characteristic(uuid, properties, READABLE, content)

        written = gatt.CharacteristicValue(write=self._on_write)
        protected = WRITEABLE | (
            gatt.Characteristic.Permissions.WRITE_REQUIRES_ENCRYPTION
            if self._encrypted
            else gatt.Characteristic.Permissions(0)
        )

        def refuse(connection: Connection) -> bytes:  # Bumble lets everything be read
            raise att.ATT_Error(att.ATT_READ_NOT_PERMITTED_ERROR)

        unreadable = gatt.CharacteristicValue(read=refuse)
        self._data = gatt.Characteristic(uuids.REVERSED_DATA, NOTIFY, gatt.Characteristic.Permissions(0), unreadable)
        self._data.on(gatt.Characteristic.EVENT_SUBSCRIPTION, self._on_reversed_subscription)
        self._connectivity = gatt.Characteristic(
            uuids.CONNECTIVITY,
            READ | NOTIFY,
            READABLE,
            gatt.CharacteristicValue(read=self._connectivity_for),
        )
        changed = gatt.Characteristic(
            uuids.SERVICE_CHANGED,
            gatt.Characteristic.Properties.INDICATE,
            gatt.Characteristic.Permissions(0),
            b"",
        )
        self.device.add_services(
            [
                gatt.Service(
                    uuids.GAP_SERVICE,
                    [
                        value(uuids.DEVICE_NAME, self.name.encode()),
                        value(uuids.APPEARANCE, b"\x00\x00"),
                    ],
                ),
                gatt.Service(uuids.GATT_SERVICE, [changed]),
                gatt.Service(
                    uuids.DEVICE_INFORMATION,
                    [
                        value(uuids.MODEL_NUMBER, b"asterix"),
                        value(uuids.SERIAL_NUMBER, SERIAL),
                        value(uuids.FIRMWARE_REVISION, b"v4.9.1"),
                        value(uuids.SOFTWARE_REVISION, b" 5.106"),
                        value(uuids.MANUFACTURER_NAME, b"Core Devices LLC"),
                    ],
                ),
                gatt.Service(
                    uuids.PAIRING_SERVICE,
                    [
                        self._connectivity,
                        gatt.Characteristic(
                            uuids.TRIGGER_PAIRING,
                            READ | WRITE,
                            READABLE | WRITEABLE,
                            gatt.CharacteristicValue(read=lambda _: b"", write=self._on_trigger),
                        ),
                    ],
                ),
                gatt.Service(uuids.BATTERY_SERVICE, [value(uuids.BATTERY_LEVEL, b"\x64", READ | NOTIFY)]),
                gatt.Service(
                    uuids.REVERSED_SERVICE,
                    [
                        self._data,
                        gatt.Characteristic(uuids.REVERSED_WRITE, WRITE_COMMAND, protected, written),
                    ],
                ),
                # No channel can be opened to it: what the watch does there is not Bumble's to show.
                gatt.Service(uuids.STREAM_SERVICE, [value(uuids.PUBLISHED_PSM, b"\x00\x00", READ)]),
            ]
        )

    async def _connectivity_for(self, connection: Connection) -> bytes:
        """Connectivity Status as this phone sees it (section 3.4)."""
        assert self.device.keystore is not None
        bonds = await self.device.keystore.get_all()
        bonded = str(connection.peer_address) in [name for name, _ in bonds]
        bits = 0b1_0001 | bonded << 1 | connection.is_encrypted << 2 | bool(bonds) << 3
        return bytes([bits, 0, 0, 0])

    async def _notify_connectivity(self, connection: Connection) -> None:
        """Whether or not the phone has subscribed, as the real watch does."""
        notification = att.ATT_Handle_Value_Notification(
            attribute_handle=self._connectivity.handle, attribute_value=await self._connectivity_for(connection)
        )
        connection.send_l2cap_pdu(ATT_CID, bytes(notification))

    def _on_trigger(self, connection: Connection, value: bytes) -> None:
        """Trigger Pairing (section 3.5): bit 1 asks for no Security Request, bit 2 for one in any case."""
        if value[0] & 4 or not (connection.is_encrypted or value[0] & 2):
            self.device.request_pairing(connection)

    def _on_write(self, connection: Connection, packet: bytes) -> None:
        del connection
        if self._transport is not None:
            self._transport.receive(packet)

    def _on_connection(self, connection: Connection) -> None:
        self._transport = None
        connection.on(Connection.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda: self._on_encryption(connection))
        if not self._encrypted:
            self._spawn(self._open_forward(connection))

    def _on_encryption(self, connection: Connection) -> None:
        self._spawn(self._notify_connectivity(connection))
        if self._encrypted:
            self._spawn(self._open_forward(connection))

    def _on_reversed_subscription(self, connection: Connection, notify: bool, indicate: bool) -> None:
        del indicate
        if not notify or (self._encrypted and not connection.is_encrypted):
            return

        def send(packet: bytes) -> None:
            notification = att.ATT_Handle_Value_Notification(attribute_handle=self._data.handle, attribute_value=packet)
            connection.send_l2cap_pdu(ATT_CID, bytes(notification))

        self._open(WatchTransport(send, lambda: min(connection.att_mtu - 3, 512), version=1))

    def _spawn(self, coroutine) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open_forward(self, connection: Connection) -> None:
        """Looks for the phone's PPoGATT service, now and after each Service Changed, and opens it."""
        peer = Peer(connection)
        await peer.discover_all()
        for changed in peer.get_characteristics_by_uuid(uuids.SERVICE_CHANGED):
            await peer.subscribe(changed, lambda _: self._spawn(self._open_forward(connection)), False)
        if self._transport is not None or not peer.get_services_by_uuid(uuids.PPOGATT_SERVICE):
            return
        data, meta = (
            peer.get_characteristics_by_uuid(uuid, uuids.PPOGATT_SERVICE)[0]
            for uuid in (uuids.PPOGATT_DATA, uuids.PPOGATT_META)
        )
        meta_value = await peer.read_value(meta)
        assert len(meta_value) >= 18

        def send(packet: bytes) -> None:
            command = att.ATT_Write_Command(attribute_handle=data.handle, attribute_value=packet)
            connection.send_l2cap_pdu(ATT_CID, bytes(command))

        transport = WatchTransport(send, lambda: min(connection.att_mtu - 3, 512), min(meta_value[1], 1))
        self._open(transport)
        await peer.subscribe(data, transport.receive)
        transport.start_reset()

    def _open(self, transport: WatchTransport) -> None:
        self._transport = transport
        WatchProtocol(transport, self._echoes)
