"""The clients by name, and their messages to a watch once they are connected."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rig import companion
from rig.pebble import PebbleSession
from rig.ppogatt import Violation

from .gadgetbridge import Gadgetbridge
from .handset import Android, Handset, IPhone
from .libpebble3 import LibPebble3Android, LibPebble3IOS
from .pebblekit import IPhoneWithCompanions, PebbleKitCompanion
from .world import World

#: Watchapps that came with every Pebble, for companions that fill them with figures.
SPORTS = uuid.UUID("4dab81a6-d2fc-458a-992c-7a1f3b96a970")
GOLF = uuid.UUID("cf1e816a-9db0-4511-bbb8-f60c48ca8fac")
#: A key of Sports.
TIME = 0


class Client(Protocol):
    """An app on a phone. `violations`: what the watch did that no watch does."""

    violations: list[Violation]

    async def scan(self) -> str:
        """The address of the watch that its user taps in the app's list."""

    async def connect(self, address: str) -> PebbleSession:
        """Everything from the connection to an open session; the link may be there already."""

    async def disconnect(self) -> None:
        """Its user turns the watch off in the app."""

    async def restart(self) -> None:
        """The app is killed and started again."""

    def link_lost(self) -> None:
        """The system says that the link was lost. The app runs on."""

    def phone_restarted(self) -> None:
        """The phone was off, and the app starts with it."""


@dataclass(frozen=True)
class Kind:
    """A client by the name that `cairn personalities` has for it, and the phone that it runs on."""

    name: str
    handset: type[Handset]
    app: Callable[[Any], Client]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("libpebble3-android", Android, LibPebble3Android),
        Kind("libpebble3-android-forward", Android, lambda phone: LibPebble3Android(phone, reversed_v2=False)),
        Kind("libpebble3-android-legacy", Android, lambda phone: LibPebble3Android(phone, legacy_reversed=True)),
        Kind("libpebble3-ios", IPhone, LibPebble3IOS),
        Kind("gadgetbridge", Android, Gadgetbridge),
        Kind("gadgetbridge-client-only", Android, lambda phone: Gadgetbridge(phone, client_only=True)),
        Kind("pebblekit-ios", IPhone, lambda phone: IPhoneWithCompanions(phone, (SPORTS, GOLF))),
    )
}


@contextlib.asynccontextmanager
async def phone_of(kind: Kind, world: World) -> AsyncIterator[tuple[Handset, Client]]:
    """A phone with the client on it, until the end of the block; by then there may be no error that the test did not see."""
    async with kind.handset.on(world.port, world.folder, world.detached) as handset:
        client = kind.app(handset)
        yield handset, client
        check(handset, client)


def check(handset: Handset, client: Client) -> None:
    """Fails if there was an error that the client did not notice."""
    if isinstance(handset, Android):
        assert handset.lost == []
    assert client.violations == []
    assert handset.troubles == []


async def talk(client: Client, session: PebbleSession) -> None:
    """What a client and the watch have to say once they are connected."""
    await converse(session)
    if isinstance(client, IPhoneWithCompanions):
        sports, golf = client.companions
        await companion.launch(session, SPORTS)
        await push_figures(sports, 5, is_running=True)
        await push_figures(golf, 5, is_running=False)


async def converse(session: PebbleSession, pushes: int = 5) -> None:
    """A ping, and pushes that the watchapp acknowledges and sends back."""
    await companion.ping(session, 0xCAFEBABE)
    await companion.launch(session)
    for index, tuples in enumerate(companion.dictionaries(pushes, seed=7, limit=600)):
        push = companion.push(index, tuples)
        session.send(push)
        await companion.expect_ack_and_echo(session, push)
    # The watch's answer shows that it has the last acknowledgement too: nothing is left that an end could cut off.
    await companion.ping(session, 0xF00DF00D)


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
