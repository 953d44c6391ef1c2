"""What is particular about phones with Android: one GATT operation at a time, and servers that restart. Against Cairn.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble import hci
from bumble.device import ConnectionParametersPreferences
from phones.clients import SPORTS, check, converse, exchange_pings, push_figures
from phones.gadgetbridge import Gadgetbridge
from phones.handset import Android
from phones.libpebble3 import LibPebble3Android
from phones.pebblekit import PebbleKitCompanion
from phones.world import World, lossy_air, quiet_room
from rig import companion
from rig import gatt as uuids
from rig.android import AndroidGATT, GATTQueue, Lost, Refused
from rig.pebble import PebbleSession
from rig.phone import ForwardChannel, WatchLink
from rig.process import Program
from rig.waiting import GaveUp, within
from watches import ADDRESS

RECONNECTIONS = 20
#: None: Bumble's controllers, which have no connection events.
INTERVALS = [None, 7.5, 15, 30, 45]


@contextlib.asynccontextmanager
async def silk(folder: Path, interval: float | None, *options: str) -> AsyncIterator[World]:
    """A Pebble 2 on Bumble's controllers, or on the air, where connection events come in an interval."""
    options = ("--personality", "silk", *options)
    if interval is not None:
        async with lossy_air(folder, 0, *options) as world:
            yield world
        return
    async with quiet_room(folder, *options) as world:
        await world.start_watch()
        yield world


def keep_interval(android: Android, interval: float) -> None:
    """The phone connects with an interval, and refuses every other."""

    def refuse(event: hci.HCI_LE_Remote_Connection_Parameter_Request_Event) -> None:
        reply = hci.HCI_LE_Remote_Connection_Parameter_Request_Negative_Reply_Command(
            connection_handle=event.connection_handle,
            reason=hci.HCI_ErrorCode.UNACCEPTABLE_CONNECTION_PARAMETERS_ERROR,
        )
        refusals.append(asyncio.ensure_future(android.phone.device.host.send_sync_command(reply)))

    refusals: list[asyncio.Future[object]] = []
    android.parameters = ConnectionParametersPreferences(
        connection_interval_min=interval, connection_interval_max=interval, max_latency=0, supervision_timeout=5000
    )
    android.phone.device.host.on_hci_le_remote_connection_parameter_request_event = refuse


@pytest.mark.timeout(300)
@pytest.mark.parametrize("interval", INTERVALS, ids=lambda interval: f"{interval}-ms" if interval else "no-timing")
async def test_gadgetbridge_reconnects(tmp_path: Path, interval: float | None) -> None:
    """u: Gadgetbridge as client only connects again and again, and Android refuses none of its operations."""
    async with (
        silk(tmp_path, interval) as world,
        Android.on(world.port, world.folder, world.detached) as android,
    ):
        if interval is not None:
            keep_interval(android, interval)
        client = Gadgetbridge(android, client_only=True, remembers_database=True)
        for number in range(1 + RECONNECTIONS):
            session = await client.connect(ADDRESS)
            await companion.ping(session, number)
            assert android.link is not None
            if interval is not None:
                assert android.link.connection.parameters.connection_interval == interval
            check(android, client)
            await client.disconnect()


async def test_gadgetbridge_without_the_pause(tmp_path: Path) -> None:
    """v: a watch that sends at once, as Pebble 2 does, makes Android refuse Gadgetbridge's answers: the rig shows it."""
    async with (
        silk(tmp_path, None, "--subscription-pause", "0") as world,
        Android.on(world.port, world.folder, world.detached) as android,
    ):
        client = Gadgetbridge(android, client_only=True)
        # The first connection pairs, and the watch begins when that is done.
        with contextlib.suppress(AssertionError):
            await within(10, "the first session", client.connect(ADDRESS))
            await client.disconnect()
            android.lost.clear()
        with pytest.raises(AssertionError):
            await within(10, "a session", client.connect(ADDRESS))
        assert [each.operation.endswith("without response") for each in android.lost][:1] == [True]


async def connected_gatt(android: Android) -> tuple[WatchLink, int]:
    """A link, and a handle that can be read."""
    link = await android.connect(ADDRESS)
    database = await link.discover(attribute_by_attribute=False)
    name = database.find(uuids.GAP_SERVICE, uuids.DEVICE_NAME)
    assert name is not None
    return link, name.handle


async def test_one_operation_at_a_time(tmp_path: Path) -> None:
    """w: the rig obeys Android's rule: what is asked for during an operation is refused, and an app's queue prevents it."""
    async with (
        silk(tmp_path, None) as world,
        Android.on(world.port, world.folder, world.detached) as android,
    ):
        link, name = await connected_gatt(android)
        first = asyncio.create_task(android.gatt.read(name))
        await asyncio.sleep(0)
        for second in (android.gatt.read(name), android.gatt.write_without_response(name, b"")):
            with pytest.raises(Refused):
                await second
        value = await first
        assert [each.during for each in android.lost] == [f"read of 0x{name:04X}"] * 2
        assert await android.gatt.read(name) == value, "the first has ended"
        android.lost.clear()
        queue = GATTQueue(android.gatt)
        assert await asyncio.gather(*(queue.read(name) for _ in range(5))) == [value] * 5
        assert android.lost == []


async def test_callbacks_come_in_order(tmp_path: Path) -> None:
    """w: a notification that arrives with a response is told when the response's callback has asked for the next operation."""
    async with (
        silk(tmp_path, None) as world,
        Android.on(world.port, world.folder, world.detached) as android,
    ):
        link, name = await connected_gatt(android)
        database = await link.discover(attribute_by_attribute=False)
        connectivity = database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY)
        told: list[str] = []
        lost: list[Lost] = []
        gatt = AndroidGATT(link, lost)

        def changed(value: bytes) -> None:
            told.append("changed")
            answering.append(asyncio.ensure_future(gatt.write_without_response(name, b"")))

        answering: list[asyncio.Future[None]] = []
        gatt.listen(connectivity.handle, changed)
        cccd = next(each for each in connectivity.descriptors if each.type == uuids.CCCD)
        # The watch notifies the value before it answers: the write is still under way.
        await gatt.write(cccd.handle, b"\x01\x00")
        told.append("written")
        await gatt.read(name)
        told.append("read")
        with pytest.raises(Refused):
            await answering[0]
        assert told == ["changed", "written", "read"]
        assert [each.during for each in lost] == [f"write of 0x{cccd.handle:04X}"]


class Restarting:
    """libpebble3 with a service of its own, whose GATT server is closed and opened again while the link stays."""

    def __init__(self, android: Android, program: Program) -> None:
        self.client = LibPebble3Android(android, reversed_v2=False)
        self.session: PebbleSession
        self._android = android
        self._program = program

    async def restart(self, *, watch_looks_between: bool) -> None:
        """Takes the services away and adds them again, at the same handles."""
        server = self.client._server
        assert server is not None and self.client.transport is not None
        first = server.services[0].handle
        self.client.transport.close("the app has ended")
        seen = len(self._program.lines)
        self._android.phone.remove(server)
        self.client._server = None
        if watch_looks_between:
            self._android.database_changed()
            await self._program.wait_for_line("session .* closed", 10, after=seen)
        again = await self.client._register_server()
        assert again.services[0].handle == first
        # It listens from now on, since the watch may send at once.
        self.session = PebbleSession(self.client.transport)

    async def starts(self) -> None:
        """What the app does on a link that is there."""
        assert self._android.link is not None
        link = self._android.link
        database = await link.discover(attribute_by_attribute=False)
        await link.subscribe(database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY))

    async def talk(self) -> None:
        assert self.client.transport is not None
        await self.client._opened(self.client.transport)
        await converse(await self.client._negotiate(self.session))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with quiet_room(tmp_path) as world:
        yield world


@pytest.mark.parametrize("readable", [True, False], ids=["readable", "write-only"])
@pytest.mark.parametrize("order", ["before-the-look", "after-the-look", "both"])
async def test_server_restarts_at_the_same_handles(world: World, order: str, readable: bool) -> None:
    """x: the services are removed and added again before the watch has looked, or after it, twice in a row."""
    program = await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        android.phone.subscriptions_are_write_only = not readable
        app = Restarting(android, program)
        await converse(await app.client.connect(ADDRESS))
        await app.starts()
        link = android.link
        for number in range(2):
            looks = order == "after-the-look" or (order == "both" and number == 1)
            await app.restart(watch_looks_between=looks)
            if not readable:
                await app.starts()
            await app.talk()
        # And once more while the watch still discovers.
        await app.restart(watch_looks_between=False)
        await app.restart(watch_looks_between=False)
        if not readable:
            await app.starts()
        await app.talk()
        assert android.link is link
        check(android, app.client)


class AndroidCompanion(PebbleKitCompanion):
    """A companion of one watchapp that hosts a service of its own, as on iOS, but tells as Android does."""

    def __init__(self, android: Android) -> None:
        self._android = android
        super().__init__(android, SPORTS)  # type: ignore[arg-type]

    def run(self) -> None:
        self._service: ForwardChannel = self._android.phone.host_companion(self.app.bytes)
        self._listen()
        self._android.database_changed()

    def quit_and_run(self) -> None:
        first = self.service.services[0].handle
        self._android.phone.remove(self.service)
        self.transport.close("the companion was killed")
        self.run()
        assert self.service.services[0].handle == first


@pytest.mark.parametrize("readable", [True, False], ids=["readable", "write-only"])
async def test_one_of_two_restarts(world: World, readable: bool) -> None:
    """y: of two companions one restarts at the same handles, again and again; the other's session never notices."""
    program = await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        android.phone.subscriptions_are_write_only = not readable
        app = Restarting(android, program)
        session = await app.client.connect(ADDRESS)
        await app.starts()
        sports = AndroidCompanion(android)
        sports.run()
        await sports.connected()
        await companion.launch(session, SPORTS)
        talking = asyncio.create_task(exchange_pings(session, 1_000))
        for _ in range(3):
            sports.quit_and_run()
            if not readable:
                await app.starts()
            await sports.connected()
            await push_figures(sports, 5, is_running=True)
        await talking
        assert sports.violations == []
        check(android, app.client)


async def test_others_changes_are_not_noticed(world: World) -> None:
    """z: some other app's services come and go while a session is silent: nothing is reset, with readable CCCDs or without."""
    program = await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        for readable in (True, False):
            android.phone.subscriptions_are_write_only = not readable
            app = Restarting(android, program)
            session = await app.client.connect(ADDRESS)
            assert app.client.transport is not None
            seen = app.client.transport.statistics.data_received
            for _ in range(3):
                android.phone.host_app_launch(lambda: None)
                android.database_changed()
            with contextlib.suppress(GaveUp):
                await app.client.transport.received(seen + 1, 2)
            await converse(session)
            check(android, app.client)
            await app.client.restart()
