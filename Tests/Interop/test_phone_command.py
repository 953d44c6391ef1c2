"""`cairn phone`: the other side as a command. A shell script has both ends, on a radio of Cairn's and with a watch that is not
Cairn's; what is said at the phone's socket conforms to its schema, and what is wrong there is refused in words."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fake_watch import FakeWatch
from jsonschema import Draft202012Validator
from rig import cairn
from rig.control import Control, Refused
from rig.controllers import controllers
from rig.footprint import Footprint
from rig.ports import free_port
from rig.process import Program
from rig.waiting import within
from rig.watchapps import AppBundle
from test_control import CANNOT_CREATE, ECHO_APP, REFUSED, UNAVAILABLE, USAGE, command
from watches import ADDRESS, NAME

#: A static random address for the phone.
PHONE_ADDRESS = "F0:CA:12:00:00:09"


@contextlib.asynccontextmanager
async def phone_in(state: Path, controller: str, *options: str, name: str = "phone") -> AsyncIterator[Program]:
    """A phone that takes commands at `phone.sock` in a directory."""
    arguments = ("phone", "run", "--controller", controller, "--state", str(state), "--log-level", "debug", *options)
    async with cairn.running(*arguments, log=state.parent / f"{name}.log") as program:
        await program.wait_for_line("takes commands at", cairn.START_SECONDS)
        yield program


@contextlib.asynccontextmanager
async def both_on_air(folder: Path, *watch_options: str, phone_options: tuple[str, ...] = ()) -> AsyncIterator[Path]:
    """A watch with a radio of its own, and a phone on the same radio; both use one state directory."""
    state = folder / "state"
    arguments = ("run", "--controller", "virtual", "--air-port", "0", "--address", ADDRESS, "--state", str(state))
    async with cairn.running(*arguments, *watch_options, log=folder / "watch.log") as watch:
        port = (await watch.wait_for_line(r"hosts at (tcp:127\.0\.0\.1:\d+)", cairn.START_SECONDS))[1]
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        async with phone_in(state, port, "--address", PHONE_ADDRESS, *phone_options):
            yield state


async def phone(state: Path, *words: str) -> tuple[int, str, str]:
    """A command of the phone's in a directory: its status, output and errors."""
    return await command("phone", *words, "--state", str(state))


async def done(state: Path, *words: str) -> dict[str, Any]:
    """The answer to a command that must succeed."""
    status, output, errors = await phone(state, *words, "--json")
    assert status == 0, f"{words}: {errors}"
    answer = json.loads(output)
    assert answer["ok"], answer
    return answer


async def open_session(state: Path) -> None:
    await done(state, "connect")
    await done(state, "pair", "--confirm", "yes")
    status, _, errors = await phone(state, "wait", "session")
    assert status == 0, errors


# MARK: Both ends

SCRIPT = """
set -eu
trap 'kill $(jobs -p) || true; wait || true' EXIT
"$CAIRN" air --port $PORT &
"$CAIRN" run --controller tcp:127.0.0.1:$PORT --controller-lost retry --state bench 2>watch.log &
"$CAIRN" wait ready --state bench
"$CAIRN" phone run --controller tcp:127.0.0.1:$PORT --controller-lost retry --state bench 2>phone.log &
"$CAIRN" phone wait ready --state bench
export CAIRN_STATE=$PWD/bench
"$CAIRN" phone scan --for 5
"$CAIRN" phone connect
"$CAIRN" phone pair --confirm yes
"$CAIRN" phone wait session
"$CAIRN" wait session
"$CAIRN" phone launch 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0
"$CAIRN" phone push 0=uint8:7 1=string:hello
"$CAIRN" phone expect 1=string:hello --for 10
"$CAIRN" send 3=uint16:300
"$CAIRN" phone expect 3=uint16:300 --for 10
"$CAIRN" phone ping
"$CAIRN" phone disconnect
"$CAIRN" phone wait disconnected
"$CAIRN" wait disconnected
"$CAIRN" phone connect
"$CAIRN" phone status
echo finished
"""


async def test_a_shell_script_has_both_ends(tmp_path: Path) -> None:
    """Radio, watch and phone are processes of the script; every line ends when what it says is so."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    environment |= {"CAIRN": str(cairn.binary()), "PORT": str(free_port())}
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", SCRIPT, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output, errors = await within(120, "the script", process.communicate())
    text = output.decode()
    assert process.returncode == 0 and "finished" in text, f"{text}\n{errors.decode()}"
    assert "dBm" in text or "firmware" in text, "the scan lists the watch"
    assert "Paired by numericComparison" in text
    assert f"The watch runs {ECHO_APP}." in text
    assert "0=uint8:7 1=string:hello" in text and "3=uint16:300" in text
    links = [line for line in text.splitlines() if "MTU" in line]
    assert "not encrypted" in links[0] and "not encrypted" not in links[-1], "the second link has the keys of the first"
    assert stat.S_IMODE((tmp_path / "bench/phone.bonds").stat().st_mode) == 0o600


@pytest.mark.parametrize("options", [(), ("--server",), ("--platform", "ios"), ("--stream",)], ids=" ".join)
async def test_every_kind_of_phone_has_a_session(tmp_path: Path, options: tuple[str, ...]) -> None:
    async with both_on_air(tmp_path, phone_options=options) as state:
        (heard,) = (await done(state, "scan", "--for", "3"))["watches"]
        assert heard["watch"] == ADDRESS and heard["name"] == NAME and heard["platform"]
        link = (await done(state, "connect", ADDRESS))["link"]
        assert link["watch"] == ADDRESS and link["isExplored"] and not link["isEncrypted"]
        paired = await done(state, "pair", "--confirm", "yes")
        assert paired["isPaired"] and paired["question"] == "compare" and len(paired["number"]) == 6
        assert (await phone(state, "wait", "session"))[0] == 0
        assert (await done(state, "launch", ECHO_APP))["app"] == ECHO_APP
        assert (await done(state, "ping"))["milliseconds"] > 0
        clock = await done(state, "time")
        assert abs(clock["phoneSeconds"] - clock["watchSeconds"]) <= 2
        assert (await done(state, "push", "1=int32:-5"))["app"] == ECHO_APP
        entries = (await done(state, "expect", "1=int8:-5"))["entries"]
        assert entries == [{"key": 1, "type": "int32", "number": -5}]
        notification = (await done(state, "notify", "--title", "Title", "--body", "Body"))["notification"]
        assert notification in (await command("status", "--json", "--state", str(state)))[1]
        facts = (await done(state, "status"))["status"]
        assert facts["address"] == PHONE_ADDRESS and facts["app"] == ECHO_APP and facts["link"]["hasSession"]
        assert [bond["watch"] for bond in facts["bonds"]] == [ADDRESS]


async def test_the_memory_of_a_sessions_beginning_is_given_back(tmp_path: Path) -> None:
    """The pages of the program that pairing and discovery needed: ten seconds after the session opened, and not before."""
    async with both_on_air(tmp_path) as state:
        await open_session(state)
        opened = asyncio.get_running_loop().time()
        watch = json.loads((await command("status", "--json", "--state", str(state)))[1])["pid"]
        most = Footprint.of(watch).resident_kilobytes

        async def given_back() -> None:
            while Footprint.of(watch).resident_kilobytes > most - 1024:
                await asyncio.sleep(0.2)

        await within(30, "the watch to give memory back", given_back())
        assert asyncio.get_running_loop().time() - opened > 5
        assert (await done(state, "ping"))["milliseconds"] > 0


@pytest.mark.parametrize("options", [(), ("--server",)], ids=["reversed", "forward"])
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "paired"])
async def test_with_a_watch_of_bumbles(tmp_path: Path, options: tuple[str, ...], encrypted: bool) -> None:
    async with controllers() as room, FakeWatch.on(room.watch.port, encrypted=encrypted):
        state = tmp_path / "state"
        async with phone_in(state, room.phone.address, *options):
            (heard,) = (await done(state, "scan", "--for", "3"))["watches"]
            assert heard["watch"] == FakeWatch.address and heard["serialNumber"]
            await done(state, "connect", "first")
            if encrypted:
                status, _, errors = await phone(state, "ping")
                assert status == REFUSED and "cairn phone pair" in errors
                assert (await done(state, "pair", "--confirm", "yes"))["isPaired"]
            assert (await phone(state, "wait", "session"))[0] == 0
            facts = (await done(state, "status"))["status"]
            assert facts["watch"]["serialNumber"] == FakeWatch.serial and facts["app"] == ECHO_APP
            await done(state, "ping")
            await done(state, "push", "1=string:over the air")
            await done(state, "expect", "1=string:over the air")
            status, _, errors = await phone(state, "push", "1=uint8:1", "--app", str(uuid.uuid4()))
            assert status == REFUSED and "refused the message" in errors
            await done(state, "disconnect")
        await room.phone.detached()
        assert room.faults == []


# MARK: Files

async def test_files_and_apps(tmp_path: Path) -> None:
    async with both_on_air(tmp_path) as state:
        status, _, errors = await phone(state, "upload", str(tmp_path / "none"))
        assert status == REFUSED and "No such file" in errors
        await open_session(state)
        pack = tmp_path / "lang"
        pack.write_bytes(bytes(index * 31 & 0xFF for index in range(30_001)))
        assert (await done(state, "upload", str(pack)))["size"] == 30_001
        app = uuid.uuid4()
        bundle = tmp_path / "app.pbw"
        bundle.write_bytes(AppBundle(app=app).pbw())
        assert (await done(state, "install", str(bundle)))["app"] == str(app)
        facts = json.loads((await command("status", "--json", "--state", str(state)))[1])
        assert facts["app"]["uuid"] == str(app)
        assert (await done(state, "stop")).get("app") != str(app)
        assert (await done(state, "launch", str(app)))["app"] == str(app)
        (tmp_path / "bad.pbw").write_bytes(b"no bundle")
        (tmp_path / "empty").touch()
        for words, complaint in [
            (("install", str(tmp_path / "bad.pbw")), "it is no zip archive"),
            (("install", str(tmp_path)), "it is a directory"),
            (("upload", str(tmp_path)), "Is a directory"),
            (("upload", str(tmp_path / "empty")), "the file has no bytes"),
        ]:
            status, output, errors = await phone(state, *words)
            assert status == REFUSED and complaint in errors and output == "", f"{words}: {errors}"


# MARK: Keys

async def test_keys_outlive_the_process_and_are_in_no_log(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with contextlib.AsyncExitStack() as stack:
        arguments = ("run", "--controller", "virtual", "--air-port", "0", "--address", ADDRESS, "--state", str(state))
        watch = await stack.enter_async_context(cairn.running(*arguments, log=tmp_path / "watch.log"))
        port = (await watch.wait_for_line(r"hosts at (tcp:127\.0\.0\.1:\d+)", cairn.START_SECONDS))[1]
        async with phone_in(state, port, "--log-level", "trace", name="first") as first:
            await open_session(state)
            address = (await done(state, "status"))["status"]["address"]
            log = first.log
        bonds = (state / "phone.bonds").read_text().splitlines()
        assert bonds[0] == "cairn-phone 1" and bonds[1] == f"address {address}" and len(bonds) == 3
        keys = bonds[2].removeprefix("bond ")
        # Behind version, identity, flags, sizes and the owner's flags: the key, here and as HCI shows it.
        assert keys[30:62] not in log.replace(" ", "") and len(keys) > 60
        assert stat.S_IMODE((state / "phone.bonds").stat().st_mode) == 0o600
        async with phone_in(state, port, name="second"):
            link = (await done(state, "connect", "--for", "60"))["link"]
            assert link["isEncrypted"] and link["isBonded"]
            assert (await phone(state, "wait", "session"))[0] == 0
            assert (await done(state, "forget"))["watches"] == [ADDRESS]
            assert len((state / "phone.bonds").read_text().splitlines()) == 2
            status, _, errors = await phone(state, "forget")
            assert status == REFUSED and "not paired with any watch" in errors
        for rest in ["", "2\n", "1\nbond 00\n", "1\naddress here\n", "1\nx\n"]:
            content = f"cairn-phone {rest}"
            (state / "phone.bonds").write_text(content)
            status, _, errors = await command("phone", "run", "--controller", port, "--state", str(state))
            assert status == 74 and "phone.bonds, line" in errors and "move the file away" in errors


async def test_a_person_compares_the_numbers(tmp_path: Path) -> None:
    """The number on the phone is the one on the watch; no is no, and the next attempt may be yes."""
    async with both_on_air(tmp_path, "--pairing", "button") as state:
        here = ("--state", str(state))
        await done(state, "connect")
        asking = await asyncio.create_subprocess_exec(
            str(cairn.binary()), "phone", "pair", "--json", *here,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        assert asking.stderr is not None and asking.stdin is not None
        question = (await within(30, "the question", asking.stderr.readline())).decode()
        assert question.startswith("Does the watch show ") and question.endswith("? [y/N]\n")
        status, output, _ = await command("wait", "pairing-waits", "--json", *here)
        assert status == 0 and question.split()[4].strip("?") in output
        asking.stdin.write(b"n\n")
        output, _ = await within(30, "the phone's no", asking.communicate())
        assert asking.returncode == 0 and not json.loads(output)["isPaired"]
        await asyncio.sleep(3)
        pairing = asyncio.create_task(phone(state, "pair", "--confirm", "yes"))
        assert (await phone(state, "wait", "pairing-question", "--for", "30"))[0] == 0
        last = json.loads((await command("status", "--json", *here))[1])
        async with Control.on(state / "control.sock") as watch:
            while not last["pairing"]["waiting"]:
                await asyncio.sleep(0.1)
                last = await watch.status()
            await watch.ask("confirm")
        status, output, errors = await pairing
        assert status == 0 and "Paired by numericComparison" in output, errors


# MARK: Ends of links

async def test_a_dropped_link_and_a_proper_end(tmp_path: Path) -> None:
    """The watch is told of a disconnection, and finds out about the other by its supervision timeout."""
    async with both_on_air(tmp_path) as state, Control.on(state / "control.sock") as watch:
        await open_session(state)
        await watch.listen()
        await done(state, "drop")
        assert len((await watch.status())["links"]) == 1, "the watch knows nothing yet"
        event = await watch.event("disconnected", 30)
        assert "Timeout" in event["reason"]
        link = (await done(state, "connect", "--for", "60"))["link"]
        assert link["isEncrypted"]
        await done(state, "disconnect")
        event = await watch.event("disconnected", 10)
        assert "Remote User" in event["reason"]
        for words in (("disconnect",), ("drop",), ("ping",)):
            status, _, errors = await phone(state, *words)
            assert status == REFUSED and "there is no connection to a watch" in errors


# MARK: The line protocol

async def test_every_line_conforms_to_the_schema(tmp_path: Path) -> None:
    schema = json.loads(subprocess.run([cairn.binary(), "phone", "schema"], capture_output=True, check=True).stdout)
    Draft202012Validator.check_schema(schema)

    def check(definition: str, value: Any) -> None:
        validator = Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{definition}"}]})
        errors = [error.message for error in validator.iter_errors(value)]
        assert errors == [], f"{definition}: {value}"

    async with both_on_air(tmp_path) as state, Control.on(state / "phone.sock") as told:
        await told.listen()
        async with Control.on(state / "phone.sock") as control:
            for name, fields in [
                ("status", {}), ("scan", {"seconds": 2}), ("connect", {}), ("pair", {"confirm": "yes"}),
            ]:
                check(f"request.{name}", {"command": name, **fields})
                check(f"answer.{name}", await control.ask(name, **fields))
            assert (await phone(state, "wait", "session"))[0] == 0
            entries = [{"key": 1, "type": "uint8", "number": 1}]
            for name, fields in [
                ("launch", {"app": ECHO_APP}), ("push", {"entries": entries}), ("expect", {"entries": entries, "seconds": 5}),
                ("notify", {"title": "a"}), ("ping", {}), ("time", {}), ("status", {}), ("disconnect", {}), ("forget", {}),
            ]:
                check(f"request.{name}", {"command": name, **fields})
                check(f"answer.{name}", await control.ask(name, **fields))
            with pytest.raises(Refused, match="not-connected"):
                await control.ask("ping")
        names = set()
        numbers = []
        for event in told.events.waiting:
            check(f"event.{event['event']}", event)
            names.add(event["event"])
            numbers.append(event["sequence"])
        assert numbers == sorted(set(numbers))
        assert {"watch-heard", "connected", "paired", "bonded", "session", "app-message-received", "disconnected"} <= names


async def test_bad_lines_are_refused_and_the_next_one_is_not(tmp_path: Path) -> None:
    async with both_on_air(tmp_path) as state, Control.on(state / "phone.sock") as control:
        for line, complaint in [
            ("nonsense", "no JSON"), ("[]", "JSON object"), ("{}", "“command” is missing"),
            ('{"command":"fly"}', "is no command; there are status, events, scan"),
            ('{"command":"scan","seconds":0}', "from 1 to 3600"),
            ('{"command":"scan","seconds":1e9}', "from 1 to 3600"),
            ('{"command":"launch","app":7}', "wrong type"),
            ('{"command":"push","entries":[{"key":1,"type":"uint8","number":-1}]}', "the entry 1 is none"),
            ('{"command":"push","entries":[{"key":-1,"type":"uint8","number":1}]}', "a number is negative"),
            ('{"command":"upload","path":"a","name":"a"}', "whole path"),
            ('{"command":"events","since":99999}', "no event has the number 99999 yet"),
            ("x" * 70_000, "at most 65536 bytes"),
        ]:
            control.send(line)
            with pytest.raises(Refused) as refusal:
                await control.answer()
            assert complaint in str(refusal.value), f"{line[:60]}: {refusal.value}"
        # Its controller may still be starting.
        assert (await control.status())["isReady"] in (True, False)
        # Lines that come together are answered in their order, each when it has ended.
        control.send('{"command":"scan","seconds":1}\n{"command":"status"}')
        assert "watches" in await control.answer() and "status" in await control.answer()


async def test_programs_do_not_hold_each_other_up(tmp_path: Path) -> None:
    """One waits, others ask; one that is gone is waited for no more; one too many is told so."""
    async with both_on_air(tmp_path) as state:
        await open_session(state)
        async with Control.on(state / "phone.sock") as waits, Control.on(state / "phone.sock") as asks:
            waits.send('{"command":"expect","entries":[{"key":9,"type":"uint8","number":9}],"seconds":60}')
            await asks.ask("ping")
            await asks.ask("launch", app=ECHO_APP)
            await asks.ask("push", entries=[{"key": 9, "type": "uint8", "number": 9}])
            assert (await waits.answer())["entries"][0]["key"] == 9
            # Half of the socket is closed, as nc -N does it: the answer still comes.
            with socket.socket(socket.AF_UNIX) as half:
                half.connect(str(state / "phone.sock"))
                half.sendall(b'{"command":"ping"}\n')
                half.shutdown(socket.SHUT_WR)
                half.settimeout(20)
                answer = await asyncio.to_thread(half.recv, 1000)
                assert json.loads(answer)["ok"]
            await asks.ask("disconnect")
            with socket.socket(socket.AF_UNIX) as gone:
                gone.connect(str(state / "phone.sock"))
                gone.sendall(b'{"command":"scan","seconds":3600}\n')
                while not (await asks.status())["isScanning"]:
                    await asyncio.sleep(0.05)
            while (await asks.status())["isScanning"]:
                await asyncio.sleep(0.05)
            async with contextlib.AsyncExitStack() as stack:
                for _ in range(14):
                    await (await stack.enter_async_context(Control.on(state / "phone.sock"))).status()
                async with Control.on(state / "phone.sock") as late:
                    with pytest.raises(Refused, match="busy"):
                        await late.answer()


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["run", "--controller", "virtual", "--control", "/nowhere/phone"], CANNOT_CREATE, "cannot take commands"),
        (["run", "--controller", "hci9:x", "--state", "s"], USAGE, "is no way to reach a controller"),
        (["run", "--state", "s"], USAGE, "--controller"),
        (["run", "--controller", "virtual"], USAGE, "nothing could tell this phone what to do"),
        (["run", "--controller", "virtual", "--state", "s", "--server", "--stream"], USAGE, "exclude each other"),
        (["run", "--controller", "virtual", "--state", "s", "--platform", "palm"], USAGE, "palm"),
        (["run", "--controller", "virtual", "--state", "s", "--address", "00:11:22:33:44:55"], USAGE, "static random"),
        (["ping", "--state", "s"], UNAVAILABLE, "no phone runs"),
        (["wait", "ready", "--for", "0.3", "--state", "s"], UNAVAILABLE, "no phone runs"),
        (["wait", "redy", "--state", "s"], USAGE, "did you mean ready?"),
        (["scan", "--for", "0", "--state", "s"], USAGE, "from 1 to 3600"),
        (["ping"], USAGE, "which phone?"),
        (["launch", "echo", "--state", "s"], USAGE, "is no UUID"),
        (["push", "--state", "s"], USAGE, "key=type:value"),
        (["push", "1=uint8:256", "--state", "s"], USAGE, "is no tuple"),
        (["expect", "x", "--state", "s"], USAGE, "is no tuple"),
        (["forget", "home", "--state", "s"], USAGE, "is no address"),
        (["confirm", "perhaps", "--state", "s"], USAGE, "perhaps"),
        (["notify", "--state", "s"], USAGE, "--title"),
        (["ask", "status", "--state", "s"], USAGE, "no JSON object"),
        (["dance"], USAGE, "is no command of cairn phone"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_wrong_words(tmp_path: Path, words: list[str], status: int, complaint: str) -> None:
    words = [str(tmp_path / "s") if word == "s" else word for word in words]
    environment = {name: "" for name in ("CAIRN_STATE", "CAIRN_CONTROL")}
    ended, output, errors = await command("phone", *words, environment=environment)
    assert (ended, output) == (status, "") and complaint in errors, errors


async def test_two_phones_do_not_share_a_directory(tmp_path: Path) -> None:
    async with both_on_air(tmp_path) as state:
        arguments = ("phone", "run", "--controller", "virtual", "--state", str(state))
        status, _, errors = await command(*arguments)
        assert status == CANNOT_CREATE and "a phone runs already with the state directory" in errors
        arguments = ("phone", "run", "--controller", "virtual", "--control", str(state / "phone.sock"))
        status, _, errors = await command(*arguments)
        assert status == UNAVAILABLE and "a phone runs already that takes commands at" in errors
