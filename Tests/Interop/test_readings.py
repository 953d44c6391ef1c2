"""What Cairn reads in bytes is what others read in them: libpebble2 for the Pebble Protocol, Bumble for HCI, L2CAP and advertising.

Each makes messages at random by its own declarations. Cairn reads them (`cairn-bench readings`), says which numbers it has read, and writes what it
has read. Where that is not the same, the reason is in a table here, and a reason that explains nothing any more is a failure too. The numbers are
those that fill more than a byte: bytes that are read in the wrong order, and written in the wrong order again, show in them and nowhere else.

CAIRN_READINGS: how many messages of each kind are made, such as 5000 for a long run. CAIRN_READINGS_SEED: another seed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from bumble import hci, l2cap
from bumble.core import AdvertisingData
from libpebble2.protocol import appmessage, apps, blobdb, data_logging, logs, meta, music, phone, screenshots, system, timeline, transfers
from libpebble2.protocol.base import PebblePacket
from rig import cairn, random_messages

COUNT = int(os.environ.get("CAIRN_READINGS", "400"))
SEED = int(os.environ.get("CAIRN_READINGS_SEED", "20"))

#: The kinds of messages in the order of `EndpointDecoders`, and what libpebble2 calls them; None: it does not know them.
MESSAGES: dict[str, type[PebblePacket] | None] = {
    "MetaMessage": meta.MetaProtocolMessage,
    "PhoneVersionMessage": system.PhoneAppVersion,
    "WatchVersionMessage": system.WatchVersion,
    "TimeMessage": system.TimeMessage,
    "SystemMessage": system.SystemMessage,
    "FactoryRegistryMessage": system.WatchModel,
    "PingMessage": system.PingPong,
    "ResetMessage": system.Reset,
    "AppRunStateMessage": apps.AppRunState,
    "LauncherMessage": None,
    "AppFetchRequest": apps.AppFetchRequest,
    "AppFetchResponse": apps.AppFetchResponse,
    "AppMessage": appmessage.AppMessage,
    "PutBytesRequest": transfers.PutBytes,
    "PutBytesResponse": transfers.PutBytesResponse,
    "BlobDBRequest": blobdb.BlobCommand,
    "BlobDBResponse": blobdb.BlobResponse,
    "BlobDB2Message": None,
    "AppOrderRequest": None,
    "AppOrderResponse": None,
    "AppLogControl": logs.AppLogShippingControl,
    "AppLogRecord": logs.AppLogMessage,
    "LogDumpMessage": logs.LogDumpShipping,
    "ScreenshotRequest": screenshots.ScreenshotRequest,
    "ScreenshotHeader": screenshots.ScreenshotHeader,
    "ScreenshotContinuation": None,
    "DataLoggingMessage": data_logging.DataLogging,
    "GetBytesMessage": transfers.GetBytes,
    "MusicMessage": music.MusicControl,
    "PhoneControlMessage": phone.PhoneNotification,
    "TimelineActionMessage": timeline.TimelineActionEndpoint,
    "HealthSyncMessage": None,
    "BLEControlMessage": system.BLEControl,
    "RemoteInputResponse": None,
}

#: Why a message is refused although libpebble2 would send it: the refusal, and the reason.
REFUSED = {
    "SystemMessage": (r"system_message\.status: value .* is not allowed", "its statuses are four; libpebble2 leaves the byte open"),
    "AppFetchRequest": (r"app_fetch\.command: value .* is not allowed", "its only command is 01"),
    "AppFetchResponse": (r"app_fetch\.command: value .* is not allowed", "its only command is 01"),
    "PutBytesRequest": (r"put_bytes\.type: value .* is not allowed", "objects are of seven types; libpebble2 leaves the byte open"),
    "ScreenshotRequest": (r"screenshot\.command: value .* is not allowed", "its only command is 00"),
    "ScreenshotHeader": (r"screenshot\.version: value .* is not allowed", "the versions are 1 and 2: how pixels are packed"),
    "DataLoggingMessage": (r"data_logging\.session: 1 bytes needed, 0 left", "the firmware's 07 names its session; libpebble2's does not"),
    "PhoneControlMessage": (r"phone_control\.item: ", "the list of calls has no cookie; libpebble2 writes one before it"),
    "BLEControlMessage": (r"ble_control\.opcode: value .* is not allowed", "its only opcode is 04"),
}  # fmt: skip

Judge = Callable[[bytes, bytes], bool]


def _strings_end(sent: bytes, written: bytes) -> bool:
    """Strings of the watch's version are fixed in length: what is cut in the middle of a letter is no text."""
    places = [place for place in range(len(sent)) if sent[place] != written[place]]
    return len(sent) == len(written) and all(5 <= place < 45 or 52 <= place < 92 or 99 <= place < 120 or 134 <= place < 140 for place in places)


def _is_empty(sent: bytes) -> bool:
    """Whether a request to insert (01) or delete (04) has an empty key, or an empty value."""
    key = sent[4]
    return key == 0 or (sent[0] == 1 and sent[5 + key : 7 + key] == b"\0\0")


#: Where what is written differs from what was sent, and may: a judge, and the reason.
DIFFERS: dict[str, tuple[Judge, str]] = {
    "PhoneVersionMessage": (
        lambda sent, written: written == (sent[:13] + b"\x02" + sent[14:] if sent[13] >= 2 else sent[:13]),
        "from version 2 on the answer has more, and is written as 2; before that it has not",
    ),
    "SystemMessage": (lambda sent, written: written == b"\0" + sent[1:], "its first byte means nothing"),
    "WatchVersionMessage": (_strings_end, "a text ends where it is no text any more; padding is zero"),
    "BlobDBRequest": (
        lambda sent, written: written == sent[:3] and _is_empty(sent),
        "PebbleOS answers an empty key or value with INVALID_DATA; nothing but the token matters then",
    ),
    "PhoneControlMessage": (lambda sent, written: sent[0] == 3 and written == sent[:1], "the question for calls has no cookie"),
}  # fmt: skip


class Readings:
    """A decoder of Cairn's, in a process that stays."""

    def __init__(self, decoder: str) -> None:
        self._process = subprocess.Popen(
            [cairn.binary().parent / "cairn-bench", "readings", decoder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def of(self, data: bytes) -> dict[str, Any]:
        """`kind`, `numbers`, and `written` in hexadecimal or `refused`."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(data.hex() + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


def wide_numbers(packet: PebblePacket) -> Iterator[int]:
    """The numbers of a message that fill more than a byte."""
    for name in packet._type_mapping:
        value = getattr(packet, name)
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, PebblePacket):
                yield from wide_numbers(part)
            elif isinstance(part, int) and not 0 <= part <= 0xFF:
                yield int(part)


def missing(wanted: Iterable[int], read: list[int]) -> list[int]:
    """Which numbers were not read. Where one side has a sign and the other has not, the bits are compared."""
    known = {number & mask for number in read for mask in ((1 << 64) - 1, (1 << 32) - 1, (1 << 16) - 1)} | set(read)
    return [number for number in wanted if number not in known and number & ((1 << 64) - 1) not in known]


@contextlib.contextmanager
def readings(decoder: str) -> Iterator[Readings]:
    made = Readings(decoder)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Bumble complains about each packet that it cannot read; here those are meant."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", [kind for kind, other in MESSAGES.items() if other])
def test_a_message_of_libpebble2_is_read_as_it_is_meant(kind: str) -> None:
    chance = random.Random(f"{SEED} {kind}")
    number = list(MESSAGES).index(kind)
    same = explained = 0
    with readings("endpoints") as ours:
        for _ in range(COUNT):
            packet = random_messages.packet(MESSAGES[kind], chance)
            sent = packet.serialise()
            read = ours.of(bytes([number]) + sent)
            assert read["kind"] == kind
            if read.get("written") == sent.hex():
                same += 1
                # The list of calls and the question for it have no cookie.
                if kind != "PhoneControlMessage" or sent[0] not in (0x03, 0x83):
                    lost = missing(wide_numbers(packet), read["numbers"])
                    assert not lost, f"seed {SEED}: {sent.hex()}: {lost} are not among {read}"
                continue
            explained += 1
            if "refused" in read:
                assert kind in REFUSED and re.match(REFUSED[kind][0], read["refused"]), f"seed {SEED}: {sent.hex()}: {read}"
            else:
                written = bytes.fromhex(read["written"])
                assert kind in DIFFERS and DIFFERS[kind][0](sent, written), f"seed {SEED}: {sent.hex()}: {read}"
    # Most are read, and a reason that is in the tables is needed.
    assert same > 0 or kind == "BLEControlMessage", f"seed {SEED}"
    assert (explained > 0) == (kind in REFUSED or kind in DIFFERS), f"seed {SEED}: {explained} of {kind}"


# MARK: Bumble

def wide_fields(packet: Any) -> list[int]:
    """The numbers of a packet of Bumble's that fill more than a byte."""
    names = [field[0] for field in type(packet).fields if isinstance(field, tuple)]
    values = [getattr(packet, name) for name in names]
    return [int(value) for value in values if isinstance(value, int) and value > 0xFF]


def same_event(sent: hci.HCI_Event, written: hci.HCI_Event) -> bool:
    """Whether two events say the same, apart from bits that Core reserves."""
    if type(sent) is not type(written):
        return False
    # What an event says of something that failed means nothing.
    if getattr(sent, "status", 0) != 0:
        return sent.status == written.status
    for field in type(sent).fields:
        if isinstance(field, tuple):
            name = field[0]
        else:
            continue
        one, other = getattr(sent, name), getattr(written, name)
        if name == "connection_handle":
            one, other = one & 0x0FFF, other & 0x0FFF
        if name == "encryption_enabled":
            one = min(one, 1)
        if one != other:
            return False
    return True


def events_at_random(chance: random.Random) -> Iterator[bytes]:
    """Events that Bumble reads wholly, none of their bytes left."""
    kinds = [(hci.HCI_LE_META_EVENT, bytes([each])) for each in hci.HCI_LE_Meta_Event.subevent_classes]
    kinds += [(code, b"") for code in hci.HCI_Event.event_classes if code != hci.HCI_LE_META_EVENT]
    for code, prefix in kinds:
        for _ in range(COUNT):
            values = bytes(chance.choice([0, 1, 2, chance.randrange(256)]) for _ in range(chance.randrange(40)))
            # Of what has failed, nothing is said.
            if chance.random() < 0.5:
                values = b"\0" + values[1:]
            body = bytes([code, len(prefix + values)]) + prefix + values
            with contextlib.suppress(Exception):
                event = hci.HCI_Packet.from_bytes(b"\x04" + body)
                if hci.HCI_Object.dict_to_bytes(event.__dict__, type(event).fields) == values:
                    yield body


def test_an_event_of_bumble_is_read_as_it_is_meant() -> None:
    same: set[str] = set()
    with readings("hci-events") as ours:
        for body in events_at_random(random.Random(SEED)):
            read = ours.of(body)
            sent = hci.HCI_Packet.from_bytes(b"\x04" + body)
            # An event that the host has no use for is carried as it is: nothing was read.
            if read["kind"].startswith("unknown"):
                continue
            if "refused" in read:
                # A number that Core does not define, never a length.
                assert "is not allowed" in read["refused"], f"seed {SEED}: {sent}: {read}"
                continue
            written = hci.HCI_Packet.from_bytes(b"\x04" + bytes.fromhex(read["written"]))
            assert same_event(sent, written), f"seed {SEED}: {sent} was read as {written}"
            if read["written"] == body.hex():
                lost = missing(wide_fields(sent), read["numbers"])
                assert not lost, f"seed {SEED}: {sent}: {lost} are not among {read}"
                same.add(type(sent).__name__)
    assert len(same) >= 18 and "HCI_LE_Enhanced_Connection_Complete_Event" in same, sorted(same)


#: The codes of the LE signalling channel (Core 5.4, Vol 3, Part A, 4, table 4.2); the others are those of BR/EDR.
LE_SIGNALLING = [0x01, 0x06, 0x07, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A]


def test_a_signalling_command_of_bumble_is_read_as_it_is_meant() -> None:
    chance = random.Random(SEED)
    same: set[int] = set()
    with readings("signaling") as ours:
        for code in LE_SIGNALLING:
            for _ in range(COUNT):
                values = bytes(chance.choice([0, 1, 2, 64, chance.randrange(256)]) for _ in range(chance.randrange(20)))
                pdu = bytes([code, 7]) + len(values).to_bytes(2, "little") + values
                try:
                    frame = l2cap.L2CAP_Control_Frame.from_bytes(pdu)
                    is_whole = hci.HCI_Object.dict_to_bytes(frame.__dict__, type(frame).fields) == values
                except Exception:
                    continue
                if not is_whole:
                    continue
                read = ours.of(pdu)
                if "refused" in read:
                    # Of a rejection Bumble does not look into the data, whose length follows from the reason.
                    assert code == 1 or "is not allowed" in read["refused"], f"seed {SEED}: {pdu.hex()}: {read}"
                else:
                    assert read["written"] == pdu.hex(), f"seed {SEED}: {frame}: {read}"
                    lost = missing(wide_fields(frame), read["numbers"])
                    assert not lost, f"seed {SEED}: {frame}: {lost} are not among {read}"
                    same.add(code)
    assert same == set(LE_SIGNALLING)


def test_advertising_data_are_read_as_bumble_reads_them() -> None:
    chance = random.Random(SEED)
    with readings("advertising") as ours:
        for _ in range(10 * COUNT):
            structures = [(chance.randrange(1, 256), chance.randbytes(chance.randrange(8))) for _ in range(chance.randrange(5))]
            data = b"".join(bytes([len(value) + 1, kind]) + value for kind, value in structures)
            read = bytes.fromhex(ours.of(data)["written"])
            assert AdvertisingData.from_bytes(read).ad_structures == AdvertisingData.from_bytes(data).ad_structures == structures
