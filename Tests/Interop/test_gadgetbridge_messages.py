"""Gadgetbridge's messages, byte for byte as its own Pebble code sends them (measured over Bumble), to this watch.

Its notifications have a random key and an id of their own, and declare the whole of a text of which they send 512 bytes. It
acknowledges all logged data, and never asks for them. The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import watches
from rig import control
from rig.phone import Phone
from rig.ppogatt import PhoneTransport

BLOB_DB = 0xB1DB
DATA_LOGGING = 0x1A7A
TIMELINE_ACTION = 0x2CB0
NOTIFICATIONS = 4
#: What Gadgetbridge's notifications belong to.
PARENT = bytes.fromhex("b2cae81810f846dfad2b98ad2254a3c1")
#: As in the measured message: `Ggtbrdg`, and a number of its own.
ITEM = uuid.UUID("47677442-7264-6700-0000-00006b027010")
APP = uuid.UUID("5ec1ce00-0000-4000-8000-000000000001")
#: The most bytes of a text that Gadgetbridge sends.
TEXT_LIMIT = 512


class Gadgetbridge:
    """Messages in and out, with nothing between them and the transport."""

    def __init__(self, transport: PhoneTransport) -> None:
        self._transport = transport
        self._stream = bytearray()
        self._grown = asyncio.Event()
        transport.on_bytes = self._came

    def _came(self, piece: bytes) -> None:
        self._stream += piece
        self._grown.set()

    def send(self, endpoint: int, payload: bytes) -> None:
        self._transport.send(struct.pack(">HH", len(payload), endpoint) + payload)

    async def next(self, endpoint: int, seconds: float = 10) -> bytes:
        """The next message of an endpoint; those of others are passed over."""
        async with asyncio.timeout(seconds):
            while True:
                header = await self._take(4)
                length, came_from = struct.unpack(">HH", header)
                payload = await self._take(length)
                if came_from == endpoint:
                    return payload

    async def _take(self, count: int) -> bytes:
        while len(self._stream) < count:
            self._grown.clear()
            await self._grown.wait()
        piece = bytes(self._stream[:count])
        del self._stream[:count]
        return piece

    async def blob(self, command: int, key: uuid.UUID, value: bytes | None = None, token: int = 0x8A78) -> int:
        """Insertion or deletion; returns the status."""
        payload = struct.pack("<BHBB", command, token, NOTIFICATIONS, 16) + key.bytes
        if value is not None:
            payload += struct.pack("<H", len(value)) + value
        self.send(BLOB_DB, payload)
        answer = await self.next(BLOB_DB)
        assert answer[:2] == struct.pack("<H", token)
        return answer[2]


def attribute(number: int, text: str) -> bytes:
    """Id, length, text: of at most 512 bytes."""
    content = text.encode()[:TEXT_LIMIT]
    return struct.pack("<BH", number, len(content)) + content


def notification(title: str, body: str, status: int = 0) -> bytes:
    """A notification with one action, whose declared length counts all of the texts."""
    attributes = attribute(1, title) + attribute(3, body)
    actions = bytes((3, 4, 1)) + attribute(1, "Dismiss")
    whole = sum(3 + len(text.encode()) for text in (title, body)) + len(actions)
    item = ITEM.bytes + PARENT + struct.pack("<IHBBBB", 0x65_53_F1_00, 0, 1, 1, status, 4)
    item += struct.pack("<HBB", whole, 2, 1) + attributes + actions
    return item + bytes(whole - len(attributes) - len(actions))


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Path, Gadgetbridge]]:
    """A watch, and a phone with Gadgetbridge's end of the line."""
    state = folder / "state"
    arguments = ("--air-port", "0", "--insecure-test-link", "--state", str(state))
    async with watches.cairn_on("virtual", folder, *arguments) as program:
        port = int((await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        async with Phone.on(port) as phone:
            transport = PhoneTransport(phone.host_ppogatt())
            gadgetbridge = Gadgetbridge(transport)
            transport.start()
            link = await phone.connect(watches.ADDRESS)
            await link.exchange_mtu(517)
            await transport.opened()
            yield state, gadgetbridge


async def shown(state: Path) -> list[dict]:
    return (await control.services(state))["notifications"]


@pytest.mark.parametrize("body", ["How are you?", "x" * 900], ids=["short", "longer than 512 bytes"])
async def test_a_notification_is_shown_updated_and_removed(tmp_path: Path, body: str) -> None:
    """n: under a random key each time, and by its own id; also after a restart."""
    async with running(tmp_path) as (state, gadgetbridge):
        assert await gadgetbridge.blob(1, uuid.uuid4(), notification("Alice", body)) == 1
        (item,) = await shown(state)
        assert item["id"] == str(ITEM) and item["title"] == "Alice" and item["body"] == body[:TEXT_LIMIT]
        assert item["actions"] == {"3": "Dismiss"}

        # A known id changes its status only.
        assert await gadgetbridge.blob(1, uuid.uuid4(), notification("Mallory", "", status=1)) == 1
        assert [item["title"] for item in await shown(state)] == ["Alice"]

        # What the user does names the item.
        await control.ask(state, "act", item=str(ITEM), action=3)
        assert await gadgetbridge.next(TIMELINE_ACTION) == b"\x02" + ITEM.bytes + b"\x03\x00"

    async with running(tmp_path) as (state, gadgetbridge):
        assert [item["id"] for item in await shown(state)] == [str(ITEM)]
        assert await gadgetbridge.blob(4, uuid.uuid4()) == 1
        assert len(await shown(state)) == 1
        assert await gadgetbridge.blob(4, ITEM) == 1
        assert await shown(state) == []


async def test_what_is_logged_reaches_a_phone_that_only_acknowledges(tmp_path: Path) -> None:
    """n: `84`, then `85` to each opening and to each message of data; it never asks with `88`."""
    data = bytes(range(256)) * 8
    async with running(tmp_path) as (state, gadgetbridge):
        await control.ask(state, "log-data", app=str(APP), tag=42, itemSize=4, data=data.hex())
        gadgetbridge.send(DATA_LOGGING, b"\x84")
        came = b""
        while len(came) < len(data):
            message = await gadgetbridge.next(DATA_LOGGING)
            if message[0] == 0x02:
                came += message[10:]
            else:
                assert message[0] == 0x01 and message[2:18] == APP.bytes
            gadgetbridge.send(DATA_LOGGING, bytes((0x85, message[1])))
        assert came == data
        await control.until(state, "the watch to forget what it sent", lambda known: not known["logging"][0]["byteCount"])
