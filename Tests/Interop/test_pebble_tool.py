"""The SDK's tools on the developer's port: pebble-tool and pypkjs take Cairn for the emulator.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bumble.keys import MemoryKeyStore
from PIL import Image
from rig import bundle, cairn
from rig.control import Control
from rig.controllers import controllers
from rig.phone import Phone
from rig.ports import free_port
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.security import pairing
from rig.waiting import within
from rig.watchapps import AppBundle
from watches import ADDRESS

APP = uuid.UUID("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b")
ECHO = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"
GOLF = "cf1e816a-9db0-4511-bbb8-f60c48ca8fac"


@dataclass
class Bench:
    """A watch with a developer's port, and the tools that use it."""

    watch: Program
    control: Control
    port: int
    folder: Path

    def tool(self, *words: str, connection: tuple[str, ...] = ()) -> list[str]:
        """The command line of pebble-tool. Connection options stand in front of what belongs to a subcommand."""
        where = connection or ("--qemu", f"localhost:{self.port}")
        return [script("pebble"), words[0], *where, *words[1:]]

    async def pebble(self, *words: str, connection: tuple[str, ...] = ()) -> str:
        """Runs pebble-tool to its end, which must be a good one; returns what it printed."""
        process = await asyncio.create_subprocess_exec(
            *self.tool(*words, connection=connection),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, _ = await within(60, f"pebble {' '.join(words)}", process.communicate())
        assert process.returncode == 0, output.decode()
        return output.decode()

    async def sensors(self) -> dict[str, Any]:
        return (await self.control.status())["sensors"]


def script(name: str) -> str:
    """A program of the environment that the tests run in."""
    path = Path(sys.executable).with_name(name)
    assert path.exists(), f"{path} is missing: install Tests/Interop/requirements.txt"
    return str(path)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools keep their files in the test's folder, and print without buffering."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with watch_on(tmp_path) as bench:
        yield bench


@contextlib.asynccontextmanager
async def watch_on(folder: Path, *options: str) -> AsyncIterator[Bench]:
    control = folder / "control"
    controller = () if "--controller" in options else ("--controller", "virtual")
    arguments = (*controller, "--address", ADDRESS, "--control", str(control), "--qemu-port", "0", *options)
    async with cairn.running("run", *arguments, "--log-level", "debug", log=folder / "cairn.log") as watch:
        port = await watch.wait_for_line(r"emulator's port is tcp:127\.0\.0\.1:(\d+)", cairn.START_SECONDS)
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        async with Control.on(control) as person:
            await person.listen()
            yield Bench(watch, person, int(port[1]), folder)


#: By its first frame a tool is one: here the state of the buttons.
NOTHING_PRESSED = bytes.fromhex("feed 0008 0001 00 beef")

# a: pebble-tool


async def test_ping(bench: Bench) -> None:
    """a: twice, since the first may leave something behind."""
    for _ in range(2):
        assert "Pong!" in await bench.pebble("ping")
        assert (await bench.control.event("session-opened"))["kind"] == "hybrid"


async def test_ping_over_a_serial_port(tmp_path: Path) -> None:
    """a: the same over a line that carries the bare stream."""
    line = tmp_path / "tty"
    async with watch_on(tmp_path, "--serial-port", str(line)) as bench:
        for _ in range(2):
            assert "Pong!" in await bench.pebble("ping", connection=("--serial", str(line)))
    assert not line.is_symlink()


async def test_sensors(bench: Bench) -> None:
    """a: what the emulator's commands say is what the model knows."""
    await bench.pebble("emu-battery", "--percent", "42", "--charging")
    assert (await bench.control.status())["battery"] == {"percent": 42, "isCharging": True}
    await bench.pebble("emu-tap", "--direction", "y-")
    await bench.pebble("emu-compass", "--heading", "90", "--calibrated")
    await bench.pebble("emu-time-format", "--format", "24h")
    await bench.pebble("emu-bt-connection", "--connected", "no")
    await bench.pebble("emu-set-content-size", "x-large")
    await bench.pebble("emu-set-timeline-quick-view", "on")
    await bench.pebble("emu-heart-rate", "61")
    sensors = await bench.sensors()
    assert (sensors["taps"], sensors["lastTap"]) == (1, "y-")
    assert sensors["compassDegrees"] == 90
    assert sensors["is24Hour"] and sensors["showsTimelinePeek"]
    assert sensors["phoneConnection"] is False
    assert (sensors["contentSize"], sensors["heartRate"]) == (3, 61)


async def test_buttons(bench: Bench) -> None:
    """a: a click is a press, and a button that is pushed stays down until it is released."""
    await bench.pebble("emu-button", "click", "up")
    event = await bench.control.event("button")
    assert (event["button"], event["isLong"]) == ("up", False)
    await bench.pebble("emu-button", "push", "select")
    assert (await bench.control.status())["heldButtons"] == ["select"]
    held = await bench.control.event("button")
    assert (held["button"], held["isLong"]) == ("select", True)
    await bench.pebble("emu-button", "release")
    assert (await bench.control.status())["heldButtons"] == []
    assert (await bench.control.status())["pairing"]["windowSeconds"] > 280


async def test_install(bench: Bench) -> None:
    """a: an app from a bundle is taken in whole, and runs."""
    file = bundle.app_bundle(bench.folder / "rig.pbw", APP, "Rig app")
    await bench.pebble("install", str(file))
    await bench.control.events.take(10, "the app to run", lambda event: event.get("app") == str(APP))
    assert (await bench.control.status())["app"] == {"uuid": str(APP), "name": "Rig app"}


async def test_install_without_resources(bench: Bench) -> None:
    """a: the tool sends what the bundle has and leaves; the watch refuses the app, says why, and keeps nothing of it."""
    app = AppBundle(app=APP)
    file = bench.folder / "bare.pbw"
    file.write_bytes(app.pbw(resources=False))
    await bench.pebble("install", str(file))
    reason = "its resources are missing, and the watch starts no app without them"
    refusal = await bench.control.events.take(20, "the refusal", lambda event: reason in event.get("text", ""))
    assert refusal["event"] == "service"
    status = await bench.control.status()
    assert [entry["isCached"] for entry in status["services"]["apps"]] == [False]
    assert status["app"]["uuid"] != str(APP)
    # The same app, whole.
    file.write_bytes(app.pbw())
    await bench.pebble("install", str(file))
    await bench.control.events.take(10, "the app to run", lambda event: event.get("app") == str(APP))


async def test_send_app_message(bench: Bench) -> None:
    """a: integers, text and bytes, in the app's inbox as they were typed."""
    await bench.control.ask("launch", app=ECHO)
    words = ("--app-uuid", ECHO, "--int", "1=-5", "--uint", "2=7", "--string", "3=hi", "--bytes", "4=00ff")
    await bench.pebble("send-app-message", *words)
    entries = {entry["key"]: entry for entry in (await bench.control.event("app-message-received"))["entries"]}
    assert entries[1]["number"] == -5 and entries[2]["number"] == 7
    assert entries[3]["string"] == "hi" and entries[4]["bytes"].lower() == "00ff"


async def test_logs(bench: Bench) -> None:
    """a: what an app logs is printed; Golf keeps 32 commands while its first has no answer, and says that it takes no more."""
    await bench.control.ask("launch", app=GOLF)
    logs = await Program.start(bench.tool("logs"), bench.folder / "logs.log")
    try:
        await bench.watch.wait_for_line("session .* < AppLog", 30)
        for _ in range(34):
            await bench.control.ask("press", button="up")
        await logs.wait_for_line("too many messages wait for the phone; the button is ignored", 20)
    finally:
        logs._process.send_signal(signal.SIGINT)
        await logs.wait_for_exit(20)


async def test_screenshot(bench: Bench) -> None:
    """a: the watchface shows the time that was set: four digits alike at 11:11, and other pixels at any other time."""
    shots = {}
    for name, time in [("first", "11:11:30"), ("again", "11:11:30"), ("later", "12:34:30")]:
        await bench.pebble("emu-time-format", "--format", "24h")
        await bench.pebble("emu-set-time", time)
        file = bench.folder / f"{name}.png"
        await bench.pebble("screenshot", "--no-open", str(file))
        with Image.open(file) as image:
            assert image.size == (144, 168)
            shots[name] = image.convert("1").tobytes()
            shots[f"{name} digits"] = digits(image)
    assert shots["first"] == shots["again"] != shots["later"]
    assert len(set(shots["first digits"])) == 1
    assert len(set(shots["later digits"])) == 4 and shots["later digits"][0] == shots["first digits"][0]


def digits(image: Image.Image) -> list[bytes]:
    """The widest row of shapes on a watchface, without the colon."""
    pixels = image.convert("L").point(lambda level: 255 if level > 127 else 0)
    background = pixels.getpixel((0, 0))
    rows = [any(pixels.getpixel((x, y)) != background for x in range(144)) for y in range(168)]
    bands, start = [], None
    for y, used in enumerate([*rows, False]):
        if used and start is None:
            start = y
        elif not used and start is not None:
            bands.append((start, y))
            start = None
    top, bottom = max(bands, key=lambda band: band[1] - band[0])
    shapes, start = [], None
    for x in range(145):
        used = x < 144 and any(pixels.getpixel((x, y)) != background for y in range(top, bottom))
        if used and start is None:
            start = x
        elif not used and start is not None:
            shapes.append(pixels.crop((start, top, x, bottom)))
            start = None
    assert len(shapes) == 5, "four digits and a colon"
    del shapes[2]
    return [shape.tobytes() for shape in shapes]


async def test_firmware(bench: Bench) -> None:
    """a: a firmware from a bundle is taken in, and the watch restarts with its version."""
    file = bundle.firmware_bundle(bench.folder / "rig.pbz", "v4.9.142")
    await bench.pebble("fw", "install", str(file))
    await bench.control.event("restarting", 20)
    await bench.watch.wait_for_line("advertises for", 20, after=len(bench.watch.lines) - 20)
    assert "Pong!" in await bench.pebble("ping")
    assert (await bench.control.status())["firmware"] == "v4.9.142"


async def test_data_logging(bench: Bench) -> None:
    """a: there is nothing yet, and the tool is told so; sending is switched off and on."""
    assert "No data logging sessions found" in await bench.pebble("data-logging", "list")
    await bench.pebble("data-logging", "disable-sends")
    assert "DISABLED" in await bench.pebble("data-logging", "get-sends-enabled")
    await bench.pebble("data-logging", "enable-sends")
    assert "ENABLED" in await bench.pebble("data-logging", "get-sends-enabled")


async def test_logged_data(bench: Bench) -> None:
    """a: what an app logged is downloaded as it was logged, and the watch keeps none of it.

    The session's number is the control socket's: the tool's own list cannot print a session (it gives the app's UUID a
    width).
    """
    items = bytes(range(1, 241))
    await bench.control.ask("log-data", app=ECHO, tag=7, itemSize=4, data=items.hex())
    [spool] = (await bench.control.status())["services"]["logging"]
    assert (spool["tag"], spool["byteCount"]) == (7, len(items))
    file = bench.folder / "items.bin"
    session = ("--session-id", str(spool["session"]))
    assert "Saved 60.0 items of size 4" in await bench.pebble("data-logging", "download", str(file), *session)
    assert file.read_bytes() == items
    assert sum(spool["byteCount"] for spool in (await bench.control.status())["services"]["logging"]) == 0
    other = ("--session-id", str(spool["session"] ^ 1))
    assert "not found" in await bench.pebble("data-logging", "download", str(file), *other)


async def test_one_tool_at_a_time(bench: Bench) -> None:
    """a: the second waits until the first has gone, as with QEMU."""
    with socket.create_connection(("127.0.0.1", bench.port)) as first:
        first.settimeout(10)
        first.sendall(NOTHING_PRESSED)
        assert first.recv(100) == bytes.fromhex("feed 0001 0005 0001 0011 00 beef")
        second = asyncio.create_task(bench.pebble("ping"))
        await bench.control.status()
        assert not second.done()
    assert "Pong!" in await second


async def test_the_newest_session_counts(tmp_path: Path) -> None:
    """a: a tool takes the session from a phone, whose link stays up; a phone that connects then takes it from the tool."""
    bonds = MemoryKeyStore()
    async with controllers() as room, watch_on(tmp_path, "--controller", room.watch.address) as bench:
        async with Phone.on(room.phone.port, keystore=bonds, pairs=pairing()) as phone:
            PhoneTransport(phone.host_ppogatt(encrypted=True)).start()
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            assert "PPoGATT" in (await bench.control.event("session-opened"))["transport"]
            tool, writer = await asyncio.open_connection("127.0.0.1", bench.port)
            writer.write(NOTHING_PRESSED)
            assert "emulator" in (await bench.control.event("session-opened"))["transport"]
            await watch.round_trip()
        await room.phone.detached()
        async with Phone.on(room.phone.port, keystore=bonds, pairs=pairing()) as phone:
            PhoneTransport(phone.host_ppogatt(encrypted=True)).start()
            watch = await phone.connect(ADDRESS)
            await watch.encrypt()
            assert "PPoGATT" in (await bench.control.event("session-opened"))["transport"]
            rest = await within(10, "the end of the tool's connection", tool.read())
            writer.close()
            assert rest == bytes.fromhex("feed 0001 0005 0001 0011 00 beef")
            await watch.round_trip()
            assert "Pong!" in await bench.pebble("ping")


# b: pypkjs

JAVASCRIPT = """
Pebble.addEventListener('ready', function() {
    console.log('rig: ready');
    var big = [];
    for (var i = 0; i < 8192; i++) big.push(i & 255);
    Pebble.sendAppMessage({small: 5, text: 'hello'}, function() {
        console.log('rig: small acked');
        Pebble.sendAppMessage({big: big}, function() {
            console.log('rig: big acked');
            var huge = big.concat(big.slice(0, 1000));
            Pebble.sendAppMessage({big: huge}, function() { console.log('rig: huge acked'); },
                                  function() { console.log('rig: huge nacked'); });
        }, function() { console.log('rig: big nacked'); });
    }, function() { console.log('rig: small nacked'); });
});
Pebble.addEventListener('appmessage', function(event) {
    var big = event.payload.big, sum = 0;
    if (big) for (var i = 0; i < big.length; i++) sum += big[i];
    console.log('rig: got small=' + event.payload.small + ' length=' + (big ? big.length : 0) + ' sum=' + sum);
});
"""


async def test_javascript(bench: Bench) -> None:
    """b: an app's JavaScript runs on pypkjs; messages go both ways, and their outcome comes back."""
    keys = {"small": 1, "text": 2, "big": 3}
    file = bundle.app_bundle(bench.folder / "js.pbw", APP, "Rig JS", javascript=JAVASCRIPT, keys=keys)
    port = free_port()
    persist = bench.folder / "persist"
    persist.mkdir()
    phone = await Program.start(
        [script("pypkjs"), "--qemu", f"127.0.0.1:{bench.port}", "--port", str(port), "--persist", str(persist)],
        bench.folder / "pypkjs.log",
    )
    try:
        await bench.watch.wait_for_line("session .* < AppRunState", 30)
        where = ("--phone", f"127.0.0.1:{port}")
        logs = await Program.start(bench.tool("logs", connection=where), bench.folder / "logs.log")
        try:
            await bench.watch.wait_for_line("session .* < AppLog", 30)
            assert "App install succeeded." in await bench.pebble("install", str(file), connection=where)
            await logs.wait_for_line("rig: ready", 20)
            small = await bench.control.event("app-message-received", 20)
            entries = {entry["key"]: entry for entry in small["entries"]}
            assert entries[1]["number"] == 5 and entries[2]["string"] == "hello"
            await logs.wait_for_line("rig: small acked", 20)
            big = await bench.control.event("app-message-received", 20)
            assert big["entries"][0]["bytes"].lower() == (bytes(range(256)) * 32).hex()
            await logs.wait_for_line("rig: big acked", 20)
            await logs.wait_for_line("rig: huge nacked", 20)
            answer = [
                {"key": 1, "type": "int32", "number": -7},
                {"key": 3, "type": "bytes", "bytes": (bytes(range(256)) * 31).hex()},
            ]
            await bench.control.ask("send", entries=answer)
            await logs.wait_for_line(f"rig: got small=-7 length={256 * 31} sum={255 * 128 * 31}", 20)
            assert (await bench.control.event("app-message-sent", 20))["result"] == "ok"
            big_answer = [{"key": 3, "type": "bytes", "bytes": (bytes(range(256)) * 32).hex()}]
            await bench.control.ask("send", entries=big_answer)
            await logs.wait_for_line(f"rig: got small=undefined length=8192 sum={255 * 128 * 32}", 20)
        finally:
            logs.kill()
            await logs.wait_for_exit(10)
    finally:
        phone.kill()
        await phone.wait_for_exit(10)
