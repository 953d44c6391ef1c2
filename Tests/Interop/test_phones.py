"""What single clients do that others do not, as the scripts in `phones/` do it, against Cairn.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from phones.clients import GOLF, KINDS, SPORTS, converse, exchange_pings, phone_of, push_figures, talk
from phones.gadgetbridge import Gadgetbridge
from phones.handset import Android, ClientFailure, IPhone
from phones.libpebble3 import LibPebble3Android
from phones.matrix import LOSS
from phones.pebblekit import IPhoneWithCompanions
from phones.world import World, lossy_air, quiet_room
from rig import companion
from rig.pebble import unexpected
from rig.waiting import Mailbox
from watches import ADDRESS


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with quiet_room(tmp_path) as world:
        yield world


async def test_gadgetbridge_learns_the_mtu(world: World) -> None:
    """n: GATT MTU is notified before the subscription's response, and the exchange that follows is notified too."""
    await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        client = Gadgetbridge(android)
        await client.connect(ADDRESS)
        assert client.notified_mtus[0] == 23
        assert client.notified_mtus[-1] == client.transport.mtu >= 339


async def test_watch_that_refuses(world: World) -> None:
    """g: the scripts can fail: a watch that does not pair, and the reason that the client gives."""
    world.options = ("--pairing", "reject")
    await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        with pytest.raises(ClientFailure) as failure:
            await LibPebble3Android(android).connect(ADDRESS)
        assert failure.value.reason == "BOND_NONE"


async def test_stale_cache(world: World) -> None:
    """h: libpebble3's cache of the watch's database is out of date: V2 cannot be subscribed to, and forward has to do."""
    await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        client = LibPebble3Android(android, has_stale_cache=True)
        await converse(await client.connect(ADDRESS))
        assert client.violations == []


async def test_gadgetbridge_ignores_windows(world: World) -> None:
    """i: Gadgetbridge sends whatever it has, many times the window that the watch has offered; nothing is lost."""
    await world.start_watch(log_level="info")
    async with Android.on(world.port, world.folder, world.detached) as android:
        client = Gadgetbridge(android)
        session = await client.connect(ADDRESS)
        cookies = range(1_000, 1_400)
        for cookie in cookies:
            companion.send_ping(session, cookie)
        for cookie in cookies:
            assert await companion.next_pong(session) == cookie
        assert client.violations == []


async def test_companions_at_once(world: World) -> None:
    """j: the system app and two companions exchange 1,000 messages each at once, and none crosses."""
    await world.start_watch(log_level="info")
    async with IPhone.on(world.port, world.folder, world.detached) as iphone:
        client = IPhoneWithCompanions(iphone, (SPORTS, GOLF))
        system = await client.connect(ADDRESS)
        sports, golf = client.companions
        for running, waiting in ((sports, golf), (golf, sports)):
            await companion.launch(system, running.app)
            await asyncio.gather(
                exchange_pings(system, 500),
                push_figures(running, 500, is_running=True),
                push_figures(waiting, 500, is_running=False),
            )
        assert unexpected(system, sports.session, golf.session) == []
        assert client.violations == []


@pytest.mark.parametrize("handles", ["new-handles", "same-handles"])
async def test_companion_is_killed_and_revived(world: World, handles: str) -> None:
    """k: a companion is force-quit and started again, again and again; the others never notice."""
    await world.start_watch(log_level="info")
    async with IPhone.on(world.port, world.folder, world.detached) as iphone:
        client = IPhoneWithCompanions(iphone, (SPORTS, GOLF))
        system = await client.connect(ADDRESS)
        # The one that was added last comes back to the handles that it had; the other leaves a gap, and comes back behind.
        killed, living = client.companions if handles == "new-handles" else reversed(client.companions)
        talking = (
            asyncio.create_task(exchange_pings(system, 1_000)),
            asyncio.create_task(exchange_pings(living.session, 1_000)),
        )
        for _ in range(5):
            killed.force_quit()
            killed.run()
            await killed.connected()
            await exchange_pings(killed.session, 10)
        for each in talking:
            await each
        assert client.violations == []
        assert unexpected(system, living.session) == []


async def test_short_supervision_timeout(tmp_path: Path) -> None:
    """l: iOS begins with 720 ms, on which a lossy link would not last; the watch asks for 6 s soon."""
    async with lossy_air(tmp_path, LOSS) as air, phone_of(KINDS["libpebble3-ios"], air) as (handset, client):
        changes: Mailbox[tuple[int, int, int]] = Mailbox("the link's parameters")
        handset.phone.device.host.on("connection_parameters_update", lambda _, *parameters: changes.put(parameters))
        link = await handset.connect(ADDRESS)
        assert link.connection.parameters.supervision_timeout == 720
        _, _, timeout = await changes.take(5, "the watch to ask for other parameters")
        assert timeout == 600
        await talk(client, await client.connect(ADDRESS))
