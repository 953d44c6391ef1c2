"""The control socket and the commands that use it: who may, who is refused, and what the watch does about the ill-behaved."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rig import cairn
from rig import gatt as uuids
from rig.control import Control, Refused
from rig.controllers import controllers
from rig.phone import ANDROID_ADDRESS, Phone
from rig.process import Program
from rig.security import pairing
from watches import ADDRESS, NAME

#: Exit statuses (sysexits).
USAGE = 64
UNAVAILABLE = 69
CANNOT_CREATE = 73
REFUSED = 75


@contextlib.asynccontextmanager
async def watch_in(state: Path, *options: str) -> AsyncIterator[Program]:
    arguments = ("run", "--controller", "virtual", "--address", ADDRESS, "--state", str(state), *options)
    async with cairn.running(*arguments, log=state.parent / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        yield program


async def command(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Runs cairn while a watch runs: its status, output and errors."""
    process = await asyncio.create_subprocess_exec(
        str(cairn.binary()),
        *arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    output, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def test_commands(tmp_path: Path) -> None:
    """Commands of a person, and their results."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state):
        status, output, _ = await command("status", *here)
        assert status == 0 and NAME in output and "no phone is connected" in output
        assert (await command("battery", "42", "--charging", *here))[0] == 0
        assert (await command("tap", *here))[0] == 0
        assert (await command("press", "select", "--long", *here))[0] == 0
        status, output, _ = await command("status", "--json", environment={"CAIRN_STATE": str(state)})
        facts = json.loads(output)
        assert status == 0
        assert facts["battery"] == {"percent": 42, "isCharging": True}
        assert facts["sensors"]["taps"] == 1
        assert 290 < facts["pairing"]["windowSeconds"] <= 300
        status, output, _ = await command("pair", "--for", "60", *here)
        assert (status, output) == (0, "A new phone may pair for 60 seconds.\n")
        assert (await command("pair", "--stop", *here))[0] == 0
        status, output, _ = await command("oob", *here)
        assert status == 0 and len(bytes.fromhex(output)) == 48
        assert (await command("oob", output.strip(), *here))[0] == 0


ECHO_APP = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"


async def test_a_script_has_an_app_send_and_waits_for_what_comes_of_it(tmp_path: Path) -> None:
    """The commands of a shell script: launch, send, wait for an event; the raw request; and back to the watchface."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state):
        assert (await command("launch", ECHO_APP, *here))[0] == 0
        waiting = asyncio.create_task(
            command("events", "--json", "--until", "app-message-sent", "--for", "30", *here)
        )
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(waiting.cancel)
            while not waiting.done():
                # Until the waiting program listens, the result of a message is not reported to it; here no phone is connected.
                status, _, errors = await command("send", "1=string:a=b:c", "2=bytes:00ff", "3=int8:-1", *here)
                assert status == REFUSED and ("no companion" in errors or "under way" in errors), errors
            status, output, _ = await waiting
        event = json.loads(output.splitlines()[-1])
        assert status == 0 and event["event"] == "app-message-sent" and event["app"] == ECHO_APP
        assert event["entries"] == [
            {"key": 1, "type": "string", "string": "a=b:c"},
            {"key": 2, "type": "bytes", "bytes": "00ff"},
            {"key": 3, "type": "int8", "number": -1},
        ]
        status, output, _ = await command("ask", '{"command":"status"}', *here)
        assert status == 0 and json.loads(output)["status"]["app"]["uuid"] == ECHO_APP
        assert (await command("stop", *here))[0] == 0
        facts = json.loads((await command("status", "--json", *here))[1])
        assert facts["app"]["uuid"] != ECHO_APP
        status, output, errors = await command("events", "--until", "paired", "--for", "0.2", *here)
        assert status == REFUSED and "no event “paired” came in 0.2 seconds" in errors


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["launch", "echo"], USAGE, "is no UUID"),
        (["launch", "00000000-0000-4000-8000-000000000001"], REFUSED, "app"),
        (["send"], USAGE, "key=type:value"),
        (["send", "1=uint8:256"], USAGE, "is no tuple"),
        (["ask", "status"], USAGE, "no JSON"),
        (["events", "--for", "0"], USAGE, "--for"),
        (["confirm"], REFUSED, "no pairing waits"),
        (["refuse"], REFUSED, "no pairing waits"),
        (["passkey", "123456"], REFUSED, "no pairing waits for a passkey"),
        (["forget", "--all"], REFUSED, "no phone is remembered"),
        (["forget", "E2:00:00:00:00:02"], REFUSED, "no phone E2:00:00:00:00:02 is remembered"),
        (["forget", "nobody"], REFUSED, "is no address"),
        (["forget"], USAGE, "--all"),
        (["disconnect"], REFUSED, "no phone is connected"),
        (["oob", "00"], REFUSED, "no out of band block"),
        (["passkey", "12345x"], USAGE, "is no passkey"),
        (["press", "left"], USAGE, "left"),
        (["battery", "101"], USAGE, "0 to 100"),
        (["pair", "--for", "0"], USAGE, "1 to 3600"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_what_cannot_be_done_is_refused(tmp_path: Path, words: list[str], status: int, complaint: str) -> None:
    state = tmp_path / "state"
    async with watch_in(state):
        result, output, errors = await command(*words, "--state", str(state))
        assert result == status and complaint in errors and output == ""


async def test_without_a_watch(tmp_path: Path) -> None:
    environment = {"CAIRN_STATE": ""}
    for arguments in [("--state", str(tmp_path)), ("--control", str(tmp_path / "nothing"))]:
        status, _, errors = await command("status", *arguments, environment=environment)
        assert status == UNAVAILABLE and f"{tmp_path}" in errors and "start one with cairn run" in errors
    status, _, errors = await command("status", environment=environment)
    assert status == USAGE and "which watch?" in errors


async def test_only_its_owner_and_only_one(tmp_path: Path) -> None:
    """The socket is the owner's alone, a second watch is refused, and a socket that a killed one left is replaced."""
    state = tmp_path / "state"
    path = state / "control.sock"
    async with watch_in(state):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(state.stat().st_mode) == 0o700
        status, _, errors = await command("run", "--controller", "virtual", "--state", str(state))
        assert status == CANNOT_CREATE and f"a watch runs already with the state directory {state}" in errors
        status, _, errors = await command("run", "--controller", "virtual", "--control", str(path))
        assert status == UNAVAILABLE and "a watch runs already that takes commands" in errors
        assert (await command("status", "--state", str(state)))[0] == 0, "the first one was disturbed"
    assert not path.exists()
    killed = await Program.start(
        [str(cairn.binary()), "run", "--controller", "virtual", "--state", str(state)], tmp_path / "killed.log"
    )
    await killed.wait_for_line("advertises for", cairn.START_SECONDS)
    killed.kill()
    await killed.wait_for_exit(10)
    assert path.exists()
    async with watch_in(state):
        assert (await command("status", "--state", str(state)))[0] == 0


async def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    status, _, errors = await command("run", "--controller", "virtual", "--control", str(precious))
    assert status == CANNOT_CREATE and "there is a file that is no socket" in errors
    assert precious.read_text() == "mine"
    status, _, errors = await command("run", "--controller", "virtual", "--control", str(tmp_path / ("x" * 120)))
    assert status == CANNOT_CREATE and "at most 107 bytes" in errors


async def test_charge_reaches_the_phone(tmp_path: Path) -> None:
    """A command's battery level is notified to a phone that subscribed, and any phone can read it."""
    async with controllers() as room:
        path = tmp_path / "control"
        arguments = ("--controller", room.watch.address, "--address", ADDRESS, "--control", str(path))
        async with cairn.running("run", *arguments, log=tmp_path / "cairn.log") as program:
            await program.wait_for_line("advertises for", cairn.START_SECONDS)
            async with Phone.on(room.phone.port) as phone, Control.on(path) as control:
                watch = await phone.connect(ADDRESS)
                database = await watch.discover()
                level = database.characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
                charges = watch.listen(level.handle)
                await watch.subscribe(level)
                await control.ask("battery", percent=42)
                assert await charges.take(5, "the charge") == b"\x2a"
                assert await watch.read(level.handle) == b"\x2a"
                assert [link["phone"] for link in (await control.status())["links"]] == [ANDROID_ADDRESS]
        await room.watch.detached()


async def test_nonsense_is_answered(tmp_path: Path) -> None:
    """Line by line, in order, and the conversation goes on."""
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control:
        for line in ["nonsense", "[]", "{}", '{"command":"fly"}', "\x00\xff", "x" * 70_000, "[" * 60_000]:
            control.send(line)
            with pytest.raises(Refused, match="bad-request"):
                await control.answer()
        assert (await control.status())["name"] == NAME


async def test_many_programs(tmp_path: Path) -> None:
    """Sixteen are served, one more is told so, and there is room again when one leaves."""
    state = tmp_path / "state"
    async with watch_in(state), contextlib.AsyncExitStack() as stack:
        programs = [await stack.enter_async_context(Control.on(state / "control.sock")) for _ in range(16)]
        for program in programs:
            await program.ask("tap")
        async with Control.on(state / "control.sock") as late:
            with pytest.raises(Refused, match="busy"):
                await late.answer()
        assert (await programs[0].status())["sensors"]["taps"] == 16
        await stack.aclose()
        status, _, _ = await command("status", "--state", str(state))
        assert status == 0


async def test_a_program_that_does_not_read(tmp_path: Path) -> None:
    """It sends requests, and reads no answer: the watch stays small and goes on, for phones and for others."""
    async with controllers() as room:
        socket_path = tmp_path / "control"
        arguments = ("--controller", room.watch.address, "--address", ADDRESS, "--control", str(socket_path))
        async with cairn.running("run", *arguments, log=tmp_path / "cairn.log") as program:
            await program.wait_for_line("advertises for", cairn.START_SECONDS)
            with socket.socket(socket.AF_UNIX) as deaf:
                deaf.connect(str(socket_path))
                deaf.setblocking(False)
                question, sent = b'{"command":"status"}\n' * 1000, 0
                with contextlib.suppress(BlockingIOError):
                    while sent < 50_000_000:
                        sent += deaf.send(question)
                        await asyncio.sleep(0)
                assert sent < 50_000_000, "the watch reads on and on, and so it keeps the answers somewhere"
                async with Phone.on(room.phone.port, pairs=pairing()) as phone, Control.on(socket_path) as control:
                    watch = await phone.connect(ADDRESS)
                    await watch.pair()
                    assert len((await control.status())["links"]) == 1
        await room.watch.detached()


async def test_events_that_are_not_read_are_lost_and_told(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as busy:
        with socket.socket(socket.AF_UNIX) as slow:
            slow.connect(str(state / "control.sock"))
            slow.sendall(b'{"command":"events"}\n')
            assert slow.recv(100) == b'{"ok":true}\n'
            for _ in range(8_000):
                busy.send('{"command":"tap"}')
                await busy.answer()
            slow.settimeout(10)
            text = b""
            while b'"lost"' not in text:
                text += slow.recv(1 << 20)
                # The next event finds room, and brings the news.
                await busy.ask("tap")
            events = [json.loads(line) for line in text.splitlines() if line.endswith(b"}")]
            lost = next(event for event in events if event["event"] == "lost")
            assert "events were lost" in lost["text"]


async def test_events(tmp_path: Path) -> None:
    """cairn events, as a person and as a program read them, until the watch ends."""
    state = tmp_path / "state"
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(watch_in(state))
        listeners = []
        for index, options in enumerate([(), ("--json",)]):
            arguments = [str(cairn.binary()), "events", "--state", str(state), *options]
            listeners.append(await Program.start(arguments, tmp_path / f"events{index}.log"))
        async with Control.on(state / "control.sock") as control:
            # Until both listen.
            for listener in listeners:
                while not listener.lines:
                    await control.ask("press", button="up")
                    await asyncio.sleep(0)
        await stack.aclose()
        for listener in listeners:
            assert await listener.wait_for_exit(10) == 0
        assert "up pressed" in listeners[0].log
        assert {"event": "button", "button": "up", "isLong": False}.items() <= json.loads(listeners[1].lines[0]).items()
