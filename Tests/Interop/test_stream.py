"""The stream: the Pebble Protocol over an L2CAP channel whose PSM is published as CoreBluetooth expects it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bumble import att, hci, l2cap
from bumble.snoop import Snooper
from conftest import Rig, on_rigs
from libpebble2.protocol.transfers import (
    ObjectType,
    PutBytes,
    PutBytesCommit,
    PutBytesInit,
    PutBytesPut,
    PutBytesResponse,
)
from libpebble2.util import stm32_crc
from rig import capture, companion
from rig import gatt as uuids
from rig.controllers import Controllers, controllers
from rig.pebble import PebbleSession, unexpected
from rig.phone import META_ANDROID, Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.security import Person, pairing
from rig.stream import Stream, read_psm
from rig.waiting import within
from watches import ADDRESS, cairn_on

#: What one PutBytes piece carries: over PPoGATT what every client sends, over the stream as much as pays, since each
#: piece waits for the acknowledgement of the one before.
PIECE = 2000
#: The firmware takes 2044 bytes of data in one put, and refuses more.
LONG_PIECE = 2_044
MEGABYTE = 1 << 20
#: The one file that companions send.
LANGUAGE_PACK = "lang"
#: What a companion of a watchapp says of itself: PPoGATT 0 to 1, its app, a session of its own.
SPORTS = bytes([0, 1]) + uuid.UUID("4dab81a6-d2fc-458a-992c-7a1f3b96a970").bytes + bytes([0])


def large_object(size: int) -> bytes:
    """Bytes in which a lost, doubled or misplaced piece changes the checksum."""
    return bytes((index * 31 + (index >> 8) * 7) & 0xFF for index in range(size))


class Upload:
    """A file, on its way to the watch piece by piece; each piece may take another way."""

    def __init__(self, content: bytes, piece: int = PIECE) -> None:
        self.content = content
        self.piece = piece
        self.sent = 0
        self._token = 0

    async def begin(self, session: PebbleSession) -> None:
        begin = PutBytesInit(object_size=len(self.content), object_type=ObjectType.File, bank=0, filename=LANGUAGE_PACK)
        self._token = await self._ask(session, PutBytes(data=begin), "the beginning")

    async def put(self, session: PebbleSession, count: int) -> None:
        """Sends the next pieces, each when the one before has been acknowledged."""
        for _ in range(count):
            piece = self.content[self.sent : self.sent + self.piece]
            if not piece:
                return
            await self._ask(session, PutBytes(data=PutBytesPut(cookie=self._token, payload=piece)), f"byte {self.sent}")
            self.sent += len(piece)

    async def commit(self, session: PebbleSession) -> None:
        """The watch compares the checksum of what it has."""
        commit = PutBytesCommit(cookie=self._token, object_crc=stm32_crc.crc32(self.content))
        await self._ask(session, PutBytes(data=commit), "the whole")

    async def _ask(self, session: PebbleSession, request: PutBytes, what: str) -> int:
        session.send(request)
        answer, _ = await session.expect(PutBytesResponse, f"the acknowledgement of {what}")
        assert answer.result == PutBytesResponse.Result.ACK, f"the watch refused {what}"
        return answer.cookie


@dataclass
class Companion:
    """A companion with a session over PPoGATT, and the same session over the stream, each with its own way in."""

    watch: WatchLink
    ppogatt: PhoneTransport
    slow: PebbleSession
    stream: Stream | None = None
    fast: PebbleSession | None = None

    @classmethod
    async def on(cls, phone: Phone, address: str) -> Companion:
        watch = await phone.connect(address)
        await watch.exchange_mtu(517)
        ppogatt, session = await watch.open_reversed(await watch.discover())
        await companion.negotiate(session)
        await ppogatt.drained()
        return cls(watch, ppogatt, session)

    async def open_stream(self) -> PebbleSession:
        self.stream = await Stream.open(self.watch, await read_psm(self.watch))
        self.fast = PebbleSession(self.stream)
        return self.fast


@contextlib.contextmanager
def counting_data_packets(phone: Phone) -> Iterator[Counter[str]]:
    """Counts the ACL data packets between the phone and its controller, by their direction."""
    packets: Counter[str] = Counter()

    class Counting(Snooper):
        def snoop(self, hci_packet: bytes, direction: Snooper.Direction) -> None:
            if hci_packet[0] == hci.HCI_ACL_DATA_PACKET:
                packets[direction.name] += 1

    phone.device.host.snooper = Counting()
    try:
        yield packets
    finally:
        phone.device.host.snooper = None


async def echo(session: PebbleSession, count: int, *, seed: int = 5, limit: int = 8000) -> int:
    """Pushes dictionaries of every type, each ACKed and echoed. Returns how many bytes they have."""
    total = 0
    for index, tuples in enumerate(companion.dictionaries(count, seed=seed, limit=limit)):
        push = companion.push(index % 256, tuples)
        session.send(push)
        await companion.expect_ack_and_echo(session, push)
        total += len(push.serialise())
    return total


@on_rigs("cairn", "cairn-air")
async def test_session(rig: Rig) -> None:
    """e: a companion with nothing but the stream: handshake, ping, and AppMessages of up to 8 KB, each in one piece."""
    async with Phone.on(rig.phone_port) as phone:
        watch = await phone.connect(rig.watch_address)
        stream = await Stream.open(watch, await read_psm(watch))
        session = PebbleSession(stream)
        info = await companion.negotiate(session)
        assert info.version.serial
        await companion.ping(session, 0xCAFEBABE)
        await companion.launch(session)
        await echo(session, 50)
        largest = companion.push(200, [companion.array(1, large_object(8192))])
        session.send(largest)
        await companion.expect_ack_and_echo(session, largest)
        assert unexpected(session) == []
        await stream.close()
        await watch.disconnect()
    await rig.stop_watch()
    assert capture.decode(rig.capture).malformed == []


@on_rigs("cairn")
async def test_session_moves(rig: Rig) -> None:
    """e: one session, over PPoGATT, then over the stream, and over PPoGATT again; nothing is negotiated twice."""
    async with Phone.on(rig.phone_port) as phone:
        both = await Companion.on(phone, rig.watch_address)
        await companion.launch(both.slow)
        await echo(both.slow, 3)
        for _ in range(3):
            fast = await both.open_stream()
            before = both.ppogatt.statistics.data_received
            await echo(fast, 5)
            assert both.ppogatt.statistics.data_received == before, "the watch went on over PPoGATT"
            assert unexpected(fast) == []
            assert both.stream is not None
            await both.stream.close()
            await echo(both.slow, 5)
        assert unexpected(both.slow) == []
        assert both.ppogatt.violations == []


@on_rigs("cairn", "cairn-air")
@pytest.mark.slow
async def test_put_bytes(rig: Rig, record_property: Callable[[str, object], None]) -> None:
    """e: an object of 1 MB by PutBytes over PPoGATT, and the same over the stream: both arrive, the stream with fewer packets.

    Each put waits for its answer and has 2044 bytes at most, as the firmware takes them. How long that takes here says more of
    the machine and of what else it does than of either way; what a radio has to carry decides, and is the same on each run.
    """
    content = large_object(MEGABYTE)
    async with Phone.on(rig.phone_port) as phone:
        both = await Companion.on(phone, rig.watch_address)
        carried = {}
        for way in ("PPoGATT", "stream"):
            session = both.slow if way == "PPoGATT" else await both.open_stream()
            upload = Upload(content, PIECE if way == "PPoGATT" else LONG_PIECE)
            start = time.monotonic()
            with counting_data_packets(phone) as packets:
                await upload.begin(session)
                await upload.put(session, len(content))
                await upload.commit(session)
                if way == "PPoGATT":
                    await both.ppogatt.drained()
            carried[way] = packets.total()
            rate = len(content) / (time.monotonic() - start) / 1000
            record_property(way, f"{rate:.0f} kB/s, {carried[way]} packets")
            print(f"1 MB over {way}: {rate:.0f} kB/s, {dict(packets)}")
        assert carried["stream"] < carried["PPoGATT"], carried
        assert both.ppogatt.violations == []


@on_rigs("cairn", "cairn-air")
async def test_cut(rig: Rig) -> None:
    """e: the channel is cut half way through an object: the upload goes on over PPoGATT, on a new stream, and arrives."""
    content = large_object(200_000)
    async with Phone.on(rig.phone_port) as phone:
        both = await Companion.on(phone, rig.watch_address)
        upload = Upload(content)
        await upload.begin(both.slow)
        await upload.put(both.slow, 3)
        await both.ppogatt.drained()
        fast = await both.open_stream()
        await upload.put(fast, 50)
        assert both.stream is not None
        await both.stream.close()
        await upload.put(both.slow, 3)
        await both.ppogatt.drained()
        fast = await both.open_stream()
        await upload.put(fast, len(content))
        await upload.commit(fast)
        # No message was sent twice, and none is left.
        assert unexpected(fast, both.slow) == []


# The commands of a running watch


async def tell(control: Path, **request: object) -> None:
    """Sends a command to a running watch."""
    reader, writer = await within(5, "the control socket", asyncio.open_unix_connection(str(control)))
    writer.write(json.dumps(request).encode() + b"\n")
    answer = json.loads(await within(5, f"the answer to {request}", reader.readline()))
    writer.close()
    assert answer["ok"], answer


@dataclass
class ControlledWatch:
    room: Controllers
    control: Path
    program: Program

    async def publish(self) -> None:
        await tell(self.control, command="publish", stream="pebble")

    async def withdraw(self) -> None:
        await tell(self.control, command="withdraw", stream="pebble")


@contextlib.asynccontextmanager
async def controlled(folder: Path, *options: str) -> AsyncIterator[ControlledWatch]:
    """Cairn on Bumble's controllers, with a control socket."""
    control = folder / "control.sock"
    async with (
        controllers() as room,
        cairn_on(room.watch.address, folder, "--control", str(control), *options) as program,
    ):
        yield ControlledWatch(room, control, program)


async def test_withdrawn_half_way(tmp_path: Path) -> None:
    """e: the watch withdraws the stream while an object is coming in, again and again: no piece is lost or doubled.

    What had no answer when the channel closed is sent again over PPoGATT, as a companion does; whatever the watch had
    answered arrives, over the one or the other.
    """
    content = large_object(120_000)
    async with controlled(tmp_path, "--insecure-test-link") as watch, Phone.on(watch.room.phone.port) as phone:
        both = await Companion.on(phone, ADDRESS)
        both.slow.inbox.name = "what the watch said, either way"
        upload = Upload(content)
        await upload.begin(both.slow)
        for _ in range(5):
            await both.ppogatt.drained()
            fast = await both.open_stream()
            # One inbox for both: an answer counts whichever way it comes.
            fast.inbox = both.slow.inbox
            assert both.stream is not None
            both.stream.on_closed = lambda _: None
            await upload.put(fast, 4)
            await watch.withdraw()
            await both.stream.closed()
            await upload.put(both.slow, 4)
            await watch.publish()
        await upload.put(both.slow, len(content))
        await upload.commit(both.slow)
        assert unexpected(both.slow) == []


async def test_withdraw(tmp_path: Path) -> None:
    """f: withdrawn, the channels close, the PSM is refused, Service Changed is indicated; published again, it is new."""
    options = ("--service-changed-delay", "1")
    async with controlled(tmp_path, *options) as watch, Phone.on(watch.room.phone.port, pairs=pairing(Person())) as phone:
        link = await phone.connect(ADDRESS)
        database = await link.discover()
        psm = database.characteristic(uuids.STREAM_SERVICE, uuids.PUBLISHED_PSM)
        with pytest.raises(att.ATT_Error) as refusal:
            await link.read(psm.handle)
        assert refusal.value.error_code == att.ATT_INSUFFICIENT_AUTHENTICATION_ERROR
        await link.pair()
        changed = database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)
        indications = link.listen(changed.handle)
        await link.subscribe(changed, 2)

        first = int.from_bytes(await link.read(psm.handle), "little")
        assert 0x80 <= first <= 0xFF
        # Two companions on one phone, each with a stream of its own.
        streams = []
        for who in (META_ANDROID, SPORTS):
            streams.append(await Stream.open(link, first, introduction=who))
            await companion.ping(PebbleSession(streams[-1]), 0xCAFEBABE)

        await watch.withdraw()
        for stream in streams:
            await stream.closed()
        service = database.service(uuids.STREAM_SERVICE)
        range_ = service.start.to_bytes(2, "little") + service.end.to_bytes(2, "little")
        assert await indications.take(10, "Service Changed") == range_
        with pytest.raises(att.ATT_Error) as refusal:
            await link.read(psm.handle)
        assert refusal.value.error_code == att.ATT_INVALID_HANDLE_ERROR
        with pytest.raises(LookupError):
            await read_psm(link)
        with pytest.raises(l2cap.L2capError) as nowhere:
            await Stream.open(link, first)
        result = l2cap.L2CAP_LE_Credit_Based_Connection_Response.Result
        assert nowhere.value.error_code == result.CONNECTION_REFUSED_LE_PSM_NOT_SUPPORTED

        await watch.publish()
        assert await indications.take(10, "Service Changed") == range_
        second = await read_psm(link)
        assert 0x80 <= second <= 0xFF and second != first
        stream = await Stream.open(link, second)
        session = PebbleSession(stream)
        await companion.negotiate(session)
        await companion.ping(session, 1)


async def test_unencrypted(tmp_path: Path) -> None:
    """f: a phone that knows the PSM cannot open the channel on a link that is not encrypted."""
    async with controlled(tmp_path) as watch, Phone.on(watch.room.phone.port) as phone:
        link = await phone.connect(ADDRESS)
        published = await watch.program.wait_for_line(r"the pebble stream can be opened, PSM 0x([0-9a-f]{4})", 10)
        with pytest.raises(l2cap.L2capError) as refusal:
            await Stream.open(link, int(published[1], 16))
        result = l2cap.L2CAP_LE_Credit_Based_Connection_Response.Result
        assert refusal.value.error_code == result.CONNECTION_REFUSED_INSUFFICIENT_AUTHENTICATION
