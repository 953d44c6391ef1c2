"""Scripts: `cairn wait` and `cairn send`, and what programs are told. Nothing that has happened is missed, whenever they ask."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from rig import cairn
from rig.control import Control, Refused
from test_control import ECHO_APP, REFUSED, UNAVAILABLE, USAGE, command, watch_in


async def test_a_watch_that_is_only_just_started_is_waited_for(tmp_path: Path) -> None:
    """The socket is not there yet when the waiting begins."""
    state = tmp_path / "state"
    waiting = asyncio.create_task(command("wait", "ready", "--for", "30", "--json", "--state", str(state)))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    async with watch_in(state):
        status, output, errors = await waiting
        assert status == 0 and json.loads(output)["isReady"], errors
        assert (await command("wait", "ready", "--state", str(state)))[:2] == (0, "")


async def test_what_has_happened_already_is_not_missed(tmp_path: Path) -> None:
    """press; wait: the event was over before the waiting began. After a number, only the next one counts."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state), Control.on(state / "control.sock") as control:
        assert (await command("press", "up", *here))[0] == 0
        status, output, _ = await command("wait", "button", "--json", *here)
        event = json.loads(output)
        assert status == 0 and event["button"] == "up" and event["sequence"] > 0
        # The next press, and no older one: the answer has the number of the last event before it.
        answer = await control.ask("press", button="down")
        assert answer["sequence"] >= event["sequence"]
        since = str(answer["sequence"])
        status, output, _ = await command("wait", "button", "--json", "--since", since, *here)
        assert status == 0 and json.loads(output)["button"] == "down"
        last = str(json.loads((await command("status", "--json", *here))[1])["events"]["last"])
        status, _, errors = await command("wait", "button", "--since", last, "--for", "0.3", *here)
        assert status == REFUSED and "no event “button” came in 0.3 seconds" in errors and "--for" in errors
        # One that is no longer among those that are kept in their order is still the last of its name.
        for _ in range(700):
            await control.ask("tap")
        status, output, _ = await command("wait", "button", "--json", "--since", since, *here)
        assert status == 0 and json.loads(output)["button"] == "down"
        facts = json.loads((await command("status", "--json", *here))[1])
        assert facts["events"]["counts"]["sensed"] == 700 and facts["events"]["counts"]["button"] == 2


async def test_since_on_the_socket(tmp_path: Path) -> None:
    """Old events come first, in their order, after a word about those that are not kept any more; then new ones."""
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control, Control.on(state / "control.sock") as late:
        for _ in range(600):
            last = await control.ask("tap")
        await late.ask("events", since=0)
        await control.ask("press", button="up")
        first = await late.events.take(10, "the first event")
        assert first["event"] == "lost" and first["count"] > 0 and "sequence" not in first
        numbers = []
        while (event := await late.events.take(10, "an event"))["event"] != "button":
            numbers.append(event["sequence"])
        assert numbers == sorted(numbers) and numbers[-1] == last["sequence"] + 1
        assert first["count"] == numbers[-1] - len(numbers)
        with pytest.raises(Refused, match="unknown-sequence"):
            await late.ask("events", since=10**9)


async def test_conditions(tmp_path: Path) -> None:
    """What does not hold is waited for until the time is over; without a watch the status is another."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    status, _, errors = await command("wait", "ready", "--for", "0.3", *here)
    assert status == UNAVAILABLE and "no watch runs" in errors
    async with watch_in(state):
        for goal in ["connected", "session", "paired"]:
            status, output, errors = await command("wait", goal, "--for", "0.3", *here)
            assert status == REFUSED and f"the watch was not “{goal}” in 0.3 seconds" in errors and output == ""
    waiting: asyncio.Task[tuple[int, str, str]]
    async with watch_in(state):
        waiting = asyncio.create_task(command("wait", "paired", "--for", "30", *here))
        await asyncio.sleep(1)
    status, _, errors = await waiting
    assert status == UNAVAILABLE and "ended" in errors


@pytest.mark.parametrize(
    ("words", "complaints"),
    [
        (["events", "--until", "conected"], ["“conected” is no event", "did you mean connected?", "app-message-sent"]),
        (["wait", "redy"], ["“redy”", "did you mean ready?", "session-opened"]),
        (["wait", "xyzzyxyzzy"], ["“xyzzyxyzzy”", "ready, connected, session, paired"]),
        (["wait"], ["<what>"]),
        (["wait", "ready", "--since", "3"], ["--since goes with events"]),
        (["wait", "button", "--since", "x"], ["--since", "x"]),
        (["wait", "button", "--since", "18446744073709551615"], ["no watch runs"]),
        (["wait", "ready", "--for", "0"], ["--for takes a number of seconds from 0.1 to 86400"]),
        (["events", "--since", "-1"], ["-1", "--since"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_wrong_words(tmp_path: Path, words: list[str], complaints: list[str]) -> None:
    timing = [] if "--for" in words or words[0] == "events" or len(words) == 1 else ["--for", "0.1"]
    status, _, errors = await command(*words, *timing, "--state", str(tmp_path))
    assert status == (UNAVAILABLE if complaints == ["no watch runs"] else USAGE), errors
    assert [complaint for complaint in complaints if complaint not in errors] == [], errors


async def test_send_says_what_became_of_it(tmp_path: Path) -> None:
    """Without a session nothing is sent, and a watchface cannot send; a text arrives whole."""
    state = tmp_path / "state"
    here = ("--state", str(state))
    async with watch_in(state), Control.on(state / "control.sock") as control:
        status, output, errors = await command("send", "1=uint8:1", *here)
        assert (status, output) == (REFUSED, "") and "nothing was sent: what runs has no outbox" in errors
        assert (await command("launch", ECHO_APP, *here))[0] == 0
        await control.ask("events")
        text = "two\nlines\tand \"quotes\" \\ \x01"
        status, output, errors = await command("send", f"1=string:{text}", *here)
        assert (status, output) == (REFUSED, "") and "nothing was sent: no companion of the running app" in errors
        while (event := await control.events.take(10, "how it ended"))["event"] != "app-message-sent":
            pass
        assert event["result"] == "notConnected" and event["entries"] == [{"key": 1, "type": "string", "string": text}]
        with pytest.raises(Refused, match="not-sent"):
            await control.ask("send", entries=[{"key": 1, "type": "bytes", "bytes": "00" * 9000}])


async def test_withdrawing_a_stream_has_an_event_of_its_own(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with watch_in(state), Control.on(state / "control.sock") as control:
        await control.ask("events")
        await control.ask("withdraw", stream="pebble")
        event = await control.events.take(10, "the withdrawal")
        assert event["event"] == "stream-withdrawn" and event["stream"] == "pebble" and "psm" not in event
        await control.ask("publish", stream="pebble")
        event = await control.events.take(10, "the publication")
        assert event["event"] == "stream-published" and event["psm"] > 0


async def test_status_says_which_process_it_is(tmp_path: Path) -> None:
    """Its identifier, version, ports and files, with absolute paths."""
    arguments = ["run", "--controller", "virtual", "--state", "here", "--air-port", "0", "--qemu-port", "0"]
    process = await asyncio.create_subprocess_exec(
        str(cairn.binary()), *arguments, "--capture", "a.btsnoop", "--serial-port", "tty", cwd=tmp_path,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        status, output, errors = await command("wait", "ready", "--json", "--state", str(tmp_path / "here"))
        assert status == 0, errors
        facts = json.loads(output)
        assert facts["pid"] == process.pid and facts["controller"] == "virtual"
        assert facts["version"] == (await command("--version"))[1].strip()
        for port in facts["ports"]["air"], facts["ports"]["qemu"]:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
        files = {"state": "here", "control": "here/control.sock", "capture": "a.btsnoop", "serial": "tty"}
        assert {name: Path(path) for name, path in facts["paths"].items()} == {
            name: tmp_path / file for name, file in files.items()
        }
        assert all(os.path.lexists(path) for path in facts["paths"].values())
        assert f"{process.pid}" in (await command("status", "--state", str(tmp_path / "here")))[1]
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0
