"""Every real client's way in, as the scripts in `phones/` take it, against Cairn.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from libpebble2.protocol.appmessage import AppMessage
from libpebble2.protocol.system import PingPong
from phones.gadgetbridge import Gadgetbridge
from phones.handset import Android, ClientFailure, Handset, IPhone
from phones.libpebble3 import LibPebble3Android, LibPebble3IOS
from phones.pebblekit import IPhoneWithCompanions, PebbleKitCompanion
from rig import companion
from rig.controllers import Controllers, controllers
from rig.pebble import Message, PebbleSession
from rig.ppogatt import Violation
from rig.process import Program
from rig.waiting import Mailbox
from watches import ADDRESS, cairn_on

#: Watchapps that came with every Pebble, for companions that fill them with figures.
SPORTS = uuid.UUID("4dab81a6-d2fc-458a-992c-7a1f3b96a970")
GOLF = uuid.UUID("cf1e816a-9db0-4511-bbb8-f60c48ca8fac")
#: Keys of Sports.
TIME, ACTIVITY_STATE = 0, 4

#: Packets lost on the virtual air, in percent.
LOSS = 5


class Client(Protocol):
    """An app on a phone. `violations`: what the watch did that no watch does."""

    violations: list[Violation]

    async def scan(self) -> str: ...
    async def connect(self, address: str) -> PebbleSession: ...
    async def disconnect(self) -> None: ...
    async def restart(self) -> None: ...
    def phone_restarted(self) -> None: ...


@dataclass(frozen=True)
class Kind:
    """A client, the phone that it runs on, and the watch's options that it is tried with."""

    name: str
    handset: type[Handset]
    app: Callable[[Any], Client]
    options: tuple[str, ...] = ()


KINDS = [
    Kind("libpebble3-android", Android, LibPebble3Android),
    Kind("libpebble3-android-forward", Android, lambda phone: LibPebble3Android(phone, reversed_v2=False)),
    Kind("libpebble3-ios", IPhone, LibPebble3IOS),
    Kind("gadgetbridge", Android, Gadgetbridge),
    Kind(
        "gadgetbridge-client-only",
        Android,
        lambda phone: Gadgetbridge(phone, client_only=True),
        ("--personality", "silk"),
    ),
    Kind("pebblekit-ios", IPhone, lambda phone: IPhoneWithCompanions(phone, (SPORTS, GOLF))),
]

every_client = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@dataclass
class World:
    """A watch that can be switched off and on again, and the place where a phone's radio is."""

    port: int
    detached: Callable[[], Awaitable[None]] | None
    folder: Path
    controller: str
    options: tuple[str, ...] = ()
    _watch: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def start_watch(self, *, log_level: str = "debug") -> Program:
        arguments = ("--state", str(self.folder / "watch"), *self.options)
        return await self._watch.enter_async_context(
            cairn_on(self.controller, self.folder, *arguments, log_level=log_level)
        )

    async def stop_watch(self) -> None:
        await self._watch.aclose()


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []
        assert room.watch.controller.refused == []


@pytest.fixture
async def world(room: Controllers, tmp_path: Path) -> AsyncIterator[World]:
    world = World(room.phone.port, room.phone.detached, tmp_path, room.watch.address)
    try:
        yield world
    finally:
        await world.stop_watch()
        await room.watch.detached()


@pytest.fixture
async def air(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A watch with a radio of its own, on which packets get lost."""
    kind = request.getfixturevalue("kind")
    options = ("--air-port", "0", "--air-loss", str(LOSS), "--air-seed", "7", *kind.options)
    world = World(0, None, tmp_path, "virtual", options)
    program = await world.start_watch()
    try:
        world.port = int((await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        yield world
    finally:
        await world.stop_watch()


@contextlib.asynccontextmanager
async def phone_of(kind: Kind, world: World) -> AsyncIterator[tuple[Handset, Client]]:
    async with kind.handset.on(world.port, world.folder, world.detached) as handset:
        client = kind.app(handset)
        yield handset, client
        assert client.violations == []
        assert handset.troubles == []


async def converse(session: PebbleSession, pushes: int = 5) -> None:
    """A ping, and pushes that the watchapp acknowledges and sends back."""
    await companion.ping(session, 0xCAFEBABE)
    await companion.launch(session)
    for index, tuples in enumerate(companion.dictionaries(pushes, seed=7, limit=600)):
        push = companion.push(index, tuples)
        session.send(push)
        await companion.expect_ack_and_echo(session, push)


async def talk(client: Client, session: PebbleSession) -> None:
    """What a client and the watch have to say once they are connected."""
    await converse(session)
    if isinstance(client, IPhoneWithCompanions):
        sports, golf = client.companions
        await companion.launch(session, SPORTS)
        await push_figures(sports, 5, is_running=True)
        await push_figures(golf, 5, is_running=False)


@every_client
async def test_first_pairing(kind: Kind, world: World) -> None:
    """a: from the list of watches to a session."""
    world.options = kind.options
    await world.start_watch()
    async with phone_of(kind, world) as (handset, client):
        address = await client.scan()
        assert address == ADDRESS
        assert not await handset.is_bonded(ADDRESS)
        await talk(client, await client.connect(address))
        assert await handset.is_bonded(ADDRESS)


@every_client
async def test_second_connection(kind: Kind, world: World) -> None:
    """b: the app disconnects and connects again in the same process, with its services in place."""
    world.options = kind.options
    await world.start_watch()
    async with phone_of(kind, world) as (_, client):
        for _ in range(2):
            await talk(client, await client.connect(ADDRESS))
            await client.disconnect()


@every_client
async def test_app_restart(kind: Kind, world: World) -> None:
    """c: the app is killed and starts again; on an iPhone the link outlives it."""
    world.options = kind.options
    await world.start_watch()
    async with phone_of(kind, world) as (_, client):
        await talk(client, await client.connect(ADDRESS))
        await client.restart()
        await talk(client, await client.connect(ADDRESS))


@every_client
async def test_watch_restart(kind: Kind, world: World) -> None:
    """d: the watch restarts; nobody pairs again."""
    world.options = kind.options
    await world.start_watch()
    async with phone_of(kind, world) as (handset, client):
        await talk(client, await client.connect(ADDRESS))
        assert handset.link is not None
        link = handset.link
        await world.stop_watch()
        await link.disconnected()
        await client.restart()
        handset.person.answer = None  # type: ignore[assignment]  # nobody is there to pair
        await world.start_watch()
        await talk(client, await client.connect(ADDRESS))


@every_client
async def test_phone_restart(kind: Kind, world: World) -> None:
    """e: the phone goes without a word and comes back with another private address; nobody pairs again."""
    world.options = kind.options
    program = await world.start_watch()
    async with phone_of(kind, world) as (handset, client):
        await talk(client, await client.connect(ADDRESS))
        seen = len(program.lines)
        await handset.switch_off()
        await program.wait_for_line("advertises for", 20, after=seen)
        await handset.switch_on()
        client.phone_restarted()
        await talk(client, await client.connect(ADDRESS))
        assert len([line for line in program.lines if "bonded to" in line]) == 1, program.log


@pytest.mark.slow
@every_client
async def test_lossy_air(kind: Kind, air: World) -> None:
    """f: pairing, a session and a second one while packets get lost; the link layer repeats them, and nothing shows."""
    async with phone_of(kind, air) as (_, client):
        address = await client.scan()
        for _ in range(2):
            await talk(client, await client.connect(address))
            await client.disconnect()


#: The models that phones can take the watch for, and the clients that find there what they need. Android's libpebble3
#: does not list a Pebble Time, and on iOS does not ask one for pairing.
CLAIMS = [
    *(("core", name) for name in ("libpebble3-android", "libpebble3-ios", "gadgetbridge", "pebblekit-ios")),
    *(("silk", name) for name in ("libpebble3-android", "libpebble3-ios", "gadgetbridge", "pebblekit-ios")),
    ("snowy", "gadgetbridge"),
]


@pytest.mark.parametrize(("personality", "name"), CLAIMS)
async def test_personality(personality: str, name: str, world: World) -> None:
    """m: a and b with each model that the client is made for."""
    kind = next(kind for kind in KINDS if kind.name == name)
    world.options = ("--personality", personality)
    await world.start_watch()
    async with phone_of(kind, world) as (_, client):
        address = await client.scan()
        for _ in range(2):
            await talk(client, await client.connect(address))
            await client.disconnect()


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
        for session in (system, sports.session, golf.session):
            assert unexpected(session) == []
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
        assert unexpected(system) == unexpected(living.session) == []


def unexpected(session: PebbleSession) -> list[Message]:
    """Answers and pushes that nobody on this session has waited for."""
    return [each for each in session.inbox.waiting if isinstance(each.packet, (PingPong, AppMessage))]


async def exchange_pings(session: PebbleSession, count: int) -> None:
    """Pings one by one, each answered with its own cookie."""
    first = 0x10000 * (1 + id(session) % 1000)
    for cookie in range(first, first + count):
        await companion.ping(session, cookie)


async def push_figures(sender: PebbleKitCompanion, count: int, *, is_running: bool) -> None:
    """Pushes one by one to a companion's watchapp, each acknowledged if it runs, and refused if not."""
    for index in range(count):
        push = companion.push(index % 256, [companion.string(TIME, f"{index}")], sender.app)
        sender.session.send(push)
        if is_running:
            await companion.expect_ack(sender.session, push)
        else:
            await companion.expect_refusal(sender.session, push)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name == "libpebble3-ios"], ids=lambda kind: kind.name)
async def test_short_supervision_timeout(kind: Kind, air: World) -> None:
    """l: iOS begins with 720 ms, on which a lossy link would not last; the watch asks for 6 s soon."""
    async with phone_of(kind, air) as (handset, client):
        changes: Mailbox[tuple[int, int, int]] = Mailbox("the link's parameters")
        handset.phone.device.host.on("connection_parameters_update", lambda _, *parameters: changes.put(parameters))
        link = await handset.connect(ADDRESS)
        assert link.connection.parameters.supervision_timeout == 720
        _, _, timeout = await changes.take(5, "the watch to ask for other parameters")
        assert timeout == 600
        await talk(client, await client.connect(ADDRESS))
