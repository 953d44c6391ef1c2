"""Faults by name (Docs/faults.md): each is to Bumble and libpebble2 what it claims to be, is told, and is gone when it should be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import watches
from bumble import att
from bumble.smp import ErrorCode
from libpebble2.protocol.system import WatchVersionResponse
from rig import cairn, capture, companion
from rig.control import Control, Refused
from rig.pebble import PebbleSession
from rig.phone import Phone, WatchLink
from rig.security import PairingRefused, Person, pairing
from rig.waiting import GaveUp, within
from test_command_line import USAGE
from test_control import REFUSED, command, watch_in
from watches import cairn_on


@contextlib.asynccontextmanager
async def phone_at(folder: Path, *options: str, **phone: Any) -> AsyncIterator[tuple[Phone, Control]]:
    """A watch, a phone on its air, and a program at its control socket that hears events."""
    state = folder / "state"
    async with cairn_on("virtual", folder, "--air-port", "0", "--state", str(state), *options) as program:
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Phone.on(int(port[1]), **phone) as guest, Control.on(state / "control.sock") as control:
            await control.listen()
            yield guest, control


@contextlib.asynccontextmanager
async def session_at(folder: Path, *options: str) -> AsyncIterator[tuple[PebbleSession, Control, WatchLink]]:
    """The same with a session."""
    async with phone_at(folder, "--insecure-test-link", *options) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        _, session = await watch.open_reversed(await watch.discover())
        await companion.negotiate(session)
        yield session, control, watch


async def add(control: Control, name: str, **arguments: object) -> int:
    """Adds a fault."""
    words = {key.rstrip("_"): str(value) for key, value in arguments.items()}
    answer = await control.ask("fault-add", name=name, arguments=words)
    return int(answer["number"])


async def fired(control: Control, name: str) -> dict[str, Any]:
    """The next firing of a fault."""
    event = await control.event("fault")
    assert event["name"] == name, event
    return event


# --- ATT, links, security


async def test_an_att_error_comes_as_often_as_it_was_ordered(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        number = await add(control, "att.error", opcode="0x02", error=0x11, count=1)
        with pytest.raises(att.ATT_Error) as refusal:
            await watch.exchange_mtu(100)
        assert refusal.value.error_code == 0x11
        event = await fired(control, "att.error")
        assert event["number"] == number and event["firings"] == 1 and "connection" in event
        await watch.round_trip()
        assert (await control.ask("fault-list"))["faults"] == []


async def test_the_exchange_of_mtus_is_refused(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "att.mtu-refused")
        with pytest.raises(att.ATT_Error) as refusal:
            await watch.exchange_mtu(100)
        assert refusal.value.error_code == att.ATT_REQUEST_NOT_SUPPORTED_ERROR


async def test_an_answer_is_late(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "att.late", delay="2s", count=1)
        loop = asyncio.get_running_loop()
        start = loop.time()
        await watch.round_trip()
        assert loop.time() - start >= 1.9


async def test_a_link_ends_for_the_reason_that_was_ordered(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "link.dropped", reason=0x15)
        assert await watch.disconnected() == 0x15


async def test_a_link_is_lost_silently(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        # A link that is lost before both sides have heard each other ends as one that was never established.
        await watch.round_trip()
        await add(control, "link.lost", length="60s")
        assert await watch.disconnected(60) == 0x08
        event = await control.event("disconnected", 60)
        assert "connection" in event


async def test_a_pairing_is_refused(tmp_path: Path) -> None:
    async with phone_at(tmp_path, pairs=pairing(Person())) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "smp.pairing-refused", reason=int(ErrorCode.UNSPECIFIED_REASON))
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.UNSPECIFIED_REASON


async def test_the_check_of_a_pairing_is_wrong(tmp_path: Path) -> None:
    async with phone_at(tmp_path, pairs=pairing(Person())) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "smp.wrong-dhkey-check", count=1)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.DHKEY_CHECK_FAILED


# --- PPoGATT and messages


@pytest.mark.parametrize(
    "name",
    ["ppogatt.ack-lost", "ppogatt.ack-late", "ppogatt.ack-doubled", "ppogatt.data-lost", "ppogatt.data-reordered",
     "ppogatt.data-repeated"],
)  # fmt: skip
async def test_ppogatt_stands_what_it_is_made_for(tmp_path: Path, name: str) -> None:
    async with session_at(tmp_path) as (session, control, _):
        # A packet that is lost twice ends the session.
        count = 1 if name == "ppogatt.data-lost" else 2
        await add(control, name, count=count)
        for cookie in range(4):
            await companion.ping(session, cookie)
        for _ in range(count):
            await fired(control, name)


async def test_a_ping_is_not_answered(tmp_path: Path) -> None:
    async with session_at(tmp_path) as (session, control, _):
        await add(control, "ping.unanswered", count=1)
        companion.send_ping(session, 1)
        await fired(control, "ping.unanswered")
        # The pong that comes is the second ping's.
        await companion.ping(session, 2)


async def test_a_message_comes_twice(tmp_path: Path) -> None:
    async with session_at(tmp_path) as (session, control, _):
        await add(control, "message.doubled", endpoint=0x07D1, direction="to-phone", count=1)
        await companion.ping(session, 7)
        assert await companion.next_pong(session) == 7


async def test_the_version_answer_says_recovery(tmp_path: Path) -> None:
    async with session_at(tmp_path) as (session, control, _):
        before: WatchVersionResponse = await companion.ask_version(session)
        assert not before.running.is_recovery
        await add(control, "version.recovery")
        assert (await companion.ask_version(session)).running.is_recovery


# --- What tells of them


async def test_a_capture_tells_of_a_firing(tmp_path: Path) -> None:
    """tshark reads all of it, and has the firing as a manufacturer's event."""
    file = tmp_path / "watch.btsnoop"
    async with phone_at(tmp_path, "--capture", str(file)) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        await add(control, "att.twice", count=1)
        await watch.round_trip()
        await fired(control, "att.twice")
    assert capture.decode(file).malformed == []
    output = subprocess.run(
        ["tshark", "-r", str(file), "-Y", "bthci_evt.code == 0xff", "-x"],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    text = "".join(line[56:] for line in output.splitlines())
    assert "att.twice" in text.replace("\n", ""), output


# --- By hand, and what is refused


async def test_by_hand(tmp_path: Path) -> None:
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state):
        assert await command("fault", "list", *here) == (0, "no fault is there\n", "")
        status, output, _ = await command("fault", "add", "att.late", "delay=250ms", "--count", "3", *here)
        assert (status, output) == (0, "1\n")
        status, output, _ = await command("fault", "add", "radio.loss", "percent=5", "--for", "1h", *here)
        assert status == USAGE
        assert (await command("fault", "add", "radio.loss", "percent=5", "--for", "60min", *here))[:2] == (0, "2\n")
        status, output, _ = await command("fault", "list", "--json", *here)
        faults = json.loads(output)
        assert [fault["name"] for fault in faults] == ["att.late", "radio.loss"]
        assert faults[0]["arguments"] == {"delay": "250ms", "count": "3"} and faults[1]["firings"] == 1
        status, _, errors = await command("fault", "clear", "9", *here)
        assert status == REFUSED and "no fault with the number 9" in errors
        assert (await command("fault", "clear", "1", *here))[0] == 0
        assert (await command("fault", "clear", *here))[0] == 0
        assert (await command("fault", "list", *here))[1] == "no fault is there\n"
        assert (await command("fault", "add", "att.never", *here))[0] == 0
    async with watch_in(state):
        # A fault never outlives its watch.
        assert (await command("fault", "list", *here))[1] == "no fault is there\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["att.eror"], "the nearest is “att.error”"),
        (["att.error", "opcde=1"], "the nearest is “opcode”"),
        (["att.error", "error=256"], "1 to 255"),
        (["watch.reboot", "--skip", "1"], "say after"),
        (["att.error", "--seed", "1"], "no probability is given"),
    ],
)
async def test_mistakes_are_answered_before_a_watch_is_asked(words: list[str], complaint: str) -> None:
    status, _, errors = await command("fault", "add", *words, "--control", "/nowhere")
    assert status == USAGE and complaint in errors, errors


async def test_names_need_no_watch() -> None:
    status, output, _ = await command("fault", "names")
    assert status == 0 and len(output.splitlines()) > 60
    status, output, _ = await command("fault", "names", "att.late")
    assert status == 0 and "delay=" in output and "1ms to 120s" in output


async def test_faults_are_switched_off_for_good(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with watch_in(state, "--no-faults-allowed"), Control.on(state / "control.sock") as control:
        for request in [("fault-add", {"name": "att.never"}), ("fault-clear", {})]:
            with pytest.raises(Refused) as refusal:
                await control.ask(request[0], **request[1])
            assert refusal.value.code == "faults-not-allowed"


async def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """A watch without a store, and one that uses somebody else's air."""
    path = tmp_path / "control.sock"
    arguments = ("run", "--controller", "virtual", "--control", str(path))
    async with cairn.running(*arguments, log=tmp_path / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        async with Control.on(path) as control:
            with pytest.raises(Refused, match="--state DIR") as refusal:
                await add(control, "storage.full")
            assert refusal.value.code == "fault-not-taken"
            with pytest.raises(Refused, match="--private-address"):
                await add(control, "watch.address-rotates")


async def test_a_phone_that_gets_no_answer_gives_up(tmp_path: Path) -> None:
    async with phone_at(tmp_path) as (phone, control):
        watch = await phone.connect(watches.ADDRESS)
        number = await add(control, "link.mute", direction="to-phone")
        with pytest.raises((GaveUp, asyncio.TimeoutError, TimeoutError)):
            await within(2, "the watch's name", watch.round_trip())
        await control.ask("fault-clear", number=number)
        await watch.round_trip()
