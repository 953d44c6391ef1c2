"""A phone: a Bumble host on an H4 port, which does with a watch what companion apps do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Protocol

from bumble import att, gatt, gatt_client, hci
from bumble.core import UUID, ProtocolError
from bumble.device import Connection, ConnectionParametersPreferences, Device, DeviceConfiguration
from bumble.keys import KeyStore, MemoryKeyStore, PairingKeys
from bumble.pairing import PairingConfig
from bumble.smp import AuthReq
from bumble.transport.android_netsim import open_android_netsim_transport
from bumble.transport.common import Transport
from bumble.transport.tcp_client import open_tcp_client_transport

from . import gatt as uuids
from .pebble import PebbleSession
from .ppogatt import PhoneTransport
from .security import ATT_CID, PairingRefused, encrypt, pairing
from .waiting import GaveUp, Mailbox, within

#: An attribute value has at most this many octets, at any MTU (Core 5.4, Vol 3, Part F, 3.2.9).
MAXIMUM_ATTRIBUTE_VALUE = 512
ANDROID_ADDRESS = "E1:B0:0B:1E:5A:01"
ANDROID_IRK = bytes.fromhex("a0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f")

#: The meta value of libpebble3 on Android and of Gadgetbridge: PPoGATT 0 to 1, system UUID, hybrid session.
META_ANDROID = bytes([0, 1]) + bytes(16) + bytes([1])
#: That of libpebble3 on iOS: the session type is inferred from the UUID.
META_IOS = bytes([0, 1]) + bytes(16) + bytes([0])
#: The 18-byte layout, and nothing newer than PPoGATT version 0.
META_VERSION_0 = bytes([0, 0]) + bytes(16)


@dataclass(frozen=True)
class Report:
    """One advertising report as the phone's controller gave it to the host."""

    address: hci.Address
    is_scan_response: bool
    is_connectable: bool
    data: bytes


@dataclass
class Attribute:
    """An attribute of the watch's database. `value`: what a read returned; `error`: the ATT error it returned."""

    handle: int
    type: UUID
    value: bytes | None = None
    error: int | None = None


@dataclass
class Characteristic:
    uuid: UUID
    declaration: int
    handle: int
    properties: gatt.Characteristic.Properties
    descriptors: list[Attribute]
    value: bytes | None = None


@dataclass
class Service:
    uuid: UUID
    start: int
    end: int
    characteristics: list[Characteristic]


@dataclass
class Database:
    """The watch's whole database, found in two independent ways: by groups, and attribute by attribute."""

    services: list[Service]
    attributes: list[Attribute]

    def service(self, uuid: UUID) -> Service:
        found = [service for service in self.services if service.uuid == uuid]
        assert len(found) == 1, f"{len(found)} services {uuid} among {self.services}"
        return found[0]

    def find(self, service: UUID, uuid: UUID) -> Characteristic | None:
        """A characteristic that need not be there."""
        characteristics = (each for found in self.services if found.uuid == service for each in found.characteristics)
        return next((each for each in characteristics if each.uuid == uuid), None)

    def characteristic(self, service: UUID, uuid: UUID) -> Characteristic:
        found = [each for each in self.service(service).characteristics if each.uuid == uuid]
        assert len(found) == 1, f"{len(found)} characteristics {uuid} in {self.service(service)}"
        return found[0]


class ForwardChannel:
    """Forward PPoGATT: the service is the phone's; the watch writes, the phone notifies."""

    def __init__(self, phone: Phone, meta: bytes, *, encrypted: bool) -> None:
        self.on_packet: Callable[[bytes], None] = lambda _: None
        self.connection: Connection | None = None
        #: Each kind of access, in the order in which the watch made them.
        self.accesses: Mailbox[str] = Mailbox("what the watch did to the phone's PPoGATT service")
        self._phone = phone
        permissions = gatt.Characteristic.Permissions
        properties = gatt.Characteristic.Properties
        self._data = gatt.Characteristic(
            uuids.PPOGATT_DATA,
            properties.WRITE_WITHOUT_RESPONSE | properties.NOTIFY,
            permissions.WRITEABLE | (permissions.WRITE_REQUIRES_ENCRYPTION if encrypted else permissions(0)),
            gatt.CharacteristicValue(write=self._written),
        )
        if phone.subscriptions_are_write_only:
            self._data.descriptors = (phone.write_only_subscription(self._data),)
        self._data.on(gatt.Characteristic.EVENT_SUBSCRIPTION, self._subscribed)
        self._meta = gatt.Characteristic(
            uuids.PPOGATT_META,
            properties.READ,
            permissions.READABLE | (permissions.READ_REQUIRES_ENCRYPTION if encrypted else permissions(0)),
            meta,
        )
        self._meta.on(gatt.Characteristic.EVENT_READ, lambda *_: self.accesses.put("read meta"))
        self.service = gatt.Service(uuids.PPOGATT_SERVICE, [self._data, self._meta])
        #: Everything that was added to the phone's database with it.
        self.services = [self.service]
        #: How packets leave, where the phone's system has rules for that.
        self.sender: Callable[[Connection, int, bytes], None] | None = None

    @property
    def maximum_packet(self) -> int:
        assert self.connection is not None
        return min(self.connection.att_mtu - 3, MAXIMUM_ATTRIBUTE_VALUE)

    def send(self, packet: bytes) -> None:
        assert self.connection is not None, "the watch has not subscribed"
        if self.sender is not None:
            self.sender(self.connection, self._data.handle, packet)
            return
        notification = att.ATT_Handle_Value_Notification(attribute_handle=self._data.handle, attribute_value=packet)
        self.connection.send_l2cap_pdu(ATT_CID, bytes(notification))

    def _subscribed(self, connection: Connection, notify: bool, indicate: bool) -> None:
        del indicate
        self.accesses.put("subscribe" if notify else "unsubscribe")
        self.connection = connection if notify else None

    def removed(self) -> None:
        """The service is no longer in the phone's database."""
        self.connection = None

    def _written(self, connection: Connection, value: bytes) -> None:
        del connection
        self.on_packet(value)


class ReversedChannel:
    """Reversed PPoGATT: the service is the watch's; the phone writes, the watch notifies."""

    def __init__(
        self, connection: Connection, write: Characteristic, send: Callable[[bytes], None] | None = None
    ) -> None:
        self.on_packet: Callable[[bytes], None] = lambda _: None
        self._connection = connection
        self._write = write
        #: How packets leave, where the phone's system has rules for that.
        self._send = send

    def receive(self, packet: bytes) -> None:
        """A notification from the watch."""
        self.on_packet(packet)

    @property
    def maximum_packet(self) -> int:
        return min(self._connection.att_mtu - 3, MAXIMUM_ATTRIBUTE_VALUE)

    def send(self, packet: bytes) -> None:
        if self._send is not None:
            self._send(packet)
            return
        command = att.ATT_Write_Command(attribute_handle=self._write.handle, attribute_value=packet)
        self._connection.send_l2cap_pdu(ATT_CID, bytes(command))


class Operations(Protocol):
    """How an app on the phone reads and writes."""

    async def read(self, handle: int) -> bytes: ...

    async def write(self, handle: int, value: bytes) -> None: ...


class WatchLink:
    """A connection to a watch, seen from the phone.

    `operations`: how the app reads and writes, where the phone's system has rules for that; else at once.
    """

    operations: Operations | None = None

    def __init__(self, phone: Phone, connection: Connection) -> None:
        self.connection = connection
        self._phone = phone
        self._disconnected: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        #: The authentication requirements of each Security Request from the watch.
        self.security_requests: Mailbox[AuthReq] = Mailbox("the watch's Security Requests")
        connection.on(Connection.EVENT_DISCONNECTION, self._on_disconnection)
        connection.on(
            Connection.EVENT_SECURITY_REQUEST,
            lambda requirements: self.security_requests.put(AuthReq(requirements)),
        )

    @property
    def client(self) -> gatt_client.Client:
        return self.connection.gatt_client

    async def round_trip(self) -> None:
        """Reads the watch's name: everything that the watch sent before the answer has arrived with it."""
        await within(
            10,
            "the watch's name",
            self.client.read_characteristics_by_uuid(uuids.DEVICE_NAME, None),
        )

    async def exchange_mtu(self, mtu: int) -> int:
        return await within(10, "the MTU exchange", self.client.request_mtu(mtu))

    async def discover(self, *, attribute_by_attribute: bool = True) -> Database:
        """Discovers the whole database: service by service, and then attribute by attribute unless told not to."""
        return await within(30, "the discovery of the database", self._discover(attribute_by_attribute))

    async def read_all(self, database: Database) -> None:
        """Reads every attribute that says it can be read: values with the Read property, and all descriptors."""
        for service in database.services:
            for characteristic in service.characteristics:
                if characteristic.properties & gatt.Characteristic.Properties.READ:
                    characteristic.value = await self.read(characteristic.handle)
                for descriptor in characteristic.descriptors:
                    descriptor.value = await self.read(descriptor.handle)

    async def read(self, handle: int) -> bytes:
        reading = self.operations.read(handle) if self.operations else self.client.read_value(handle)
        return await within(10, f"the value of 0x{handle:04X}", reading)

    async def write(self, handle: int, value: bytes) -> None:
        writing = (
            self.operations.write(handle, value) if self.operations else self.client.write_value(handle, value, True)
        )
        await within(10, f"the write of 0x{handle:04X}", writing)

    def listen(self, handle: int) -> Mailbox[bytes]:
        """What the watch notifies or indicates of a value from now on. Writes no CCCD."""
        values: Mailbox[bytes] = Mailbox(f"what the watch said of 0x{handle:04X}")
        for subscribers in (self.client.notification_subscribers, self.client.indication_subscribers):
            subscribers.setdefault(handle, set()).add(values.put)
        return values

    async def subscribe(self, characteristic: Characteristic, bits: int = 1) -> None:
        """Writes the CCCD: 1 for notifications, 2 for indications."""
        cccd = next(each for each in characteristic.descriptors if each.type == uuids.CCCD)
        await self.write(cccd.handle, bits.to_bytes(2, "little"))

    async def pair(self, seconds: float = 20) -> None:
        """Pairs as the initiator. Raises PairingRefused if either side refused."""
        try:
            await within(seconds, "pairing to end", self.connection.pair())
        except ProtocolError as error:
            raise PairingRefused(error.error_code) from error

    async def encrypt(self) -> None:
        """Encrypts the link with the key in the phone's store. Raises EncryptionRefused."""
        keys = await self._phone.bond_with(self.connection.peer_address)
        assert keys is not None, "the phone has no bond with this watch"
        if keys.ltk is not None:
            await encrypt(self.connection, keys.ltk.value)
            return
        key = keys.ltk_central
        assert key is not None and key.rand is not None and key.ediv is not None, keys
        await encrypt(self.connection, key.value, random=key.rand, diversifier=key.ediv)

    def reversed_channel(
        self, data: Characteristic, write: Characteristic, send: Callable[[bytes], None] | None = None
    ) -> ReversedChannel:
        """The watch's own service, to which the phone has yet to subscribe. `send`: how packets leave, if not at once."""
        channel = ReversedChannel(self.connection, write, send)
        self.client.notification_subscribers[data.handle] = {channel.receive}
        return channel

    async def open_reversed(self, database: Database) -> tuple[PhoneTransport, PebbleSession]:
        """Opens PPoGATT over the watch's V2 service, as libpebble3 does on Android."""
        data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
        write = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE)
        transport = PhoneTransport(self.reversed_channel(data, write), reversed_roles=True)
        session = PebbleSession(transport)
        await self.subscribe(data)
        transport.start()
        await transport.opened()
        return transport, session

    async def is_established(self) -> bool:
        """Reads the watch's features, as hosts do first of all: false if the watch never heard of the connection.

        A central takes a connection for made when it has asked for it, and learns from the silence that its request was
        lost (Core 5.4, Vol 6, Part B, 4.5.2). Raises GaveUp if the link was lost in another way.
        """
        reading = asyncio.ensure_future(self.connection.get_remote_le_features())
        await asyncio.wait((reading, self._disconnected), timeout=10, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not reading.cancelled() and reading.exception() is None:
            return True
        reading.cancel()
        reason = await self.disconnected()
        if reason == hci.HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR:
            return False
        raise GaveUp(f"the connection ended at once, {hci.HCI_ErrorCode(reason).name}")

    async def disconnect(self) -> None:
        await within(10, "the disconnection", self.connection.disconnect())

    async def disconnected(self, seconds: float = 10) -> int:
        """The reason, when the link is gone."""
        return await within(seconds, "the watch to disconnect", asyncio.shield(self._disconnected))

    def _on_disconnection(self, reason: int) -> None:
        if not self._disconnected.done():
            self._disconnected.set_result(reason)

    async def _discover(self, attribute_by_attribute: bool) -> Database:
        client = self.client
        services = []
        for service in await client.discover_services():
            characteristics = []
            for characteristic in await client.discover_characteristics((), service):
                descriptors = await client.discover_descriptors(characteristic)
                characteristics.append(
                    Characteristic(
                        characteristic.uuid,
                        characteristic.handle - 1,
                        characteristic.handle,
                        characteristic.properties,
                        [Attribute(each.handle, each.type) for each in descriptors],
                    )
                )
            services.append(Service(service.uuid, service.handle, service.end_group_handle, characteristics))
        found = await client.discover_attributes() if attribute_by_attribute else []
        attributes = [Attribute(each.handle, each.type) for each in found]
        return Database(services, attributes)


async def attach(port: int | str) -> Transport:
    """Attaches to a controller: at an H4 port of this machine, or as a device of the netsim at `HOST:PORT,name=NAME`."""
    if isinstance(port, str):
        return await open_android_netsim_transport(port)
    transport = await open_tcp_client_transport(f"127.0.0.1:{port}")
    transport.sink.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return transport


@dataclass
class Phone:
    """A phone whose Bluetooth is on."""

    device: Device
    #: Everything that advertised while the phone scanned.
    reports: Mailbox[Report] = field(default_factory=lambda: Mailbox("the advertising reports"))
    #: Each time that a watch asked to be told of changes in the phone's database.
    service_changed_subscriptions: Mailbox[bool] = field(
        default_factory=lambda: Mailbox("the subscriptions to Service Changed")
    )
    #: Whether the phone refuses to read the CCCDs of companions' services, which Android's apps make write-only.
    subscriptions_are_write_only: bool = False

    @classmethod
    @contextlib.asynccontextmanager
    async def on(
        cls,
        port: int | str,
        *,
        address: str = ANDROID_ADDRESS,
        irk: bytes = ANDROID_IRK,
        private: bool = False,
        maximum_mtu: int = 517,
        keystore: KeyStore | None = None,
        pairs: PairingConfig | None = None,
        enhanced_bearers: bool = False,
    ) -> AsyncIterator[Phone]:
        """Switches a phone on at the H4 port of a controller, or on the netsim at `HOST:PORT,name=NAME`.

        `private`: it connects from a resolvable private address, a new one each time it is switched on; `address` is
        then only its identity. `maximum_mtu`: the largest ATT MTU that it agrees to. `keystore`: where its bonds are;
        `pairs`: how it pairs. `enhanced_bearers`: whether its GATT server takes enhanced ATT bearers, and says so.
        """
        transport = await within(10, f"the controller at port {port}", attach(port))
        try:
            configuration = DeviceConfiguration(
                name="Rig phone",
                address=hci.Address(address),
                irk=irk,
                le_privacy_enabled=private,
                le_rpa_timeout=0,
                eatt_enabled=enhanced_bearers,
            )
            device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            device.keystore = keystore or MemoryKeyStore()
            device.pairing_config_factory = lambda _: pairs or pairing()
            device.gatt_server.max_mtu = maximum_mtu
            # Bumble counts its attributes to find the next handle, which is not free once something was removed.
            device.gatt_server.next_handle = lambda: 1 + max(  # type: ignore[method-assign]
                (each.handle for each in device.gatt_server.attributes), default=0
            )
            phone = cls(device)
            phone._service_changed.on(
                gatt.Characteristic.EVENT_SUBSCRIPTION,
                lambda _, __, indicate: phone.service_changed_subscriptions.put(indicate),
            )
            device.host.on("advertising_report", phone._on_report)
            await within(20, "the phone's controller to start", device.power_on())
            yield phone
        finally:
            await transport.close()

    async def fall_silent(self) -> None:
        """The host learns that its links are lost by supervision timeout; its controller is reset, so that the peers lose them that way too."""
        for handle in list(self.device.connections):
            event = hci.HCI_Disconnection_Complete_Event(
                status=hci.HCI_ErrorCode.SUCCESS,
                connection_handle=handle,
                reason=hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR,
            )
            self.device.host.on_packet(bytes(event))
        await within(20, "the phone's controller to start again", self.device.power_on())

    def host_ppogatt(self, meta: bytes = META_ANDROID, *, encrypted: bool = False) -> ForwardChannel:
        """Adds the PPoGATT service, and after it the dummy service, as companion apps do."""
        channel = ForwardChannel(self, meta, encrypted=encrypted)
        readable = gatt.Characteristic.Properties.READ, gatt.Characteristic.Permissions.READABLE
        dummy = gatt.Service(uuids.DUMMY, [gatt.Characteristic(uuids.DUMMY, *readable, b"")])
        channel.services.append(dummy)
        self.device.add_services(channel.services)
        return channel

    def host_companion(self, app: bytes) -> ForwardChannel:
        """Adds another instance of the PPoGATT service, as PebbleKit does in the companion of a watchapp."""
        channel = ForwardChannel(self, bytes([0, 1]) + app + bytes([0]), encrypted=False)
        self.device.add_services(channel.services)
        return channel

    def host_app_launch(self, on_read: Callable[[], None]) -> None:
        """Adds App Launch. The value that the watch reads is empty: it is the reading that counts."""

        def read(_: Connection) -> bytes:
            on_read()
            return b""

        characteristic = gatt.Characteristic(
            uuids.APP_LAUNCH,
            gatt.Characteristic.Properties.READ,
            gatt.Characteristic.Permissions.READABLE,
            gatt.CharacteristicValue(read=read),
        )
        self.device.add_services([gatt.Service(uuids.APP_LAUNCH_SERVICE, [characteristic])])

    def remove(self, channel: ForwardChannel) -> tuple[int, int]:
        """Removes what was added for a channel, with its subscriptions. Returns the handles that are free now."""
        first, last = channel.services[0].handle, channel.services[-1].end_group_handle
        server = self.device.gatt_server
        server.attributes = [each for each in server.attributes if not first <= each.handle <= last]
        server.services = [each for each in server.services if each not in channel.services]
        for handle in range(first, last + 1):
            server.attributes_by_handle.pop(handle, None)
            for subscriptions in server.subscribers.values():
                subscriptions.pop(handle, None)
        channel.removed()
        return first, last

    def write_only_subscription(self, characteristic: gatt.Characteristic[bytes]) -> gatt.Descriptor:
        """A CCCD as Pebble's apps on Android declare it, so that Android itself refuses to have it read."""

        def refuse(_: Connection) -> bytes:
            raise att.ATT_Error(att.ErrorCode.READ_NOT_PERMITTED)

        server = self.device.gatt_server
        return gatt.Descriptor(
            uuids.CCCD,
            att.Attribute.WRITEABLE,
            gatt.CharacteristicValue(
                read=refuse, write=lambda connection, value: server.write_cccd(connection, characteristic, value)
            ),
        )

    def hide_service_changed_configuration(self) -> None:
        """Takes the CCCD of Service Changed away: on Android there is none, and every client is told."""
        server = self.device.gatt_server
        cccd = self._service_changed.handle + 1
        server.attributes = [each for each in server.attributes if each.handle != cccd]
        server.attributes_by_handle.pop(cccd, None)

    def hide_database_hash(self) -> None:
        """Takes the Database Hash away, as older phones have none."""
        assert self.device.gatt_service is not None
        database_hash = self.device.gatt_service.database_hash_characteristic
        assert database_hash is not None
        server = self.device.gatt_server
        gone = (database_hash.handle - 1, database_hash.handle)
        server.attributes = [each for each in server.attributes if each.handle not in gone]
        for handle in gone:
            server.attributes_by_handle.pop(handle, None)

    async def indicate_service_changed(self, first: int, last: int, *, everybody: bool = False) -> None:
        """Tells that the phone's database has changed in a range of handles: those who subscribed, or all clients."""
        await within(
            30,
            "the watch to confirm Service Changed",
            asyncio.gather(
                *(
                    self.device.indicate_subscriber(
                        connection,
                        self._service_changed,
                        first.to_bytes(2, "little") + last.to_bytes(2, "little"),
                        force=everybody,
                    )
                    for connection in self.device.connections.values()
                )
            ),
        )

    async def scan(self, address: str, *, scan_response: bool = False, seconds: float = 15) -> Report:
        """The first report from `address` (of its scan response, if so asked). Ends the scan."""
        wanted = "a scan response" if scan_response else "an advertisement"
        await within(10, "the scan to start", self.device.start_scanning(active=True))
        try:
            return await self.reports.take(
                seconds,
                f"{wanted} from {address}",
                lambda report: report.address.to_string(False) == address and report.is_scan_response == scan_response,
            )
        finally:
            await within(10, "the scan to stop", self.device.stop_scanning())

    async def find(self, accept: Callable[[Report], bool], seconds: float = 90) -> hci.Address:
        """The address of the next connectable advertisement that `accept` accepts. Ends the scan."""
        await within(10, "the scan to start", self.device.start_scanning(active=False))
        try:
            report = await self.reports.take(
                seconds, "an advertisement", lambda report: report.is_connectable and accept(report)
            )
            return report.address
        finally:
            await within(10, "the scan to stop", self.device.stop_scanning())

    async def bond_with(self, watch: hci.Address | str) -> PairingKeys | None:
        """The keys that the phone keeps for a watch."""
        assert self.device.keystore is not None
        return await self.device.keystore.get(str(watch))

    async def forget(self, watch: hci.Address | str) -> None:
        """Deletes the phone's bond with a watch."""
        assert self.device.keystore is not None
        await self.device.keystore.delete(str(watch))
        await self.device.refresh_resolving_list()

    async def change_address(self) -> hci.Address:
        """Takes a new resolvable private address, as phones do every quarter of an hour. Not while connected."""
        address = hci.Address.generate_private_address(self.device.irk)
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        return address

    async def connect(
        self, address: str, *, parameters: ConnectionParametersPreferences | None = None, seconds: float = 15
    ) -> WatchLink:
        """Connects to the random address `address`."""
        links: dict[Connection, WatchLink] = {}

        def made(connection: Connection) -> None:
            links[connection] = WatchLink(self, connection)

        # The link's end may lie right behind its beginning, before the task that awaits the connection is told of it.
        self.device.on(Device.EVENT_CONNECTION, made)
        try:
            connection = await within(
                seconds + 5,
                f"a connection to {address}",
                self.device.connect_le(
                    hci.Address(address), parameters and {hci.Phy.LE_1M: parameters}, timeout=seconds
                ),
            )
        finally:
            self.device.remove_listener(Device.EVENT_CONNECTION, made)
        return links[connection]

    @property
    def _service_changed(self) -> gatt.Characteristic[bytes]:
        assert self.device.gatt_service is not None
        characteristic = self.device.gatt_service.service_changed_characteristic
        assert characteristic is not None
        return characteristic

    def _on_report(
        self,
        report: hci.HCI_LE_Advertising_Report_Event.Report | hci.HCI_LE_Extended_Advertising_Report_Event.Report,
    ) -> None:
        if isinstance(report, hci.HCI_LE_Extended_Advertising_Report_Event.Report):
            kinds = hci.HCI_LE_Extended_Advertising_Report_Event.EventType
            is_scan_response = bool(report.event_type & kinds.SCAN_RESPONSE)
            is_connectable = bool(report.event_type & kinds.CONNECTABLE_ADVERTISING)
        else:
            legacy = hci.HCI_LE_Advertising_Report_Event.EventType
            is_scan_response = report.event_type == legacy.SCAN_RSP
            is_connectable = report.event_type == legacy.ADV_IND
        self.reports.put(Report(report.address, is_scan_response, is_connectable, bytes(report.data)))
