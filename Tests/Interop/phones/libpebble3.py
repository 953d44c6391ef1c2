"""The Core Devices app, which is libpebble3 (coredevices/mobileapp), on Android and on iOS.

Watch-over-BLE sections 5.2 to 5.4; PPoGATT itself, with libpebble3's windows and timers, is `rig/ppogatt.py`. Names in
`backquotes` are libpebble3's own. Left out: pauses that only make it slower (2.5 s after the start of the app and between
attempts), and its trying again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bumble import att
from bumble.core import AdvertisingData
from libpebble2.protocol.apps import AppRunState, AppRunStateRequest, AppRunStateStart
from rig import companion
from rig import gatt as uuids
from rig.android import GATTQueue, Sender
from rig.pebble import PebbleSession
from rig.phone import (
    META_IOS,
    Characteristic,
    Database,
    ForwardChannel,
    ReversedChannel,
    WatchLink,
)
from rig.ppogatt import HANDSHAKE_SECONDS, Closed, PhoneTransport, State, Violation
from rig.waiting import GaveUp, Mailbox

from .handset import Android, ClientFailure, Handset, IPhone, or_fail

#: `PebbleBle`, `Scanning.kt`.
SCAN_SECONDS = 30
#: `TransportConnector`: a direct connection.
CONNECT_SECONDS = 60
TARGET_MTU = 339
#: How long the first Connectivity value may take.
CONNECTIVITY_SECONDS = 10
#: How long a watch that says it is bonded may take until it says it is encrypted.
ENCRYPTION_SECONDS = 5
PAIRING_SECONDS = 60
#: From the first to the second look at Connectivity and at the battery.
LAZY_SECONDS = 2
#: `PPoGLinkStateManager`: the subscription to the watch's own service.
REVERSED_SUBSCRIPTION_SECONDS = 5
#: iOS only: after its own Reset Request.
SECOND_HANDSHAKE_SECONDS = 5
NEGOTIATION_SECONDS = 20

COMPANIES = (0x0154, 0x0EEA)
#: Manufacturer data: type and serial number, or those and the extended part.
PAYLOAD_LENGTHS = (13, 19)
#: APLITE, BASALT and CHALK, which the app reaches by Bluetooth Classic (section 1.4).
CLASSIC_HARDWARE = range(1, 12)
#: BASALT and CHALK, which are not asked for pairing (`WatchColor`, section 1.4).
COLORS_WITHOUT_TRIGGER = range(11, 24)


def scan_filter(record: AdvertisingData, *, hides_classic: bool) -> bool:
    """What `Scanning.kt` lists: 0xFED9, a name, and Pebble's manufacturer data."""
    services = record.get(AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS) or []
    name = record.get(AdvertisingData.COMPLETE_LOCAL_NAME)
    manufacturer = record.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)
    if uuids.PAIRING_SERVICE not in services or not name or manufacturer is None:
        return False
    company, payload = manufacturer
    if company not in COMPANIES or len(payload) not in PAYLOAD_LENGTHS:
        return False
    hardware = payload[13] if len(payload) > 13 else None
    return not hides_classic or hardware not in CLASSIC_HARDWARE


@dataclass(frozen=True)
class ConnectivityStatus:
    """`ConnectivityStatus`: the four bytes of PBASE(00000001)."""

    paired: bool
    encrypted: bool
    supports_pinning_without_slave_security: bool

    @classmethod
    def parse(cls, value: bytes) -> ConnectivityStatus:
        if len(value) < 4:
            raise ClientFailure("MalformedConnectivityStatus", value.hex())
        return cls(bool(value[0] & 2), bool(value[0] & 4), bool(value[0] & 16))


class ConnectivityWatcher:
    """`ConnectivityWatcher`: reads the status at once; two seconds later subscribes, and reads again."""

    def __init__(self, link: WatchLink, characteristic: Characteristic) -> None:
        self.status: ConnectivityStatus | None = None
        self._link = link
        self._characteristic = characteristic
        self._statuses: Mailbox[ConnectivityStatus] = Mailbox("Connectivity")

    async def watch(self) -> None:
        self._take(await self._link.read(self._characteristic.handle))
        await asyncio.sleep(LAZY_SECONDS)
        self._link.client.notification_subscribers[self._characteristic.handle] = {self._take}
        await self._link.subscribe(self._characteristic)
        self._take(await self._link.read(self._characteristic.handle))

    async def wait_for(
        self, reason: str, seconds: float, accept: Callable[[ConnectivityStatus], bool] = lambda _: True
    ) -> ConnectivityStatus:
        if self.status is not None and accept(self.status):
            return self.status
        return await or_fail(reason, seconds, self._statuses.take(seconds + 1, reason, accept))

    def _take(self, value: bytes) -> None:
        self.status = ConnectivityStatus.parse(value)
        self._statuses.put(self.status)


class LibPebble3:
    """What both platforms share. `violations`: what the watch did, in all sessions, that no watch does."""

    def __init__(self, handset: Handset) -> None:
        self.violations: list[Violation] = []
        self.transport: PhoneTransport | None = None
        self._handset = handset
        self._server: ForwardChannel | None = None
        #: What the advertisement said of the watch's colour.
        self._color: int | None = None

    async def scan(self) -> str:
        """The watch that its user taps in the list."""

        def accept(record: AdvertisingData) -> bool:
            if not scan_filter(record, hides_classic=isinstance(self._handset, Android)):
                return False
            payload = record.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)[1]
            self._color = payload[14] if len(payload) > 14 else None
            return True

        return await self._handset.scan(accept, SCAN_SECONDS)

    def link_lost(self) -> None:
        self._unregister()

    async def _watch_the_rest(self, link: WatchLink, database: Database) -> None:
        """`BatteryWatcher`: reads the level, and subscribes two seconds later; failures are only logged."""
        battery = database.find(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
        if battery is None:
            return
        await link.read(battery.handle)
        await asyncio.sleep(LAZY_SECONDS)
        await link.subscribe(battery)

    async def _manage_parameters(self, link: WatchLink, database: Database) -> None:
        """`ConnectionParams`: where PBASE(00000005) exists, tells the watch that the phone manages them."""
        parameters = database.find(uuids.PAIRING_SERVICE, uuids.CONNECTION_PARAMETERS)
        if parameters is None:
            return
        await link.subscribe(parameters)
        await link.write(parameters.handle, b"\x00\x01")

    async def _trigger(self, link: WatchLink, database: Database, flags: int) -> None:
        """`PebblePairing.requestBlePairing`: writes the trigger with response; an error is only logged."""
        if self._color in COLORS_WITHOUT_TRIGGER:
            return
        trigger = database.find(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING)
        if trigger is None:
            raise ClientFailure("NoPairingTrigger")
        try:
            await link.write(trigger.handle, bytes([flags]))
        except att.ATT_Error:
            pass

    def _watch_connectivity(self, link: WatchLink, database: Database) -> ConnectivityWatcher:
        status = database.find(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY)
        if status is None:
            raise ClientFailure("NoConnectivityCharacteristic")
        watcher = ConnectivityWatcher(link, status)
        self._handset.begin(watcher.watch())
        return watcher

    async def _is_encrypted(self, connectivity: ConnectivityWatcher) -> bool:
        """Whether the system's own encryption shows in time."""
        try:
            await connectivity.wait_for("not encrypted", ENCRYPTION_SECONDS, lambda status: status.encrypted)
        except ClientFailure:
            return False
        return True

    def _new_transport(self, channel: ForwardChannel | ReversedChannel, *, reversed_roles: bool) -> PhoneTransport:
        self.transport = PhoneTransport(channel, reversed_roles=reversed_roles)
        # The list is the transport's own: whatever it adds later is here too.
        self.transport.violations = self.violations
        return self.transport

    def _unregister(self, *, says_goodbye: bool = False) -> None:
        """The watch's address is registered no more: what it sends is dropped."""
        if self.transport is not None:
            if says_goodbye and self.transport.state is State.OPEN:
                self.transport.say_goodbye()
            self.transport.close("the app has disconnected")

    async def _opened(self, transport: PhoneTransport) -> None:
        """`PPoG.initWaitingForResetRequest`, or with the roles reversed the answer to the phone's own."""
        try:
            await transport.opened(HANDSHAKE_SECONDS)
        except (GaveUp, Closed) as error:
            raise ClientFailure("TimeoutInitializingPpog", error) from None

    async def _negotiate(self, session: PebbleSession) -> PebbleSession:
        """`Negotiator`: waits for the watch's question, then versions, colour, clock and the running app."""

        async def conversation() -> None:
            await companion.negotiate(session)
            session.send(AppRunState(data=AppRunStateRequest()))
            await session.expect(
                AppRunState, "the running app", lambda packet: isinstance(packet.data, AppRunStateStart)
            )

        await or_fail("NegotiationFailed", NEGOTIATION_SECONDS, conversation())
        return session


class LibPebble3Android(LibPebble3):
    """libpebble3 on Android (section 5.3).

    `reversed_v2`: the setting that prefers the watch's own service (`useReversedPpogV2`). `legacy_reversed`: the setting
    that uses a Pebble 2's, where the watch begins (`legacyReversedPPoG`); it is looked for after V2. `has_stale_cache`: what the system remembers of the
    watch's database is wrong where that service is. `server_seconds`: how long Android takes to open a GATT server and to
    add services to it, after which the watch may long have looked.
    """

    def __init__(
        self,
        android: Android,
        *,
        reversed_v2: bool = True,
        legacy_reversed: bool = False,
        has_stale_cache: bool = False,
        server_seconds: float = 0,
    ) -> None:
        super().__init__(android)
        self._has_stale_cache = has_stale_cache
        self._server_seconds = server_seconds
        self._android = android
        self._uses_reversed_v2 = reversed_v2
        self._uses_legacy_reversed = legacy_reversed

    async def connect(self, address: str) -> PebbleSession:
        try:
            return await self._connect(address)
        except BaseException:
            await self.disconnect()
            raise

    async def _connect(self, address: str) -> PebbleSession:
        # 1. `KableGattClient.connect`, directly.
        link = await or_fail("ConnectTimeout", CONNECT_SECONDS, self._android.connect(address, CONNECT_SECONDS))
        # Kable lets operations wait for their turn.
        queue = GATTQueue(self._android.gatt)
        link.operations = queue
        # 2. `discoverServices`: everything, since Android does it once for all apps.
        database = await or_fail("FailedToDiscover", 30, link.discover(attribute_by_attribute=False))
        # 3. V2 if the watch has it, V1 if it has that, else forward; of the first two as far as the settings let it.
        has_v2 = database.find(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA) is not None
        has_v1 = database.find(uuids.REVERSED_V1_SERVICE, uuids.REVERSED_V1_DATA) is not None
        is_v2 = self._uses_reversed_v2 and has_v2
        is_reversed = is_v2 or self._uses_legacy_reversed and has_v1
        # 4. Forward: the GATT server comes up after the phone's own discovery, and perhaps after the watch's.
        if not is_reversed:
            await self._register_server()
        # 5. `ConnectionParams`, lazily.
        self._android.begin(self._manage_parameters(link, database))
        # 6. `Mtu`.
        await or_fail("MtuGattError", 30, link.exchange_mtu(TARGET_MTU))
        # 7, 8. `ConnectivityWatcher`, `BatteryWatcher`.
        connectivity = self._watch_connectivity(link, database)
        self._android.begin(self._watch_the_rest(link, database))
        status = await connectivity.wait_for("FailedToReadConnectionStatus", CONNECTIVITY_SECONDS)
        # 9. Paired for both sides, and encrypted: nothing to do. Else it pairs.
        if not (status.paired and await self._android.is_bonded(address) and await self._is_encrypted(connectivity)):
            await self._pair(link, database, status, address)
        # 13, 14. PPoGATT.
        session = await (self._open_reversed(link, database, queue, is_v2=is_v2) if is_reversed else self._open_forward())
        # 15.
        return await self._negotiate(session)

    async def disconnect(self) -> None:
        """Its user turns the watch off in the list: the app lets go of the GATT connection, and Android ends the link."""
        await self._android.disconnect()
        self._unregister()

    async def restart(self) -> None:
        """The process dies and starts again: its link and its GATT server are gone."""
        await self.disconnect()
        if self._server is not None:
            self._android.phone.remove(self._server)
            self._server = None

    def phone_restarted(self) -> None:
        self._server = None

    async def _pair(self, link: WatchLink, database: Database, status: ConnectivityStatus, address: str) -> None:
        # 10. 3: pin the address, and no Security Request, since `createBond` follows; else 5: a forced one.
        flags = 0x03 if status.supports_pinning_without_slave_security else 0x05
        if self._uses_legacy_reversed:
            flags |= 0x10
        await self._trigger(link, database, flags)
        # 11, 12.
        if status.supports_pinning_without_slave_security and not await self._android.create_bond(link):
            raise ClientFailure("CreateBondFailed")
        await or_fail("PairingTimedOut", PAIRING_SECONDS, self._android.bonded(address, PAIRING_SECONDS + 1))

    async def _register_server(self) -> ForwardChannel:
        """`GattServerManager`: once in a process."""
        if self._server is None:
            await asyncio.sleep(self._server_seconds)
            self._server = self._android.host_ppogatt(encrypted=True)
            self._android.database_changed()
        # Whatever the watch writes before the handshake is awaited is an error, as in libpebble3.
        self._new_transport(self._server, reversed_roles=False).start()
        return self._server

    async def _open_forward(self) -> PebbleSession:
        assert self.transport is not None
        session = PebbleSession(self.transport)
        await self._opened(self.transport)
        return session

    async def _open_reversed(
        self, link: WatchLink, database: Database, queue: GATTQueue, *, is_v2: bool
    ) -> PebbleSession:
        """V2, where the phone begins, or V1, where it waits for the watch's Reset Request once it has subscribed."""
        if is_v2:
            service, data_uuid, write_uuid = uuids.REVERSED_SERVICE, uuids.REVERSED_DATA, uuids.REVERSED_WRITE
        else:
            service, data_uuid, write_uuid = uuids.REVERSED_V1_SERVICE, uuids.REVERSED_V1_DATA, uuids.REVERSED_V1_WRITE
        data = database.characteristic(service, data_uuid)
        write = database.characteristic(service, write_uuid)
        sender = Sender(link.connection, lambda packet: queue.write_without_response(write.handle, packet))
        channel = link.reversed_channel(data, write, sender.put)
        if self._has_stale_cache:
            for descriptor in data.descriptors:
                descriptor.handle += 0x1000
        transport = self._new_transport(channel, reversed_roles=is_v2)
        session = PebbleSession(transport)
        if not is_v2:
            # The watch may begin before the answer to the subscription has been read.
            transport.start()
        try:
            await or_fail("ReversedPpogSubscription", REVERSED_SUBSCRIPTION_SECONDS, link.subscribe(data))
        except (ClientFailure, att.ATT_Error):
            # A stale cache, for one: it falls back to its own service.
            await self._register_server()
            return await self._open_forward()
        if is_v2:
            transport.start()
        await self._opened(transport)
        return session


class LibPebble3IOS(LibPebble3):
    """libpebble3 on iOS (section 5.4). Always forward PPoGATT; the app's end does not end the link."""

    def __init__(self, iphone: IPhone) -> None:
        super().__init__(iphone)
        self._iphone = iphone
        self.launch()

    def launch(self) -> None:
        """The app starts: `GattServer` is created at once. Nothing in it needs encryption.

        After a kill, iOS has kept the service (state restoration); the app removes it and adds it again, so that the
        watch hears of it.
        """
        if self._server is not None:
            self._iphone.remove(self._server)
        self._server = self._iphone.phone.host_ppogatt(META_IOS)
        self._iphone.added(self._server)

    async def connect(self, address: str) -> PebbleSession:
        assert self._server is not None
        transport = self._new_transport(self._server, reversed_roles=False)
        session = PebbleSession(transport)
        transport.start()
        # The link may be there still, from before, for CoreBluetooth's own ends.
        link = self._iphone.link
        if link is None:
            link = await or_fail("ConnectTimeout", CONNECT_SECONDS, self._iphone.connect(address, CONNECT_SECONDS))
        database = await or_fail("FailedToDiscover", 30, link.discover(attribute_by_attribute=False))
        self._iphone.begin(self._manage_parameters(link, database))
        connectivity = self._watch_connectivity(link, database)
        self._iphone.begin(self._watch_the_rest(link, database))
        status = await connectivity.wait_for("FailedToReadConnectionStatus", CONNECTIVITY_SECONDS)
        if not (status.paired and await self._is_encrypted(connectivity)):
            # iOS tells no app whether it is bonded: the watch has to ask for security, forced.
            await self._trigger(link, database, 0x04)
            await connectivity.wait_for("PairingTimedOut", PAIRING_SECONDS, lambda each: each.paired and each.encrypted)
        await self._open(transport)
        return await self._negotiate(session)

    async def disconnect(self) -> None:
        """Its user turns the watch off in the list: a Reset Request, and the link stays."""
        self._unregister(says_goodbye=self._iphone.link is not None)
        # It pauses before it connects again; by then the watch has answered.
        if self._iphone.link is not None:
            await self._iphone.link.round_trip()

    async def restart(self) -> None:
        """The app exits and is launched again; the link stays."""
        await self.disconnect()
        self.launch()

    def phone_restarted(self) -> None:
        self._server = None
        self.launch()

    async def _open(self, transport: PhoneTransport) -> None:
        try:
            await self._opened(transport)
        except ClientFailure:
            # `PPoG`, iOS only: begins by itself.
            transport.request_reset()
            await or_fail("TimeoutInitializingPpog", SECOND_HANDSHAKE_SECONDS, transport.opened(SECOND_HANDSHAKE_SECONDS))
