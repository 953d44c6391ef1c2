"""The differential mode: the watch answers a phone, and the firmware in its shadow is asked the same (`cairn mirror`).

The firmware is the stand-in for PebbleOS, which answers what PebbleOS answered (rig/emulator.py), or something else on purpose.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import watches
from libpebble2.util.stm32_crc import crc32
from rig import cairn, companion, emulator
from rig.control import Control
from rig.emulator import Emulator, message
from rig.pebble import MessageStream, endpoint_and_payload
from rig.phone import Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.waiting import Mailbox, within

Answers = list[tuple[int, bytes]]


@dataclass
class Mirror:
    """A watch in whose shadow a firmware is asked the same."""

    program: Program
    control: Control
    phone_port: int
    report: Path

    async def ready(self) -> None:
        await self.program.wait_for_line("the firmware answers: v4.35.0, emery", 20)

    async def tally(self) -> dict[str, int]:
        return (await self.control.status())["mirror"]

    async def settled(self, seconds: float = 30) -> dict[str, int]:
        """When it is decided of everything whether it differs."""

        async def look() -> dict[str, int]:
            while (tally := await self.tally())["waiting"]:
                pass
            return tally

        return await within(seconds, "every answer to be compared", look())

    async def end(self) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
        """Ends it: the status, the differences in the report, and its summary."""
        status = await self.program.stop()
        *differences, summary = map(json.loads, self.report.read_text(encoding="utf-8").splitlines())
        assert summary.pop("event") == "mirror-summary"
        assert all(each["event"] == "mirror-differs" for each in differences)
        return status, differences, summary


@contextlib.asynccontextmanager
async def mirror_of(port: int, folder: Path, *options: str) -> AsyncIterator[Mirror]:
    control, report = folder / "control", folder / "report.jsonl"
    arguments = ("--address", watches.ADDRESS, "--air-port", "0", "--insecure-test-link", "--control", str(control))
    command = ("mirror", "--controller", "virtual", *arguments, "--firmware", f"tcp:127.0.0.1:{port}")
    program = await Program.start(
        [str(cairn.binary()), *command, "--report", str(report), "--log-level", "debug", *options], folder / "cairn.log"
    )
    try:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        air = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Control.on(control) as person:
            await person.listen()
            yield Mirror(program, person, int(air[1]), report)
    finally:
        program.kill()


@dataclass
class Talk:
    """A phone's session, of which every byte counts."""

    link: WatchLink
    transport: PhoneTransport
    heard: Mailbox[tuple[int, bytes]]
    _marks: int = 0

    def say(self, *messages: bytes) -> None:
        self.transport.send(b"".join(messages))

    async def hears(self, endpoint: int) -> bytes:
        """What the watch says next to an endpoint."""
        return (await self.heard.take(10, f"the watch to say 0x{endpoint:04x}", lambda each: each[0] == endpoint))[1]

    async def answered(self) -> Answers:
        """What the watch has said to everything so far."""
        self._marks += 1
        token = struct.pack("<H", 0x7000 | self._marks)
        self.say(message(emulator.BLOB_DB, b"\x05" + token + emulator.NO_DATABASE))
        # During an update nothing else is said of it.
        answers = [(emulator.BLOB_DB, token + status) for status in (emulator.INVALID_DATABASE, emulator.TRY_LATER)]
        await self.heard.take(10, "the watch to answer", lambda each: each in answers)
        return [await self.heard.take(1, "an answer") for _ in self.heard.waiting]


@contextlib.asynccontextmanager
async def talking(phone: Phone) -> AsyncIterator[Talk]:
    link = await phone.connect(watches.ADDRESS)
    await link.exchange_mtu(517)
    transport, session = await link.open_reversed(await link.discover(attribute_by_attribute=False))
    await companion.introduce(session)
    heard: Mailbox[tuple[int, bytes]] = Mailbox("what the watch said")
    stream = MessageStream()

    def hear(piece: bytes) -> None:
        for each in stream.take(piece):
            heard.put(endpoint_and_payload(each))

    transport.on_bytes = hear
    yield Talk(link, transport, heard)
    assert transport.violations == []


@contextlib.asynccontextmanager
async def mirrored(folder: Path, *options: str) -> AsyncIterator[tuple[Emulator, Mirror]]:
    async with Emulator.on() as pebble, mirror_of(pebble.port, folder, *options) as mirror:
        await mirror.ready()
        yield pebble, mirror
        assert pebble.firmware.wedged is None
        assert pebble.firmware.violations == []


#: What the two answer otherwise of all that was recorded, and why that is so.
KNOWN = {
    "oversize: time of 65535": "the firmware has no memory for so long a message, and this watch has",
}


async def test_what_the_firmware_answered_is_no_difference(tmp_path: Path) -> None:
    cases = [case for case in emulator.recorded_cases() if not case.name.startswith("phone version")]
    assert len(cases) > 200
    async with mirrored(tmp_path) as (pebble, mirror):
        pebble.firmware.serve(cases)
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            for case in cases:
                talk.say(*case.sent)
                await talk.answered()
                if pebble.firmware.is_updating:
                    # It was over when the next case was recorded.
                    talk.say(message(emulator.SYSTEM, emulator.UPDATE_FAILED))
            tally = await mirror.settled(60)
        status, differences, summary = await mirror.end()
    by_question = {(int.from_bytes(sent[2:4]), sent[4:516].hex()): case.name for case in cases for sent in case.sent}
    # What this firmware answers late it answers alike: on a busy machine that says nothing of either.
    told = [each for each in differences if each["kind"] != "late"]
    found = [by_question.get((each["endpoint"], each["question"]), each["text"]) for each in told]
    assert sorted(found) == sorted(KNOWN)
    assert (status, summary["different"] - summary["kinds"].get("late", 0)) == (70, len(KNOWN))
    assert summary["lost"] == 0
    assert summary["compared"] == tally["compared"] > 2 * len(cases) * 0.9


def bent(pebble: Emulator, question: bytes, change: Callable[[Answers], Answers]) -> None:
    """From now on the firmware answers one message otherwise."""
    before = pebble.firmware.bend
    pebble.firmware.bend = lambda whole, answers: change(answers) if whole == question else before(whole, answers)


async def test_each_kind_of_difference_is_reported_once(tmp_path: Path) -> None:
    clear = message(emulator.BLOB_DB, bytes.fromhex("05100403"))
    ping = message(emulator.PING, bytes.fromhex("000badcafe00"))
    color = message(0x1389, b"\x00\x09mfg_color")
    order = message(0xABCD, bytes.fromhex("0102") + bytes(range(16)))
    file = message(0x2328, bytes.fromhex("030600"))
    last = message(emulator.PING, bytes.fromhex("000000007700"))
    recorded = {case.sent[-1]: case.answers for case in emulator.recorded_cases()}
    async with mirrored(tmp_path) as (pebble, mirror):
        firmware = pebble.firmware
        bent(pebble, clear, lambda _: [(emulator.BLOB_DB, bytes.fromhex("100405"))])
        bent(pebble, ping, lambda _: [])
        bent(pebble, color, lambda answers: answers * 2)
        bent(pebble, order, lambda _: [(0xABCD, b"\x01"), (0xABCD, b"\x03")])
        bent(pebble, file, lambda _: [])
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            for question in (clear, ping, color, order, file, last):
                talk.say(question)
            # The phone hears nothing of all that.
            answers = await talk.answered()
            assert (emulator.BLOB_DB, bytes.fromhex("100401")) in answers
            assert [each for each in answers if each[0] == 0xABCD] == [(0xABCD, b"\x03"), (0xABCD, b"\x01")]
            # When it is asked what came after it, the firmware has been waited for long enough: its answer is late.
            await firmware.messages.take(10, "the last question", lambda each: each == (emulator.PING, last[4:]))
            for each in recorded[file]:
                firmware.say(*each)
            tally = await mirror.settled()
            assert tally["different"] == 5
            kinds = {(await mirror.control.event("mirror-differs"))["kind"] for _ in range(5)}
            assert kinds == {"answer", "missing", "extra", "order", "late"}
        status, differences, summary = await mirror.end()
    assert status == 70
    expected = {"answer": clear, "missing": ping, "extra": color, "order": order, "late": file}
    assert {each["kind"]: each["question"] for each in differences} == {
        kind: question[4:].hex() for kind, question in expected.items()
    }
    assert summary["kinds"] == dict.fromkeys(expected, 1)
    assert summary["unansweredByFirmware"] == 1
    (answer,) = (each for each in differences if each["kind"] == "answer")
    assert (answer["watch"], answer["firmware"]) == (["b1db:100401"], ["b1db:100405"])
    (late,) = (each for each in differences if each["kind"] == "late")
    assert late["delaySeconds"] >= 0.5
    printed = mirror.program.log
    assert "BlobDB (0xB1DB), at" in printed
    assert "firmware: b1db:100405 (" in printed
    assert "invalid data" in printed.lower() or "invalidData" in printed
    assert "5 different" in printed


async def test_uploads_have_two_names(tmp_path: Path) -> None:
    """The phone says the watch's name for an upload, and the firmware is told its own."""
    content = bytes(range(256)) * 16
    async with mirrored(tmp_path) as (pebble, mirror):
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            talk.say(message(emulator.PUT_BYTES, struct.pack(">BIBB", 1, len(content), 6, 0) + b"lang\x00"))
            answer = await talk.hears(emulator.PUT_BYTES)
            assert answer[0] == 1
            token = answer[1:]
            for start in range(0, len(content), 1000):
                piece = content[start : start + 1000]
                talk.say(message(emulator.PUT_BYTES, b"\x02" + token + struct.pack(">I", len(piece)) + piece))
                assert (await talk.hears(emulator.PUT_BYTES))[0] == 1
            talk.say(message(emulator.PUT_BYTES, b"\x03" + token + struct.pack(">I", crc32(content))))
            assert (await talk.hears(emulator.PUT_BYTES))[0] == 1
            talk.say(message(emulator.PUT_BYTES, b"\x05" + token))
            assert (await talk.hears(emulator.PUT_BYTES))[0] == 1
            await mirror.settled()
            assert pebble.firmware.uploads == [content]
            told = [payload for endpoint, payload in pebble.firmware.messages.waiting if endpoint == emulator.PUT_BYTES]
            assert token not in {payload[1:5] for payload in told if payload[0] != 1}
        status, differences, summary = await mirror.end()
    assert (status, differences, summary["lost"]) == (0, [], 0)


async def test_what_would_harm_the_firmware_is_not_asked(tmp_path: Path) -> None:
    harmful = {
        "reset": [message(0x6001, b"\x01")],
        "hardware": [message(0x1389, b"\x02\x09mfg_color\x00\x00\x00\x01"), message(0x2328, b"\x00\x01")],
        "answer": [message(emulator.APP_MESSAGE, b"\xff\x01"), message(0xB2DB, bytes.fromhex("89010001"))],
        "update": [message(0x0012, b"\x00\x02")],
    }
    async with mirrored(tmp_path) as (pebble, mirror):
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            before = len(pebble.firmware.messages.waiting)
            # The last one may end the link: the watch restarts then.
            for question in sum(harmful.values(), []):
                talk.say(question)
            await mirror.control.event("message")
            with contextlib.suppress(Exception):
                await talk.answered()
            await mirror.settled()
        asked = pebble.firmware.messages.waiting[before:]
        assert not {(int.from_bytes(each[2:4]), each[4:]) for each in sum(harmful.values(), [])} & set(asked)
        # It has not got the images, and waits for none.
        assert (0x0012, b"\x00\x03") in asked
        status, differences, summary = await mirror.end()
    assert (status, differences) == (0, [])
    assert summary["withheld"] == {reason: len(messages) for reason, messages in harmful.items()}


async def test_one_session_after_the_other(tmp_path: Path) -> None:
    """What a phone says at each beginning is answered alike, also by a firmware that has one session for ever."""
    async with mirrored(tmp_path) as (_, mirror):
        async with Phone.on(mirror.phone_port) as phone:
            for _ in range(3):
                link = await phone.connect(watches.ADDRESS)
                await link.exchange_mtu(517)
                _, session = await link.open_reversed(await link.discover(attribute_by_attribute=False))
                await companion.negotiate(session)
                await companion.launch(session)
                sent = companion.push(1, [companion.unsigned(1, 1, 7)])
                session.send(sent)
                await companion.expect_ack_and_echo(session, sent)
                await link.disconnect()
        await mirror.settled()
        status, differences, summary = await mirror.end()
    assert (status, differences, summary["lost"]) == (0, [], 0)
    assert summary["compared"] >= 3 * 5


# Firmwares that misbehave: the phone notices nothing


async def phone_is_served(mirror: Mirror) -> None:
    async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
        for _ in range(3):
            await talk.answered()


async def test_no_firmware(tmp_path: Path) -> None:
    async with Emulator.on() as pebble:
        await pebble.stop()
        async with mirror_of(pebble.port, tmp_path) as mirror:
            await mirror.program.wait_for_line("cannot reach the firmware's emulator at tcp:127.0.0.1:", 10)
            await phone_is_served(mirror)
            status, differences, summary = await mirror.end()
    assert (status, differences, summary["compared"]) == (69, [], 0)
    assert summary["lost"] >= 3


async def test_a_firmware_that_dies(tmp_path: Path) -> None:
    """What it owes is not compared, the phone stays, and another firmware is asked as soon as it is there."""
    async with mirrored(tmp_path) as (pebble, mirror):
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            await talk.answered()
            await mirror.settled()
            pebble.firmware.silent = True
            await talk.answered()
            await pebble.stop()
            await mirror.program.wait_for_line("the firmware is gone: .*; nothing is compared until one answers", 10)
            await talk.answered()
            lines = len(mirror.program.lines)
            await pebble.start()
            await mirror.program.wait_for_line("the firmware answers: v4.35.0, emery", 20, after=lines)
            await talk.answered()
            tally = await mirror.settled()
            assert tally["lost"] == 1, "what it was asked last; the rest waited for the next one"
        status, differences, _ = await mirror.end()
    assert (status, differences) == (0, [])


async def test_a_firmware_that_floods(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (pebble, mirror):
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            for _ in range(3000):
                pebble.firmware.say(0x7777, bytes(1000))
                await asyncio.sleep(0)
            for _ in range(3):
                await talk.answered()
            await mirror.settled()
        status, differences, summary = await mirror.end()
    # And which app runs, each time that the firmware has taken note of a phone that came or went.
    assert (status, differences) == (0, []) and 3000 <= summary["unasked"] <= 3004


async def test_a_firmware_that_is_slower_than_the_phone(tmp_path: Path) -> None:
    """What waits for it is bounded; that it is too slow is said once; and it is compared again when it has caught up."""
    async with mirrored(tmp_path) as (pebble, mirror):
        async with Phone.on(mirror.phone_port) as phone, talking(phone) as talk:
            await talk.answered()
            await mirror.settled()
            pebble.firmware.silent = True
            for _ in range(40):
                talk.say(message(emulator.PING, bytes(10000)))
            await talk.answered()
            await mirror.program.wait_for_line("the firmware is slower than the phone", 20)
            assert (await mirror.tally())["lost"] > 0
            # It goes on from here: a firmware that was silent is taken for one that hangs.
            lines = len(mirror.program.lines)
            pebble.firmware.silent = False
            pebble.hang_up()
            await mirror.program.wait_for_line("the firmware answers: v4.35.0, emery", 20, after=lines)
            await mirror.settled()
            before = await mirror.tally()
            await talk.answered()
            assert (await mirror.settled())["compared"] > before["compared"]
            assert len([line for line in mirror.program.lines if "slower than the phone" in line]) == 1
        status, _, _ = await mirror.end()
    assert status == 0


def test_it_needs_a_firmware(tmp_path: Path) -> None:
    async def run() -> tuple[int, str]:
        program = await Program.start([str(cairn.binary()), "mirror", "--controller", "virtual"], tmp_path / "log")
        return await program.wait_for_exit(20), program.log

    status, log = asyncio.run(run())
    assert status == 64
    assert "there is no firmware to compare the watch with" in log


@pytest.mark.parametrize("place", ["/nowhere/report.jsonl"])
def test_a_report_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    async def run() -> tuple[int, str]:
        command = [str(cairn.binary()), "mirror", "--controller", "virtual", "--firmware", "tcp:127.0.0.1:1"]
        program = await Program.start([*command, "--report", place], tmp_path / "log")
        return await program.wait_for_exit(20), program.log

    status, log = asyncio.run(run())
    assert status == 73
    assert f"cannot write the report to {place}" in log
