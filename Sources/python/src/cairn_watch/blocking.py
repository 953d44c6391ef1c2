"""Watches for programs without asyncio: made by `generate` of asynchronous.py.

What waits runs on one loop in a thread of its own, which all watches and phones of the process share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from .appmessage import Dictionary, Message, Value
from .asynchronous import ALIVE_WITHIN, START_SECONDS, AsyncAir, AsyncWatch
from .background import iterate, run
from .screen import Screen
from .vocabulary import (
    Commands,
    Event,
    LaunchAnswer,
    OpenPairingAnswer,
    PressAnswer,
    RecorderSaveAnswer,
    SendAnswer,
    StartedEvent,
    Status,
)


class Air:
    """A virtual radio, on which watches and phones hear each other: `cairn air`, on a Unix socket of its own."""

    def __init__(self, asynchronous: AsyncAir) -> None:
        """For `start` and `connect`, which make one."""
        #: The same with asyncio, on the loop that runs in the background.
        self.asynchronous = asynchronous

    @classmethod
    def start(
        cls,
        *,
        program: str | Path | None=None,
        log: str | Path | None=None,
        timeout: float=START_SECONDS,
        **settings: Any,
    ) -> Air:
        """Starts a radio. `settings`: the options of `cairn air`, such as `seed=7` and `loss=5`.

        `program`: the program `cairn`; else CAIRN_BINARY, else the one on the PATH. `log`: the file that it logs to.
        Raises StartFailed.
        """
        return cls(run(AsyncAir.start(program=program, log=log, timeout=timeout, **settings)))

    @property
    def air(self) -> str:
        """Where hosts get a controller on this radio: what `controller=` of a watch and `air` of a phone take."""
        return self.asynchronous.air

    @property
    def pid(self) -> int:
        """The radio's process identifier."""
        return self.asynchronous.pid

    @property
    def log(self) -> str:
        """What the radio has logged so far."""
        return self.asynchronous.log

    def close(self) -> None:
        """Ends the radio; every controller on it is gone. Raises WatchHangs if it has to be killed for that."""
        run(self.asynchronous.close())

    def __enter__(self) -> Air:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Watch(Commands):
    """A running watch. `start` starts one, `connect` takes one that runs already.

    A watch that ends, hangs or restarts while something waits for it raises WatchGone, WatchHangs or WatchRestarted within
    a second. A command that the watch does not carry out raises Refused, with the watch's own code and words.
    """

    def __init__(self, asynchronous: AsyncWatch) -> None:
        """For `start` and `connect`, which make one."""
        #: The same with asyncio, on the loop that runs in the background.
        self.asynchronous = asynchronous

    @classmethod
    def start(
        cls,
        controller: str='virtual',
        state: str | Path | None=None,
        program: str | Path | None=None,
        *,
        control: str | Path | None=None,
        log: str | Path | None=None,
        timeout: float=START_SECONDS,
        alive_within: float=ALIVE_WITHIN,
        **settings: Any,
    ) -> Watch:
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
        return cls(run(AsyncWatch.start(
            controller,
            state,
            program,
            control=control,
            log=log,
            timeout=timeout,
            alive_within=alive_within,
            **settings,
        )))

    @classmethod
    def connect(cls, path: str | Path, *, timeout: float=0, alive_within: float=ALIVE_WITHIN) -> Watch:
        """A watch that runs already. `close` only lets go of it.

        `path`: its control socket, or its state directory. `timeout`: how long a watch that is only starting is waited for,
        in seconds. Raises NoWatch if there is none, WrongVersion if something else is there, WatchHangs if it does not
        answer.
        """
        return cls(run(AsyncWatch.connect(path, timeout=timeout, alive_within=alive_within)))

    @property
    def control(self) -> Path:
        """Its control socket."""
        return self.asynchronous.control

    @property
    def pid(self) -> int:
        """Its process identifier, 0 if neither it nor the system says."""
        return self.asynchronous.pid

    @property
    def version(self) -> str:
        """Cairn's version, empty if it does not say."""
        return self.asynchronous.version

    @property
    def name(self) -> str:
        """The name under which phones find it, as it was when this program connected."""
        return self.asynchronous.name

    @property
    def address(self) -> str:
        """Its device address, as it was when this program connected."""
        return self.asynchronous.address

    @property
    def air(self) -> str:
        """Where phones get a controller on its radio, as `tcp:127.0.0.1:PORT` or `unix:PATH`.

        Raises CairnError (`no-air`) if its radio is none that other hosts can share.
        """
        return self.asynchronous.air

    @property
    def log(self) -> str:
        """What it has logged so far; empty if this program did not start it.

        The file is gone after `close` unless `log` was named at the start.
        """
        return self.asynchronous.log

    @property
    def exit_status(self) -> int | None:
        """How it ended; negative: the signal that ended it. None while it runs, or if this program did not start it."""
        return self.asynchronous.exit_status

    @property
    def has_died(self) -> bool:
        """Whether it has ended by itself, or was ended by something else, although this program started it."""
        return self.asynchronous.has_died

    def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """Sends any command, and returns the watch's answer. Fields are those of Docs/control-reference.md; None is left out.

        Raises Refused if the watch says no, UnknownCommand if it is of a version that has no such command.
        """
        return run(self.asynchronous.ask(command, **fields))

    def status(self) -> Status:
        """How it is doing: links, phones, pairing and what it waits for, app, battery."""
        return run(self.asynchronous.status())

    def press(self, button: Literal['back', 'up', 'select', 'down'], long: bool=False) -> PressAnswer:
        """Presses a button. `long`: it is held, for 2 seconds, back for 5."""
        return run(self.asynchronous.press(button, long))

    def send(self, entries: Dictionary) -> SendAnswer:
        """Has the running watchapp send an AppMessage.

        `entries`: keys and values. A plain int is sent as an int32; `cairn_watch.uint8(1)` and its like are other widths.
        Raises ValueError or TypeError for what does not fit into an AppMessage, Refused (`not-sent`) if the app cannot send.
        """
        return run(self.asynchronous.send(entries))

    def fault(self, name: str, **arguments: object) -> int:
        """Makes the watch fail on purpose, and returns the number that `fault_clear` takes.

        `name`: such as `att.never`. `arguments`: what the fault takes, and what every fault takes; `for_` stands for `for`, and
        `_` for `-`. Numbers of seconds are times. Raises Refused (`bad-request`, `fault-not-taken`, `faults-not-allowed`).
        """
        return run(self.asynchronous.fault(name, **arguments))

    def launch(self, app: str) -> LaunchAnswer:
        """Starts an installed watchapp. `app`: its UUID. Raises Refused (`unknown-app`, `runs-already`)."""
        return run(self.asynchronous.launch(app))

    def pairing(self, seconds: float=300) -> OpenPairingAnswer:
        """Lets a new phone pair. `seconds`: for how long, from 1 to 3600. `close_pairing` ends it early."""
        return run(self.asynchronous.pairing(seconds))

    def restart(
        self,
        how: Literal['core-dump', 'factory-reset', 'reboot', 'recovery']='reboot',
        timeout: float=START_SECONDS,
    ) -> StartedEvent:
        """Restarts the watch, and returns the event `started` when its controller is ready again. The process stays.

        `how`: the cause. Raises TimedOut.
        """
        return run(self.asynchronous.restart(how, timeout))

    def screen(self, format: Literal['png', 'raw']='png') -> Screen:
        """What the screen shows now. No session notices.

        `format`: `png`, or `raw`, of which `Screen.pixel` can read pixels.
        """
        return run(self.asynchronous.screen(format))

    def apps(self) -> list[dict[str, Any]]:
        """The installed watchapps, each with `uuid`, `name` and what else the watch knows of it."""
        return run(self.asynchronous.apps())

    def install(self, path: str | Path, launch: bool=False) -> dict[str, Any]:
        """Installs a watchapp, as a phone would. Returns the app as `apps` has it.

        `path`: a package (.pbw) of at most 16 MiB. `launch`: whether it is started. Raises OSError if it cannot be read,
        ValueError if it is too long, Refused with the watch's reason if it is not what it should be.
        """
        return run(self.asynchronous.install(path, launch))

    def remove(self, app: str) -> dict[str, Any]:
        """Removes an installed watchapp, and returns the watch's answer. `app`: its UUID."""
        return run(self.asynchronous.remove(app))

    def start_capture(self, path: str | Path) -> dict[str, Any]:
        """Has the watch write its HCI packets into a btsnoop file from now on, and returns its answer.

        `path`: of the machine where the watch runs; it is made absolute here.
        """
        return run(self.asynchronous.start_capture(path))

    def stop_capture(self) -> dict[str, Any]:
        """Ends what `start_capture` began, and returns the watch's answer."""
        return run(self.asynchronous.stop_capture())

    def save_recording(self, path: str | Path) -> RecorderSaveAnswer:
        """Has the watch's process save what its flight recorder has, in a file that `cairn replay` runs again.

        Keys are among it, so only the user who started the watch, and root, may. `whole` in the answer says whether the
        recording goes back to the watch's start.
        """
        return run(self.asynchronous.save_recording(path))

    def packets(self) -> Iterator[dict[str, Any]]:
        """The watch's HCI packets from now on, each with `at`, `direction` (`sent`, `received`) and `data` (H4, hexadecimal).

        In place of those that this program did not take in time comes a `lost` with their `count`.
        """
        return iterate(self.asynchronous.packets())

    def record(self, path: str | Path, seconds: float) -> int:
        """Writes the watch's HCI packets of this time into a btsnoop file on this machine. Returns how many there were.

        Raises OSError if the file cannot be written.
        """
        return run(self.asynchronous.record(path, seconds))

    def events(self, since: int | None=None) -> Iterator[Event]:
        """What happens from now on, for as long as it is asked for.

        `since`: what has happened after the event of this number comes first; 0 for all that the watch has kept. In place
        of what it has not kept comes a `lost` with their `count`.
        """
        return iterate(self.asynchronous.events(since))

    def history(self, since: int=0) -> list[Event]:
        """What has happened after the event of this number, and was kept."""
        return run(self.asynchronous.history(since))

    def wait_for(self, what: str, timeout: float=30, *, since: int | None=None, **fields: Any) -> dict[str, Any]:
        """Returns when the watch is so, or when that has happened.

        `what`: `ready`, `connected`, `paired` or `session`, which the watch is now (the status is returned), or the name of
        an event (which is returned). An event counts that has happened since the watch was started; with `since`, only one
        with a higher number. `fields`: what fields of the event must be, such as `button="up"`. `timeout`: in seconds.

        Raises TimedOut; ValueError for a name that no event has; WatchRestarted if the watch restarts meanwhile.
        """
        return run(self.asynchronous.wait_for(what, timeout, since=since, **fields))

    def expect_message(
        self,
        entries: Mapping[int, Value | None],
        app: str | None=None,
        timeout: float=10,
        *,
        since: int | None=None,
    ) -> Message:
        """The first AppMessage from a companion that the running app has got and that no earlier call has returned.

        `entries`: keys that it must have, with these values, or with any for None; it may have others. `app`: the UUID of the
        app that it is for. `since`: only one after the event of this number, whether or not a call has returned it.
        Raises TimedOut, which says what came instead.
        """
        return run(self.asynchronous.expect_message(entries, app, timeout, since=since))

    def inbox(self, app: str | None=None, since: int | None=None) -> list[Message]:
        """The AppMessages that came from companions, oldest first, as far as the watch has kept them.

        `app`: only those for the app with this UUID. `since`: only those after the event of this number.
        """
        return run(self.asynchronous.inbox(app, since))

    def outbox(self, app: str | None=None, since: int | None=None) -> list[Message]:
        """The AppMessages that apps have sent, oldest first, with their results. See `inbox`."""
        return run(self.asynchronous.outbox(app, since))

    def kill(self) -> None:
        """Ends it at once (SIGKILL), as a power cut would. Raises CairnError (`not-started`) unless this program started it."""
        run(self.asynchronous.kill())

    def close(self) -> None:
        """Ends it, if this program started it, and lets go of it. It may have ended already.

        Raises WatchHangs if it has to be killed for that.
        """
        run(self.asynchronous.close())

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
