"""What a bench does to a watch over the control socket, and by hand: pictures, apps, messages, links, waits, captures, the log."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import watches
from PIL import Image
from rig import cairn, capture, companion
from rig.control import Control, Refused
from rig.pebble import PebbleSession
from rig.phone import Phone
from rig.watchapps import AppBundle
from rig.waiting import within
from test_command_line import USAGE
from test_control import ECHO_APP, REFUSED, UNAVAILABLE, command, watch_in
from watches import cairn_on

#: A piece of a package, in bytes.
PIECE = 24 * 1024


@contextlib.asynccontextmanager
async def session_on(folder: Path, *arguments: str) -> AsyncIterator[tuple[PebbleSession, Control]]:
    """A watch, a companion's session with it, and a program at its control socket."""
    state = folder / "state"
    options = ("--air-port", "0", "--insecure-test-link", "--state", str(state), *arguments)
    async with cairn_on("virtual", folder, *options) as program:
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Phone.on(int(port[1])) as phone, Control.on(state / "control.sock") as control:
            watch = await phone.connect(watches.ADDRESS)
            _, session = await watch.open_reversed(await watch.discover())
            await companion.negotiate(session)
            yield session, control


async def output_of(*arguments: str) -> bytes:
    """What cairn writes to standard output."""
    process = await asyncio.create_subprocess_exec(
        str(cairn.binary()), *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, errors
    return output


# --- The screen


@pytest.mark.parametrize("personality", ["universal", "snowy"])
async def test_a_screenshot_is_what_the_screen_shows(tmp_path: Path, personality: str) -> None:
    """PNG and bytes are one picture, by hand and by a program; nothing happens on the watch because of it."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state, "--personality", personality), Control.on(state / "control.sock") as control:
        # A picture that stays the same while it is looked at.
        await control.ask("launch", app=ECHO_APP)
        await control.listen()
        raw = (await control.ask("screenshot", format="raw"))["screen"]
        png = (await control.ask("screenshot"))["screen"]
        pixels = bytes.fromhex(raw["data"])
        assert len(pixels) == raw["width"] * raw["height"] and (raw["format"], png["format"]) == ("raw", "png")
        assert raw["hasColor"] == (personality == "snowy") and not raw["isRound"]
        with Image.open(io.BytesIO(bytes.fromhex(png["data"]))) as image:
            image.load()
            assert image.size == (raw["width"], raw["height"])
            shown = image.convert("RGB").tobytes()
        assert shown == bytes((pixel >> shift & 3) * 0x55 for pixel in pixels for shift in (4, 2, 0))
        assert len(set(pixels)) > 1
        file = tmp_path / "screen.png"
        assert (await command("screenshot", str(file), *here))[:2] == (0, "")
        assert file.read_bytes().hex() == png["data"]
        assert (await output_of("screenshot", "-", "--raw", *here)).hex() == raw["data"]
        # No phone hears of it, and what programs are told is only what goes on anyway.
        assert {event["event"] for event in control.events.waiting} <= {"advertising"}
        status, _, errors = await command("screenshot", str(tmp_path / "nowhere" / "a.png"), *here)
        assert status == 73 and "nowhere" in errors


async def until(leader: int, what: str, accept: Callable[[bytes], bool]) -> bytes:
    """What a terminal has shown, once that is as wanted."""
    shown = b""
    end = time.monotonic() + 20
    while not accept(shown):
        assert time.monotonic() < end, f"waited for {what}: {shown!r}"
        ready, _, _ = await asyncio.to_thread(select.select, [leader], [], [], 0.5)
        if ready:
            shown += os.read(leader, 1 << 16)
    return shown


async def test_the_screen_in_a_terminal(tmp_path: Path) -> None:
    """It is drawn, keys are buttons, and the terminal is as before, whether the person or a signal ends it."""
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control:
        await control.listen()
        for ends_by_signal in [False, True]:
            leader, follower = pty.openpty()
            termios.tcsetwinsize(follower, (100, 160))
            before = termios.tcgetattr(follower)
            process = await asyncio.create_subprocess_exec(
                str(cairn.binary()), "screen", "--state", str(state), stdin=follower, stdout=follower, stderr=follower
            )
            try:
                shown = await until(leader, "a picture", lambda text: "▀".encode() in text and b"q leaves" in text)
                assert b"\x1b[?1049h" in shown and termios.tcgetattr(follower)[3] & termios.ECHO == 0
                for keys, button, is_long in [(b"w", "up", False), (b"\x1b[B", "down", False), (b"D", "select", True)]:
                    os.write(leader, keys)
                    event = await control.event("button")
                    assert (event["button"], event["isLong"]) == (button, is_long)
                if ends_by_signal:
                    process.terminate()
                else:
                    os.write(leader, b"q")
                await until(leader, "the first screen", lambda text: b"\x1b[?1049l" in text and b"\x1b[?25h" in text)
                assert await asyncio.wait_for(process.wait(), 10) == 0
                assert termios.tcgetattr(follower) == before
            finally:
                if process.returncode is None:
                    process.kill()
                os.close(leader)
                os.close(follower)
        # Without a terminal it is one picture.
        picture = (await output_of("screen", "--state", str(state))).decode()
        assert len(picture.splitlines()) == 84 and "▀" in picture and "\x1b[?1049h" not in picture


# --- Apps


async def bring(control: Control, package: bytes) -> None:
    for start in range(0, len(package), PIECE):
        answer = await control.ask("install-part", data=package[start : start + PIECE].hex())
        assert answer["byteCount"] == min(start + PIECE, len(package))


async def test_an_app_is_installed_listed_and_removed(tmp_path: Path) -> None:
    """By hand; the app is still there when the watch is started again, and its phone hears of its start."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    bundle = AppBundle(code=os.urandom(60_000))
    file = tmp_path / "app.pbw"
    file.write_bytes(bundle.pbw())
    async with watch_in(state), Control.on(state / "control.sock") as control:
        await control.listen()
        status, output, errors = await command("install", str(file), "--launch", *here)
        assert status == 0 and output == f"Installed {bundle.name} 1.2, {bundle.app}; it runs.\n", errors
        seen = []
        while not seen or seen[-1]["event"] != "app-launched":
            seen.append(await control.events.take(10, "the app's start"))
        names = [event.get("name") for event in seen if event["event"] == "service"]
        assert names == ["app-installed", "upload-began", "uploaded", "upload-began", "uploaded"]
        apps = json.loads((await command("apps", "--json", *here))[1])
        assert apps[-1] == {
            "uuid": str(bundle.app), "name": bundle.name, "version": "1.2", "isWatchface": False,
            "isBuiltIn": False, "isInstalled": True, "isRunning": True,
        }
        assert [app["isBuiltIn"] for app in apps[:-1]] == [True] * (len(apps) - 1)
        output = (await command("apps", *here))[1]
        assert f"{bundle.app}  {bundle.name}" in output and "runs" in output and "watchface" in output
    async with watch_in(state), Control.on(state / "control.sock") as control:
        (app,) = [app for app in (await control.ask("apps"))["apps"] if not app["isBuiltIn"]]
        assert app["uuid"] == str(bundle.app) and app["isInstalled"] and not app["isRunning"]
        await control.ask("launch", app=str(bundle.app))
        await control.listen()
        assert (await command("remove", str(bundle.app), *here))[0] == 0
        assert (await control.event("service"))["name"] == "app-removed"
        assert (await control.event("app-launched"))["app"] != str(bundle.app)
        status, _, errors = await command("remove", str(bundle.app), *here)
        assert status == REFUSED and "is installed" in errors
        status, _, errors = await command("remove", ECHO_APP, *here)
        assert status == REFUSED and "came with the watch" in errors


async def test_packages_that_are_none(tmp_path: Path) -> None:
    """What is wrong is said, nothing is installed, and what was brought is gone."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state), Control.on(state / "control.sock") as control, Control.on(state / "control.sock") as other:
        before = (await control.ask("apps"))["apps"]
        with pytest.raises(Refused, match="no-package"):
            await control.ask("install")
        # Each connection has its own.
        await bring(other, AppBundle().pbw())
        with pytest.raises(Refused, match="no-package"):
            await control.ask("install")
        for package, reason in [
            (b"nonsense", "zip"),
            (AppBundle().pbw()[:-100], "damaged"),
            (AppBundle().pbw(resources=False), "resources"),
            (AppBundle(platform="basalt").pbw(), "basalt"),
        ]:
            await bring(control, package)
            with pytest.raises(Refused, match="bad-package") as refusal:
                await control.ask("install", launch=True)
            assert reason in str(refusal.value)
            with pytest.raises(Refused, match="no-package"):
                await control.ask("install")
        assert (await control.ask("apps"))["apps"] == before
        with pytest.raises(Refused, match="bad-request"):
            await control.ask("install-part", data="00" * (PIECE + 1))
        assert (await other.ask("install"))["app"]["name"] == "Spec Test"
        file = tmp_path / "broken.pbw"
        file.write_bytes(b"nonsense")
        status, _, errors = await command("install", str(file), *here)
        assert status == REFUSED and "zip" in errors
        status, _, errors = await command("install", str(tmp_path / "none.pbw"), *here)
        assert status == UNAVAILABLE and "there is no such file" in errors


async def test_packages_do_not_grow_without_bound(tmp_path: Path) -> None:
    """16 MiB may wait, of all programs together; a program that goes takes its own along."""
    state = tmp_path / "state"
    limit = 16 * 1024 * 1024
    async with watch_in(state), Control.on(state / "control.sock") as control:
        piece = "00" * PIECE
        async with Control.on(state / "control.sock") as other:
            for _ in range(limit // PIECE):
                await other.ask("install-part", data=piece)
            with pytest.raises(Refused, match="package-too-large"):
                await control.ask("install-part", data=piece)
        await control.ask("wait", **{"for": "advertising", "since": 0})
        assert (await control.ask("install-part", data=piece))["byteCount"] == PIECE


# --- Messages, links, the clock


async def test_messages_of_both_directions_are_kept(tmp_path: Path) -> None:
    """A companion's push and its echo; other events do not push them out."""
    state = tmp_path / "state"
    async with session_on(tmp_path) as (session, control):
        await companion.launch(session)
        push = companion.push(7, [companion.string(1, "hello"), companion.unsigned(2, 1, 9)])
        session.send(push)
        await companion.expect_ack_and_echo(session, push)
        await control.ask("wait", **{"for": "app-message-sent"})
        entries = [{"key": 1, "type": "string", "string": "hello"}, {"key": 2, "type": "uint8", "number": 9}]
        (received,) = (await control.ask("inbox"))["messages"]
        (sent,) = (await control.ask("outbox"))["messages"]
        for message in (received, sent):
            assert message["app"] == ECHO_APP and message["entries"] == entries and message["result"] == "ok"
        assert 0 < received["sequence"] < sent["sequence"] and received["at"] <= sent["at"]
        for _ in range(600):
            await control.ask("tap")
        assert (await control.ask("inbox", app=ECHO_APP))["messages"] == [received]
        assert (await control.ask("inbox", app=str(uuid.uuid4())))["messages"] == []
        assert (await control.ask("outbox", since=received["sequence"]))["messages"] == [sent]
        assert (await control.ask("outbox", since=sent["sequence"]))["messages"] == []
        with pytest.raises(Refused, match="unknown-sequence"):
            await control.ask("inbox", since=10**9)
        here = ("--state", str(state))
        assert json.loads((await command("inbox", "--json", *here))[1]) == [received]
        output = (await command("outbox", *here))[1]
        assert f"{ECHO_APP}  ok  1=string:hello 2=uint8:9" in output
        assert (await command("outbox", "--since", str(sent["sequence"]), *here))[1] == "no AppMessage is kept\n"


async def test_a_link_says_how_fast_it_is_and_what_went_over_it(tmp_path: Path) -> None:
    async with session_on(tmp_path) as (session, control):
        status = await control.status()
        (link,) = (await control.ask("links"))["links"]
        assert link["connection"] == status["links"][0]["connection"] and link["mtu"] == status["links"][0]["mtu"]
        assert link["intervalMilliseconds"] >= 7.5 and link["supervisionTimeoutMilliseconds"] >= 100
        assert link["transmitOctets"] >= 27 and link["transmitPHY"] in ("1M", "2M") and not link["isEncrypted"]
        before = {layer["layer"]: layer for layer in link["traffic"]}
        assert before["att"]["receivedPackets"] > 0 and before["channels"]["sentPackets"] == 0
        await companion.ping(session, 99)
        (link,) = (await control.ask("links"))["links"]
        after = {layer["layer"]: layer for layer in link["traffic"]}
        # A ping and its pong have nine bytes each, in packets of PPoGATT in PDUs of ATT.
        for count in ("receivedBytes", "sentBytes"):
            assert after["att"][count] >= before["att"][count] + 9
        here = ("--state", str(tmp_path / "state"))
        output = (await command("links", *here))[1]
        assert link["phone"] in output and "supervision timeout" in output
        await control.ask("disconnect")
        await control.ask("wait", **{"for": "disconnected"})
        assert (await control.ask("links"))["links"] == []
        assert (await command("links", *here))[1] == "no phone is connected\n"


async def test_the_clock_and_the_settings(tmp_path: Path) -> None:
    """A phone sets the clock, then a person does; a setting is kept as it was set."""
    async with session_on(tmp_path) as (session, control):
        await control.ask("wait", **{"for": "clock-set"})
        clock = (await control.ask("time"))["time"]
        assert clock["isSet"] and clock["zone"] == "Europe/Paris" and clock["offsetMinutes"] == 60
        assert 1_700_000_000 <= clock["seconds"] < 1_700_000_100
        last = (await control.ask("set-time", seconds=1_800_000_000, offsetMinutes=-210))["sequence"]
        event = (await control.ask("wait", **{"for": "clock-set", "since": last}))["event"]
        assert (event["seconds"], event["zone"], event["offsetMinutes"]) == (1_800_000_000, "UTC-3:30", -210)
        assert 1_800_000_000 <= await companion.ask_time(session) < 1_800_000_100
        await control.ask("set", key="unitsDistance", data="01")
        assert {"key": "unitsDistance", "data": "01"} in (await control.ask("settings"))["settings"]
        here = ("--state", str(tmp_path / "state"))
        assert "UTC-3:30" in (await command("time", *here))[1]
        assert json.loads((await command("time", "--json", *here))[1])["zone"] == "UTC-3:30"
        assert "unitsDistance  01" in (await command("settings", *here))[1]
        assert (await command("notifications", *here))[1] == "no notification is shown\n"


# --- Waiting


async def test_waiting_in_line(tmp_path: Path) -> None:
    """Answers keep their order: what is asked after a wait is answered after it. Another program is not held up."""
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control, Control.on(state / "control.sock") as other:
        last = (await control.ask("tap"))["sequence"]
        control.send(json.dumps({"command": "wait", "for": "button", "since": last, "seconds": 20}))
        control.send('{"command":"time"}')
        await other.ask("time")
        with pytest.raises(AssertionError, match="waited"):
            await control._answers.take(0.3, "an answer too early")
        await other.ask("press", button="up")
        awaited = await control.answer()
        assert awaited["event"]["event"] == "button" and awaited["event"]["button"] == "up"
        assert awaited["event"]["sequence"] > awaited["sequence"] >= last
        assert "time" in await control.answer()
        assert "event" not in await control.ask("wait", **{"for": "ready"})
        start = time.monotonic()
        with pytest.raises(Refused, match="timed-out"):
            await control.ask("wait", **{"for": "session", "seconds": 0.3})
        assert 0.25 < time.monotonic() - start < 5
        with pytest.raises(Refused, match="timed-out"):
            await control.ask("wait", **{"for": "connected", "seconds": 0})
        with pytest.raises(Refused, match="unknown-sequence"):
            await control.ask("wait", **{"for": "button", "since": 10**9})


async def test_a_program_that_waits_and_goes_makes_room(tmp_path: Path) -> None:
    """One that has said all that it has to say is answered; one that is gone is forgotten at once, not when its time is over."""
    state = tmp_path / "state"
    path = str(state / "control.sock")
    async with watch_in(state), Control.on(state / "control.sock") as control:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"command":"wait","for":"button","seconds":20}\n')
        writer.write_eof()
        await asyncio.sleep(0.2)
        await control.ask("press", button="down")
        answer = json.loads(await within(10, "the answer", reader.readline()))
        assert answer["event"]["button"] == "down"
        writer.close()
        for _ in range(3):
            writers = []
            for _ in range(15):
                _, writer = await asyncio.open_unix_connection(path)
                writer.write(b'{"command":"wait","for":"paired","seconds":3600}\n')
                writers.append(writer)
            await control.ask("time")
            for writer in writers:
                writer.close()
                await writer.wait_closed()
            # The watch notices before it answers the next: there is room for as many again.
            await asyncio.sleep(0.2)
        assert (await command("time", "--state", str(state)))[0] == 0


# --- Packets and the log


def records(file: Path) -> list[tuple[int, bytes]]:
    """Flags and packet of each record of a btsnoop file."""
    data = file.read_bytes()
    assert data[:16] == b"btsnoop\0" + struct.pack(">II", 1, 1002)
    found, place = [], 16
    while place < len(data):
        length, included, flags, _, _ = struct.unpack_from(">IIIIq", data, place)
        assert length == included
        found.append((flags, data[place + 24 : place + 24 + included]))
        place += 24 + included
    return found


def contains(all_of_them: list[Any], some: list[Any]) -> bool:
    """Whether some stand in a list as they are, one after the other."""
    return any(all_of_them[start : start + len(some)] == some for start in range(len(all_of_them)))


async def restart(control: Control) -> None:
    """Has the watch restart: its host says a lot to its controller then."""
    last = (await control.ask("restart"))["sequence"]
    await control.ask("wait", **{"for": "started", "since": last})


async def test_a_capture_begins_and_ends_while_the_watch_runs(tmp_path: Path) -> None:
    """In a file of its owner's alone, and as lines of the same packets; both are what the capture of the whole run has."""
    state = tmp_path / "state"
    whole, part = tmp_path / "whole.btsnoop", tmp_path / "part.btsnoop"
    options = ("--capture", str(whole))
    async with watch_in(state, *options), Control.on(state / "control.sock") as control:
        with pytest.raises(Refused, match="no-capture"):
            await control.ask("capture-stop")
        with pytest.raises(Refused, match="capture-runs"):
            await control.ask("capture-start", path=str(whole))
        with pytest.raises(Refused, match="capture-failed"):
            await control.ask("capture-start", path=str(tmp_path / "nowhere" / "a"))
        await control.ask("capture-start", path=str(part))
        started = (await control.ask("packets"))["startedAt"]
        assert abs(started - time.time()) < 600
        assert part.stat().st_mode & 0o777 == 0o600
        with pytest.raises(Refused, match="capture-runs"):
            await control.ask("capture-start", path=str(tmp_path / "second"))
        await restart(control)
        packets = [await control.packets.take(10, "a packet") for _ in range(20)]
        await control.ask("capture-stop")
        captured = records(part)
        size = part.stat().st_size
        await restart(control)
        assert part.stat().st_size == size
        told = [(0 if packet["direction"] == "sent" else 1, bytes.fromhex(packet["data"])) for packet in packets]
        assert contains([(flags & 1, packet) for flags, packet in captured], told)
        assert contains(records(whole), captured)
        assert all(abs(started + packet["at"] - time.time()) < 60 for packet in packets)


async def test_a_capture_by_hand_is_read_by_others(tmp_path: Path) -> None:
    """A phone connects meanwhile: tshark reads what it did, from a file and from standard output."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    file = tmp_path / "watch.btsnoop"
    options = ("--air-port", "0", "--insecure-test-link", "--state", str(state))
    async with cairn_on("virtual", tmp_path, *options) as program:
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        capturing = asyncio.create_task(command("capture", str(file), "--for", "10", *here))
        piping = asyncio.create_task(output_of("capture", "-", "--for", "10", *here))
        while not file.exists() or file.stat().st_size < 16:
            await asyncio.sleep(0.05)
        async with Phone.on(int(port[1])) as phone:
            watch = await phone.connect(watches.ADDRESS)
            await watch.exchange_mtu(517)
        status, _, errors = await capturing
        assert status == 0 and "packets" in errors and "lost" not in errors
        piped = tmp_path / "piped.pcap"
        # tshark captures from the pipe, as Wireshark does.
        tshark = ["tshark", "-i", "-", "-F", "pcap", "-w", str(piped)]
        subprocess.run(tshark, input=await piping, check=True, capture_output=True, timeout=60)
        for each in (file, piped):
            decoded = capture.decode(each)
            assert decoded.malformed == [] and decoded.att_opcodes[0x02] and decoded.att_opcodes[0x03]
        assert (await command("capture", str(tmp_path / "nowhere" / "a"), *here))[0] == 73
        assert (await command("capture", str(file), "--for", "0", *here))[0] == USAGE


async def test_packets_that_are_not_read_are_counted(tmp_path: Path) -> None:
    """A program that stops reading holds up only itself, and is told what it has missed."""
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control:
        reader, writer = await asyncio.open_unix_connection(str(state / "control.sock"), limit=1 << 24)
        writer.write(b'{"command":"packets"}\n')
        assert json.loads(await within(10, "the answer", reader.readline()))["ok"]
        writer.transport.pause_reading()
        for _ in range(200):
            await restart(control)
        writer.transport.resume_reading()

        async def loss() -> int:
            while True:
                packet = json.loads(await reader.readline())["packet"]
                if "lost" in packet:
                    return packet["lost"]

        telling = asyncio.create_task(within(30, "the loss", loss()))
        while not telling.done():
            # It is told in front of the next packet that there is room for.
            await restart(control)
        assert await telling > 0
        writer.close()


async def test_the_log_changes_its_levels(tmp_path: Path) -> None:
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state), Control.on(state / "control.sock") as control:
        log = tmp_path / "cairn.log"

        def lines(kind: str) -> int:
            return sum(f" {kind} " in line for line in log.read_text().splitlines())

        assert lines("trace") == 0
        status, output, _ = await command("log-level", "hci=trace", *here)
        assert (status, output) == (0, "info,hci=trace\n")
        await restart(control)
        async with asyncio.timeout(10):
            while lines("trace") == 0:
                await asyncio.sleep(0.05)
        assert (await control.ask("log-level", levels="error,hci=error"))["levels"] == "error,hci=error"
        await asyncio.sleep(0.3)
        count = lines("trace")
        await restart(control)
        await asyncio.sleep(0.3)
        assert lines("trace") == count
        for text in ("loud", "phone=debug", ""):
            with pytest.raises(Refused, match="bad-log-level"):
                await control.ask("log-level", levels=text)
        status, _, errors = await command("log-level", "loud", *here)
        assert status == REFUSED and "“loud” is no log level" in errors


async def test_a_reset_forgets_what_phones_have_put_there(tmp_path: Path) -> None:
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state), Control.on(state / "control.sock") as control:
        await control.ask("set", key="unitsDistance", data="01")
        await bring(control, AppBundle().pbw())
        await control.ask("install")
        name = (await control.status())["name"]
        last = (await control.ask("time"))["sequence"]
        assert (await command("reset", *here))[0] == 0
        event: dict[str, Any] = (await control.ask("wait", **{"for": "restarting", "since": last}))["event"]
        assert event["cause"] == "factory-reset"
        await control.ask("wait", **{"for": "started", "since": event["sequence"]})
        assert (await control.ask("settings"))["settings"] == []
        assert all(app["isBuiltIn"] for app in (await control.ask("apps"))["apps"])
        assert (await control.status())["name"] == name
