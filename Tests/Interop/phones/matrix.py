"""Every client in every situation with every personality that promises to serve it.

What a personality promises stands in the watch, and `cairn personalities` prints it; nothing here knows better. The cells
of one client and one personality are one story, told on one watch and one phone: each situation begins where the one
before ended, as in life. Stories are told at the same time. Where a personality promises nothing, the only cell is that
the client does refuse.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rig import cairn
from rig.emulator import Emulator
from rig.process import Program
from rig.security import Answer
from rig.waiting import within
from watches import ADDRESS

from .clients import KINDS, Client, Kind, check, phone_of, talk
from .handset import ClientFailure, Handset, IPhone
from .world import World, lossy_air, netsim, quiet_room

#: The property of a test's report that says which cell it is, and how it went.
PROPERTY = "companion matrix"
#: Packets lost on the virtual air, in percent.
LOSS = 5
#: Stories that run at the same time. Most of their time is waiting: for a client's pauses, and for the air.
STORIES_AT_ONCE = 8
#: How long one situation may take, which is what the most patient client takes.
SITUATION_SECONDS = 100

#: Whether watches and phones meet on Cairn's netsim. Taken out: Cairn refuses a variable that begins with its name and is no setting.
ON_NETSIM = os.environ.pop("CAIRN_MATRIX_NETSIM", "") == "1"

LOSSY = f"{LOSS} % loss"
REFUSAL = "refusal"
#: In the order of the story; the last one has a story of its own, on another air.
SITUATIONS = (
    "first pairing",
    "second connection",
    "reconnection",
    "app restart",
    "watch restart",
    "phone restart",
    LOSSY,
)


@dataclass(frozen=True)
class Promise:
    """What a personality says of a client. `explanation`: in which way it works, or why it does not.

    `generation` is the personality whose services and habits it has: its own name, unless it differs in who it is only.
    """

    personality: str
    generation: str
    client: str
    works: bool
    explanation: str


@dataclass(frozen=True)
class Cell:
    """One situation of one client with one personality. `is_bridged`: the watch's brain is the firmware in its emulator."""

    promise: Promise
    situation: str
    is_bridged: bool = False

    def __str__(self) -> str:
        words = (self.promise.personality, self.promise.client, self.situation.replace(" ", "-"))
        return "-".join((*words, "bridged") if self.is_bridged else words)

    @property
    def story(self) -> tuple[Promise, str, bool]:
        """Cells with the same one are told in one go."""
        return self.promise, LOSSY if self.situation == LOSSY else SITUATIONS[0], self.is_bridged


@dataclass
class Outcome:
    """How a situation went, and how long it took."""

    seconds: float = 0
    failure: BaseException | None = None


@functools.cache
def promises() -> tuple[Promise, ...]:
    """What the watch promises, in its own order."""
    said = subprocess.run(
        [str(cairn.binary()), "personalities", "--json"], check=True, capture_output=True, text=True, timeout=60
    )
    return tuple(Promise(**each) for each in json.loads(said.stdout))


def cells() -> list[Cell]:
    """Every cell of the matrix: the situations of what is promised, and the refusal of what is not.

    A personality that differs from another in who it is only is met twice: that decides what clients do first.
    """
    return [
        Cell(promise, situation)
        for promise in promises()
        for situation in (
            (REFUSAL,)
            if not promise.works
            else SITUATIONS
            if promise.personality == promise.generation
            else SITUATIONS[:2]
        )
    ]


#: What is told of a watch in front of the firmware: one client of each way to a session, and of each kind of phone. With
#: CAIRN_BRIDGE_MATRIX=all it is every client, personality and situation.
BRIDGED = {
    ("core", "libpebble3-android"),
    ("core", "libpebble3-ios"),
    ("core", "gadgetbridge"),
    ("silk", "gadgetbridge-client-only"),
}


def bridged_cells() -> list[Cell]:
    """The cells of a watch whose brain is the firmware. It has one session: companions that want one for each app are left out."""
    is_whole = os.environ.get("CAIRN_BRIDGE_MATRIX") == "all"
    kept = [
        promise
        for promise in promises()
        if promise.works and promise.personality == promise.generation and "for each app" not in promise.explanation
    ]
    assert {(each.personality, each.client) for each in kept} >= BRIDGED
    return [
        Cell(promise, situation, is_bridged=True)
        for promise in kept
        if is_whole or (promise.personality, promise.client) in BRIDGED
        for situation in (SITUATIONS if is_whole else SITUATIONS[:3])
    ]


class Matrix:
    """The outcome of each cell that a run asks for.

    Its stories are told together when the first outcome is asked for; `one_by_one`, each when one of its own is, because
    the rest may be somebody else's.
    """

    def __init__(self, wanted: Collection[Cell], folder: Callable[[str], Path], *, one_by_one: bool) -> None:
        self._outcomes: dict[Cell, Outcome] = {}
        self._wanted = wanted
        self._folder = folder
        self._one_by_one = one_by_one

    def outcome(self, cell: Cell) -> Outcome:
        if cell not in self._outcomes:
            asyncio.run(self._fill([each for each in self._wanted if not self._one_by_one or each.story == cell.story]))
        return self._outcomes[cell]

    async def _fill(self, cells: Collection[Cell]) -> None:
        turns = asyncio.Semaphore(STORIES_AT_ONCE)
        # The long ones first, so that none of them is left over at the end.
        stories = sorted(dict.fromkeys(cell.story for cell in cells), key=lambda story: story[1] != LOSSY)
        await asyncio.gather(
            *(self._tell([cell for cell in cells if cell.story == story], turns) for story in stories)
        )

    async def _tell(self, cells: list[Cell], turns: asyncio.Semaphore) -> None:
        promise = cells[0].promise
        async with turns:
            folder = self._folder(f"{promise.personality}-{promise.client}")
            async with brain(cells[0].is_bridged) as options:
                story = Story(promise, folder, *options, on_netsim=ON_NETSIM)
                await story.tell([cell.situation for cell in cells])
        for cell in cells:
            self._outcomes[cell] = story.outcomes.get(cell.situation) or Outcome(failure=story.not_reached())


@contextlib.asynccontextmanager
async def brain(is_bridged: bool) -> AsyncIterator[tuple[str, ...]]:
    """The watch's options for its brain: none, or the firmware's place. The firmware has had nothing but whole messages."""
    if not is_bridged:
        yield ()
        return
    async with Emulator.on() as pebble:
        yield ("--firmware", f"tcp:127.0.0.1:{pebble.port}")
        assert pebble.firmware.wedged is None
        assert pebble.firmware.violations == []
        assert not pebble.firmware.is_in_the_middle


def table(words: Mapping[tuple[str, str, str], str]) -> list[str]:
    """The matrix as lines of text. `words`: the text for a personality, a client and a situation."""
    rows = [["", *SITUATIONS]]
    refusals = []
    for promise in promises():
        name = f"{promise.personality}, {promise.client}"
        situations = SITUATIONS if promise.works else (REFUSAL,)
        rows.append(
            [name, *(words.get((promise.personality, promise.client, situation), "-") for situation in situations)]
        )
        if not promise.works:
            rows[-1] += [""] * (len(SITUATIONS) - 1)
            refusals.append(f"{name}: does not work, since {promise.explanation}")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*lines, "", *refusals]


class Story:
    """The situations of one client with one personality, one after the other."""

    def __init__(self, promise: Promise, folder: Path, *options: str, on_netsim: bool) -> None:
        self.promise = promise
        self.outcomes: dict[str, Outcome] = {}
        self._folder = folder
        self._on_netsim = on_netsim
        self._options = ("--personality", promise.personality, *options)
        self._kind: Kind = KINDS[promise.client]
        self._handset: Handset
        self._client: Client
        self._world: World
        self._program: Program

    async def tell(self, situations: list[str]) -> None:
        """As far as the last situation that is asked for, or to the first failure."""
        try:
            if LOSSY in situations:
                await self._on_lossy_air()
            else:
                await self._in_quiet_room(situations)
        except Exception as error:  # any error of a client, a rig or Bumble: it belongs to the last situation
            last = next(reversed(self.outcomes), situations[0])
            self._failed(last, error)

    def not_reached(self) -> AssertionError:
        failed = next((name for name, outcome in self.outcomes.items() if outcome.failure is not None), "nothing")
        return AssertionError(f"not reached: '{failed}' had failed")

    async def _on_lossy_air(self) -> None:
        place = netsim if self._on_netsim else lossy_air
        async with place(self._folder, LOSS, *self._options) as self._world:
            if self._on_netsim:
                await self._world.start_watch()
            async with self._phone():
                await self._step(LOSSY, self._two_connections)

    async def _in_quiet_room(self, situations: list[str]) -> None:
        steps: dict[str, Callable[[], Awaitable[None]]] = {
            REFUSAL: self._refusal,
            "first pairing": self._first_pairing,
            "second connection": self._second_connection,
            "reconnection": self._reconnection,
            "app restart": self._app_restart,
            "watch restart": self._watch_restart,
            "phone restart": self._phone_restart,
        }
        if REFUSAL not in situations:
            del steps[REFUSAL]
        room = netsim(self._folder, 0, *self._options) if self._on_netsim else quiet_room(self._folder, *self._options)
        async with room as self._world:
            self._program = await self._world.start_watch()
            async with self._phone():
                for name, step in steps.items():
                    if not await self._step(name, step) or name == situations[-1]:
                        break

    @contextlib.asynccontextmanager
    async def _phone(self) -> AsyncIterator[None]:
        async with phone_of(self._kind, self._world) as (self._handset, self._client):
            yield

    async def _step(self, name: str, step: Callable[[], Awaitable[None]]) -> bool:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self.outcomes[name] = Outcome()
        try:
            await within(SITUATION_SECONDS, name, step())
            check(self._handset, self._client)
            self._world.check()
        except Exception as error:
            self._failed(name, error)
        self.outcomes[name].seconds = loop.time() - begin
        return self.outcomes[name].failure is None

    def _failed(self, name: str, error: Exception) -> None:
        outcome = self.outcomes.setdefault(name, Outcome())
        if outcome.failure is None:
            error.add_note(f"cairn.log:\n{self._world.log[-20_000:] if hasattr(self, '_world') else ''}")
            outcome.failure = error

    # The situations

    async def _first_pairing(self) -> None:
        """From the list of watches to a session and a bond."""
        address = await self._client.scan()
        assert address == ADDRESS
        assert not await self._handset.is_bonded(ADDRESS)
        if isinstance(self._handset, IPhone) and "in its settings" in self.promise.explanation:
            await self._handset.pair_in_settings(ADDRESS)
        await self._talk()
        assert await self._handset.is_bonded(ADDRESS)
        # From now on no user is there to pair, neither at the phone nor at the watch, which is checked later.
        self._handset.person.answer = Answer.REJECT

    async def _second_connection(self) -> None:
        """The app disconnects and connects again in the same process, with its services in place."""
        await self._client.disconnect()
        await self._talk()

    async def _reconnection(self) -> None:
        """The phone is carried away, and comes back."""
        assert self._handset.link is not None
        link, seen = self._handset.link, len(self._program.lines)
        await self._world.out_of_range(self._handset.phone)
        await link.disconnected()
        self._client.link_lost()
        await self._program.wait_for_line("advertises for", 20, after=seen)
        await self._talk()

    async def _app_restart(self) -> None:
        """The app is killed and starts again; on an iPhone the link outlives it."""
        await self._client.restart()
        await self._talk()

    async def _watch_restart(self) -> None:
        """The watch restarts; the app runs on."""
        assert self._handset.link is not None
        link = self._handset.link
        await self._world.stop_watch()
        await link.disconnected()
        self._client.link_lost()
        self._program = await self._world.start_watch()
        await self._talk()

    async def _phone_restart(self) -> None:
        """The phone's radio stops without a packet, and it comes back under another private address."""
        seen = len(self._program.lines)
        await self._handset.switch_off()
        await self._program.wait_for_line("advertises for", 20, after=seen)
        await self._handset.switch_on()
        self._client.phone_restarted()
        await self._talk()

    async def _two_connections(self) -> None:
        """Pairing, a session and a second one while packets get lost: the link layer repeats them, and nothing shows."""
        address = await self._client.scan()
        if isinstance(self._handset, IPhone) and "in its settings" in self.promise.explanation:
            await self._handset.pair_in_settings(ADDRESS)
        for _ in range(2):
            await talk(self._client, await self._client.connect(address))
            await self._client.disconnect()

    async def _refusal(self) -> None:
        """The client gives up by itself: it does not list the watch, or misses something in it."""
        self._handset.scan_limit = 3
        try:
            await self._client.connect(await self._client.scan())
        except ClientFailure:
            return
        raise AssertionError(f"{self.promise.client} works with {self.promise.personality} after all")

    async def _talk(self) -> None:
        await talk(self._client, await self._client.connect(ADDRESS))
        # However it came about, there is one bond, and it is the first.
        assert self._world.log.count("bonded to") == 1
        # And each session came the way that is promised.
        ways = set(re.findall(r"session \d+ open: .*, over (.*)", self._world.log))
        assert ways == {"reversed PPoGATT" if "the watch's own" in self.promise.explanation else "PPoGATT"}
