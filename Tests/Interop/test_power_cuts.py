"""g: the watch is killed at any moment while a phone writes to it, and everything that it acknowledged is there afterwards.

What is there is read from the file that it left behind by SQLite itself, and by the watch when it starts again.

Moments are counted in messages of the phone, not in time: so a slow machine has as many of each kind as a fast one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import struct
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import watches
from libpebble2.protocol.apps import AppMetadata, AppRunState, AppRunStateStart
from libpebble2.protocol.blobdb import BlobCommand, BlobResponse, DeleteCommand, InsertCommand
from libpebble2.protocol.data_logging import (
    DataLogging,
    DataLoggingACK,
    DataLoggingDespoolOpenSession,
    DataLoggingDespoolSendData,
    DataLoggingEmptySession,
    DataLoggingReportOpenSessions,
)
from libpebble2.protocol.system import SystemMessage
from libpebble2.protocol.transfers import (
    PutBytes,
    PutBytesApp,
    PutBytesAppInit,
    PutBytesCommit,
    PutBytesInit,
    PutBytesInstall,
    PutBytesPut,
    PutBytesResponse,
)
from libpebble2.services.putbytes import PutBytesType
from libpebble2.util.stm32_crc import crc32
from rig import bundles, cairn, control
from rig.pebble import PebbleSession
from rig.phone import Phone
from rig.ppogatt import PhoneTransport
from rig.process import Program

KILLS = int(os.environ.get("CAIRN_KILLS", "40"))
SEED = int(os.environ.get("CAIRN_SEED", "20261121"))

#: A database that takes any key, and any value of six bytes or more: notification preferences.
DATABASE = 6
#: The longest time from the phone's last message to the power cut, in seconds.
LONGEST = 0.05


def logged(start: int, end: int) -> bytes:
    """What the logging app logs, from one place to another."""
    return bytes((index * 31 + (index >> 8) * 17) & 0xFF for index in range(start, end))


@dataclass
class Facts:
    """What the watch has acknowledged, and what it may have done before it could acknowledge it."""

    records: dict[bytes, bytes] = field(default_factory=dict)
    #: The one record that a command was under way for, and its values before and after; None is no value.
    doubt: tuple[bytes, bytes | None, bytes | None] | None = None
    parts: dict[tuple[uuid.UUID, int], bytes] = field(default_factory=dict)
    #: Apps that an install or a fetch was under way for: their parts may be the old ones, new ones or none.
    unsure_apps: set[uuid.UUID] = field(default_factory=set)
    installed: set[uuid.UUID] = field(default_factory=set)
    #: Bytes that the watch said are spooled, and bytes that the phone has acknowledged.
    spooled: int = 0
    taken: int = 0
    image: bytes = b""
    image_progress: int = 0
    #: How many of each were acknowledged in all.
    count: dict[str, int] = field(default_factory=dict)

    def acknowledged(self, what: str) -> None:
        self.count[what] = self.count.get(what, 0) + 1


#: What a phone writes, and how many messages that takes at least.
KINDS = {"record": 5, "app": 9, "spool": 3, "taken": 6, "image": 4}


@dataclass(frozen=True)
class Cut:
    """When the power is cut: while a phone writes something of one kind, or after that, in what it writes next."""

    kind: str
    #: What it writes before.
    earlier: list[str]
    #: Counted from where it begins with that kind, or where it has ended.
    is_during: bool
    word: int
    #: From its last message, in seconds.
    delay: float

    @classmethod
    def number(cls, kill: int) -> Cut:
        """Every kind comes twice in ten, once cut off and once whole; the rest is random."""
        chance = random.Random(f"{SEED} cut {kill}")
        kind = list(KINDS)[kill % len(KINDS)]
        is_during = kill // len(KINDS) % 2 == 0
        return cls(
            kind=kind,
            earlier=chance.choices(list(KINDS), k=chance.randrange(3)),
            is_during=is_during,
            # The last message of its kind may be answered; those before it are followed by more.
            word=chance.randrange(1, KINDS[kind] if is_during else 12),
            delay=chance.uniform(0, LONGEST),
        )


class Writer:
    """A phone that writes as fast as the watch answers, and stops at the cut."""

    def __init__(self, session: PebbleSession, state: Path, facts: Facts, cut: Cut, chance: random.Random) -> None:
        #: Set when the phone has sent its last message.
        self.silent = asyncio.Event()
        #: What it writes now.
        self.kind = ""
        self.session = session
        self.state = state
        self.facts = facts
        self.chance = chance
        self._cut = cut
        self._words_left: int | None = None
        self._updates = False

    async def write(self) -> None:
        for kind in self._cut.earlier:
            await self._write(kind)
        if self._cut.is_during:
            self._words_left = self._cut.word
        await self._write(self._cut.kind)
        self._words_left = self._cut.word
        while True:
            await self._write(self.chance.choice(list(KINDS)))

    async def _write(self, kind: str) -> None:
        self.kind = kind
        match kind:
            case "record":
                await self.record()
            case "app":
                await self.app()
            case "image":
                await self.image()
            case "spool":
                await self.log()
            case "taken":
                await self.log()
                await self.take_data()

    async def word(self) -> None:
        """The phone is about to send a message, as often as the cut allows."""
        if self._words_left is None:
            return
        if self._words_left == 0:
            # The answer to the last message is there already; the power is cut.
            await asyncio.Event().wait()
        self._words_left -= 1
        if self._words_left == 0:
            self.silent.set()

    async def say(self, message) -> None:
        await self.word()
        self.session.send(message)

    async def blob(self, content, *, database: int) -> int:
        token = self.chance.randrange(1, 0xFFFF)
        await self.say(BlobCommand(token=token, database=database, content=content))
        answer, _ = await self.session.expect(BlobResponse, "a database's answer", lambda it: it.token == token)
        return int(answer.response)

    async def end_update(self) -> None:
        """No database takes anything while the firmware is updated. What is there of the update is discarded."""
        if self._updates:
            self._updates = False
            self.facts.image_progress = 0
            await self.say(SystemMessage(message_type=SystemMessage.Type.FirmwareUpdateFailed))

    async def record(self) -> None:
        await self.end_update()
        for _ in range(KINDS["record"]):
            key = b"key %d" % self.chance.randrange(8)
            before = self.facts.records.get(key)
            if before is not None and self.chance.random() < 0.3:
                self.facts.doubt = (key, before, None)
                assert await self.blob(DeleteCommand(key=key), database=DATABASE) == 1
                del self.facts.records[key]
            else:
                value = self.chance.randbytes(self.chance.randrange(6, 400))
                self.facts.doubt = (key, before, value)
                assert await self.blob(InsertCommand(key=key, value=value), database=DATABASE) == 1
                self.facts.records[key] = value
            self.facts.doubt = None
            self.facts.acknowledged("record")

    async def upload(self, begin, data: bytes, install: bool = False) -> int:
        async def ask(request) -> int:
            await self.say(request)
            answer, _ = await self.session.expect(PutBytesResponse, "PutBytes to be answered")
            assert answer.result == PutBytesResponse.Result.ACK
            return answer.cookie

        token = await ask(begin)
        for start in range(0, len(data), 2000):
            await ask(PutBytes(data=PutBytesPut(cookie=token, payload=data[start : start + 2000])))
        await ask(PutBytes(data=PutBytesCommit(cookie=token, object_crc=crc32(data))))
        return token

    async def app(self) -> None:
        await self.end_update()
        number = self.chance.randrange(3)
        app = uuid.UUID(int=0xCA1F << 112 | number)
        binary = bundles.executable(app, f"App {number}", size=2500, seed=self.chance.randrange(256))
        resources = self.chance.randbytes(1500)
        metadata = AppMetadata(
            uuid=app,
            flags=0,
            icon=0,
            app_version_major=1,
            app_version_minor=0,
            sdk_version_major=5,
            sdk_version_minor=0x6A,
            app_face_bg_color=0,
            app_face_template_id=0,
            app_name=f"App {number}",
        ).serialise()
        self.facts.unsure_apps.add(app)
        assert await self.blob(InsertCommand(key=app.bytes, value=metadata), database=2) == 1
        self.facts.installed.add(app)
        for kind in (5, 4):
            self.facts.parts.pop((app, kind), None)
        await self.say(AppRunState(data=AppRunStateStart(uuid=app)))
        fetch = await self.session.inbox.take(10, "the app to be fetched", lambda message: message.endpoint == 6001)
        (app_id,) = struct.unpack_from("<i", fetch.payload, 17)
        for kind, data in ((PutBytesType.Binary, binary), (PutBytesType.Resources, resources)):
            begin = PutBytesAppInit(object_size=len(data), object_type=0x80 | kind, app_id=app_id)
            await self.upload(PutBytesApp(data=begin), data)
            self.facts.parts[app, int(kind)] = data
            self.facts.acknowledged("app part")
        self.facts.unsure_apps.discard(app)

    async def log(self) -> None:
        await self.word()
        known = (await control.services(self.state))["logging"]
        end = known[0]["start"] + known[0]["byteCount"] if known else 0
        data = logged(end, end + self.chance.randrange(1, 300))
        app = str(uuid.UUID(int=1))
        await self.word()
        await control.ask(self.state, "log-data", app=app, tag=1, data=data.hex())
        await self.word()
        await control.until(
            self.state,
            "the data to be spooled",
            lambda known: known["logging"] and sum(map(known["logging"][0].get, ("start", "byteCount"))) >= end + len(data),
        )
        self.facts.spooled = end + len(data)
        self.facts.acknowledged("spool")

    async def take_data(self) -> None:
        """Has the watch send what it has spooled, and acknowledges that."""
        await self.word()
        (spool,) = (await control.services(self.state))["logging"]
        end = spool["start"] + spool["byteCount"]
        await self.say(DataLogging(data=DataLoggingReportOpenSessions(sessions=[])))
        while self.facts.taken < end:
            packet, _ = await self.session.expect(DataLogging, "what the watch has logged")
            message = packet.data
            acknowledgement = DataLogging(data=DataLoggingACK(session_id=message.session_id))
            if isinstance(message, DataLoggingDespoolOpenSession):
                await self.say(acknowledgement)
                await self.say(DataLogging(data=DataLoggingEmptySession(session_id=message.session_id)))
                continue
            # The next bytes, or some whose acknowledgement the watch could not store before the cut.
            assert isinstance(message, DataLoggingDespoolSendData)
            data = bytes(message.data)
            starts = (start for start in range(self.facts.taken, -1, -1) if logged(start, start + len(data)) == data)
            start = next(starts, None)
            assert start is not None, "data that nobody logged, or with a gap before them"
            self.facts.taken = max(self.facts.taken, start + len(data))
            await self.say(acknowledgement)
        self.facts.acknowledged("taken")

    async def image(self) -> None:
        # The stored part is discarded when an update starts again.
        self.facts.image_progress = 0
        self._updates = True
        await self.say(SystemMessage(message_type=SystemMessage.Type.FirmwareUpdateStart))
        await self.session.expect(SystemMessage, "the update to begin")
        self.facts.image = bundles.firmware("v4.9.200", size=self.chance.randrange(2_000, 25_000))
        begin = PutBytesInit(object_size=len(self.facts.image), object_type=1, bank=0, filename="")
        token = await self.upload(PutBytes(data=begin), self.facts.image)
        self.facts.image_progress = 1
        self.facts.acknowledged("image")
        if self.chance.random() < 0.5:
            await self.say(PutBytes(data=PutBytesInstall(cookie=token)))
            await self.session.expect(PutBytesResponse, "the image to be installed")
            self.facts.image_progress = 2


def check(facts: Facts, left: Path, copy: Path) -> None:
    """Reads what the watch left behind, without changing it."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("watch.sqlite", "watch.sqlite-wal"):
        if (left / name).exists():
            shutil.copy(left / name, copy)
    with contextlib.closing(sqlite3.connect(copy / "watch.sqlite")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        records = dict(store.execute("SELECT key, value FROM record WHERE database = ?", (DATABASE,)))
        if facts.doubt:
            key, before, after = facts.doubt
            assert records.get(key) in (before, after)
            facts.records.pop(key, None)
            if (value := records.get(key)) is not None:
                facts.records[key] = value
            facts.doubt = None
        assert records == facts.records

        apps = {uuid.UUID(bytes=key) for (key,) in store.execute("SELECT key FROM record WHERE database = 2")}
        assert facts.installed <= apps <= facts.installed | facts.unsure_apps
        facts.installed = apps
        parts = {
            (uuid.UUID(bytes=app), kind): content
            for app, kind, content in store.execute("SELECT application, kind, content FROM appPart")
        }
        for part, content in facts.parts.items():
            if part[0] not in facts.unsure_apps:
                assert parts.get(part) == content
        # A pending change is there or not, but never by half.
        assert {len(content) for content in parts.values()} <= {2500, 1500}
        facts.parts = parts
        facts.unsure_apps = set()

        start = end = 0
        for identifier, consumed in store.execute("SELECT id, consumed FROM loggingSession"):
            start = end = consumed
            for offset, content in store.execute(
                "SELECT offset, content FROM loggingData WHERE session = ? ORDER BY offset", (identifier,)
            ):
                assert content == logged(offset, offset + len(content))
                assert offset <= end, "there is a gap"
                end = max(end, offset + len(content))
        assert end >= facts.spooled, "what was spooled is lost"
        assert start <= facts.taken, "what the phone never had is gone"

        image = b"".join(content for (content,) in store.execute("SELECT content FROM updatePiece ORDER BY offset"))
        progress = store.execute("SELECT progress FROM updateImage").fetchone()
        if facts.image_progress:
            assert image == facts.image
            assert progress is not None and progress[0] >= facts.image_progress
        elif image:
            assert facts.image.startswith(image)


# Forty starts, each with a phone: half a minute on a quiet machine.
@pytest.mark.timeout(600)
@pytest.mark.slow
async def test_killed_at_any_moment(tmp_path: Path) -> None:
    """g: installs, database writes, logged data and firmware images, and a kill in the middle of it, repeatedly."""
    facts = Facts()
    #: What was not whole at the power cut, and how often.
    unfinished = dict.fromkeys(KINDS, 0)
    state = tmp_path / "state"
    for kill in range(KILLS):
        program = await Program.start(
            [
                *(str(cairn.binary()), "run", "--controller", "virtual", "--air-port", "0"),
                *("--insecure-test-link", "--state", str(state), "--address", watches.ADDRESS),
            ],
            tmp_path / "cairn.log",
        )
        try:
            port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 30)
            async with Phone.on(int(port[1])) as phone:
                transport = PhoneTransport(phone.host_ppogatt())
                session = PebbleSession(transport)
                transport.start()
                await phone.connect(watches.ADDRESS)
                await transport.opened()
                known = await control.services(state)
                assert {uuid.UUID(app["uuid"]) for app in known["apps"]} == facts.installed
                assert known["databases"].get(str(DATABASE), 0) == len(facts.records)

                cut = Cut.number(kill)
                writer = Writer(session, state, facts, cut, random.Random(f"{SEED} write {kill}"))
                writing = asyncio.create_task(writer.write())
                silent = asyncio.create_task(writer.silent.wait())
                done, _ = await asyncio.wait([writing, silent], return_when=asyncio.FIRST_COMPLETED)
                if writing not in done:
                    done, _ = await asyncio.wait([writing], timeout=cut.delay)
                program.kill()
                silent.cancel()
                if writing in done:
                    writing.result()
                writing.cancel()
                unfinished[writer.kind] += 1
                with contextlib.suppress(asyncio.CancelledError, ConnectionError, OSError):
                    await writing
        finally:
            program.kill()
            await program.wait_for_exit(10)
        try:
            check(facts, state, tmp_path / "copy")
        except AssertionError as error:
            raise AssertionError(f"after kill {kill}, seed {SEED}, {cut}, {facts.count}: {error}") from error
    # The test has proven something only if there was something to lose, and something under way.
    print(f"acknowledged: {facts.count}\nunder way: {unfinished}")
    for what in ("record", "app part", "spool", "taken", "image"):
        assert facts.count.get(what, 0) >= KILLS // 10, facts.count
    assert min(unfinished.values()) >= KILLS // 10, unfinished
