"""A watch at its socket: commands, events, and what is said when something is wrong."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Lateness
from fake_cairn import ECHO, FakeWatch, Refusal

from cairn_watch import (
    AsyncWatch,
    CairnError,
    NoWatch,
    Refused,
    TimedOut,
    UnknownCommand,
    VersionWarning,
    Watch,
    WatchGone,
    WatchHangs,
    WatchRestarted,
    WrongVersion,
    uint8,
)


#: A watch that is lost is told of within this time, in seconds.
SOON = 1.0


def later(seconds: float, act: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


def when_asked(fake: FakeWatch, act: Callable[[], object]) -> None:
    """Acts as soon as the watch has been asked something from now on."""
    count = len(fake.requests)

    def run() -> None:
        while len(fake.requests) == count:
            time.sleep(0.01)
        act()

    threading.Thread(target=run, daemon=True).start()


def test_commands_and_their_answers(watch: Watch, fake: FakeWatch) -> None:
    assert watch.name == "Pebble FAKE" and watch.address == "C0:00:00:00:FA:CE" and watch.version == "0.1.0"
    assert watch.air == "tcp:127.0.0.1:1" and watch.pid == os.getpid()
    assert watch.status()["isReady"]
    assert watch.press("select") == {"ok": True, "sequence": 0}
    watch.press("back", long=True)
    assert fake.requests[-2:] == [
        {"command": "press", "button": "select"},
        {"command": "press", "button": "back", "long": True},
    ]
    with pytest.raises(Refused, match="no button") as refused:
        watch.ask("press", button="left")
    assert refused.value.code == "bad-request" and not isinstance(refused.value, UnknownCommand)


def test_the_vocabulary_has_methods(watch: Watch, fake: FakeWatch) -> None:
    fake.answers["battery"] = lambda request: {}
    fake.answers["time-format"] = lambda request: {}
    watch.battery(4, charging=True)
    watch.time_format(True)
    assert fake.requests[-2:] == [
        {"command": "battery", "percent": 4, "charging": True},
        {"command": "time-format", "is24Hour": True},
    ]


def test_a_fault_has_its_arguments_as_they_are_typed(watch: Watch, fake: FakeWatch) -> None:
    fake.answers["fault-add"] = lambda _: {"number": 4}
    assert watch.fault("att.late", delay=2.5, for_="1.5min", count=3, phone=None) == 4
    request = fake.requests[-1]
    assert request["name"] == "att.late" and request["arguments"] == {"delay": "2.5", "for": "1.5min", "count": "3"}


def test_a_message_is_sent(watch: Watch, fake: FakeWatch) -> None:
    fake.answers["send"] = lambda request: {"app": ECHO, "delivery": "sent"}
    assert watch.send({0: uint8(1), 1: "hello", 2: b"\0\xff", 3: -7, 4: True})["delivery"] == "sent"
    assert fake.requests[-1]["entries"] == [
        {"key": 0, "type": "uint8", "number": 1},
        {"key": 1, "type": "string", "string": "hello"},
        {"key": 2, "type": "bytes", "bytes": "00ff"},
        {"key": 3, "type": "int32", "number": -7},
        {"key": 4, "type": "uint8", "number": 1},
    ]
    with pytest.raises(ValueError, match="entry 5: 2147483648 is no int32"):
        watch.send({5: 1 << 31})
    with pytest.raises(ValueError, match="the watch takes lines of 65536"):
        watch.send({5: "x" * 70_000})


def test_screens(watch: Watch, tmp_path: Path) -> None:
    picture = watch.screen()
    assert (picture.width, picture.height, picture.format) == (2, 2, "png")
    assert picture.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert picture.image().getpixel((0, 0)) == (0, 0, 255)
    with pytest.raises(ValueError, match="raw"):
        picture.pixel(0, 0)
    raw = watch.screen(format="raw")
    assert [raw.pixel(x, y) for y in (0, 1) for x in (0, 1)] == [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)]
    assert [raw.image().getpixel((x, y)) for y in (0, 1) for x in (0, 1)] == [
        (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)
    ]  # fmt: skip
    assert raw == watch.screen(format="raw") != picture
    with pytest.raises(IndexError, match="outside of a screen of 2 by 2"):
        raw.pixel(2, 0)


def test_a_screen_that_is_none(watch: Watch, fake: FakeWatch) -> None:
    fake.answers["screenshot"] = lambda _: {"screen": {"width": 2}}
    with pytest.raises(WrongVersion, match="screenshot"):
        watch.screen()


def test_apps_and_messages(watch: Watch, tmp_path: Path, fake: FakeWatch) -> None:
    assert watch.apps() == [{"uuid": ECHO, "name": "Echo"}]
    assert [each.entries for each in watch.inbox()] == [{1: "in"}]
    (sent,) = watch.outbox(app=ECHO, since=3)
    assert sent.entries == {1: 3} and sent.result == "ok" and sent.sequence == 9
    assert fake.requests[-1] == {"command": "outbox", "app": ECHO, "since": 3}
    package = tmp_path / "app.pbw"
    package.write_bytes(b"PK" + bytes(60_000))
    assert watch.install(package, launch=True) == {"uuid": ECHO, "name": "60002 bytes"}
    parts = [each for each in fake.requests if each["command"] == "install-part"]
    assert [len(each["data"]) // 2 for each in parts] == [24576, 24576, 10850]
    assert fake.requests[-1] == {"command": "install", "launch": True}
    package.write_bytes(b"no package")
    with pytest.raises(Refused, match="does not begin with PK"):
        watch.install(package)
    with pytest.raises(OSError):
        watch.install(tmp_path / "none.pbw")


def test_two_installations_do_not_mix(watch: Watch, tmp_path: Path) -> None:
    async def both() -> list[dict[str, str]]:
        async with await AsyncWatch.connect(watch.control) as other:
            packages = []
            for length in (100_000, 200_000):
                packages.append(tmp_path / f"{length}.pbw")
                packages[-1].write_bytes(b"PK" + bytes(length - 2))
            return list(await asyncio.gather(*(other.install(each) for each in packages)))

    assert [each["name"] for each in asyncio.run(both())] == ["100000 bytes", "200000 bytes"]


def test_a_recording(watch: Watch, fake: FakeWatch, tmp_path: Path) -> None:
    answer = watch.save_recording(tmp_path / "there.cairnrec")
    assert (answer["size"], answer["seconds"], answer["whole"]) == (4096, 12.5, True)
    assert fake.requests[-1] == {"command": "recorder-save", "path": str(tmp_path / "there.cairnrec")}


def test_a_capture(watch: Watch, fake: FakeWatch, tmp_path: Path) -> None:
    watch.start_capture(tmp_path / "there.btsnoop")
    watch.stop_capture()
    assert fake.requests[-2] == {"command": "capture-start", "path": str(tmp_path / "there.btsnoop")}
    fake.packets = [
        {"packet": {"at": 1.0, "direction": "sent", "data": "01030c00"}},
        {"lost": 3},
        {"packet": {"at": 1.5, "direction": "received", "data": "040e0401030c00"}},
        {"packet": {"at": 1.6, "direction": "received", "data": "0240000400"}},
    ]
    assert watch.record(tmp_path / "here.btsnoop", 0.3) == 3
    content = (tmp_path / "here.btsnoop").read_bytes()
    assert content[:16] == b"btsnoop\0" + struct.pack(">II", 1, 1002)
    records, offset = [], 16
    while offset < len(content):
        original, included, flags, drops, when = struct.unpack_from(">IIIIQ", content, offset)
        records.append((flags, content[offset + 24 : offset + 24 + included].hex(), when))
        assert original == included and drops == 0
        offset += 24 + included
    assert [each[:2] for each in records] == [(2, "01030c00"), (3, "040e0401030c00"), (1, "0240000400")]
    assert records[1][2] - records[0][2] == 500_000
    # Microseconds since the year 0.
    assert abs(records[0][2] / 1e6 - 62_168_256_000 - time.time()) < 60


# Events


def test_events(watch: Watch, fake: FakeWatch) -> None:
    for button in ("up", "down", "select"):
        fake.happen("button", button=button, isLong=False)
    assert [each["sequence"] for each in watch.history()] == [1, 2, 3]
    assert [each["sequence"] for each in watch.history(since=2)] == [3]
    assert watch.history(since=3) == []
    assert [each["sequence"] for each in itertools.islice(watch.events(since=1), 2)] == [2, 3]
    assert watch.wait_for("button")["sequence"] == 1
    assert watch.wait_for("button", button="select")["sequence"] == 3
    later(0.2, lambda: fake.happen("button", button="up", isLong=True))
    assert watch.wait_for("button", since=3, timeout=5)["isLong"]


def test_what_has_happened_is_found_without_time(watch: Watch, fake: FakeWatch) -> None:
    fake.happen("button", button="up", isLong=False)
    assert watch.wait_for("button", timeout=0)["button"] == "up"
    with pytest.raises(TimedOut, match="waited 0 s for “button” with {'button': 'down'}") as error:
        watch.wait_for("button", timeout=0, button="down")
    assert error.value.code == "timed-out" and isinstance(error.value, TimeoutError)


def test_states(watch: Watch, fake: FakeWatch) -> None:
    status = fake.status()
    assert watch.wait_for("ready", timeout=0)["name"] == "Pebble FAKE"
    with pytest.raises(TimedOut, match="until the watch is “session”; the last event was “button happened”"):
        later(0.1, lambda: fake.happen("button"))
        watch.wait_for("session", timeout=0.4)

    def open_session() -> None:
        fake.answers["status"] = lambda _: {"status": status | {"sessions": [{}], "phones": [{"isStored": True}]}}
        fake.happen("session-opened")

    later(0.2, open_session)
    assert watch.wait_for("session", timeout=5)["sessions"]
    assert watch.wait_for("paired", timeout=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sesion",), "“sesion” is nothing that can be waited for; there are ready, connected"),
        (("ready", 1, 3), "takes no since="),
        (("ready", 1, None, "up"), "has no fields: button"),
    ],
)
def test_what_cannot_be_waited_for(watch: Watch, arguments: tuple[object, ...], words: str) -> None:
    what, timeout, since, button = (*arguments, *(1, None, None)[len(arguments) - 1 :])
    fields = {"button": button} if button else {}
    with pytest.raises(ValueError, match=words):
        watch.wait_for(what, timeout, since=since, **fields)  # type: ignore[arg-type]


def test_each_message_is_expected_once(watch: Watch, fake: FakeWatch) -> None:
    one = {"key": 0, "type": "uint8", "number": 1}
    fake.receive(one, {"key": 1, "type": "string", "string": "first"})
    fake.receive(one, {"key": 1, "type": "string", "string": "second"})
    fake.receive({"key": 9, "type": "bytes", "bytes": "00ff"}, app="00000000-0000-0000-0000-000000000001")
    first = watch.expect_message({0: 1})
    assert first.entries == {0: 1, 1: "first"} and first.app == ECHO and first.sequence == 1
    assert watch.expect_message({0: 1, 1: None}).entries[1] == "second"
    assert watch.expect_message({9: b"\0\xff"}, app="00000000-0000-0000-0000-000000000001")
    with pytest.raises(TimedOut, match="no other came"):
        watch.expect_message({0: 1}, timeout=0.1)
    assert watch.expect_message({0: 1}, since=0).entries[1] == "first"
    fake.receive({"key": 0, "type": "uint8", "number": 2})
    with pytest.raises(TimedOut, match=r"what came was \{0: uint8\(2\)\}"):
        watch.expect_message({0: 1}, timeout=0.1)


def test_a_slow_reader_holds_up_only_itself(watch: Watch, fake: FakeWatch) -> None:
    events = watch.events(since=0)
    fake.happen("button", button="up", isLong=False)
    assert next(events)["sequence"] == 1
    # More than every buffer between them takes.
    for _ in range(2_000):
        fake.happen("app-logged", message="x" * 1000)
    assert watch.press("up")["ok"]
    assert next(events)["sequence"] == 2


# What is wrong


def test_no_watch(place: Path, tmp_path: Path) -> None:
    with pytest.raises(NoWatch, match="there is no socket .*control.sock: no watch runs there"):
        Watch.connect(place)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))
    with pytest.raises(NoWatch, match="the watch that made it has ended"):
        Watch.connect(place)
    with pytest.raises(NoWatch, match="at most 107 bytes"):
        Watch.connect(tmp_path / ("x" * 120))


def test_a_watch_that_is_starting_is_waited_for(place: Path) -> None:
    started: list[FakeWatch] = []
    later(0.3, lambda: started.append(FakeWatch(place)))
    with Watch.connect(place.parent / "control.sock", timeout=5) as watch:
        assert watch.status()["isReady"]
    started[0].end()


def test_an_unknown_command_names_both_versions(watch: Watch) -> None:
    with pytest.raises(UnknownCommand, match=r"the watch is version 0\.1\.0 and has no command “wobble”; this package is"):
        watch.ask("wobble")


def test_another_version_is_named(place: Path) -> None:
    fake = FakeWatch(place, version="7.2.0")
    with pytest.warns(VersionWarning, match=r"the watch is version 7\.2\.0, and this package is made for 0\."):
        Watch.connect(place).close()
    fake.end()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "sends “HTTP/1.1 400 Bad Request”, which is no JSON object"),
        (b"[1]\n", "which is no JSON object"),
        (b"\xff\xfe\n", "which is no JSON object"),
        (b'{"ok":"yes"}\n', "which is no answer"),
        (b'{"ok":false}\n', "which is no answer"),
        (b'{"ok":true}\n', "it is no watch that version"),
        (b'{"ok":true,"status":{"name":"x"}}\n', "it is no watch that version"),
        (b"x" * (9 << 20), "sends a line of more than"),
    ],
)
def test_what_is_no_watch(place: Path, line: bytes, words: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                try:
                    connection.sendall(line)
                    connection.recv(1000)
                except OSError:
                    pass

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(WrongVersion, match=words.replace("(", r"\(")):
            Watch.connect(place, alive_within=5)


def test_a_listener_that_never_answers(place: Path, lateness: Lateness) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()
        begin = time.monotonic()
        with pytest.raises(WatchHangs, match="does not answer"):
            Watch.connect(place)
        assert time.monotonic() - begin < SOON + lateness.seconds


@pytest.mark.parametrize("what", ["session", "button", "message", "answer", "events"])
def test_the_end_of_a_watch_is_told_at_once(watch: Watch, fake: FakeWatch, lateness: Lateness, what: str) -> None:
    ended: list[float] = []
    fake.answers["wait"] = lambda _: time.sleep(30) or {}

    def end() -> None:
        ended.append(time.monotonic())
        fake.end()

    later(0.3, end)
    with pytest.raises(WatchGone, match="ended while this program waited for") as error:
        wait(watch, what)
    assert time.monotonic() - ended[0] < SOON + lateness.seconds
    assert error.value.code == "ended" and isinstance(error.value, ConnectionError)
    with pytest.raises(WatchGone):
        watch.status()


def wait(watch: Watch, what: str) -> None:
    if what == "message":
        watch.expect_message({1: 1}, timeout=20)
    elif what == "answer":
        watch.ask("wait", seconds=20)
    elif what == "events":
        next(watch.events())
    else:
        watch.wait_for(what, timeout=20)


@pytest.mark.parametrize("what", ["session", "button", "message", "events", "answer"])
def test_a_watch_that_hangs_is_told_within_a_second(program: Path, lateness: Lateness, what: str) -> None:
    with Watch.start(program=program) as watch:
        stopped: list[float] = []

        def stop() -> None:
            stopped.append(time.monotonic())
            os.kill(watch.pid, signal.SIGSTOP)
            # Its threads stop one after the other, and one that still runs answers.
            os.waitid(os.P_PID, watch.pid, os.WSTOPPED)

        if what == "answer":
            stop()
        else:
            later(0.3, stop)
        with pytest.raises(WatchHangs, match=r"has not answered for 0\.7 s .*it is stopped \(SIGSTOP\)"):
            wait(watch, what)
        assert time.monotonic() - stopped[0] < SOON + lateness.seconds
        os.kill(watch.pid, signal.SIGCONT)
        assert watch.status()["isReady"]


def test_a_process_of_another_machine_is_not_looked_for_here(place: Path) -> None:
    # A number that no process has.
    fake = FakeWatch(place, pid=1 << 30)
    try:
        with Watch.connect(place) as watch:
            fake.answers["status"] = lambda _: time.sleep(30) or {}
            with pytest.raises(WatchHangs) as error:
                watch.status()
        assert error.value.message.endswith("waited for the answer to “status”")
    finally:
        fake.end()


def test_a_long_command_of_a_watch_that_lives_is_waited_for(watch: Watch, fake: FakeWatch) -> None:
    fake.answers["wait"] = lambda _: time.sleep(1.6) or {"event": {}}
    assert watch.ask("wait", seconds=5)["ok"]


def test_another_process_in_its_place_is_told(program: Path, place: Path) -> None:
    command = [str(program), "run", "--control", str(place)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with Watch.connect(place, timeout=10) as watch:
            first.kill()
            first.wait()
            second = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                Watch.connect(place, timeout=10).close()
                words = rf"\(process {first.pid}\) ended .*process {second.pid} has taken its place .*: connect again"
                for attempt in (watch.status, lambda: watch.wait_for("button"), lambda: next(watch.events())):
                    with pytest.raises(WatchRestarted, match=words):
                        attempt()
            finally:
                second.terminate()
                second.wait()
    finally:
        first.kill()
        first.wait()


def test_a_restart_while_something_is_waited_for_is_told(watch: Watch, fake: FakeWatch) -> None:
    fake.happen("restarting", cause="reboot")
    for what in ("session", "button"):
        when_asked(fake, lambda: fake.happen("restarting", cause="firmware-update"))
        with pytest.raises(WatchRestarted, match=r"restarted \(firmware-update\) while this program"):
            watch.wait_for(what, timeout=5)
    assert watch.wait_for("restarting", timeout=5)["cause"] == "reboot"


def test_a_restart_that_is_asked_for_is_waited_for(watch: Watch, fake: FakeWatch) -> None:
    def restart(request: dict[str, str]) -> dict[str, str]:
        later(0.1, lambda: fake.happen("restarting", cause=request["how"]))
        later(0.2, lambda: fake.happen("started"))
        return {}

    fake.answers["restart"] = restart
    assert watch.restart("core-dump", timeout=5)["event"] == "started"


def test_a_watch_that_is_busy_lives(watch: Watch, fake: FakeWatch) -> None:
    """It refuses the connection by which it is asked whether it lives."""

    def busy(_: dict[str, str]) -> dict[str, str]:
        raise Refusal("busy", "16 programs are connected already; end one of them")

    fake.answers["wait"] = lambda _: time.sleep(1.2) or {}
    fake.answers["status"] = busy
    assert watch.ask("wait")["ok"]


def test_a_question_that_was_given_up(fake: FakeWatch) -> None:
    """Its answer is not taken for another's."""

    async def story() -> None:
        async with await AsyncWatch.connect(fake.path) as watch:
            fake.answers["wait"] = lambda _: time.sleep(0.5) or {"late": True}
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await watch.ask("wait")
            assert "late" not in await watch.ask("press", button="up")
            answers = await asyncio.gather(*(watch.ask("press", button="up") for _ in range(20)))
            assert [each["sequence"] for each in answers] == list(range(1, 21))

    asyncio.run(story())


def test_a_closed_watch_says_so(watch: Watch) -> None:
    watch.close()
    with pytest.raises(WatchGone, match="this Watch was closed"):
        watch.status()
    with pytest.raises(WatchGone, match="this Watch was closed"):
        watch.history()
    watch.close()


def test_a_watch_that_was_not_started_here_is_not_killed(watch: Watch) -> None:
    with pytest.raises(CairnError, match="was not started here") as error:
        watch.kill()
    assert error.value.code == "not-started"


def test_ctrl_c_reaches_a_wait(fake: FakeWatch) -> None:
    script = (
        "import sys, cairn_watch\n"
        f"watch = cairn_watch.Watch.connect({str(fake.path)!r})\n"
        "print('waits', flush=True)\n"
        "try: watch.wait_for('button', timeout=30)\n"
        "except KeyboardInterrupt: print(watch.status()['name'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "Pebble FAKE\n"
        assert process.wait(10) == 0


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(Refused("busy", "later")))
    assert isinstance(error, Refused) and (error.code, error.message) == ("busy", "later")
    assert json.dumps(error.args) == '["busy: later"]'
