"""Watches, and the virtual radio that they share, for programs with asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeVar, cast

from .appmessage import Dictionary, Message, Value, from_control, matches, to_control
from .btsnoop import CaptureFile
from .connection import PATH_LIMIT, Connection, Ended
from .errors import (
    CairnError,
    NoWatch,
    Refused,
    StartFailed,
    TimedOut,
    UnknownCommand,
    VersionWarning,
    WatchGone,
    WatchHangs,
    WatchRestarted,
    WrongVersion,
)
from .program import Program, condition, find, options
from .screen import Screen
from .version import VERSION
from .vocabulary import (
    EVENT_NAMES,
    AsyncCommands,
    Event,
    LaunchAnswer,
    OpenPairingAnswer,
    PressAnswer,
    RecorderSaveAnswer,
    SendAnswer,
    StartedEvent,
    Status,
)

T = TypeVar("T")

#: How long a watch may take from its start until it is ready, in seconds.
START_SECONDS = 30.0
#: How long a watch may take to say that it lives, in seconds. With the pause before the question, less than a second.
ALIVE_WITHIN = 0.7
#: How long a wait lasts before the watch is asked whether it lives, and between two such questions, in seconds.
_PULSE = 0.2
#: How often a watch is looked for that is only starting, in seconds.
_LOOK = 0.02
#: What the watch is now, as against what happens on it.
STATES = ("ready", "connected", "session", "paired")
#: How many bytes one `install-part` brings, and how many a package can have.
PART_LENGTH = 24 << 10
PACKAGE_LIMIT = 16 << 20
#: How many messages `expect_message` remembers as taken: more than the watch keeps events.
_TAKEN_LIMIT = 1024


class AsyncAir:
    """A virtual radio, on which watches and phones hear each other: `cairn air`, on a Unix socket of its own."""

    def __init__(self, process: Program, directory: Path, socket: Path) -> None:
        self._process = process
        self._directory = directory
        self._socket = socket

    @classmethod
    async def start(
        cls,
        *,
        program: str | Path | None = None,
        log: str | Path | None = None,
        timeout: float = START_SECONDS,
        **settings: Any,
    ) -> AsyncAir:
        """Starts a radio. `settings`: the options of `cairn air`, such as `seed=7` and `loss=5`.

        `program`: the program `cairn`; else CAIRN_BINARY, else the one on the PATH. `log`: the file that it logs to.
        Raises StartFailed.
        """
        directory = Path(tempfile.mkdtemp(prefix="cairn-air-"))
        socket = directory / "air.sock"
        try:
            command = [str(find(program)), "air", "--socket", str(socket), *options(settings)]
            process = Program(command, Path(log) if log else directory / "air.log")
            end = time.monotonic() + timeout
            while not _listens(socket):
                if process.status is not None:
                    raise StartFailed(
                        "start-failed", f"cairn air ended with status {process.status}:\n{process.last_lines}"
                    )
                if time.monotonic() > end:
                    await process.kill()
                    raise StartFailed(
                        "start-failed", f"cairn air made no radio within {timeout:g} s:\n{process.last_lines}"
                    )
                await asyncio.sleep(_LOOK)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return cls(process, directory, socket)

    @property
    def air(self) -> str:
        """Where hosts get a controller on this radio: what `controller=` of a watch and `air` of a phone take."""
        return f"unix:{self._socket}"

    @property
    def pid(self) -> int:
        """The radio's process identifier."""
        return self._process.pid

    @property
    def log(self) -> str:
        """What the radio has logged so far."""
        return self._process.log

    async def close(self) -> None:
        """Ends the radio; every controller on it is gone. Raises WatchHangs if it has to be killed for that."""
        try:
            await self._process.stop()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    async def __aenter__(self) -> AsyncAir:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class AsyncWatch(AsyncCommands):
    """A running watch. `start` starts one, `connect` takes one that runs already.

    A watch that ends, hangs or restarts while something waits for it raises WatchGone, WatchHangs or WatchRestarted within
    a second. A command that the watch does not carry out raises Refused, with the watch's own code and words.
    """

    def __init__(
        self,
        connection: Connection,
        status: Status,
        *,
        alive_within: float,
        process: Program | None = None,
        directory: Path | None = None,
    ) -> None:
        self._connection = connection
        self._first = status
        self._alive_within = alive_within
        self._process = process
        self._directory = directory
        self._is_closed = False
        #: The numbers of the messages that `expect_message` has returned, oldest first.
        self._taken: dict[int, None] = {}

    @classmethod
    async def start(
        cls,
        controller: str = "virtual",
        state: str | Path | None = None,
        program: str | Path | None = None,
        *,
        control: str | Path | None = None,
        log: str | Path | None = None,
        timeout: float = START_SECONDS,
        alive_within: float = ALIVE_WITHIN,
        **settings: Any,
    ) -> AsyncWatch:
        """Starts a watch, and returns when its controller is ready. `close` ends it.

        `controller`: where its Bluetooth controller is, as `cairn run --controller` has it; a virtual one can be reached by
        phones at `air`. `state`: its state directory; else one that is removed at the end. `program`: the program `cairn`;
        else CAIRN_BINARY, else the one on the PATH. `control`: its control socket; else in the state directory, if the path
        is short enough for one. `log`: the file that it logs to. `timeout`: how long it may take, in seconds.
        `alive_within`: how long it may take to say that it lives, in seconds. `settings`: the options of `cairn run`, with
        underscores: `pairing="open"`, `log_level="debug"`, `battery=False`, `app=["one.pbw", "two.pbw"]`,
        `behaviour={uuid: "echo"}`.

        Raises StartFailed, which has the last lines that the program printed.
        """
        directory = Path(tempfile.mkdtemp(prefix="cairn-"))
        process: Program | None = None
        try:
            home = Path(state).absolute() if state is not None else directory / "state"
            socket = Path(control).absolute() if control is not None else home / "control.sock"
            if control is None and len(str(socket).encode()) > PATH_LIMIT:
                socket = directory / "control.sock"
            if controller == "virtual" and not {"air_port", "air_socket"} & settings.keys():
                settings["air_port"] = 0
            command = [str(find(program)), "run", "--controller", str(controller), "--state", str(home)]
            command += ["--control", str(socket), *options(settings)]
            process = Program(command, Path(log) if log else directory / "cairn.log")
            connection, status = await _until_ready(process, socket, timeout)
        except BaseException:
            if process is not None:
                await process.kill()
            shutil.rmtree(directory, ignore_errors=True)
            raise
        _check_version(status)
        return cls(connection, status, alive_within=alive_within, process=process, directory=directory)

    @classmethod
    async def connect(
        cls, path: str | Path, *, timeout: float = 0, alive_within: float = ALIVE_WITHIN
    ) -> AsyncWatch:
        """A watch that runs already. `close` only lets go of it.

        `path`: its control socket, or its state directory. `timeout`: how long a watch that is only starting is waited for,
        in seconds. Raises NoWatch if there is none, WrongVersion if something else is there, WatchHangs if it does not
        answer.
        """
        path = Path(path).absolute()
        socket = path / "control.sock" if path.is_dir() else path
        end = time.monotonic() + timeout
        while True:
            try:
                connection = await Connection.open(socket)
                break
            except NoWatch:
                if time.monotonic() >= end:
                    raise
            await asyncio.sleep(_LOOK)
        try:
            async with asyncio.timeout(max(alive_within, end - time.monotonic())):
                status = await _status(connection)
        except TimeoutError:
            connection.close()
            words = condition(connection.peer) if connection.peer else ""
            raise WatchHangs("hangs", f"what listens at {socket} does not answer{words}") from None
        except Ended as error:
            connection.close()
            raise NoWatch("no-watch", error.message) from None
        except BaseException:
            connection.close()
            raise
        _check_version(status)
        return cls(connection, status, alive_within=alive_within)

    # What it is

    @property
    def control(self) -> Path:
        """Its control socket."""
        return self._connection.path

    @property
    def pid(self) -> int:
        """Its process identifier, 0 if neither it nor the system says."""
        return self._first.get("pid") or self._connection.peer or 0

    @property
    def version(self) -> str:
        """Cairn's version, empty if it does not say."""
        return self._first.get("version", "")

    @property
    def name(self) -> str:
        """The name under which phones find it, as it was when this program connected."""
        return self._first["name"]

    @property
    def address(self) -> str:
        """Its device address, as it was when this program connected."""
        return self._first["address"]

    @property
    def air(self) -> str:
        """Where phones get a controller on its radio, as `tcp:127.0.0.1:PORT` or `unix:PATH`.

        Raises CairnError (`no-air`) if its radio is none that other hosts can share.
        """
        port = self._first.get("ports", {}).get("air")
        if port:
            return f"tcp:127.0.0.1:{port}"
        controller = self._first.get("controller", "")
        if controller.startswith(("tcp:", "unix:")):
            return controller
        raise CairnError(
            "no-air", f"the radio of a watch on the controller “{controller}” has no port for phones; start it with air_port=0"
        )

    @property
    def log(self) -> str:
        """What it has logged so far; empty if this program did not start it.

        The file is gone after `close` unless `log` was named at the start.
        """
        return self._process.log if self._process else ""

    @property
    def exit_status(self) -> int | None:
        """How it ended; negative: the signal that ended it. None while it runs, or if this program did not start it."""
        return self._process.status if self._process else None

    @property
    def has_died(self) -> bool:
        """Whether it has ended by itself, or was ended by something else, although this program started it."""
        return self._process is not None and self._process.has_died

    # Commands

    async def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """Sends any command, and returns the watch's answer. Fields are those of Docs/control-reference.md; None is left out.

        Raises Refused if the watch says no, UnknownCommand if it is of a version that has no such command.
        """
        return await self._alive(self._ask(self._connection, command, fields), f"the answer to “{command}”")

    async def status(self) -> Status:
        """How it is doing: links, phones, pairing and what it waits for, app, battery."""
        return cast(Status, (await self.ask("status"))["status"])

    async def press(self, button: Literal["back", "up", "select", "down"], long: bool = False) -> PressAnswer:
        """Presses a button. `long`: it is held, for 2 seconds, back for 5."""
        return cast(PressAnswer, await self.ask("press", button=button, long=long or None))

    async def send(self, entries: Dictionary) -> SendAnswer:
        """Has the running watchapp send an AppMessage.

        `entries`: keys and values. A plain int is sent as an int32; `cairn_watch.uint8(1)` and its like are other widths.
        Raises ValueError or TypeError for what does not fit into an AppMessage, Refused (`not-sent`) if the app cannot send.
        """
        return cast(SendAnswer, await self.ask("send", entries=to_control(entries)))

    async def fault(self, name: str, **arguments: object) -> int:
        """Makes the watch fail on purpose, and returns the number that `fault_clear` takes.

        `name`: such as `att.never`. `arguments`: what the fault takes, and what every fault takes; `for_` stands for `for`, and
        `_` for `-`. Numbers of seconds are times. Raises Refused (`bad-request`, `fault-not-taken`, `faults-not-allowed`).
        """
        words = {key.rstrip("_").replace("_", "-"): str(value) for key, value in arguments.items() if value is not None}
        answer = await self.ask("fault-add", name=name, arguments=words)
        return cast(int, answer["number"])

    async def launch(self, app: str) -> LaunchAnswer:
        """Starts an installed watchapp. `app`: its UUID. Raises Refused (`unknown-app`, `runs-already`)."""
        return cast(LaunchAnswer, await self.ask("launch", app=str(app)))

    async def pairing(self, seconds: float = 300) -> OpenPairingAnswer:
        """Lets a new phone pair. `seconds`: for how long, from 1 to 3600. `close_pairing` ends it early."""
        return cast(OpenPairingAnswer, await self.ask("open-pairing", seconds=seconds))

    async def restart(
        self,
        how: Literal["core-dump", "factory-reset", "reboot", "recovery"] = "reboot",
        timeout: float = START_SECONDS,
    ) -> StartedEvent:
        """Restarts the watch, and returns the event `started` when its controller is ready again. The process stays.

        `how`: the cause. Raises TimedOut.
        """
        answer = await self.ask("restart", how=how)
        restarting = await self._find(
            lambda event: event["event"] == "restarting", "the restart", timeout, answer["sequence"], may_restart=True
        )
        started = await self._find(
            lambda event: event["event"] == "started", "the controller after the restart", timeout, restarting["sequence"]
        )
        return cast(StartedEvent, started)

    async def screen(self, format: Literal["png", "raw"] = "png") -> Screen:
        """What the screen shows now. No session notices.

        `format`: `png`, or `raw`, of which `Screen.pixel` can read pixels.
        """
        return Screen.of(await self.ask("screenshot", format=format))

    async def apps(self) -> list[dict[str, Any]]:
        """The installed watchapps, each with `uuid`, `name` and what else the watch knows of it."""
        return cast(list[dict[str, Any]], (await self.ask("apps"))["apps"])

    async def install(self, path: str | Path, launch: bool = False) -> dict[str, Any]:
        """Installs a watchapp, as a phone would. Returns the app as `apps` has it.

        `path`: a package (.pbw) of at most 16 MiB. `launch`: whether it is started. Raises OSError if it cannot be read,
        ValueError if it is too long, Refused with the watch's reason if it is not what it should be.
        """
        package = await asyncio.to_thread(Path(path).read_bytes)
        if len(package) > PACKAGE_LIMIT:
            raise ValueError(f"{path} has {len(package)} bytes, and a package has at most {PACKAGE_LIMIT}")
        # What is brought belongs to the connection: one of its own keeps two installations apart.
        connection = await self._open("the installation")
        try:
            for start in range(0, len(package), PART_LENGTH):
                data = package[start : start + PART_LENGTH].hex()
                await self._alive(self._ask(connection, "install-part", {"data": data}), f"a part of {path}")
            answer = await self._alive(self._ask(connection, "install", {"launch": launch}), f"the installation of {path}")
        finally:
            connection.close()
        return cast(dict[str, Any], answer["app"])

    async def remove(self, app: str) -> dict[str, Any]:
        """Removes an installed watchapp, and returns the watch's answer. `app`: its UUID."""
        return await self.ask("remove", app=str(app))

    async def start_capture(self, path: str | Path) -> dict[str, Any]:
        """Has the watch write its HCI packets into a btsnoop file from now on, and returns its answer.

        `path`: of the machine where the watch runs; it is made absolute here.
        """
        return await self.ask("capture-start", path=str(Path(path).absolute()))

    async def stop_capture(self) -> dict[str, Any]:
        """Ends what `start_capture` began, and returns the watch's answer."""
        return await self.ask("capture-stop")

    async def save_recording(self, path: str | Path) -> RecorderSaveAnswer:
        """Has the watch's process save what its flight recorder has, in a file that `cairn replay` runs again.

        Keys are among it, so only the user who started the watch, and root, may. `whole` in the answer says whether the
        recording goes back to the watch's start.
        """
        return cast(RecorderSaveAnswer, await self.ask("recorder-save", path=str(Path(path).absolute())))

    async def packets(self) -> AsyncGenerator[dict[str, Any], None]:
        """The watch's HCI packets from now on, each with `at`, `direction` (`sent`, `received`) and `data` (H4, hexadecimal).

        In place of those that this program did not take in time comes a `lost` with their `count`.
        """
        async with contextlib.aclosing(self._stream("packets", "packets")) as lines:
            async for line in lines:
                if isinstance(packet := line.get("packet"), dict):
                    yield packet
                elif "lost" in line:
                    yield line

    async def record(self, path: str | Path, seconds: float) -> int:
        """Writes the watch's HCI packets of this time into a btsnoop file on this machine. Returns how many there were.

        Raises OSError if the file cannot be written.
        """
        with CaptureFile(path) as capture:
            async with contextlib.aclosing(self.packets()) as packets:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        async for packet in packets:
                            if "data" in packet:
                                capture.add(packet["at"], packet["direction"], bytes.fromhex(packet["data"]))
        return capture.packets

    # What happens

    async def events(self, since: int | None = None) -> AsyncGenerator[Event, None]:
        """What happens from now on, for as long as it is asked for.

        `since`: what has happened after the event of this number comes first; 0 for all that the watch has kept. In place
        of what it has not kept comes a `lost` with their `count`.
        """
        async with contextlib.aclosing(self._events(since)) as events:
            async for event in events:
                yield cast(Event, event)

    async def history(self, since: int = 0) -> list[Event]:
        """What has happened after the event of this number, and was kept."""
        last = await self._last()
        found: list[Event] = []
        if last <= since:
            return found
        async with contextlib.aclosing(self._events(since)) as events:
            async for event in events:
                found.append(cast(Event, event))
                if event.get("sequence", 0) >= last:
                    break
        return found

    async def wait_for(
        self, what: str, timeout: float = 30, *, since: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Returns when the watch is so, or when that has happened.

        `what`: `ready`, `connected`, `paired` or `session`, which the watch is now (the status is returned), or the name of
        an event (which is returned). An event counts that has happened since the watch was started; with `since`, only one
        with a higher number. `fields`: what fields of the event must be, such as `button="up"`. `timeout`: in seconds.

        Raises TimedOut; ValueError for a name that no event has; WatchRestarted if the watch restarts meanwhile.
        """
        if what in STATES and since is None:
            if fields:
                raise ValueError(f"“{what}” is what the watch is, and has no fields: {', '.join(fields)}")
            return await self._until(what, timeout)
        if what not in EVENT_NAMES:
            hint = "holds now or does not, and takes no since=" if what in STATES else "is nothing that can be waited for"
            raise ValueError(f"“{what}” {hint}; there are {', '.join(STATES)}, and the events {', '.join(EVENT_NAMES)}")

        def accept(event: Mapping[str, Any]) -> bool:
            return event["event"] == what and all(event.get(key) == value for key, value in fields.items())

        wanted = f"“{what}”" + (f" with {fields}" if fields else "")
        return await self._find(accept, wanted, timeout, since or 0, may_restart=what == "restarting")

    async def expect_message(
        self, entries: Mapping[int, Value | None], app: str | None = None, timeout: float = 10, *, since: int | None = None
    ) -> Message:
        """The first AppMessage from a companion that the running app has got and that no earlier call has returned.

        `entries`: keys that it must have, with these values, or with any for None; it may have others. `app`: the UUID of the
        app that it is for. `since`: only one after the event of this number, whether or not a call has returned it.
        Raises TimedOut, which says what came instead.
        """
        others: list[str] = []

        def accept(event: Mapping[str, Any]) -> bool:
            if event["event"] != "app-message-received" or (since is None and event["sequence"] in self._taken):
                return False
            if app is not None and event["app"] != str(app).lower():
                return False
            found = from_control(event["entries"])
            if matches(entries, found):
                return True
            # A few are enough for a person to see what went wrong.
            del others[:-4]
            others.append(str(found))
            return False

        try:
            event = await self._find(accept, f"a message with {dict(entries)}", timeout, since or 0)
        except TimedOut as error:
            came = f"; what came was {', '.join(others)}" if others else "; no other came"
            raise TimedOut(error.code, error.message + came) from None
        self._taken[event["sequence"]] = None
        while len(self._taken) > _TAKEN_LIMIT:
            del self._taken[next(iter(self._taken))]
        return Message(event["app"], from_control(event["entries"]), event["sequence"], event["at"])

    async def inbox(self, app: str | None = None, since: int | None = None) -> list[Message]:
        """The AppMessages that came from companions, oldest first, as far as the watch has kept them.

        `app`: only those for the app with this UUID. `since`: only those after the event of this number.
        """
        return await self._messages("inbox", app, since)

    async def outbox(self, app: str | None = None, since: int | None = None) -> list[Message]:
        """The AppMessages that apps have sent, oldest first, with their results. See `inbox`."""
        return await self._messages("outbox", app, since)

    # Its end

    async def kill(self) -> None:
        """Ends it at once (SIGKILL), as a power cut would. Raises CairnError (`not-started`) unless this program started it."""
        if self._process is None:
            raise CairnError("not-started", f"process {self.pid} was not started here: the one who did can end it")
        await self._process.kill()

    async def close(self) -> None:
        """Ends it, if this program started it, and lets go of it. It may have ended already.

        Raises WatchHangs if it has to be killed for that.
        """
        self._is_closed = True
        self._connection.close()
        try:
            if self._process is not None:
                await self._process.stop()
        finally:
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Inside

    async def _ask(self, connection: Connection, command: str, fields: dict[str, Any]) -> dict[str, Any]:
        try:
            return await connection.ask(command, fields)
        except UnknownCommand as error:
            raise UnknownCommand(
                error.code,
                f"the watch is version {self.version or 'unknown'} and has no command “{command}”; this package is version "
                f"{VERSION}: {error.message}",
            ) from None

    async def _messages(self, command: str, app: str | None, since: int | None) -> list[Message]:
        answer = await self.ask(command, app=app and str(app), since=since)
        return [
            Message(each["app"], from_control(each["entries"]), each["sequence"], each["at"], each.get("result"))
            for each in answer["messages"]
        ]

    async def _last(self) -> int:
        """The number of the last event."""
        return (await self.status()).get("events", {"last": 0})["last"]

    async def _until(self, state: str, timeout: float) -> dict[str, Any]:
        """Waits until the watch is in a state. Every change of a state is an event: it is looked at after each."""
        last_words = "nothing has happened meanwhile"
        try:
            async with asyncio.timeout(None) as limit:
                end = asyncio.get_running_loop().time() + timeout
                # The first look is taken in any time. Events are asked for from it on: nothing is missed in between.
                status = await self.status()
                if _holds(state, status):
                    return dict(status)
                limit.reschedule(end)
                async with contextlib.aclosing(self._events(status.get("events", {"last": 0})["last"], f"“{state}”")) as events:
                    async for event in events:
                        last_words = f"the last event was “{event['text']}”"
                        self._check_restart(event, f"waited until it is “{state}”")
                        status = await self.status()
                        if _holds(state, status):
                            return dict(status)
        except TimeoutError:
            raise TimedOut("timed-out", f"waited {timeout:g} s until the watch is “{state}”; {last_words}") from None
        raise AssertionError("events end only with an error")

    async def _find(
        self,
        accept: Callable[[Mapping[str, Any]], bool],
        what: str,
        timeout: float,
        since: int,
        *,
        may_restart: bool = False,
    ) -> dict[str, Any]:
        """The first event after a number that is accepted. What has happened already is looked through in any time."""
        last_words = "nothing has happened meanwhile"
        try:
            async with asyncio.timeout(None) as limit:
                end = asyncio.get_running_loop().time() + timeout
                last = await self._last()
                if since >= last:
                    limit.reschedule(end)
                async with contextlib.aclosing(self._events(since, what)) as events:
                    async for event in events:
                        if accept(event):
                            return event
                        number = event.get("sequence", 0)
                        if number > last:
                            last_words = f"the last event was “{event['text']}”"
                            if not may_restart:
                                self._check_restart(event, f"waited for {what}")
                        elif number == last:
                            limit.reschedule(end)
        except TimeoutError:
            raise TimedOut("timed-out", f"waited {timeout:g} s for {what}; {last_words}") from None
        raise AssertionError("events end only with an error")

    def _check_restart(self, event: Mapping[str, Any], what: str) -> None:
        if event["event"] == "restarting":
            raise WatchRestarted(
                "restarted", f"the watch (process {self.pid}) restarted ({event['cause']}) while this program {what}"
            )

    async def _events(self, since: int | None, what: str = "events") -> AsyncGenerator[dict[str, Any], None]:
        """The events, which are asked for because something is waited for."""
        async with contextlib.aclosing(self._stream("events", what, since=since)) as lines:
            async for line in lines:
                if "event" in line:
                    yield line

    async def _stream(self, command: str, what: str, **fields: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The lines that follow a command, on a connection of their own: a slow reader holds up only itself."""
        connection = await self._open(what)
        try:
            await self._alive(self._ask(connection, command, fields), what)
            while True:
                yield await self._alive(connection.line(), what)
        finally:
            connection.close()

    async def _open(self, what: str) -> Connection:
        """Another connection to the same process."""
        try:
            if self._is_closed:
                raise Ended("this Watch was closed")
            connection = await Connection.open(self._connection.path)
        except (NoWatch, Ended) as error:
            await self._raise_gone(what, error)
        if connection.peer != self._connection.peer:
            connection.close()
            await self._raise_gone(what, Ended("another process listens there"))
        return connection

    async def _alive(self, work: Coroutine[Any, Any, T], what: str) -> T:
        """Waits for the work while the watch lives."""
        task = asyncio.ensure_future(work)
        pulse = asyncio.ensure_future(self._pulse(what))
        try:
            await asyncio.wait((task, pulse), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            await pulse
        except Ended as error:
            await self._raise_gone(what, error)
        finally:
            task.cancel()
            pulse.cancel()
            await asyncio.gather(task, pulse, return_exceptions=True)
        raise AssertionError("the pulse ends only with an error")

    async def _pulse(self, what: str) -> NoReturn:
        """Asks the watch whether it lives, on a connection of its own, until it does not answer in time."""
        connection: Connection | None = None
        clock = asyncio.get_running_loop().time
        try:
            while True:
                await asyncio.sleep(_PULSE)
                asked = clock()
                try:
                    async with asyncio.timeout(self._alive_within):
                        if connection is None:
                            connection = await self._open(what)
                        await connection.ask("status", {})
                except Refused:
                    # A watch that has no room for one more program lives.
                    if connection is not None:
                        connection.close()
                        connection = None
                except TimeoutError:
                    # On a machine that gave this process no time either, nothing follows from the silence.
                    if clock() - asked < self._alive_within + _PULSE:
                        raise WatchHangs(
                            "hangs",
                            f"the watch (process {self.pid}) has not answered for {self._alive_within:g} s while this program "
                            f"waited for {what}{self._condition()}",
                        ) from None
        finally:
            if connection is not None:
                connection.close()

    def _condition(self) -> str:
        """What the system says of the process, if it is one of this machine's: the socket may be forwarded from another's."""
        return condition(self.pid) if self.pid and self.pid == self._connection.peer else ""

    async def _raise_gone(self, what: str, error: CairnError) -> NoReturn:
        """Says what became of the process."""
        if self._is_closed:
            raise WatchGone("ended", f"this Watch was closed, and is asked for {what}") from None
        while_waiting = f"while this program waited for {what}"
        if self._process is not None and await self._process.ended(0.3):
            status = self._process.status or 0
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            raise WatchGone(
                "ended", f"the watch (process {self.pid}) {how} {while_waiting}; it said:\n{self._process.last_lines}"
            ) from None
        with contextlib.suppress(NoWatch):
            other = await Connection.open(self._connection.path)
            peer = other.peer
            other.close()
            if peer != self._connection.peer:
                raise WatchRestarted(
                    "restarted",
                    f"the watch (process {self.pid}) ended {while_waiting}, and process {peer} has taken its place at "
                    f"{self._connection.path}: connect again",
                ) from None
        raise WatchGone("ended", f"the watch (process {self.pid}) ended {while_waiting}: {error.message}") from None


def _holds(state: str, status: Status) -> bool:
    """Whether the watch is in a state, as `cairn wait` has it."""
    if state == "ready":
        return status["isReady"]
    if state == "connected":
        return bool(status["links"])
    if state == "session":
        return bool(status["sessions"])
    return any(phone["isStored"] for phone in status["phones"])


def _listens(socket: Path) -> bool:
    """Whether a Unix socket takes connections. The kernel says so, and nothing connects for it."""
    try:
        lines = Path("/proc/net/unix").read_text().splitlines()
    except OSError:
        return socket.exists()
    # Num, RefCount, Protocol, Flags, Type, State, Inode, Path: __SO_ACCEPTCON is bit 16 of the flags.
    return any(
        len(fields) == 8 and fields[7] == str(socket) and int(fields[3], 16) & 0x10000
        for fields in (line.split(maxsplit=7) for line in lines[1:])
    )


async def _status(connection: Connection) -> Status:
    """The status, if a watch answers. Raises WrongVersion if something else does."""
    answer = await connection.ask("status", {})
    status = answer.get("status")
    if not isinstance(status, dict) or not {"name", "address", "isReady"} <= status.keys():
        raise WrongVersion(
            "wrong-version",
            f"what listens at {connection.path} answers “status” without name, address and isReady: it is no watch that "
            f"version {VERSION} of this package knows",
        )
    return cast(Status, status)


async def _until_ready(process: Program, socket: Path, timeout: float) -> tuple[Connection, Status]:
    """Waits until the process that was started takes commands and its controller is ready."""
    connection: Connection | None = None
    reason = "it does not take commands"
    try:
        async with asyncio.timeout(timeout):
            while True:
                if process.status is not None:
                    raise StartFailed("start-failed", f"cairn run ended with status {process.status}:\n{process.last_lines}")
                try:
                    connection = connection or await Connection.open(socket)
                    status = await _status(connection)
                    if status.get("pid") not in (None, process.pid):
                        # A watch that was there before. The one that was started will say so and end.
                        connection.close()
                        connection = None
                        reason = f"another watch, process {status.get('pid')}, takes the commands there"
                    elif status["isReady"]:
                        return connection, status
                    else:
                        reason = "its controller is not ready"
                except (NoWatch, Ended):
                    connection = None
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        if connection is not None:
            connection.close()
        raise StartFailed(
            "start-failed", f"the watch was not ready within {timeout:g} s: {reason}:\n{process.last_lines}"
        ) from None


def _check_version(status: Status) -> None:
    """Warns of a watch that is of another version: what both know works, and an unknown command is named."""
    version = status.get("version", "unknown")
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        warnings.warn(
            f"the watch is version {version}, and this package is made for {VERSION}: what only one of them knows is refused",
            VersionWarning,
            stacklevel=2,
        )
