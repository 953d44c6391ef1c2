"""The phone's transport and session, against a watch's end that a test plays."""

from __future__ import annotations

import asyncio
import random
import struct
import uuid
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("bumble")

from cairn_watch import uint8
from cairn_watch.appmessage import encode
from cairn_watch.phone.gatt import OneAtATime, WatchService
from cairn_watch.phone.ppogatt import Kind, PPoGATT, State
from cairn_watch.phone.session import Session

APP = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Runs a test that needs a loop."""

    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


class End:
    """A transport, what it has sent, and what it has received."""

    def __init__(self, *, begins: bool = True, limit: int = 20) -> None:
        self.sent: list[bytes] = []
        self.stream = bytearray()
        self.reasons: list[str] = []
        self.transport = PPoGATT(
            self.sent.append, lambda: limit, self.stream.extend, self.reasons.append, begins=begins
        )

    def take(self) -> list[bytes]:
        """What was sent since the last look."""
        taken, self.sent[:] = list(self.sent), []
        return taken

    def open(self, window: int = 25) -> End:
        """A phone's transport after the handshake with the watch's service."""
        self.transport.start()
        self.transport.receive(bytes([Kind.RESET_COMPLETE, window, window]))
        assert self.take() == [b"\x02\x01", b"\x03\x19\x19"]
        assert self.transport.state is State.OPEN and self.transport.opened.done()
        return self


@on_a_loop
async def test_the_handshake_where_the_service_is_the_phones() -> None:
    end = End(begins=False)
    end.transport.start()
    assert end.take() == []
    end.transport.receive(b"\x02\x01" + b"SERIALNUMBER")
    assert end.take() == [b"\x03\x19\x19"]
    end.transport.receive(b"\x03\x04\x04")
    assert end.take() == [] and end.transport.state is State.OPEN


@on_a_loop
async def test_data_in_windows() -> None:
    end = End().open(window=3)
    end.transport.send(bytes(range(100)))
    packets = end.take()
    assert [each[0] >> 3 for each in packets] == [0, 1, 2] and all(len(each) == 20 for each in packets)
    assert not end.transport.drained.is_set()
    end.transport.receive(bytes([1 << 3 | Kind.ACK]))
    packets += end.take()
    end.transport.receive(bytes([4 << 3 | Kind.ACK]))
    packets += end.take()
    end.transport.receive(bytes([5 << 3 | Kind.ACK]))
    assert b"".join(each[1:] for each in packets) == bytes(range(100))
    assert end.transport.drained.is_set()


@on_a_loop
async def test_a_lossy_way() -> None:
    """Each packet comes once, although some are lost on the way to the phone and sent again."""
    source, end = random.Random(3), End().open()
    wanted = source.randbytes(3000)
    pieces = [wanted[start : start + 19] for start in range(0, len(wanted), 19)]
    acknowledged = 0
    while acknowledged < len(pieces):
        for number in range(acknowledged, min(acknowledged + 4, len(pieces))):
            if source.random() < 0.7:
                end.transport.receive(bytes([number % 32 << 3 | Kind.DATA]) + pieces[number])
        for ack in end.take():
            ahead = (ack[0] >> 3) - acknowledged % 32
            if 0 <= ahead % 32 < 4:
                acknowledged += ahead % 32 + 1
    assert end.stream == wanted


@on_a_loop
async def test_what_is_not_acknowledged_is_sent_again_and_given_up() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cairn_watch.phone.ppogatt.RETRANSMISSION_SECONDS", 0.05)
        end = End().open()
        end.transport.send(b"hello")
        await asyncio.sleep(0.4)
        assert end.take() == [b"\x00hello"] * 3
        assert end.reasons == ["the watch did not acknowledge packet 0"] and end.transport.state is State.CLOSED


@pytest.mark.parametrize(
    ("packets", "reason"),
    [
        ([b""], "the watch sent an empty PPoGATT packet"),
        ([b"\x07"], "the watch sent the PPoGATT packet 07 while this side was OPEN"),
        ([b"\x02\x01"], "the watch reset the session"),
        ([b"\x03\x01\x01"], "the watch sent the PPoGATT packet 030101 while this side was OPEN"),
    ],
)
def test_what_no_watch_sends_closes_it(packets: list[bytes], reason: str) -> None:
    async def story() -> None:
        end = End().open()
        for packet in packets:
            end.transport.receive(packet)
        end.transport.receive(b"\x00more")
        assert end.reasons == [reason] and end.stream == b""

    asyncio.run(story())


def test_any_packets_do_no_harm() -> None:
    async def story() -> None:
        source = random.Random(5)
        for _ in range(3000):
            end = End(begins=source.random() < 0.5)
            session = Session(end.transport.send)
            end.transport._on_bytes = session.receive
            end.transport.start()
            for _ in range(12):
                end.transport.receive(bytes([source.randrange(256)]) + source.randbytes(source.randint(0, 40)))
            end.transport.close("enough")

    asyncio.run(story())


class FakeClient:
    """A GATT client that says when two operations are under way at once."""

    def __init__(self) -> None:
        self.under_way = 0
        self.done: list[str] = []
        self.notification_subscribers: dict[int, Any] = {}

    async def _operate(self, name: str) -> None:
        assert self.under_way == 0, f"{name} during another operation"
        self.under_way += 1
        await asyncio.sleep(0.001)
        self.under_way -= 1
        self.done.append(name)

    async def request_mtu(self, mtu: int) -> None:
        await self._operate("mtu")

    async def write_value(self, handle: int, value: bytes, with_response: bool) -> None:
        await self._operate(f"write {handle}")

    async def discover_service(self, uuid: object) -> list[object]:
        await self._operate("discover")
        return []


class FakeConnection:
    """A link that sends nothing."""

    att_mtu = 23

    def __init__(self) -> None:
        self.gatt_client = FakeClient()

    def on(self, event: str, listener: object) -> None:
        """Nothing happens on it."""

    def send_l2cap_pdu(self, channel: int, pdu: bytes) -> None:
        assert channel == 4 and self.gatt_client.under_way == 0, "a write without response during another operation"
        self.gatt_client.done.append(f"command {pdu.hex()}")


@on_a_loop
async def test_one_operation_at_a_time() -> None:
    connection = FakeConnection()
    operations = OneAtATime(connection)  # type: ignore[arg-type]
    service = WatchService(SimpleNamespace(handle=7), 9, 8)  # type: ignore[arg-type]
    for number in range(3):
        operations.write_later(9, bytes([number]))
    await asyncio.gather(
        operations.exchange_mtu(339), operations.find_watch_service(), operations.subscribe(service, lambda _: None)
    )
    operations.write_later(9, b"\x03")
    await asyncio.sleep(0.01)
    assert sorted(connection.gatt_client.done) == sorted(
        ["mtu", "discover", "write 8", *(f"command 520900{number:02x}" for number in range(4))]
    )
    commands = [each for each in connection.gatt_client.done if each.startswith("command")]
    assert commands == sorted(commands) and operations.maximum_packet == 20


class Watch:
    """A watch's end of a session."""

    def __init__(self) -> None:
        self.written: list[tuple[int, bytes]] = []
        self.session = Session(self._read)

    def _read(self, message: bytes) -> None:
        length, endpoint = struct.unpack_from(">HH", message)
        assert len(message) == 4 + length
        self.written.append((endpoint, message[4:]))

    def say(self, endpoint: int, payload: bytes) -> None:
        """A message, in pieces of any size."""
        whole = struct.pack(">HH", len(payload), endpoint) + payload
        for start in range(0, len(whole), 7):
            self.session.receive(whole[start : start + 7])


@on_a_loop
async def test_a_session() -> None:
    watch = Watch()
    session = watch.session
    watch.say(0x11, b"\0")
    assert session.introduced.is_set() and watch.written.pop()[0] == 0x11
    watch.say(2001, b"\0" + b"\1\2\3\4" + b"\0")
    assert watch.written.pop() == (2001, b"\1\1\2\3\4")

    transaction = session.push(APP, {1: uint8(2)})
    assert watch.written.pop() == (0x30, bytes([1, transaction]) + uuid.UUID(APP).bytes + encode({1: uint8(2)}))
    watch.say(0x30, bytes([0xFF, transaction]))
    assert await session.answer(transaction)
    transaction = session.push(APP, {})
    watch.say(0x30, bytes([0x7F, transaction]))
    assert not await session.answer(transaction)

    watch.written.clear()
    watch.say(0x30, bytes([1, 77]) + uuid.UUID(APP).bytes + encode({1: "one"}))
    watch.say(0x30, bytes([1, 78]) + uuid.UUID(APP).bytes + encode({1: "two"}))
    assert watch.written == [(0x30, bytes([0xFF, 77])), (0x30, bytes([0xFF, 78]))]
    assert (await session.take(lambda message: message.entries == {1: "two"})).app == APP
    assert [each.entries for each in session.inbox] == [{1: "one"}]
    watch.written.clear()
    watch.say(0x30, bytes([1, 79]) + uuid.UUID(APP).bytes + b"\x05\x00")
    assert watch.written == [(0x30, bytes([0x7F, 79]))]

    for _ in range(1000):
        watch.say(0x30, bytes([1, 80]) + uuid.UUID(APP).bytes + encode({}))
    assert len(session.inbox) == 256

    session.close("the link has ended")
    with pytest.raises(ConnectionError, match="the link has ended"):
        await session.ping()
