"""What single clients do that others do not, as the scripts in `phones/` do it, against Cairn.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from libpebble2.protocol.appmessage import AppMessage, AppMessageACK
from phones.clients import GOLF, KINDS, SPORTS, converse, exchange_pings, phone_of, push_figures, talk
from phones.gadgetbridge import Gadgetbridge
from phones.handset import Android, ClientFailure, IPhone
from phones.libpebble3 import LibPebble3Android
from phones.matrix import LOSS
from phones.pebbleapp import PebbleAppIOS
from phones.pebblekit import IPhoneWithCompanions, PebbleKitCompanion
from phones.world import World, lossy_air, quiet_room
from rig import cairn, companion
from rig.control import Control
from rig.pebble import unexpected
from rig.waiting import Mailbox, within
from watches import ADDRESS

#: A key of Sports, which the watchapp sends.
ACTIVITY_STATE = 4


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
    """i: Gadgetbridge sends all that it has, many times the window that the watch has offered; nothing is lost."""
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


async def test_gadgetbridge_acknowledges_late(world: World) -> None:
    """o: Gadgetbridge's acknowledgements take their time, and the watch sends nothing twice: a repeated packet would show."""
    await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        client = Gadgetbridge(android)
        session = await client.connect(ADDRESS)
        client.transport.acknowledgement_seconds = 3.5
        for cookie in range(8):
            companion.send_ping(session, cookie)
        for cookie in range(8):
            assert await companion.next_pong(session) == cookie
        client.transport.acknowledgement_seconds = 0
        await converse(session)
        assert client.violations == []


async def test_late_service(world: World) -> None:
    """p: libpebble3's service is there long after the watch has looked; Service Changed, without a CCCD, tells."""
    program = await world.start_watch()
    async with Android.on(world.port, world.folder, world.detached) as android:
        client = LibPebble3Android(android, reversed_v2=False)
        # Bonded, so that the watch looks at once.
        await client.connect(ADDRESS)
        await client.restart()
        seen = len(program.lines)
        late = LibPebble3Android(android, reversed_v2=False, server_seconds=3)
        await converse(await late.connect(ADDRESS))
        await program.wait_for_line("link is encrypted", 1, after=seen)
        assert client.violations == late.violations == []


async def test_app_ends_and_is_woken(world: World) -> None:
    """q: iOS ends the Pebble app and the link stays; the watch reads App Launch, and iOS starts the app again."""
    program = await world.start_watch()
    async with IPhone.on(world.port, world.folder, world.detached) as iphone:
        client = PebbleAppIOS(iphone)
        sports = PebbleKitCompanion(iphone, SPORTS)
        sports.run()
        session = await client.connect(ADDRESS)
        await sports.connected()
        link = iphone.link
        talking = asyncio.create_task(exchange_pings(sports.session, 300))
        for _ in range(3):
            while client.wakings.waiting:
                await client.wakings.take(1, "an earlier waking")
            await client.end()
            await client.wakings.take(5, "the watch to wake the app")
            session = await client.revived.take(20, "the app to be back")
            await converse(session)
        await talking
        assert iphone.link is link
        assert program.log.count("bonded to") == 1
        assert client.violations == sports.violations == iphone.troubles == []
        assert unexpected(sports.session) == []


@pytest.mark.parametrize("comes_back", [True, False], ids=["it-comes", "nobody-comes"])
async def test_message_for_a_companion_that_is_gone(world: World, comes_back: bool) -> None:
    """r: a watchapp's message waits for its companion: the phone's app is woken, and after ten seconds it has failed."""
    await world.start_watch()
    async with (
        IPhone.on(world.port, world.folder, world.detached) as iphone,
        Control.on(world.state / "control.sock") as control,
    ):
        client = PebbleAppIOS(iphone)
        sports = PebbleKitCompanion(iphone, SPORTS)
        sports.run()
        session = await client.connect(ADDRESS)
        await sports.connected()
        await companion.launch(session, SPORTS)
        sports.force_quit()
        await control.listen()
        await control.event("session-closed")
        before = asyncio.get_running_loop().time()
        await control.ask("send", entries=[{"key": ACTIVITY_STATE, "type": "uint8", "number": 1}])
        await client.wakings.take(5, "the watch to wake the phone's app")
        if comes_back:
            sports.run()
            await sports.connected()
            push, _ = await sports.session.expect(AppMessage, "the watchapp's message")
            assert push.data.uuid == SPORTS
            sports.session.send(AppMessage(transaction_id=push.transaction_id, data=AppMessageACK()))
        sent = await control.event("app-message-sent", 15)
        assert sent["result"] == ("ok" if comes_back else "notConnected")
        assert comes_back or 9.5 < asyncio.get_running_loop().time() - before < 13
        assert client.violations == sports.violations == []
        assert unexpected(session) == []


async def test_status_shows_the_sessions(world: World) -> None:
    """s: who has a session, over what, and for which watchapp, to a program and to a person."""
    await world.start_watch()
    async with IPhone.on(world.port, world.folder, world.detached) as iphone:
        client = IPhoneWithCompanions(iphone, (SPORTS, GOLF))
        await client.connect(ADDRESS)
        async with Control.on(world.state / "control.sock") as control:
            sessions = (await control.status())["sessions"]
        assert {(each["kind"], each["app"], each["transport"]) for each in sessions} == {
            ("system", str(uuid.UUID(int=0)), "PPoGATT"),
            ("app", str(SPORTS), "PPoGATT"),
            ("app", str(GOLF), "PPoGATT"),
        }
        shown = await asyncio.to_thread(
            subprocess.run,
            [str(cairn.binary()), "status", "--state", str(world.state)],
            check=True,
            capture_output=True,
            text=True,
        )
        for what in ("the phone's Pebble app, over PPoGATT", f"companion of {SPORTS}, over PPoGATT"):
            assert what in shown.stdout


async def test_tool_takes_the_place_of_a_phone(world: World) -> None:
    """t: a developer's tool comes and goes; messages of watchapps go to it in that time, and then to the phone again."""
    world.options = ("--qemu-port", "0")
    program = await world.start_watch()
    port = int((await program.wait_for_line(r"emulator's port.*127\.0\.0\.1:(\d+)", 10))[1])
    async with (
        Android.on(world.port, world.folder, world.detached) as android,
        Control.on(world.state / "control.sock") as control,
    ):
        client = LibPebble3Android(android)
        session = await client.connect(ADDRESS)
        await converse(session)
        pinging = asyncio.create_task(exchange_pings(session, 200))
        seen = len(program.lines)
        tool, writer = await asyncio.open_connection("127.0.0.1", port)
        # By its first frame a tool is one: here the state of the buttons.
        writer.write(bytes.fromhex("feed 0008 0001 00 beef"))
        # The watch asks the phone of each session for its version.
        assert await within(10, "the watch to speak", tool.readexactly(6))
        await control.ask("send", entries=[{"key": 1, "type": "uint8", "number": 1}])
        assert await within(10, "the watchapp's message", tool.readexactly(6 + 4 + 18 + 9))
        assert [each["transport"] for each in (await control.status())["sessions"]] == [
            "reversed PPoGATT",
            "the emulator's port",
        ]
        writer.close()
        await program.wait_for_line("session 2 closed", 10, after=seen)
        await pinging
        assert unexpected(session) == []
        # The watchapp still waits for the tool's answer: it gets no other.
        await control.listen()
        await control.event("app-message-sent", 15)
        await control.ask("send", entries=[{"key": 2, "type": "uint8", "number": 2}])
        push, _ = await session.expect(AppMessage, "the watchapp's next message")
        session.send(AppMessage(transaction_id=push.transaction_id, data=AppMessageACK()))
        await control.event("app-message-sent")
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
