"""Phones without apps: what Android and iOS do with a watch by themselves, for any app."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from bumble.core import AdvertisingData
from bumble.device import Connection, ConnectionParametersPreferences
from rig.android import AndroidGATT, Lost, Sender, notify_characteristic_changed
from rig.phone import META_ANDROID, ForwardChannel, Phone, Report, WatchLink
from rig.security import EncryptionRefused, PairingRefused, Person, pairing, stored_bonds
from rig.waiting import GaveUp, Mailbox, within

T = TypeVar("T")

#: How often a system tries by itself when the watch did not hear of the connection.
CONNECTION_ATTEMPTS = 3

#: What a scanner heard of one device: its advertisement and its scan response, as one record.
ScanFilter = Callable[[AdvertisingData], bool]


class ClientFailure(AssertionError):
    """A client gave up on the watch. `reason` is what its own code calls it."""

    def __init__(self, reason: str, detail: object = "") -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}" if detail else reason)


async def or_fail(reason: str, seconds: float, awaitable: Awaitable[T]) -> T:
    """Awaits as long as the client would, and fails as it does."""
    try:
        return await within(seconds, reason, awaitable)
    except GaveUp as error:
        raise ClientFailure(reason, error) from None


class Handset:
    """A phone: its radio, its bonds, its one link to the watch. It connects from private addresses, as phones do.

    `detached` returns when the radio at `port` is free again after the phone was switched off.
    """

    identity: str
    irk: bytes
    #: How the system opens a connection; None for Bumble's own values.
    parameters: ConnectionParametersPreferences | None = None

    def __init__(self, port: int | str, folder: Path, detached: Callable[[], Awaitable[None]] | None = None) -> None:
        self.phone: Phone
        self.link: WatchLink | None = None
        #: What the system tried in the background and could not do.
        self.troubles: list[Exception] = []
        #: How each pairing ended: None, or what was refused.
        self.pairings: Mailbox[PairingRefused | None] = Mailbox("how pairings ended")
        self.person = Person()
        #: The longest that an app may scan here, where it is known that it will list nothing.
        self.scan_limit: float | None = None
        self._port = port
        self._folder = folder
        self._detached = detached
        self._power = contextlib.AsyncExitStack()
        self._chores: set[asyncio.Task[None]] = set()

    # Power

    @classmethod
    @contextlib.asynccontextmanager
    async def on(
        cls, port: int | str, folder: Path, detached: Callable[[], Awaitable[None]] | None = None
    ) -> AsyncIterator[Any]:
        handset = cls(port, folder, detached)
        await handset.switch_on()
        try:
            yield handset
        finally:
            await handset.switch_off()

    async def switch_on(self) -> None:
        bonds = stored_bonds(self._folder / "phone.json")
        self.phone = await self._power.enter_async_context(
            Phone.on(
                self._port,
                address=self.identity,
                irk=self.irk,
                private=True,
                keystore=bonds,
                pairs=pairing(self.person),
            )
        )
        self.phone.device.gatt_server.max_mtu = 517

    async def switch_off(self) -> None:
        """The radio stops without a packet, as when the battery is empty; every app stops with it."""
        self._cancel_chores()
        self.link = None
        await self._power.aclose()
        if self._detached:
            await self._detached()

    def begin(self, chore: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a coroutine in the background for as long as the link lasts."""
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, chore: asyncio.Task[None]) -> None:
        self._chores.discard(chore)
        if not chore.cancelled() and isinstance(error := chore.exception(), Exception):
            self.troubles.append(error)

    # The watch

    async def scan(self, accept: ScanFilter, seconds: float) -> str:
        """The address of the first device that an app's filter accepts."""
        heard: dict[str, dict[bool, bytes]] = {}

        def accepts(report: Report) -> bool:
            halves = heard.setdefault(report.address.to_string(False), {})
            halves[report.is_scan_response] = report.data
            return len(halves) == 2 and accept(AdvertisingData.from_bytes(halves[False] + halves[True]))

        seconds = min(seconds, self.scan_limit or seconds)
        await within(10, "the scan to start", self.phone.device.start_scanning(active=True))
        try:
            found = await self.phone.reports.take(seconds, "a watch that the app would list", accepts)
        except GaveUp:
            raise ClientFailure("the list of watches is empty", f"{len(heard)} devices were heard") from None
        finally:
            await within(10, "the scan to stop", self.phone.device.stop_scanning())
        return found.address.to_string(False)

    async def connect(self, address: str, seconds: float = 60) -> WatchLink:
        """Connects, and encrypts the link if the watch is bonded: the system does that, no app asks for it."""
        for _ in range(CONNECTION_ATTEMPTS):
            link = await self.phone.connect(address, parameters=self.parameters, seconds=seconds)
            if await link.is_established():
                break
        else:
            raise GaveUp(f"none of {CONNECTION_ATTEMPTS} connections was established")
        self.link = link
        link.connection.on(Connection.EVENT_DISCONNECTION, lambda _: self._lost(link))
        link.connection.on(Connection.EVENT_SECURITY_REQUEST, lambda _: self.begin(self._secure(link)))
        await self._connected(link)
        if await self.is_bonded(address):
            self.begin(self._secure(link))
        return link

    async def is_bonded(self, address: str) -> bool:
        return await self.phone.bond_with(address) is not None

    async def disconnect(self) -> None:
        if self.link is not None:
            await self.link.disconnect()
            self.link = None

    async def _connected(self, link: WatchLink) -> None:
        """What the system does first on every link."""

    def _lost(self, link: WatchLink) -> None:
        if self.link is link:
            self.link = None
            self._cancel_chores()

    def _cancel_chores(self) -> None:
        for chore in list(self._chores):
            chore.cancel()

    async def _secure(self, link: WatchLink) -> None:
        """Encrypts with the key that there is, or pairs; what both systems do on a Security Request."""
        try:
            if link.connection.is_encrypted:
                return
            if await self.is_bonded(str(link.connection.peer_address)):
                await link.encrypt()
            else:
                await link.pair(60)
                self.pairings.put(None)
        except PairingRefused as refusal:
            self.pairings.put(refusal)
        except (EncryptionRefused, GaveUp, ConnectionError):
            if self.link is link:
                raise


class Android(Handset):
    """Android. Every GATT client counts as subscribed to Service Changed, which has no CCCD (section 7.4)."""

    #: The fast interval that Android takes while it discovers services.
    parameters = ConnectionParametersPreferences(
        connection_interval_min=15, connection_interval_max=15, max_latency=0, supervision_timeout=5000
    )
    identity = "E1:B0:0B:1E:5A:01"
    irk = bytes.fromhex("a0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f")

    def __init__(self, port: int | str, folder: Path, detached: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__(port, folder, detached)
        #: The GATT operations that the system has refused to an app, because another was under way.
        self.lost: list[Lost] = []
        #: The present link's GATT, as an app sees it.
        self.gatt: AndroidGATT

    async def switch_on(self) -> None:
        await super().switch_on()
        self.phone.hide_service_changed_configuration()
        self.phone.subscriptions_are_write_only = True

    async def _connected(self, link: WatchLink) -> None:
        self.gatt = AndroidGATT(link, self.lost)

    def host_ppogatt(self, *, encrypted: bool) -> ForwardChannel:
        """Adds an app's PPoGATT service, whose packets leave one after the other."""
        channel = self.phone.host_ppogatt(META_ANDROID, encrypted=encrypted)
        senders: dict[Connection, Sender] = {}

        def send(connection: Connection, handle: int, packet: bytes) -> None:
            if connection not in senders:
                senders.clear()
                senders[connection] = Sender(
                    connection, lambda each: notify_characteristic_changed(connection, handle, each)
                )
            senders[connection].put(packet)

        channel.sender = send
        return channel

    def database_changed(self) -> None:
        """For each service that an app adds or removes, Android says that everything may have changed."""
        if self.link is not None:
            self.begin(self.phone.indicate_service_changed(0x0001, 0xFFFF, everybody=True))

    async def create_bond(self, link: WatchLink) -> bool:
        """`BluetoothDevice.createBond`: false if there is one. Returns at once; the bond comes later."""
        if await self.is_bonded(str(link.connection.peer_address)):
            return False
        self.begin(self._secure(link))
        return True

    async def bonded(self, address: str, seconds: float) -> None:
        """Returns when the system broadcasts BOND_BONDED."""
        if await self.is_bonded(address):
            return
        refusal = await self.pairings.take(seconds, "the bond")
        if refusal is not None:
            raise ClientFailure("BOND_NONE", refusal)


class IPhone(Handset):
    """iOS. The link is the system's, which keeps it for notifications (ANCS) when an app lets go of it.

    It begins with a supervision timeout of 720 ms, which iOS never raises by itself (section 2.2), and with an exchange
    of the MTU, which no app can influence.
    """

    identity = "E1:05:1E:5A:00:02"
    irk = bytes.fromhex("10d1e2f3a4b5c6d7e8f90a1b2c3d4e50")
    parameters = ConnectionParametersPreferences(
        connection_interval_min=30, connection_interval_max=30, max_latency=0, supervision_timeout=720
    )
    #: What iPhones have asked for since the iPhone 7.
    mtu = 185

    async def pair_in_settings(self, address: str) -> None:
        """Its owner pairs the watch in iOS's own settings, without any app."""
        link = await self.connect(address)
        await self._secure(link)
        refusal = await self.pairings.take(10, "the pairing")
        if refusal is not None:
            raise ClientFailure("iOS cannot pair", refusal)

    async def _connected(self, link: WatchLink) -> None:
        await link.exchange_mtu(self.mtu)

    def database_changed(self, first: int, last: int) -> None:
        """iOS indicates the handles concerned, to those who subscribed."""
        if self.link is not None:
            self.begin(self.phone.indicate_service_changed(first, last))

    def added(self, channel: ForwardChannel) -> None:
        self.database_changed(channel.services[0].handle, channel.services[-1].end_group_handle)

    def remove(self, channel: ForwardChannel) -> None:
        self.database_changed(*self.phone.remove(channel))
