"""The flight recorder: what Bumble's phone did to a watch is run again from a file, byte for byte, also after `kill -9`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import watches
from bumble.keys import MemoryKeyStore
from PIL import Image
from rig import capture, companion
from rig.control import Control, Refused
from rig.phone import Phone
from rig.process import Program
from test_command_line import CANNOT_CREATE, UNAVAILABLE, USAGE, run
from test_control_commands import records
from watches import cairn_on

SAME, DIFFERS, NO_RECORDING, NOT_POSSIBLE = 0, 70, 74, 75


def replay(recording: Path, *options: str) -> tuple[int, str, str]:
    """Runs a recording again: the status, what was printed, and the errors."""
    result = run("replay", str(recording), *options, seconds=120)
    return result.returncode, result.stdout, result.stderr


def summary(recording: Path, *options: str) -> dict[str, Any]:
    """What a replay says of itself to programs."""
    _, output, errors = replay(recording, "--json", *options)
    assert output, errors
    return json.loads(output.splitlines()[-1])


def packets(file: Path) -> list[tuple[int, bytes]]:
    """Direction and bytes of each packet of a capture."""
    return [(flags & 1, packet) for flags, packet in records(file)]


async def talk(program: Program, keystore: MemoryKeyStore, *, pairs: bool = True) -> None:
    """A phone connects, pairs or encrypts the link, opens a session, and asks for the watch's version."""
    port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
    async with Phone.on(int(port[1]), keystore=keystore) as phone:
        watch = await phone.connect(watches.ADDRESS)
        await (watch.pair() if pairs else watch.encrypt())
        _, session = await watch.open_reversed(await watch.discover())
        await companion.negotiate(session)
        await watch.disconnect()


def options(folder: Path, *more: str) -> tuple[str, ...]:
    """Of a watch that phones can reach, with everything in one folder."""
    return ("--air-port", "0", "--state", str(folder / "state"), *more)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recording `watch.cairnrec` of a pairing and a session, and the capture `watch.btsnoop` of it."""
    folder = tmp_path_factory.mktemp("recorded")
    files = ("--record", str(folder / "watch.cairnrec"), "--capture", str(folder / "watch.btsnoop"))

    async def record() -> None:
        async with cairn_on("virtual", folder, *options(folder, *files)) as program:
            await talk(program, MemoryKeyStore())

    asyncio.run(record())
    return folder


def test_a_run_is_run_again(recorded: Path) -> None:
    """All that the watch did with the phone comes out again, and the capture of the replay is that of the run."""
    recording, copy = recorded / "watch.cairnrec", recorded / "copy.btsnoop"
    assert recording.stat().st_mode & 0o777 == 0o600
    status, output, errors = replay(recording, "--capture", str(copy))
    assert (status, errors) == (SAME, "")
    assert "all is the same" in output
    assert copy.stat().st_mode & 0o777 == 0o600
    live = recorded / "watch.btsnoop"
    assert len(packets(live)) > 200
    assert packets(copy) == packets(live)
    # tshark makes the same of both.
    once, again = capture.decode(live), capture.decode(copy)
    assert once.malformed == again.malformed == []
    assert once.att_opcodes == again.att_opcodes


async def test_a_bonded_phone_comes_back(tmp_path: Path) -> None:
    """What the watch remembered from the run before is in the recording."""
    keystore = MemoryKeyStore()
    async with cairn_on("virtual", tmp_path, *options(tmp_path)) as program:
        await talk(program, keystore)
    recording = tmp_path / "second.cairnrec"
    async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
        await talk(program, keystore, pairs=False)
    status, output, errors = replay(recording)
    assert (status, errors) == (SAME, ""), output
    assert "    paired, " not in replay(recording, "--step")[1]


async def test_a_killed_watch_leaves_a_recording(tmp_path: Path) -> None:
    """The process ends in the middle of a session: what was recorded until then is all there, and the same."""
    recording = tmp_path / "watch.cairnrec"
    with pytest.raises(AssertionError, match="cairn ended with status"):
        async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
            port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
            async with Phone.on(int(port[1]), keystore=MemoryKeyStore()) as phone:
                watch = await phone.connect(watches.ADDRESS)
                await watch.pair()
                # What an input led to is written with the next one.
                async with Control.on(tmp_path / "state" / "control.sock") as control:
                    await control.ask("press", button="up")
                program.kill()
                await program.wait_for_exit(10)
    status, output, errors = replay(recording)
    assert status == SAME, errors
    assert summary(recording, "--bisect", "paired")["same"]
    assert "    paired, " in replay(recording, "--step")[1]


@pytest.mark.parametrize("order", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTRAP])
async def test_a_crash_leaves_what_was_in_memory(
    tmp_path: Path, order: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was recorded to a file; the next start finds what led to the crash all the same, and only once."""
    # Swift reads the debug information of a program that crashes, which takes a minute in a debug build.
    monkeypatch.setenv("SWIFT_BACKTRACE", "enable=no")
    state = tmp_path / "state"
    with pytest.raises(AssertionError, match="cairn ended with status"):
        async with cairn_on("virtual", tmp_path, *options(tmp_path)) as program:
            await talk(program, MemoryKeyStore())
            async with Control.on(state / "control.sock") as control:
                await control.ask("press", button="up")
            assert (state / "recorder.memory").stat().st_mode & 0o777 == 0o600
            os.kill(program.process_id, order)
            await program.wait_for_exit(30)
    trouble = state / "trouble.cairnrec"
    assert not trouble.exists()
    async with cairn_on("virtual", tmp_path, *options(tmp_path)) as program:
        await program.wait_for_line("has crashed or was killed: what led to it is recorded in", 10)
    assert trouble.stat().st_mode & 0o777 == 0o600
    assert not (state / "recorder.memory").exists()
    status, output, errors = replay(trouble)
    assert status == SAME, errors
    assert "    paired, " in replay(trouble, "--step")[1]
    size = trouble.stat().st_size
    async with cairn_on("virtual", tmp_path, *options(tmp_path)):
        pass
    assert trouble.stat().st_size == size and not (state / "trouble.1.cairnrec").exists()


@pytest.mark.parametrize("content", [b"", b"CAIRNMEM", b"\xff" * 5000, b"CAIRNMEM\x01\0\0\0" + b"\xff" * 100])
async def test_a_forged_memory_stops_nothing(tmp_path: Path, content: bytes) -> None:
    """What is no recorder's memory is said to be none, and the watch starts."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "recorder.memory").write_bytes(content)
    async with cairn_on("virtual", tmp_path, *options(tmp_path)) as program:
        await program.wait_for_line("what it had recorded cannot be read: at byte", 10)
    assert not (state / "trouble.cairnrec").exists()


async def test_a_full_disk_keeps_the_memory_in_the_process(tmp_path: Path) -> None:
    """A file with holes would end the process at the first byte that finds no room: the log says so at the start instead."""
    if os.getuid() != 0:
        pytest.fail("needs root, to mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "cairn-small", str(small)], check=True)
    try:
        async with cairn_on("virtual", tmp_path, *options(small)) as program:
            await program.wait_for_line("will be lost if the watch crashes", 10)
            await talk(program, MemoryKeyStore())
            async with Control.on(small / "state" / "control.sock") as control:
                assert (await control.ask("recorder-save", path=str(tmp_path / "saved.cairnrec")))["whole"]
            assert not (small / "state" / "recorder.memory").exists()
        assert replay(tmp_path / "saved.cairnrec")[0] == SAME
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("order", [signal.SIGKILL, signal.SIGTERM])
async def test_the_file_is_as_long_as_what_is_in_it(tmp_path: Path, order: signal.Signals) -> None:
    """Room is taken in advance; a watch that ends in order gives it back, and one that is killed leaves zeros."""
    recording = tmp_path / "watch.cairnrec"
    size = 0
    # One that was killed has no good status.
    with contextlib.suppress(AssertionError):
        async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
            await talk(program, MemoryKeyStore())
            size = recording.stat().st_size
            os.kill(program.process_id, order)
            await program.wait_for_exit(10)
    assert size > 0 and size % 4096 == 0
    data = recording.read_bytes()
    assert (data[-4096:] == bytes(4096)) == (order == signal.SIGKILL)
    status, output, errors = replay(recording)
    assert (status, errors) == (SAME, "") and "torn" not in output


@pytest.mark.parametrize("name", ["watch.cairnrec", "state/recorder.memory"])
async def test_a_file_that_somebody_cuts_does_not_stop_the_watch(tmp_path: Path, name: str) -> None:
    """The kernel ends a process that touches a mapped page which is not there any more: this one goes on without the file."""
    recording = tmp_path / "watch.cairnrec"
    async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
        os.truncate(tmp_path / name, 0)
        await talk(program, MemoryKeyStore())
        async with Control.on(tmp_path / "state" / "control.sock") as control:
            await control.ask("recorder-save", path=str(tmp_path / "saved.cairnrec"))
        if name == "watch.cairnrec":
            await program.wait_for_line("watch.cairnrec ends here: somebody has cut the file, or its disk fails; the watch goes on", 10)
            assert replay(tmp_path / "saved.cairnrec")[0] == SAME
    # What is written twice needs only one of its places.
    assert replay(recording)[0] == (SAME if name != "watch.cairnrec" else NO_RECORDING)


async def test_a_disk_that_fills_up_ends_the_recording(tmp_path: Path) -> None:
    """With a line in the log; what is there until then is a recording, without half a frame at its end."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k,mode=0700", "cairn-small", str(small)], check=True)
    try:
        recording = small / "watch.cairnrec"
        (small / "other").write_bytes(bytes(90_000))
        async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
            ends = asyncio.create_task(program.wait_for_line("watch.cairnrec ends here: No space left on device", 60))
            keystore = MemoryKeyStore()
            await talk(program, keystore)
            async with Control.on(tmp_path / "state" / "control.sock") as control:
                while not ends.done():
                    await control.ask("tap", axis="x")
            await ends
            await control_answers(tmp_path)
        assert 60_000 < recording.stat().st_size < 120_000
        status, output, errors = replay(recording)
        assert (status, errors) == (SAME, "") and "torn" not in output
    finally:
        subprocess.run(["umount", str(small)], check=True)


async def control_answers(folder: Path) -> None:
    """The watch is still there."""
    async with Control.on(folder / "state" / "control.sock") as control:
        assert await control.ask("status")


@pytest.mark.parametrize("seed", range(int(os.environ.get("CAIRN_RECORDED_KILLS", "6"))))
async def test_random_faults_are_replayed_after_a_kill(tmp_path: Path, seed: int) -> None:
    """A phone talks to a watch with random faults, until the watch's process is killed at a random moment: what is on disk is a
    recording that replays to its end."""
    chance = random.Random(seed)
    recording = tmp_path / "watch.cairnrec"
    names = [line.split()[0] for line in run("fault", "names").stdout.splitlines() if "." in line.split(" ")[0]]
    assert len(names) > 70
    with pytest.raises(AssertionError, match="cairn ended with status"):
        async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))) as program:
            talking = asyncio.create_task(talk(program, MemoryKeyStore()))
            async with Control.on(tmp_path / "state" / "control.sock") as control:
                for name in chance.sample(names, 12):
                    with contextlib.suppress(Refused):
                        await control.ask("fault-add", name=name, arguments={"for": "5s", "after": f"{chance.randrange(2000)}ms"})
                await asyncio.wait([talking], timeout=chance.uniform(0.2, 4))
                program.kill()
                await program.wait_for_exit(10)
            talking.cancel()
            await asyncio.wait([talking])
            if not talking.cancelled():
                talking.exception()
    status, output, errors = replay(recording)
    assert status == SAME, f"seed {seed}: {output} {errors}"
    assert summary(recording)["inputs"] > 20, f"seed {seed}"


async def test_the_run_before_is_kept(tmp_path: Path) -> None:
    """A service that starts the watch again after a crash does not wipe out what led to it; other files are replaced."""
    recording = tmp_path / "watch.cairnrec"
    recording.write_text("something else")
    contents = []
    for _ in range(3):
        async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))):
            pass
        contents.append(recording.read_bytes())
        assert replay(recording)[0] == SAME
    before = tmp_path / "watch.cairnrec.before"
    assert before.read_bytes() == contents[1]
    assert replay(before)[0] == SAME
    assert sorted(path.name for path in tmp_path.glob("watch.cairnrec*")) == ["watch.cairnrec", "watch.cairnrec.before"]


async def test_what_is_in_memory_is_saved(tmp_path: Path) -> None:
    """A watch that was not told to record has everything all the same."""
    saved = tmp_path / "saved.cairnrec"
    async with cairn_on("virtual", tmp_path, *options(tmp_path)) as program:
        await talk(program, MemoryKeyStore())
        async with Control.on(tmp_path / "state" / "control.sock") as control:
            answer = await control.ask("recorder-save", path=str(saved))
            assert answer["whole"] is True
            assert answer["size"] == saved.stat().st_size > 5_000
            assert answer["seconds"] > 0
            with pytest.raises(Refused, match="recording-failed"):
                await control.ask("recorder-save", path=str(tmp_path / "nowhere" / "a"))
            with pytest.raises(Refused, match="bad-request"):
                await control.ask("recorder-save", path="here")
        by_hand = tmp_path / "by-hand.cairnrec"
        result = run("recorder", "save", str(by_hand), "--state", str(tmp_path / "state"))
        assert result.returncode == 0 and "all since the watch was started" in result.stdout
    for file in (saved, by_hand):
        assert file.stat().st_mode & 0o777 == 0o600
        assert replay(file)[0] == SAME


async def test_a_watch_restarts_in_a_recording(tmp_path: Path) -> None:
    """Commands, a restart and a factory reset are inputs like packets."""
    recording = tmp_path / "watch.cairnrec"
    async with cairn_on("virtual", tmp_path, *options(tmp_path, "--record", str(recording))):
        async with Control.on(tmp_path / "state" / "control.sock") as control:
            await control.ask("press", button="select")
            await control.ask("battery", percent=40)
            for name in ("restart", "reset"):
                last = (await control.ask(name))["sequence"]
                await control.ask("wait", **{"for": "started", "since": last})
            with pytest.raises(Refused):
                await control.ask("disconnect")
    status, output, errors = replay(recording, "--step")
    assert status == SAME, errors
    assert output.count("restarts:") == 2


def test_a_moment_is_looked_at(recorded: Path) -> None:
    """Status, screen, log and steps of any moment, and the input that changed something."""
    recording = recorded / "watch.cairnrec"
    whole = summary(recording)
    assert whole["same"] and whole["inputs"] > 100

    lost = summary(recording, "--bisect", "connected")["found"]
    came = summary(recording, "--bisect", "session-opened")["found"]
    assert 0 < came["input"] < lost["input"] <= whole["inputs"]
    before = json.loads(replay(recording, "--json", "--status-at", f"{came['seconds'] + 0.0005}")[1].splitlines()[0])
    after = json.loads(replay(recording, "--json", "--status-at", f"{whole['seconds'] + 1}")[1].splitlines()[0])
    assert len(before["links"]) == 1 and after["links"] == [] and len(after["phones"]) == 1

    picture = recorded / "screen.png"
    assert replay(recording, "--screen-at", "1", "-o", str(picture))[0] == SAME
    with Image.open(picture) as image:
        assert image.size in {(144, 168), (180, 180), (200, 228), (260, 260)}

    steps = [json.loads(line) for line in replay(recording, "--json", "--step", "--until", "1")[1].splitlines()[:-1]]
    assert [step["input"] for step in steps if step["input"]] == list(range(1, len([s for s in steps if s["input"]]) + 1))
    assert any("0103" in packet for step in steps for packet in step["sent"])
    assert "session 1 open" in replay(recording, "--log-level", "info")[1]
    assert replay(recording, "--bisect", "stream-opened")[0] == NOT_POSSIBLE


def first_frame(data: bytes) -> int:
    """Where the first frame behind the header's begins."""
    return 10 + 8 + struct.unpack_from("<I", data, 10)[0]


def cut(data: bytes) -> bytes:
    """In the midst of the last frame; the middle of a file may be the end of one."""
    return data[:-1]


def forged(data: bytes) -> bytes:
    place = first_frame(data) + 12
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def other_version(data: bytes) -> bytes:
    return data[:8] + b"\x07\x00" + data[10:]


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        (cut, SAME, "torn at byte"),
        (forged, NO_RECORDING, "at byte"),
        (other_version, NO_RECORDING, "at byte 8: its format is version 7"),
        (lambda data: b"", NO_RECORDING, "there is nothing in it"),
        (lambda data: b"\x00" * 4096, NO_RECORDING, "at byte 0: this is no recording of a watch"),
        (lambda data: data[:12], NO_RECORDING, "its header is missing or torn"),
    ],
)
def test_a_bad_recording_is_refused(
    recorded: Path, tmp_path: Path, change: Callable[[bytes], bytes], status: int, words: str
) -> None:
    """With the place that is wrong, and what to do; a torn end is cut."""
    data = (recorded / "watch.cairnrec").read_bytes()
    file = tmp_path / "bad.cairnrec"
    file.write_bytes(change(data))
    found, _, errors = replay(file)
    assert found == status, errors
    assert words in errors


def test_a_wrong_command_line_is_explained(recorded: Path, tmp_path: Path) -> None:
    recording = recorded / "watch.cairnrec"
    assert replay(tmp_path / "nowhere")[0] == UNAVAILABLE
    assert replay(recording, "--screen-at", "1")[0] == USAGE
    assert replay(recording, "--bisect", "conected")[0] == USAGE
    assert replay(recording, "--until", "soon")[0] == USAGE
    assert replay(recording, "--capture", str(tmp_path / "nowhere" / "a"))[0] == CANNOT_CREATE
    start = run("run", "--controller", "virtual", "--record", str(tmp_path / "nowhere" / "a"))
    assert start.returncode == CANNOT_CREATE and "recording" in start.stderr
    full = run("run", "--controller", "virtual", "--record", "/dev/full")
    assert full.returncode == NO_RECORDING and "make room" in full.stderr


async def test_without_secrets_there_are_no_keys(tmp_path: Path) -> None:
    """The key of the pairing is in the capture and not in the recording, which goes as far as the pairing."""
    recording, live = tmp_path / "watch.cairnrec", tmp_path / "watch.btsnoop"
    more = ("--record", str(recording), "--record-without-secrets", "--capture", str(live))
    async with cairn_on("virtual", tmp_path, *options(tmp_path, *more)) as program:
        await talk(program, MemoryKeyStore())
    # LE Long Term Key Request Reply, its handle, the key.
    keys = [packet[6:22] for _, packet in packets(live) if packet.startswith(b"\x01\x1a\x20")]
    assert keys
    assert all(key not in recording.read_bytes() for key in keys)
    status, _, errors = replay(recording)
    assert status == DIFFERS, errors
    assert "no secrets" in errors
    assert summary(recording)["inputs"] > 30
