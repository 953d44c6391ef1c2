"""The schema of control (Docs/control.schema.json) and a running watch, checked by an independent validator, Python's jsonschema:
what the watch says conforms, and what the schema refuses the watch refuses too."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import watches
from jsonschema import Draft202012Validator
from libpebble2.protocol.music import MusicControl, MusicControlUpdateCurrentTrack, MusicControlUpdateVolumeInfo
from libpebble2.protocol.phone import IncomingCall, PhoneNotification
from libpebble2.services.notifications import Notifications
from rig import cairn
from rig.libpebble import Companion
from rig.phone import Phone
from rig.ppogatt import PhoneTransport
from rig.security import pairing
from rig.vectors import REPOSITORY
from rig.waiting import within
from test_control import ECHO_APP, watch_in

SCHEMA = json.loads((REPOSITORY / "Docs/control.schema.json").read_text())
UUID = "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"

#: A request of each command with every field that it can have.
REQUESTS: dict[str, dict[str, Any]] = {
    "status": {},
    "events": {"since": 0},
    "press": {"button": "up", "long": False},
    "hold": {"buttons": ["up", "down"]},
    "tap": {"axis": "z", "direction": -1},
    "battery": {"percent": 42, "charging": True},
    "compass": {"degrees": 90.5, "calibrated": False},
    "accelerometer": {"x": 0, "y": -32768, "z": 1000},
    "time-format": {"is24Hour": True},
    "screenshot": {"format": "raw"},
    # What has happened already: the answer comes at once, also to requests with other seconds.
    "wait": {"for": "advertising", "since": 0, "seconds": 0.1},
    "apps": {},
    "install-part": {"data": "00 ff"},
    "install": {"launch": True},
    "remove": {"app": UUID},
    "inbox": {"app": ECHO_APP, "since": 0},
    "outbox": {"app": ECHO_APP, "since": 0},
    "notifications": {},
    "settings": {},
    "time": {},
    "set-time": {"seconds": 1_700_000_000, "zone": "Europe/Paris", "offsetMinutes": 60},
    "links": {},
    "capture-start": {"path": "/nowhere/watch.btsnoop"},
    "recorder-save": {"path": "/nowhere/watch.cairnrec"},
    "capture-stop": {},
    "fault-add": {"name": "att.late", "arguments": {"delay": "250ms", "count": "1"}},
    "fault-list": {},
    "fault-names": {},
    "fault-clear": {"number": 99},
    "packets": {},
    "log-level": {"levels": "info,att=warning"},
    "launch": {"app": ECHO_APP},
    "stop": {},
    "send": {
        "entries": [
            {"key": 1, "type": "uint8", "number": 255},
            {"key": 2, "type": "bytes", "bytes": "00 ff"},
            {"key": 3, "type": "string", "string": "a"},
            {"key": 4, "type": "int32", "number": -1},
        ]
    },
    "open-pairing": {"seconds": 7.5},
    "close-pairing": {},
    "confirm": {},
    "refuse": {},
    "passkey": {"passkey": "000007"},
    "oob": {},
    "take-oob": {"data": "021c00"},
    "forget": {"phone": "E2:00:00:00:00:09"},
    "forget-all": {},
    "disconnect": {},
    "advertise": {},
    "offer-battery": {"offered": True},
    "publish": {"stream": "pebble"},
    "withdraw": {"stream": "loopback"},
    "music": {"key": "next"},
    "answer-call": {},
    "end-call": {},
    "act": {"item": UUID, "action": 1, "text": "hello"},
    "set": {"key": "unitsDistance", "data": "01"},
    "log-data": {"app": UUID, "tag": 7, "itemSize": 2, "data": "0001"},
    "restart": {"how": "reboot"},
    "reset": {},
    "backup": {},
    "backup-part": {"offset": 0},
}

#: Commands after which the watch is another one.
RESTARTS = {"restart", "reset"}

#: What takes the place of a field's value.
VALUES: list[Any] = [
    None, True, "", "x", "x" * 50, 0, 1, -1, 1.5, 1e300, 42.0, 256, -129, 32768, 65536, 2**32, 2**63, 2**64, 360.5, 3601,
    [], {}, ["left"], ["up"], [1], [{}], [{"key": 1}], [{"key": 1, "type": "uint8"}], [{"key": 2**32, "type": "int8", "number": 1}],
    [{"key": 1, "type": "text", "string": "a"}], [{"key": 1, "type": "uint8", "number": 256}],
    [{"key": 1, "type": "int16", "number": -32768, "string": None}], [{"key": 1, "type": "string", "string": "a", "number": "b"}],
    "00 11", "0", "zz", UUID.upper(), UUID[:-1], "e2:00:00:00:00:02", "E2:00:00:00:00:0", "1234567", "12a", "reboot", "pebble",
]  # fmt: skip


@functools.cache
def judge(definition: str) -> Draft202012Validator:
    """The validator of one of the schema's definitions."""
    return Draft202012Validator({"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{definition}"})


def conforms(value: Any, definition: str) -> None:
    problems = [f"{error.json_path}: {error.message}" for error in judge(definition).iter_errors(value)]
    assert not problems, f"{value} is no {definition}: {problems}"


class Conversation:
    """A program at the control socket: each line of the watch is checked against the schema."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        #: The definitions of the events that came.
        self.events: set[str] = set()

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, path: Path) -> AsyncIterator[Conversation]:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=1 << 22)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def line(self) -> dict[str, Any]:
        """The next line, whichever it is."""
        message = json.loads(await within(10, "a line of the watch", self.reader.readline()))
        if "packet" in message:
            conforms(message, "packet")
        elif "ok" not in message:
            definition = f"event.{message['event']}"
            if definition not in SCHEMA["$defs"]:
                definition += f".{message['name']}"
            conforms(message, definition)
            conforms(message, "event")
            self.events.add(definition)
        return message

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer, which conforms to that of its command."""
        self.writer.write(json.dumps(request).encode() + b"\n")
        while "ok" not in (answer := await self.line()):
            pass
        conforms(answer, "answer")
        conforms(answer, f"answer.{request['command']}" if answer["ok"] else "failure")
        return answer

    async def do(self, command: str, **fields: Any) -> dict[str, Any]:
        """The answer to a request that is one."""
        request = {"command": command, **fields}
        conforms(request, f"request.{command}")
        return await self.ask(request)

    async def until(self, *definitions: str) -> None:
        """Reads until such events have come."""
        while not set(definitions) <= self.events:
            await self.line()


def test_the_schema_is_one() -> None:
    """By the rules of draft 2020-12, and the one that the program prints."""
    Draft202012Validator.check_schema(SCHEMA)
    printed = subprocess.run([cairn.binary(), "control", "schema"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(printed.stdout) == SCHEMA
    reference = subprocess.run([cairn.binary(), "control", "reference"], capture_output=True, text=True, timeout=60, check=True)
    assert reference.stdout == (REPOSITORY / "Docs/control-reference.md").read_text()
    assert {f"request.{command}" for command in REQUESTS} == {name for name in SCHEMA["$defs"] if name.startswith("request.")}


async def test_every_command_and_its_answer(tmp_path: Path) -> None:
    """Every request with every field, and with none but the required; a refusal conforms as well."""
    state = tmp_path / "state"
    async with watch_in(state), Conversation.on(state / "control.sock") as control:
        for command, fields in REQUESTS.items():
            if command not in RESTARTS:
                await control.do(command, **fields)
                required = SCHEMA["$defs"][f"request.{command}"]["required"]
                await control.do(command, **{name: value for name, value in fields.items() if name in required})
        secrets = (await control.do("oob"))["data"]
        assert (await control.do("take-oob", data=secrets))["ok"]
        assert (await control.do("backup"))["backup"]["size"] > 0
        assert (await control.do("backup-part", offset=0))["data"]
        assert (await control.do("wait", **{"for": "started"}))["event"]["event"] == "started"
        assert (await control.do("restart", how="reboot"))["ok"]
        await control.until("event.restarting")
        assert (await control.do("reset"))["ok"]
        await control.until("event.button", "event.sensed.tap", "event.sensed.accelerometer", "event.restarting")


@contextlib.asynccontextmanager
async def paired(phone: Phone) -> AsyncIterator[Companion]:
    """Connects and pairs, and lets libpebble2 have what the watch opens on the phone."""
    transport = PhoneTransport(phone.host_ppogatt())
    companion = Companion(transport)
    transport.start()
    link = await phone.connect(watches.ADDRESS)
    await link.exchange_mtu(517)
    await link.pair()
    await transport.opened()
    await companion.start()
    try:
        yield companion
    finally:
        companion.close()


async def test_a_session_with_a_phone(tmp_path: Path) -> None:
    """A phone pairs, a companion calls and pushes, a person answers, the phone goes and is forgotten: each event conforms."""
    state = tmp_path / "state"
    async with contextlib.AsyncExitStack() as stack:
        program = await stack.enter_async_context(
            watches.cairn_on("virtual", tmp_path, "--air-port", "0", "--state", str(state))
        )
        port = int((await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        control = await stack.enter_async_context(Conversation.on(state / "control.sock"))
        await control.do("events", since=0)
        async with Phone.on(port, pairs=pairing()) as phone, paired(phone) as companion:
            await control.until("event.paired", "event.session-opened")
            send = companion.connection.send_packet
            notifications = Notifications(companion.connection)
            await companion.run(notifications.send_notification, "the subject", "the message", "the sender")
            track = {"artist": "a", "album": "b", "title": "c", "track_length": 1, "track_count": 1, "current_track": 1}
            send(MusicControl(data=MusicControlUpdateCurrentTrack(**track)))
            send(MusicControl(data=MusicControlUpdateVolumeInfo(volume_percent=30)))
            send(PhoneNotification(cookie=7, message=IncomingCall(number="123", name="Mum")))
            await control.until(
                "event.service.notification-shown", "event.service.now-playing", "event.service.volume", "event.service.call"
            )
            services = (await control.do("status"))["status"]["services"]
            (notification,) = services["notifications"]
            assert (await control.do("notifications"))["notifications"] == [notification]
            (link,) = (await control.do("links"))["links"]
            assert {layer["layer"] for layer in link["traffic"]} == {"att", "signaling", "smp", "channels"}
            await control.do("act", item=notification["id"], action=0)
            await control.do("end-call")
            await control.do("launch", app=ECHO_APP)
            await control.do("send", entries=[{"key": 1, "type": "uint8", "number": 1}])
            await control.until("event.service.action-sent", "event.app-launched")
            await control.do("disconnect")
        await control.until("event.disconnected", "event.link-ended")
        assert (await control.do("forget-all"))["ok"]
        await control.until("event.forgotten")
        assert {
            "event.started", "event.advertising", "event.connected", "event.link.mtu", "event.security", "event.message",
        } <= control.events, control.events  # fmt: skip


def mutants(command: str, fields: dict[str, Any], chance: random.Random) -> list[dict[str, Any]]:
    """Requests that differ from a good one in a field or two."""
    good = {"command": command, **fields}
    made = [{**good, "unknown": value} for value in (None, 1, {})]
    for name in fields:
        made.append({other: value for other, value in good.items() if other != name})
        made += [{**good, name: value} for value in VALUES]
        made += [{**good, name: chance.choice(VALUES), chance.choice(list(fields)): chance.choice(VALUES)} for _ in range(8)]
    return made


@pytest.mark.parametrize("command", [command for command, fields in REQUESTS.items() if fields])
async def test_the_watch_refuses_what_the_schema_refuses(tmp_path: Path, command: str) -> None:
    """And nothing else is a bad request, but what a pattern cannot say: whether octets are an out of band block."""
    state = tmp_path / "state"
    async with watch_in(state), Conversation.on(state / "control.sock") as control:
        for request in mutants(command, REQUESTS[command], random.Random(f"0xC0_47_02 {command}")):
            expected = judge(f"request.{command}").is_valid(request)
            assert judge("request").is_valid(request) == expected
            if command in RESTARTS and expected:
                continue
            answer = await control.ask(request)
            failure = answer.get("error", {"code": "", "message": ""})
            if command == "take-oob" and "no out of band block" in failure["message"]:
                assert expected
                continue
            assert (failure["code"] != "bad-request") == expected, f"{request}: {answer}"


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"command":7}', '{"command":"fly"}', '"press"', "null"])
async def test_what_is_no_request_at_all(tmp_path: Path, line: str) -> None:
    """The schema and the watch refuse it, and the refusal conforms."""
    state = tmp_path / "state"
    async with watch_in(state), Conversation.on(state / "control.sock") as control:
        control.writer.write(line.encode() + b"\n")
        answer = await control.line()
        conforms(answer, "failure")
        assert answer["error"]["code"] == "bad-request"
    if line != "nonsense":
        assert not judge("request").is_valid(json.loads(line))
