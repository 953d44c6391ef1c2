"""Tests of the rig itself: errors that would let a broken watch pass, or blame a good one."""

from __future__ import annotations

import struct
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from libpebble2.protocol.appmessage import AppMessage
from rig import capture, companion, vectors
from rig.controllers import controllers
from rig.phone import Phone
from rig.ppogatt import Closed, PhoneTransport, State
from rig.process import Program, UnexpectedExit
from rig.waiting import GaveUp, Mailbox, within


class ScriptedChannel:
    """A channel whose watch is the test."""

    maximum_packet = 20

    def __init__(self) -> None:
        self.on_packet: Callable[[bytes], None] = lambda _: None
        self.sent: list[bytes] = []

    def send(self, packet: bytes) -> None:
        self.sent.append(packet)


def open_transport() -> tuple[ScriptedChannel, PhoneTransport]:
    channel = ScriptedChannel()
    transport = PhoneTransport(channel)
    transport.start()
    channel.on_packet(vectors.over_the_air("ppog_reset_request_v1"))
    channel.on_packet(vectors.over_the_air("ppog_reset_complete_v1_pebbleos"))
    assert transport.state is State.OPEN
    channel.sent.clear()
    return channel, transport


async def test_handshake_is_the_golden_one() -> None:
    channel = ScriptedChannel()
    transport = PhoneTransport(channel)
    transport.start()
    assert channel.sent == []
    channel.on_packet(vectors.over_the_air("ppog_reset_request_v1"))
    channel.on_packet(vectors.over_the_air("ppog_reset_complete_v1_pebbleos"))
    await transport.opened()
    assert channel.sent == [vectors.over_the_air("ppog_reset_complete_v1_phone")]
    assert (transport.watch_serial, transport.watch_windows) == (b"2DQ0135B3424", (17, 4))
    assert transport.violations == []


async def test_reversed_handshake_is_the_golden_one() -> None:
    channel = ScriptedChannel()
    transport = PhoneTransport(channel, reversed_roles=True)
    transport.start()
    channel.on_packet(vectors.over_the_air("ppog_reset_complete_v1_pebbleos"))
    await transport.opened()
    assert channel.sent == [
        vectors.over_the_air("ppog_reset_request_libpebble3"),
        vectors.over_the_air("ppog_reset_complete_v1_phone"),
    ]
    assert transport.violations == []


async def test_handshake_of_version_0_is_the_golden_one() -> None:
    channel = ScriptedChannel()
    transport = PhoneTransport(channel)
    transport.start()
    channel.on_packet(vectors.over_the_air("ppog_reset_request_v0"))
    channel.on_packet(vectors.over_the_air("ppog_reset_complete_v0"))
    assert channel.sent == [vectors.over_the_air("ppog_reset_complete_v0")]
    assert (transport.send_window, transport.receive_window) == (4, 4)
    assert transport.violations == []


async def test_data_is_acknowledged_as_the_golden_vectors_say() -> None:
    channel, transport = open_transport()
    stream = bytearray()
    transport.on_bytes = stream.extend
    for sequence in (0, 1, 2, 3):
        channel.on_packet(vectors.over_the_air(f"ppog_data_sn{sequence}"))
    assert channel.sent == [vectors.over_the_air(f"ppog_ack_sn{sequence}") for sequence in (0, 1, 2, 3)]
    assert stream == vectors.over_the_air("ppog_data_sn0")[1:] * 4
    # Out of order: nothing is taken, and the last Ack goes out again.
    channel.on_packet(vectors.over_the_air("ppog_data_sn31"))
    assert channel.sent[4:] == [vectors.over_the_air("ppog_ack_sn3")]
    assert transport.statistics.out_of_order == 1
    assert len(stream) == 4 * 8


async def test_data_is_cut_and_windowed() -> None:
    channel, transport = open_transport()
    transport.send(bytes(range(256)) * 2)
    assert transport.send_window == 17
    assert [packet[0] for packet in channel.sent] == [sequence << 3 for sequence in range(17)]
    assert all(len(packet) == 20 for packet in channel.sent)
    channel.on_packet(vectors.over_the_air("ppog_ack_sn2"))
    assert len(channel.sent) == 20
    for sequence in (19, 26):
        channel.on_packet(bytes([sequence << 3 | 1]))
    await transport.drained()
    assert b"".join(packet[1:] for packet in channel.sent) == bytes(range(256)) * 2
    assert transport.violations == []


@pytest.mark.parametrize(
    ("packets", "complaint"),
    [
        (["02" + "01" + "00" * 12], "a Reset Request in an open session"),
        (["031104"], "a Reset Complete while OPEN"),
        (["04"], "invalid type 4"),
        ([""], "an empty packet"),
        (["00"], "without data"),
        (["00" * 21], "a packet of 21 bytes where 20 fit"),
        (["81"], "Ack 16 for a packet that is not in flight"),
        (["0100"], "an Ack with the payload 00"),
    ],
)
async def test_a_watch_that_misbehaves_is_noticed(packets: list[str], complaint: str) -> None:
    channel, transport = open_transport()
    for packet in packets:
        channel.on_packet(bytes.fromhex(packet))
    assert any(complaint in str(violation) for violation in transport.violations), transport.violations


async def test_a_watch_that_ignores_the_window_is_noticed() -> None:
    channel, transport = open_transport()
    transport.holding_acks = True
    for sequence in range(4):
        channel.on_packet(bytes([sequence << 3, 0]))
    assert transport.violations == []
    channel.on_packet(bytes([4 << 3, 0]))
    assert "5 packets in flight in a window of 4" in str(transport.violations)


@pytest.mark.parametrize("request_", ["02", "0202" + "00" * 12, "0a01" + "00" * 12, "0201"])
async def test_a_malformed_reset_request_ends_it(request_: str) -> None:
    channel = ScriptedChannel()
    transport = PhoneTransport(channel)
    transport.start()
    channel.on_packet(bytes.fromhex(request_))
    with pytest.raises(Closed):
        await transport.opened()
    assert transport.violations


def test_dictionaries_have_every_type_and_width() -> None:
    pushes = companion.dictionaries(100, seed=2, limit=600)
    assert len(pushes) == 100
    kinds = {(each.type, len(each.data)) for tuples in pushes for each in tuples if each.type >= 2}
    assert kinds == {(kind, width) for kind in (2, 3) for width in (1, 2, 4)}
    arrays, strings = ({len(t.data) for tuples in pushes for t in tuples if t.type == kind} for kind in (0, 1))
    assert 0 in arrays and max(arrays) >= 500
    assert 1 in strings and max(strings) > 300
    assert {0, 1, 9} <= {len(tuples) for tuples in pushes}
    # The same every time, and never more than the guaranteed outbox holds.
    assert pushes == companion.dictionaries(100, seed=2, limit=600)
    assert max(1 + sum(7 + len(each.data) for each in tuples) for tuples in pushes) <= 636


def test_push_is_the_golden_one() -> None:
    golden = vectors.pebble_protocol("appmessage-push-three-tuples")
    app = uuid.UUID("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b")
    parsed, _ = AppMessage.parse(golden[4:])
    assert companion.push(2, parsed.data.dictionary, app).serialise_packet() == golden


def btsnoop(*packets: bytes) -> bytes:
    """A capture with the given H4 packets, all from the controller."""
    records = [struct.pack(">IIIIQ", len(p), len(p), 1, 0, 0x00E03AB44A676000) + p for p in packets]
    return b"btsnoop\0" + struct.pack(">II", 1, 1002) + b"".join(records)


def acl(att_pdu: bytes) -> bytes:
    payload = struct.pack("<HH", len(att_pdu), 4) + att_pdu
    return b"\x02" + struct.pack("<HH", 0x2001, len(payload)) + payload


def test_a_malformed_capture_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "capture.btsnoop"
    file.write_bytes(btsnoop(acl(b"\x0a\x03\x00"), acl(b"\x0b\x01\x02")))
    good = capture.decode(file)
    assert (good.frames, good.malformed, good.att_opcodes[0x0A]) == (2, [], 1)
    file.write_bytes(btsnoop(acl(b"\x0a\x03\x00"), acl(b"\x12\x03")))
    assert len(capture.decode(file).malformed) == 1
    file.write_bytes(b"not a capture")
    with pytest.raises(subprocess.CalledProcessError):
        capture.decode(file)


async def test_waiting_gives_up_with_a_sentence() -> None:
    mailbox: Mailbox[str] = Mailbox("the letters")
    mailbox.put("a")
    with pytest.raises(GaveUp, match=r"waited 0 s for a b; in the letters: \['a'\]"):
        await mailbox.take(0, "a b", lambda letter: letter == "b")
    assert await mailbox.take(0.1, "an a") == "a"
    mailbox.fail(ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        await mailbox.take(5, "anything")


def python(script: str) -> list[str]:
    return [sys.executable, "-u", "-c", script]


async def test_a_program_that_ends_too_early_is_noticed(tmp_path: Path) -> None:
    program = await Program.start(python("print('oops'); raise SystemExit(3)"), tmp_path / "log")
    with pytest.raises(UnexpectedExit, match=r"(?s)status 3 before it printed /ready/.*oops"):
        await program.wait_for_line("ready", 20)
    assert (tmp_path / "log").read_text() == "oops\n"


async def test_a_program_is_asked_to_end(tmp_path: Path) -> None:
    script = "import signal; print('ready 7'); signal.sigwait({signal.SIGTERM})"
    script = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); " + script
    program = await Program.start(python(script), tmp_path / "log")
    assert (await program.wait_for_line(r"ready (\d)", 20))[1] == "7"
    assert await program.stop() == 0


async def test_a_program_that_will_not_end_is_killed(tmp_path: Path) -> None:
    script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); signal.pause()"
    program = await Program.start(python(script), tmp_path / "log")
    await program.wait_for_line("up", 20)
    with pytest.raises(GaveUp, match=r"did not end within 0\.1 s of SIGTERM"):
        await program.stop(0.1)
    assert not program.is_running


async def test_controllers_notice_what_is_no_hci() -> None:
    async with controllers() as room:
        async with Phone.on(room.phone.port) as phone:
            sink = phone.device.host.hci_sink
            assert sink is not None
            sink.on_packet(b"\x07\x00")
            await within(10, "the controller to hang up", room.phone.detached())
        assert room.faults == ["phone: 0x07 is no H4 packet type"]


SUMMARIZE = vectors.REPOSITORY / "Tests" / "summarize.py"
CASES = '<testcase classname="A" name="a"/><testcase classname="A" name="b">'
GOOD_XML = f"<testsuites><testsuite>{CASES}</testcase></testsuite></testsuites>"
BAD_XML = f"<testsuites><testsuite>{CASES}<failure/><error/></testcase></testsuite></testsuites>"


@pytest.mark.parametrize(
    ("files", "name_filter", "last_line", "status"),
    [
        ({"lint.status": "0", "swift.status": "0", "swift.xml": GOOD_XML}, "", "2 passed, 0 failed", 0),
        ({"lint.status": "1", "swift.status": "0", "swift.xml": GOOD_XML}, "", "2 passed, 1 failed", 1),
        ({"swift.status": "1", "swift.xml": BAD_XML}, "", "1 passed, 1 failed", 1),
        # A suite that ran nothing, crashed, or has results that end in the middle.
        ({"swift.status": "0", "swift.xml": "<testsuites/>"}, "", "0 passed, 1 failed", 1),
        ({"swift.status": "132", "swift.xml": GOOD_XML}, "", "2 passed, 1 failed", 1),
        ({"swift.status": "0", "swift.xml": GOOD_XML[:40]}, "", "0 passed, 1 failed", 1),
        ({}, "", "0 passed, 1 failed", 1),
        # A name that only the other suite has.
        (
            {"swift.status": "0", "swift.xml": "<testsuites/>", "interop.status": "0", "interop.xml": GOOD_XML},
            "a",
            "2 passed, 0 failed",
            0,
        ),
        ({"interop.status": "5", "interop.xml": "<testsuites/>"}, "a", "0 passed, 1 failed", 1),
        (
            {"swift.status": "1", "swift.log": "Executed 9 tests, with 2 failures (0 unexpected) in 1 s"},
            "",
            "7 passed, 2 failed",
            1,
        ),
    ],
)
def test_summary(files: dict[str, str], name_filter: str, last_line: str, status: int, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    run = subprocess.run(
        [sys.executable, str(SUMMARIZE), str(tmp_path), name_filter], capture_output=True, text=True, timeout=30
    )
    assert run.stdout.splitlines()[-1] == last_line, run.stdout + run.stderr
    assert run.returncode == status
