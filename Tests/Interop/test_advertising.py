"""What the watch has on the air: policies, the beacon, and a phone that comes and goes. Bumble is the scanner.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bumble import hci
from bumble.controller import LegacyAdvertiser
from rig import cairn
from rig.controllers import Controllers, controllers
from rig.phone import Phone, Report
from rig.process import Program
from rig.waiting import GaveUp, Mailbox
from watches import ADDRESS, cairn_on

UUID = "e2c56db5-dffb-48d2-b060-d0f5a71096e0"
BEACON_OPTIONS = ("--beacon", UUID, "--beacon-major", "258", "--beacon-minor", "65534", "--beacon-power", "-59")
#: The 30 bytes of an iBeacon: Flags; manufacturer data of Apple, type 2, length 21; UUID, major, minor, power.
BEACON = bytes.fromhex("020106 1aff4c00 0215 e2c56db5dffb48d2b060d0f5a71096e0 0102 fffe c5")
#: Apple asks for Flags and TX power.
FLAGS = bytes.fromhex("020106")
TX_POWER = bytes.fromhex("020a")

NON_CONNECTABLE = hci.HCI_LE_Set_Advertising_Parameters_Command.AdvertisingType.ADV_NONCONN_IND
CONNECTABLE = hci.HCI_LE_Set_Advertising_Parameters_Command.AdvertisingType.ADV_IND


@dataclass
class Place:
    """A watch, and where its phone attaches."""

    program: Program
    phone_port: int
    room: Controllers | None


@contextlib.asynccontextmanager
async def watch_on(rig: str, folder: Path, *options: str) -> AsyncIterator[Place]:
    """Cairn with options of the test's own, on the rig of that name."""
    options = ("--insecure-test-link", *options)
    async with contextlib.AsyncExitStack() as stack:
        if rig == "cairn-air":
            program = await stack.enter_async_context(cairn_on("virtual", folder, "--air-port", "0", *options))
            port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
            yield Place(program, int(port[1]), None)
            return
        room = await stack.enter_async_context(controllers(rig == "cairn"))
        program = await stack.enter_async_context(cairn_on(room.watch.address, folder, *options))
        yield Place(program, room.phone.port, room)
        assert room.faults == []
        assert room.watch.controller.refused == []


@contextlib.asynccontextmanager
async def scanning(phone: Phone) -> AsyncIterator[Mailbox[Report]]:
    """What the phone hears from now on."""
    phone.reports = Mailbox("what the phone heard")
    await phone.device.start_scanning(active=True)
    try:
        yield phone.reports
    finally:
        await phone.device.stop_scanning()


def is_watch(report: Report) -> bool:
    return report.address.to_string(False) == ADDRESS and not report.is_scan_response


def is_beacon(report: Report) -> bool:
    return report.data == BEACON


@pytest.mark.parametrize("rig", ["cairn", "cairn-air"])
async def test_beacon_beside_the_watch(rig: str, tmp_path: Path) -> None:
    """b: both sets, the beacon's 30 bytes; it vanishes when a phone connects, and returns when it goes."""
    options = ("--advertising", "apple", *BEACON_OPTIONS)
    async with watch_on(rig, tmp_path, *options) as place, Phone.on(place.phone_port) as phone:
        async with scanning(phone) as reports:
            watch = await reports.take(10, "the watch", is_watch)
            beacon = await reports.take(10, "the beacon", is_beacon)
        assert watch.is_connectable
        assert watch.data.startswith(FLAGS) and TX_POWER in watch.data
        assert beacon.address != watch.address
        if rig == "cairn-air":
            # (Bumble's controllers report every advertisement as connectable.)
            assert not beacon.is_connectable

        for _ in range(2):
            before = len(place.program.lines)
            link = await phone.connect(ADDRESS)
            # The log has the end of the beacon before the phone.
            silence = await place.program.wait_for_line("advertises nothing: a phone is connected", 5, after=before)
            connected = await place.program.wait_for_line("connected to ", 5, after=before)
            assert place.program.lines.index(silence.string) < place.program.lines.index(connected.string)
            await link.round_trip()
            async with scanning(phone) as reports:
                with pytest.raises(GaveUp):
                    await reports.take(1.5, "the beacon while a phone is connected", is_beacon)
            await link.disconnect()
            async with scanning(phone) as reports:
                await reports.take(10, "the beacon after the phone went", is_beacon)
                await reports.take(10, "the watch after the phone went", is_watch)


async def test_beacon_in_turns(tmp_path: Path) -> None:
    """c: on a controller with one advertising set the two take turns, each with its own interval and data."""
    async with watch_on("cairn-legacy", tmp_path, "--advertising", "apple", *BEACON_OPTIONS) as place:
        assert place.room is not None
        turns = turns_of(place.room.watch.controller.le_legacy_advertiser)
        kinds = []
        for _ in range(6):
            turn = await turns.take(10, "the next turn")
            kinds.append(turn.kind)
            if turn.kind == NON_CONNECTABLE:
                assert (turn.data, turn.interval) == (BEACON, 160)
            else:
                assert turn.interval == 32
                assert turn.data.startswith(FLAGS)
        assert kinds in ([CONNECTABLE, NON_CONNECTABLE] * 3, [NON_CONNECTABLE, CONNECTABLE] * 3)

        async with Phone.on(place.phone_port) as phone:
            link = await phone.connect(ADDRESS)
            await link.round_trip()
            for turn in turns.waiting:
                await turns.take(1, "a turn from before the connection", lambda each, turn=turn: each is turn)
            with pytest.raises(GaveUp):
                await turns.take(3, "a turn while a phone is connected")
            await link.disconnect()
            first = await turns.take(5, "the watch on the air again")
            assert first.kind == CONNECTABLE
            assert (await turns.take(5, "the beacon")).kind == NON_CONNECTABLE


@dataclass(eq=False)
class Turn:
    kind: int
    interval: int
    data: bytes


def turns_of(advertiser: LegacyAdvertiser) -> Mailbox[Turn]:
    """What Bumble's controller is told to advertise, each time that it is. (It sends nothing but ADV_IND itself.)"""
    turns: Mailbox[Turn] = Mailbox("what the legacy controller was told to advertise")
    start = advertiser.start

    def started() -> None:
        turns.put(
            Turn(advertiser.advertising_type, advertiser.advertising_interval_min, bytes(advertiser.advertising_data))
        )
        start()

    advertiser.start = started  # type: ignore[method-assign]
    return turns


@pytest.mark.parametrize("rig", ["cairn", "cairn-legacy", "cairn-air"])
@pytest.mark.parametrize("policy", ["pebble", "apple", "saver"])
async def test_churn(rig: str, policy: str, tmp_path: Path) -> None:
    """d: a phone that connects and drops, ten times; the watch is there each time, and afterwards."""
    async with watch_on(rig, tmp_path, "--advertising", policy) as place, Phone.on(place.phone_port) as phone:
        for _ in range(10):
            link = await phone.connect(ADDRESS)
            await link.disconnect()
        assert (await phone.scan(ADDRESS)).is_connectable


async def test_status_says_what_is_on_the_air(tmp_path: Path) -> None:
    """e: cairn status and the log say what is on the air, why, and for how long; a command begins the fast step again."""
    state = tmp_path / "state"
    steps = "20ms/1s,152.5ms/1h,1285ms"
    options = ("--advertising", "custom", "--advertising-steps", steps, "--state", str(state))
    async with watch_on("cairn-air", tmp_path, *options) as place:
        await place.program.wait_for_line(
            r"advertises for discovery every 20 ms for 1 s, then every 152.5 ms \(the controller was started\)", 5
        )
        await place.program.wait_for_line("advertises for discovery every 152.5 ms for 3600 s, then every 1285 ms", 5)
        status = await asked("status", "--json", "--state", str(state), folder=tmp_path)
        (entry,) = json.loads(status)["advertisements"]
        assert (entry["role"], entry["intervalMilliseconds"], entry["nextIntervalMilliseconds"]) == (
            "discovery",
            152.5,
            1285,
        )
        assert entry["state"] == "on-air"
        assert entry["address"] == ADDRESS
        assert bytes.fromhex(entry["data"]).startswith(FLAGS)
        before = len(place.program.lines)
        await asked("advertise", "--state", str(state), folder=tmp_path)
        await place.program.wait_for_line(
            r"advertises for discovery every 20 ms .*\(somebody asked for it\)", 5, after=before
        )
        async with Phone.on(place.phone_port) as phone:
            await phone.connect(ADDRESS)
            status = await asked("status", "--state", str(state), folder=tmp_path)
            assert "on the air" in status and "nothing: a phone is connected" in status


async def test_board_file(tmp_path: Path) -> None:
    """f: the settings of a board file are on the air, and those of the command line come first."""
    board = tmp_path / "board.yaml"
    board.write_text(
        f"""
name: From the file
advertising:
  policy: custom
  steps: [20ms/30s, 1285ms]
beacon:
  uuid: {UUID}
  major: 258
  minor: 65534
""",
        encoding="utf-8",
    )
    options = ("--board", str(board), "--name", "Pebble Line")
    async with watch_on("cairn-air", tmp_path, *options) as place:
        await place.program.wait_for_line("every 20 ms for 30 s, then every 211.25 ms", 5)
        async with Phone.on(place.phone_port) as phone, scanning(phone) as reports:
            await reports.take(10, "the beacon", is_beacon)
            assert b"Pebble Line" in (await reports.take(10, "the watch", is_watch)).data


async def asked(*arguments: str, folder: Path) -> str:
    """What a command of Cairn's prints."""
    program = await Program.start([str(cairn.binary()), *arguments], folder / "asked.log")
    status = await program.wait_for_exit(10)
    assert status == 0, program.log
    return program.log
