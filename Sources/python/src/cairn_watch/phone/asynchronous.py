"""A phone with a companion app, for programs with asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from bumble import att, gatt, hci
from bumble.core import AdvertisingData, BaseBumbleError, ProtocolError
from bumble.device import Connection, ConnectionParametersPreferences, Device, DeviceConfiguration
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport
from bumble.transport.common import Transport

from ..appmessage import Dictionary, Message, Value, checked, matches
from ..errors import CairnError, TimedOut
from .gatt import ATT_CID, DUMMY, PAIRING_SERVICE, PHONE_DATA, PHONE_META, PHONE_SERVICE, OneAtATime
from .ppogatt import PPoGATT
from .session import Session

T = TypeVar("T")

#: The ATT_MTU that libpebble3 asks for.
MTU = 339
#: How long the watch may take for one step that is not given a time, in seconds.
STEP_SECONDS = 20.0
#: A connection whose request the watch did not hear ends at once; it is tried so often.
_ATTEMPTS = 3
#: What the watch reads of the phone's PPoGATT service: versions 0 to 1, the system's UUID, a session for everything.
_META = bytes([0, 1]) + bytes(16) + bytes([1])


class HasAir(Protocol):
    """A watch or a radio of this package."""

    @property
    def air(self) -> str:
        """Where hosts get a controller on the radio."""


class HasAddress(Protocol):
    """A watch of this package, or what a phone has found."""

    @property
    def address(self) -> str:
        """A device address."""


@dataclass(frozen=True)
class Found:
    """A device that a phone has heard. `name`: of its advertisement, empty if it has none. `rssi`: in dBm."""

    address: str
    name: str
    rssi: int
    #: The AD structures of its advertisement and of its scan response.
    advertisement: bytes
    scan_response: bytes


class PhoneError(CairnError, ConnectionError):
    """The phone could not do it.

    `code`: `no-air` (the radio cannot be reached, or is gone), `not-connected`, `link-lost`, `pairing-failed`,
    `not-encrypted`, `no-service`, `no-session`, `session-lost`, or `refused` (the watch took the AppMessage not).
    """


class _Person(PairingDelegate):
    """The person who holds the phone: agrees to everything, and remembers which number was shown."""

    def __init__(self) -> None:
        super().__init__(PairingDelegate.IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
        self.number: int | None = None

    async def compare_numbers(self, number: int, digits: int) -> bool:
        self.number = number
        return True


@dataclass
class _Link:
    """A connection to a watch."""

    connection: Connection
    gatt: OneAtATime
    #: Why it ended, once it has.
    ended: asyncio.Future[str]
    session: Session | None = None
    transport: PPoGATT | None = None


class AsyncPhone:
    """A phone with a companion app. Its operations of GATT go one at a time, as on Android.

    Everything that waits raises TimedOut when its time is over, and PhoneError as soon as the link or the radio is gone.
    """

    def __init__(self, air: str, name: str, address: str) -> None:
        self._air = air
        self._name = name
        self._address = address
        self._irk = secrets.token_bytes(16)
        self._bonds = MemoryKeyStore()
        self._person = _Person()
        self._transport: Transport | None = None
        self._device: Device | None = None
        self._link: _Link | None = None
        self._pairing: asyncio.Task[None] | None = None
        #: The PPoGATT service that the phone hosts, once it does.
        self._data: gatt.Characteristic[bytes] | None = None

    @classmethod
    async def start(
        cls, air: str | int | HasAir, *, name: str = "Phone", address: str | None = None, timeout: float = STEP_SECONDS
    ) -> AsyncPhone:
        """Switches a phone on.

        `air`: a watch or a radio, or where that has its controllers: a port of 127.0.0.1, `tcp:HOST:PORT` or `unix:PATH`.
        `address`: its static random address, such as `C1:00:00:00:00:01`; else another each time. `timeout`: in seconds.
        Raises PhoneError (`no-air`) if no controller answers there.
        """
        if isinstance(air, int):
            place = f"tcp:127.0.0.1:{air}"
        else:
            place = air if isinstance(air, str) else air.air
        phone = cls(place, name, address or _random_address())
        await phone._switch_on(timeout)
        return phone

    # What it is

    @property
    def address(self) -> str:
        """Its address."""
        return self._address

    @property
    def is_connected(self) -> bool:
        """Whether it has a link to a watch."""
        return self._link is not None and not self._link.ended.done()

    @property
    def has_session(self) -> bool:
        """Whether a session is open."""
        session = self._link.session if self._link is not None else None
        return session is not None and session.closed is None and session.introduced.is_set()

    @property
    def number(self) -> int | None:
        """The number of six digits that it showed at the last pairing, to be compared with the watch's."""
        return self._person.number

    # The link

    async def scan(self, seconds: float = 3) -> list[Found]:
        """Everything that advertises, the latest of each address."""
        heard = _Heard()
        async with self._scanning(heard):
            await asyncio.sleep(seconds)
        return heard.found()

    async def find(self, name: str | None = None, address: str | None = None, timeout: float = 30) -> Found:
        """The first watch that is heard with both its advertisement and its scan response. Raises TimedOut.

        `name`, `address`: what it must have; else what Pebbles have, the service 0xFED9, is enough.
        """
        heard = _Heard()

        def wanted(found: Found) -> bool:
            if name is not None or address is not None:
                return name in (None, found.name) and address in (None, found.address)
            services = AdvertisingData.from_bytes(found.advertisement).get(
                AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS
            )
            return PAIRING_SERVICE in (services or [])

        async def search() -> Found:
            while True:
                for found in heard.found():
                    if found.advertisement and found.scan_response and wanted(found):
                        return found
                heard.changed.clear()
                await heard.changed.wait()

        async with self._scanning(heard):
            what = " ".join(["a watch", *([f"“{name}”"] if name else []), *([address] if address else [])])
            try:
                return await self._within(timeout, what, search())
            except TimedOut as error:
                others = ", ".join(f"{each.address} “{each.name}”" for each in heard.found()) or "nothing"
                raise TimedOut(error.code, f"{error.message}; what it heard was {others}") from None

    async def connect(self, watch: str | HasAddress, timeout: float = STEP_SECONDS) -> None:
        """Connects, and encrypts the link if the watch is bonded.

        `watch`: its address, or what has one. Raises TimedOut if it does not answer, PhoneError (`not-encrypted`) if it has
        lost the key.
        """
        address = watch if isinstance(watch, str) else watch.address
        if self.is_connected:
            raise PhoneError("link-lost", f"the phone has a link already; disconnect() before it connects to {address}")
        device = self._on()
        self._link = await self._within(timeout, f"a link to {address}", self._connect(device, address))
        if await self._bonds.get(str(self._link.connection.peer_address)) is not None:
            await self._encrypt(self._link)

    async def pair(self, timeout: float = 30, wait: bool = True) -> None:
        """Pairs with the watch. The phone's side agrees; with `--pairing button` a person at the watch has to.

        `wait`: else it returns at once, and `paired` waits. Raises PhoneError (`pairing-failed`) with the reason.
        """
        link = self._linked()
        self._pairing = asyncio.create_task(self._pair(link))
        # An error that no call of `paired` asks for is no unhandled one.
        self._pairing.add_done_callback(lambda task: task.cancelled() or task.exception())
        if wait:
            await self.paired(timeout)

    async def paired(self, timeout: float = 30) -> None:
        """Returns when the pairing that `pair` began has ended well. Raises PhoneError (`pairing-failed`)."""
        if self._pairing is None:
            raise PhoneError("pairing-failed", "no pairing was begun: pair() begins one")
        await self._while_linked(self._linked(), timeout, "the end of the pairing", _shielded(self._pairing))

    async def disconnect(self, timeout: float = STEP_SECONDS) -> None:
        """Ends the link as an app does that lets go of it. There need not be one."""
        link = self._link
        if link is not None and not link.ended.done():
            await self._within(timeout, "the end of the link", link.connection.disconnect())
        self._link = None

    async def drop(self, timeout: float = STEP_SECONDS) -> None:
        """Loses the link without a packet, as when it goes out of range, and is back on the radio at once.

        The watch notices after its supervision timeout. Bonds stay. Sessions and the phone's own services are gone.
        """
        await self._switch_off()
        await self._switch_on(timeout)

    async def forget(self) -> None:
        """Forgets every watch that it has paired with; the watches do not know."""
        self._bonds.all_keys.clear()
        await self._on().refresh_resolving_list()

    # The session

    async def open_session(
        self, service: Literal["any", "watch", "phone"] = "any", timeout: float = STEP_SECONDS
    ) -> None:
        """Opens the Pebble Protocol over PPoGATT, and answers what the watch asks every phone.

        `service`: whose PPoGATT service carries it: the watch's, where the phone is the client; the phone's, where it is the
        server; or the watch's if it has one. Raises PhoneError: `no-service`, or `not-encrypted` if the watch wants that.
        """
        link = self._linked()
        what = f"a session over the {'watch or phone' if service == 'any' else service}'s PPoGATT service"
        try:
            await self._while_linked(link, timeout, what, self._open(link, service))
        except BaseException:
            if link.transport is not None:
                link.transport.close("the session was not opened")
            link.session = link.transport = None
            raise

    async def launch(self, app: str, timeout: float = STEP_SECONDS) -> None:
        """Has the watch run an app. `app`: its UUID. Raises TimedOut if it does not, such as one that is not installed."""
        await self._in_session(timeout, f"app {app} to run", lambda session: session.launch(str(app).lower()))

    async def running_app(self, timeout: float = STEP_SECONDS) -> str:
        """The UUID of the app that the watch runs."""
        return await self._in_session(timeout, "which app runs", lambda session: session.running())

    async def push(self, entries: Dictionary, app: str | None = None, timeout: float = STEP_SECONDS) -> None:
        """Sends an AppMessage, and returns when the watch has taken it.

        `entries`: keys and values, as `cairn_watch.Watch.send` has them. `app`: the UUID of the app that it is for; else the
        one that runs. Raises PhoneError (`refused`) if the watch or the app does not take it.
        """
        wanted = checked(entries)

        async def send(session: Session) -> bool:
            return await session.answer(session.push(app or await session.running(), wanted))

        if not await self._in_session(timeout, "the answer to an AppMessage", send):
            raise PhoneError(
                "refused", f"the watch refused (NACK) the message {wanted}: another app runs, or its inbox is full or too small"
            )

    async def expect(
        self, entries: Mapping[int, Value | None], app: str | None = None, timeout: float = 10
    ) -> Message:
        """The first AppMessage from the watch that no earlier call has returned. The phone acknowledges each as it comes.

        `entries`: keys that it must have, with these values, or with any for None; it may have others. `app`: the UUID of the
        app that it is from. At most 256 wait; the oldest goes first. Raises TimedOut, which says what came instead.
        """

        def accept(message: Message) -> bool:
            return (app is None or message.app == str(app).lower()) and matches(entries, message.entries)

        try:
            return await self._in_session(
                timeout, f"a message with {dict(entries)}", lambda session: session.take(accept)
            )
        except TimedOut as error:
            session = self._link.session if self._link is not None else None
            waiting = ", ".join(str(each.entries) for each in session.inbox) if session else ""
            raise TimedOut(error.code, f"{error.message}; what came was {waiting or 'nothing'}") from None

    async def ping(self, timeout: float = STEP_SECONDS) -> None:
        """Has the watch answer over the session: everything that it sent before has arrived then."""
        await self._in_session(timeout, "the answer to a ping", lambda session: session.ping())

    # Its end

    async def close(self) -> None:
        """Switches the phone off, without a packet. It may be off already."""
        await self._switch_off()

    async def __aenter__(self) -> AsyncPhone:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Inside

    async def _switch_on(self, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                transport = await open_transport(_transport_name(self._air))
                self._transport = transport
                configuration = DeviceConfiguration(name=self._name, address=hci.Address(self._address), irk=self._irk)
                device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
                device.keystore = self._bonds
                device.pairing_config_factory = lambda _: PairingConfig(
                    sc=True,
                    mitm=True,
                    bonding=True,
                    delegate=self._person,
                    identity_address_type=PairingConfig.AddressType.RANDOM,
                )
                device.gatt_server.max_mtu = 517
                await device.power_on()
                self._device = device
        except TimeoutError:
            await self._switch_off()
            raise PhoneError("no-air", f"no controller answers at {self._air} within {timeout:g} s") from None
        except (OSError, BaseBumbleError) as error:
            await self._switch_off()
            raise PhoneError("no-air", f"there is no radio at {self._air}: {error}") from None

    async def _switch_off(self) -> None:
        transport, self._transport = self._transport, None
        if self._pairing is not None:
            self._pairing.cancel()
            self._pairing = None
        if self._link is not None:
            self._end(self._link, "the phone was switched off")
            self._link = None
        self._device = None
        self._data = None
        if transport is not None:
            with contextlib.suppress(OSError, BaseBumbleError):
                await transport.close()

    def _on(self) -> Device:
        if self._device is None:
            raise PhoneError("no-air", "the phone is switched off")
        return self._device

    def _linked(self) -> _Link:
        if self._link is None:
            raise PhoneError("not-connected", "the phone has no link to a watch: connect() makes one")
        if self._link.ended.done():
            raise PhoneError("link-lost", f"the link has ended: {self._link.ended.result()}")
        return self._link

    async def _connect(self, device: Device, address: str) -> _Link:
        for _ in range(_ATTEMPTS):
            made: list[_Link] = []

            def remember(connection: Connection, made: list[_Link] = made) -> None:
                # The link's end may lie right behind its beginning, before this task is told of it.
                made.append(self._follow(connection))

            device.on(Device.EVENT_CONNECTION, remember)
            try:
                # As Android does while it discovers services.
                parameters = ConnectionParametersPreferences(
                    connection_interval_min=15, connection_interval_max=15, max_latency=0, supervision_timeout=5000
                )
                connection = await device.connect_le(hci.Address(address), {hci.Phy.LE_1M: parameters})
            finally:
                device.remove_listener(Device.EVENT_CONNECTION, remember)
            link = next(each for each in made if each.connection is connection)
            # A central takes a connection for made when it has asked for it, and learns from the silence that its request
            # was lost (Core 5.4, Vol 6, Part B, 4.5.2): what is answered shows that there is one.
            asked = asyncio.ensure_future(connection.get_remote_le_features())
            await asyncio.wait((asked, link.ended), return_when=asyncio.FIRST_COMPLETED)
            if not link.ended.done():
                return link
            asked.cancel()
        raise PhoneError("link-lost", f"none of {_ATTEMPTS} links to {address} lasted: {link.ended.result()}")

    def _follow(self, connection: Connection) -> _Link:
        link = _Link(connection, OneAtATime(connection), asyncio.get_running_loop().create_future())

        def disconnected(reason: int) -> None:
            self._end(link, hci.HCI_ErrorCode(reason).name)

        connection.on(Connection.EVENT_DISCONNECTION, disconnected)
        return link

    @staticmethod
    def _end(link: _Link, reason: str) -> None:
        if not link.ended.done():
            link.ended.set_result(reason)
        if link.transport is not None:
            link.transport.close(f"the link has ended: {reason}")

    async def _encrypt(self, link: _Link) -> None:
        try:
            await self._while_linked(link, STEP_SECONDS, "the link's encryption", link.connection.encrypt())
        except (hci.HCI_Error, BaseBumbleError) as error:
            raise PhoneError(
                "not-encrypted", f"the watch does not encrypt with the key that the phone has: {error}; forget() and pair again"
            ) from None

    async def _pair(self, link: _Link) -> None:
        self._person.number = None
        try:
            await link.connection.pair()
        except (ProtocolError, BaseBumbleError) as error:
            raise PhoneError("pairing-failed", f"the pairing has failed: {getattr(error, 'error_name', error)}") from None

    async def _open(self, link: _Link, service: Literal["any", "watch", "phone"]) -> None:
        with contextlib.suppress(att.ATT_Error):
            # A watch need not agree to a longer one; the session works with the shortest.
            await link.gatt.exchange_mtu(MTU)
        found = None if service == "phone" else await link.gatt.find_watch_service()
        if found is None and service == "watch":
            raise PhoneError("no-service", "the watch has no PPoGATT service; open_session('phone') lets it use the phone's")
        transport: PPoGATT | None = None

        def receive(packet: bytes) -> None:
            if transport is not None:
                transport.receive(bytes(packet))

        if found is not None:
            write = found.write

            def send(packet: bytes) -> None:
                link.gatt.write_later(write, packet)

        else:
            data = self._host(receive)

            def send(packet: bytes) -> None:
                _notify(link.connection, data, packet)

        session = Session(lambda stream: transport.send(stream) if transport is not None else None)
        transport = PPoGATT(
            send, lambda: link.gatt.maximum_packet, session.receive, session.close, begins=found is not None
        )
        link.session, link.transport = session, transport
        if found is not None:
            try:
                await link.gatt.subscribe(found, receive)
            except att.ATT_Error as error:
                raise PhoneError(
                    "not-encrypted", f"the watch refuses its PPoGATT service ({error.error_name}): pair() first"
                ) from None
        else:
            await self._tell_of_the_service(link.connection)
        transport.start()
        try:
            await transport.opened
        except asyncio.CancelledError:
            if session.closed is None:
                raise
            raise PhoneError("no-session", f"PPoGATT did not open: {session.closed}") from None
        await session.introduced.wait()

    def _host(self, receive: Callable[[bytes], None]) -> gatt.Characteristic[bytes]:
        """Adds the phone's PPoGATT service, as an app on Android does, or has another session use the one that is there."""
        device = self._on()
        properties, permissions = gatt.Characteristic.Properties, gatt.Characteristic.Permissions
        value = gatt.CharacteristicValue(write=lambda _, packet: receive(packet))
        if self._data is not None:
            self._data.value = value
            return self._data
        self._data = gatt.Characteristic(
            PHONE_DATA,
            properties.WRITE_WITHOUT_RESPONSE | properties.NOTIFY,
            permissions.WRITEABLE | permissions.WRITE_REQUIRES_ENCRYPTION,
            value,
        )
        meta = gatt.Characteristic(
            PHONE_META, properties.READ, permissions.READABLE | permissions.READ_REQUIRES_ENCRYPTION, _META
        )
        dummy = gatt.Characteristic(DUMMY, properties.READ, permissions.READABLE, b"")
        device.add_services([gatt.Service(PHONE_SERVICE, [self._data, meta]), gatt.Service(DUMMY, [dummy])])
        return self._data

    async def _tell_of_the_service(self, connection: Connection) -> None:
        """For each service that an app adds, Android says that everything may have changed."""
        device = self._on()
        changed = device.gatt_service and device.gatt_service.service_changed_characteristic
        if changed is not None:
            await device.indicate_subscriber(connection, changed, b"\x01\x00\xff\xff", force=True)

    @contextlib.asynccontextmanager
    async def _scanning(self, heard: _Heard) -> AsyncGenerator[None, None]:
        device = self._on()
        device.host.on("advertising_report", heard.take)
        try:
            await self._within(STEP_SECONDS, "the scan to start", device.start_scanning(active=True))
            yield
        finally:
            device.host.remove_listener("advertising_report", heard.take)
            if self._transport is not None and not self._transport.source.terminated.done():
                await self._within(STEP_SECONDS, "the scan to stop", device.stop_scanning())

    async def _in_session(self, timeout: float, what: str, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        link = self._linked()
        if link.session is None:
            raise PhoneError("no-session", "the phone has no session with the watch: open_session() opens one")
        try:
            return await self._while_linked(link, timeout, what, work(link.session))
        except PhoneError:
            raise
        except ConnectionError as error:
            raise PhoneError("session-lost", f"the session has ended while the phone waited for {what}: {error}") from None

    async def _while_linked(self, link: _Link, timeout: float, what: str, work: Coroutine[Any, Any, T]) -> T:
        return await self._within(timeout, what, work, link.ended)

    async def _within(
        self, timeout: float, what: str, work: Coroutine[Any, Any, T], ended: asyncio.Future[str] | None = None
    ) -> T:
        """Waits for the work, for as long as there is a radio, and the link if it needs one."""
        if self._transport is None:
            work.close()
            raise PhoneError("no-air", "the phone is switched off")
        task = asyncio.ensure_future(work)
        gone: asyncio.Future[Any] = self._transport.source.terminated
        try:
            waited: set[asyncio.Future[Any]] = {task, gone} if ended is None else {task, gone, ended}
            await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not task.cancelled() and task.exception() is None:
                return task.result()
            # What the work says of a link or a radio that is gone is only what followed from it.
            if gone.done():
                raise PhoneError("no-air", f"the radio at {self._air} ended while the phone waited for {what}")
            if ended is not None and ended.done():
                raise PhoneError("link-lost", f"the link ended while the phone waited for {what}: {ended.result()}")
            if task.done() and not task.cancelled():
                return task.result()
            if task.cancelled():
                # Bumble cancels what waits for a link that ends.
                raise PhoneError("link-lost", f"the link ended while the phone waited for {what}")
            raise TimedOut("timed-out", f"the phone waited {timeout:g} s for {what}")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class _Heard:
    """What a scan hears: of each address the latest advertisement and scan response."""

    #: So many addresses are kept; the one that was heard first goes first.
    limit = 256

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._of: dict[str, tuple[int, bytes, bytes]] = {}

    def take(self, report: Any) -> None:
        """A report of the controller, legacy or extended."""
        if isinstance(report, hci.HCI_LE_Extended_Advertising_Report_Event.Report):
            is_response = bool(
                report.event_type & hci.HCI_LE_Extended_Advertising_Report_Event.EventType.SCAN_RESPONSE
            )
        else:
            is_response = report.event_type == hci.HCI_LE_Advertising_Report_Event.EventType.SCAN_RSP
        address = report.address.to_string(False)
        _, advertisement, response = self._of.get(address, (0, b"", b""))
        data = bytes(report.data)
        self._of[address] = (report.rssi, advertisement, data) if is_response else (report.rssi, data, response)
        if len(self._of) > self.limit:
            del self._of[next(iter(self._of))]
        self.changed.set()

    def found(self) -> list[Found]:
        """What was heard."""
        return [
            Found(address, _name(data + response), rssi, data, response)
            for address, (rssi, data, response) in self._of.items()
        ]


def _name(data: bytes) -> str:
    """The name in AD structures, empty if there is none."""
    return str(AdvertisingData.from_bytes(data).get(AdvertisingData.COMPLETE_LOCAL_NAME) or "")


def _notify(connection: Connection, data: gatt.Characteristic[bytes], packet: bytes) -> None:
    notification = att.ATT_Handle_Value_Notification(attribute_handle=data.handle, attribute_value=packet)
    connection.send_l2cap_pdu(ATT_CID, bytes(notification))


async def _shielded(task: asyncio.Task[T]) -> T:
    """What a task returns; it goes on if this is cancelled."""
    return await asyncio.shield(task)


def _random_address() -> str:
    """A static random address: the two most significant bits are set (Core 5.4, Vol 6, Part B, 1.3.2.1)."""
    value = bytearray(secrets.token_bytes(6))
    value[0] |= 0xC0
    return ":".join(f"{each:02X}" for each in value)


def _transport_name(air: str) -> str:
    """A radio's place as Bumble calls it. Raises PhoneError for another kind of place."""
    kind, _, rest = air.partition(":")
    if kind == "tcp" and rest:
        return f"tcp-client:{rest}"
    if kind == "unix" and rest:
        return f"unix-client:{rest}"
    raise PhoneError("no-air", f"“{air}” is no place of a radio; there are tcp:HOST:PORT and unix:PATH")
