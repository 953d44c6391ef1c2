"""Gadgetbridge 0.83 on Android: with its own GATT server (the default), and in its GATT-client-only mode.

Watch-over-BLE sections 5.5 and 5.6, and for its PPoGATT 4.9. Names in `backquotes` are Gadgetbridge's own. It is the
plainest of the clients: no windows, no retransmission, no check of what comes in, and only the watch asks for a
bond, with its Security Request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from bumble import att
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from rig import companion
from rig import gatt as uuids
from rig.android import Refused, Sender
from rig.pebble import PebbleSession
from rig.phone import Characteristic, Database, ForwardChannel, WatchLink
from rig.ppogatt import SEQUENCE_NUMBERS, Closed, Kind, Violation, header
from rig.waiting import within

from .handset import Android, ClientFailure, or_fail

SCAN_SECONDS = 60
#: From `discoverServices` to the first packet of any kind.
FIRST_PACKET_SECONDS = 30
TARGET_MTU = 339
#: What `PebbleLESupport` believes until it is told.
INITIAL_MTU = 20
MAXIMUM_MTU = 512


class PebbleLESupport:
    """Gadgetbridge's PPoGATT: answers what comes, believes what it is told, and never sends anything twice."""

    def __init__(self) -> None:
        self.mtu = INITIAL_MTU
        #: How packets leave: by the app's own service, or by writing to the watch's, which Android may refuse.
        self.send_packet: Callable[[bytes], None]
        self.violations: list[Violation] = []
        self.on_bytes: Callable[[bytes], None] = lambda _: None
        self.on_closed: Callable[[Exception], None] = lambda _: None
        #: The first packet of any kind: for Gadgetbridge the watch is connected now.
        self.first_packet = asyncio.Event()
        self.may_send = asyncio.Event()
        #: How long Android takes to send an acknowledgement, when it is busy.
        self.acknowledgement_seconds = 0.0
        self._acknowledgements: deque[bytes] = deque()
        self._last_acknowledgement = 0.0
        self._sequence = 0
        self._expected = 0
        self._acknowledged = 0
        self._drained = asyncio.Event()
        self._drained.set()

    def send(self, stream: bytes) -> None:
        """`sendDataToPebble`: in pieces of the MTU less four bytes, one after the other, even while another is under way."""
        if not self.may_send.is_set():
            raise Closed("Gadgetbridge is mute: the watch's Reset Request had no version")
        size = min(self.mtu, MAXIMUM_MTU) - 4
        for offset in range(0, len(stream), size):
            self.send_packet(bytes([header(Kind.DATA, self._sequence)]) + stream[offset : offset + size])
            self._sequence = (self._sequence + 1) % SEQUENCE_NUMBERS
        self._drained.clear()

    def receive(self, packet: bytes) -> None:
        """`handlePPoGATTPacket`."""
        kind, sequence, payload = packet[0] & 7, packet[0] >> 3, packet[1:]
        self.first_packet.set()
        if kind == Kind.RESET_REQUEST:
            if self.may_send.is_set():
                self._violation("a Reset Request in an open session, after which Gadgetbridge counts on")
            with_version = len(packet) > 1
            windows = bytes([0x19, 0x19]) if with_version else b""
            self.send_packet(bytes([header(Kind.RESET_COMPLETE, 0)]) + windows)
            if with_version:
                self.may_send.set()
        elif kind == Kind.DATA:
            if sequence != self._expected:
                # It takes it for the next piece all the same, so that the stream is garbage from here on.
                self._violation(f"data packet {sequence} where {self._expected} was next")
            self._expected = (sequence + 1) % SEQUENCE_NUMBERS
            self._acknowledge(bytes([header(Kind.ACK, sequence)]))
            self.on_bytes(payload)
        elif kind == Kind.ACK:
            # Gadgetbridge ignores them; the rig looks whether all of its packets have arrived.
            if sequence == (self._sequence - 1) % SEQUENCE_NUMBERS:
                self._drained.set()
        elif kind != Kind.RESET_COMPLETE:
            self._violation(f"a packet of the invalid type {kind}")

    def _acknowledge(self, packet: bytes) -> None:
        """Sends an acknowledgement in time, behind those that wait already."""
        loop = asyncio.get_running_loop()
        self._acknowledgements.append(packet)
        self._last_acknowledgement = max(self._last_acknowledgement, loop.time() + self.acknowledgement_seconds)
        loop.call_at(self._last_acknowledgement, lambda: self.send_packet(self._acknowledgements.popleft()))

    async def drained(self, seconds: float = 10) -> None:
        """The watch has acknowledged the last packet."""
        await within(seconds, "the watch to acknowledge the last packet", self._drained.wait())

    def _violation(self, what: str) -> None:
        self.violations.append(Violation(f"the watch sent {what}"))


class Gadgetbridge:
    """The app. `client_only`: the device preference that leaves out its GATT server and uses reversed PPoGATT V1.

    `remembers_database`: Android need not look through the watch's database at each connection.
    """

    def __init__(self, android: Android, *, client_only: bool = False, remembers_database: bool = False) -> None:
        self.transport: PebbleLESupport
        self.violations: list[Violation] = []
        #: What GATT MTU said, in order.
        self.notified_mtus: list[int] = []
        self._android = android
        self._client_only = client_only
        self._server: ForwardChannel | None = None
        self._remembers_database = remembers_database
        self._database: Database | None = None

    async def scan(self) -> str:
        """`PebblePairingActivity`, by name alone; the names of dual-mode watches lead to Bluetooth Classic."""

        def accept(record: AdvertisingData) -> bool:
            # Android's device type must be LE too, which follows from the watch's random address (section 10, 4).
            name = record.get(AdvertisingData.COMPLETE_LOCAL_NAME)
            return bool(name) and name.startswith("Pebble ") and not name.startswith("Pebble Time LE ")

        return await self._android.scan(accept, SCAN_SECONDS)

    async def connect(self, address: str) -> PebbleSession:
        try:
            return await self._connect(address)
        except BaseException:
            await self._android.disconnect()
            raise

    async def _connect(self, address: str) -> PebbleSession:
        # 1. `PebbleGATTServer.initialize`: before anything else.
        self.transport = PebbleLESupport()
        self.transport.violations = self.violations
        session = PebbleSession(self.transport)
        if not self._client_only:
            if self._server is None:
                self._server = self._android.host_ppogatt(encrypted=False)
            self._server.on_packet = self.transport.receive
            self.transport.send_packet = self._server.send
        # 2. `PebbleGATTClient.connectToPebble`, without autoConnect; then `discoverServices`.
        link = await or_fail("IOException: could not connect", 60, self._android.connect(address))
        # Each operation is asked for at once, and lost if another is under way.
        link.operations = self._android.gatt
        database = await self._discover(link)
        if self._client_only:
            self._find_watch_service(link, database)
        link.connection.on(Connection.EVENT_CONNECTION_ATT_MTU_UPDATE, lambda: self._mtu_changed(link))
        # 3 to 8 follow one another through Android's callbacks; the packets come whenever they come.
        chain = self._android.begin(self._configure(link, database))
        # 9, 10. The first packet of any kind.
        await or_fail(
            "IOException: no packet from the Pebble", FIRST_PACKET_SECONDS, self.transport.first_packet.wait()
        )
        await or_fail("mute", FIRST_PACKET_SECONDS, self.transport.may_send.wait())
        await self._negotiate(session)
        await within(FIRST_PACKET_SECONDS, "Gadgetbridge to end its configuration", asyncio.wait((chain,)))
        if chain.cancelled():
            raise ClientFailure("IOException: the link was lost")
        return session

    async def disconnect(self) -> None:
        """Ends the GATT connection. Its GATT server stays until the service ends."""
        await self._android.disconnect()

    async def restart(self) -> None:
        """The service ends and starts again."""
        await self._android.disconnect()
        if self._server is not None:
            self._android.phone.remove(self._server)
            self._server = None

    def link_lost(self) -> None:
        """It waits until it is told to connect again, and begins from the beginning."""

    def phone_restarted(self) -> None:
        self._server = None

    async def _discover(self, link: WatchLink) -> Database:
        """Android remembers the database of a watch that it is bonded with."""
        if self._remembers_database and self._database is not None:
            return self._database
        self._database = await or_fail(
            "IOException: could not discover", FIRST_PACKET_SECONDS, link.discover(attribute_by_attribute=False)
        )
        return self._database

    async def _configure(self, link: WatchLink, database: Database) -> None:
        """`PebbleGATTClient`: each step in the callback of the one before. A step that Android refuses is the last."""
        with contextlib.suppress(Refused):
            await self._go_through_steps(link, database)

    async def _go_through_steps(self, link: WatchLink, database: Database) -> None:
        # 3. The trigger: pin the address, and let the watch ask for security (client-only: for reversed PPoGATT too).
        trigger = self._characteristic(database, uuids.TRIGGER_PAIRING)
        with contextlib.suppress(att.ATT_Error):
            if trigger.properties & trigger.properties.WRITE:
                await link.write(trigger.handle, b"\x11" if self._client_only else b"\x09")
            else:
                await link.read(trigger.handle)
        # 4. Connection Parameters, where they exist.
        if parameters := database.find(uuids.PAIRING_SERVICE, uuids.CONNECTION_PARAMETERS):
            await link.subscribe(parameters)
        # 5.
        await link.subscribe(self._characteristic(database, uuids.CONNECTIVITY))
        # 6. Without an MTU characteristic the chain ends here, in a NullPointerException that Android swallows.
        mtu = database.find(uuids.PAIRING_SERVICE, uuids.PAIRING_MTU)
        if mtu is None:
            if self._client_only:
                raise ClientFailure("NullPointerException", "there is no GATT MTU characteristic")
            return
        self.notified_mtus.clear()
        self._android.gatt.listen(mtu.handle, self._mtu_notified)
        await link.subscribe(mtu)
        held = list(self.notified_mtus)
        if self._client_only:
            data = self._characteristic(database, uuids.REVERSED_V1_DATA, uuids.REVERSED_V1_SERVICE)
            self._android.gatt.listen(data.handle, self.transport.receive)
            await link.subscribe(data)
        # 7. Writes back the value that was notified before the response to the subscription; without one, nothing.
        if not held:
            return
        await link.write(mtu.handle, held[-1].to_bytes(2, "little"))
        # 8. The watch may have made the exchange itself by now; then Android has nothing to do.
        await link.exchange_mtu(TARGET_MTU)

    async def _negotiate(self, session: PebbleSession) -> None:
        """`PebbleIoThread`: asks for the firmware's version as soon as it has seen a packet."""
        version = asyncio.create_task(companion.ask_version(session))
        await or_fail("no phone version request", FIRST_PACKET_SECONDS, companion.introduce(session))
        await or_fail("no firmware version", FIRST_PACKET_SECONDS, version)

    def _find_watch_service(self, link: WatchLink, database: Database) -> None:
        """Client-only: packets go to PBASE(30000006), by a thread that waits for each; what Android refuses is not repeated."""
        write = self._characteristic(database, uuids.REVERSED_V1_WRITE, uuids.REVERSED_V1_SERVICE)
        gatt = self._android.gatt
        self.transport.send_packet = Sender(
            link.connection, lambda packet: gatt.write_without_response(write.handle, packet)
        ).put

    def _mtu_notified(self, value: bytes) -> None:
        self.transport.mtu = int.from_bytes(value[:2], "little")
        self.notified_mtus.append(self.transport.mtu)

    def _mtu_changed(self, link: WatchLink) -> None:
        """`PebbleGATTServer.onMtuChanged`, which there is only with a server."""
        if self._server is not None:
            self.transport.mtu = link.connection.att_mtu

    @staticmethod
    def _characteristic(database: Database, uuid: UUID, service: UUID = uuids.PAIRING_SERVICE) -> Characteristic:
        found = database.find(service, uuid)
        if found is None:
            raise ClientFailure("NullPointerException", f"there is no characteristic {uuid}")
        return found
