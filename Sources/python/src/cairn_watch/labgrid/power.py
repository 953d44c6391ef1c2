"""How a watch is switched on and off: as a process, by systemd, by its exporter, or not at all."""

from __future__ import annotations

import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any, Protocol

from ..asynchronous import START_SECONDS
from ..blocking import Watch
from ..errors import CairnError, NoWatch, WatchGone
from .interface import Resource
from .reach import Reach
from .resources import SERVICE_CONTROL, CairnWatch, NetworkCairnWatch
from .switch import ask

#: How long a command for a service may take, in seconds.
_COMMAND_SECONDS = 60


class PowerFailed(CairnError):
    """The watch was not switched on or off (`power`)."""


class Power(Protocol):
    """A watch that can be switched, and its connection. Each call may be made in any state."""

    def on(self) -> None:
        """Switches it on, and returns when it can be connected to."""

    def off(self) -> None:
        """Switches it off."""

    def is_on(self) -> bool:
        """Whether it is on."""

    def watch(self) -> Watch:
        """The watch, which is on. Raises NoWatch if it is not."""

    def forget(self) -> None:
        """Lets go of a connection, if there is one: the next `watch` connects again."""

    def close(self) -> None:
        """Lets go of the watch. One that was started here ends."""


class StartedHere:
    """A process of this program."""

    def __init__(
        self,
        *,
        controller: str,
        control: Path | None,
        state: Path | str | None,
        program: str | None,
        settings: dict[str, Any],
        alive_within: float,
        log: Path | None = None,
    ) -> None:
        self._controller = controller
        self._state = state
        self._program = program
        self._control = control
        self._settings = settings
        self._alive_within = alive_within
        self._log = log
        self._watch: Watch | None = None

    def on(self) -> None:
        """Starts it. Raises StartFailed, which has the last lines that it printed."""
        if self.is_on():
            return
        self.off()
        self._watch = Watch.start(
            self._controller,
            self._state,
            self._program,
            control=self._control,
            log=self._log,
            alive_within=self._alive_within,
            **self._settings,
        )

    def off(self) -> None:
        """Ends it. Raises WatchHangs if it had to be killed for that."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def is_on(self) -> bool:
        """Whether the process runs. One that hangs does."""
        if self._watch is None or self._watch.exit_status is not None:
            return False
        # A process that was killed has closed its sockets some time before it has a status.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            try:
                connection.connect(str(self._watch.control))
            except BlockingIOError:
                # It is there, and has more clients waiting than there is room for.
                return True
            except OSError:
                return False
        return True

    def watch(self) -> Watch:
        """The process. Raises NoWatch if it is off."""
        if self._watch is None:
            raise NoWatch("no-watch", "the watch is off: switch it on")
        return self._watch

    def forget(self) -> None:
        """Nothing: a process that has ended is told from one that runs."""

    def close(self) -> None:
        """Ends it."""
        self.off()


class _Connected:
    """A watch that is another program's."""

    def __init__(self, reach: Reach, control: str, alive_within: float) -> None:
        self._reach = reach
        self._control = control
        self._alive_within = alive_within
        self._watch: Watch | None = None

    def watch(self) -> Watch:
        """The watch. Raises NoWatch if none runs there."""
        if self._watch is None:
            self._watch = Watch.connect(self._reach.socket(self._control), alive_within=self._alive_within)
        return self._watch

    def forget(self) -> None:
        """Ends the connection."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def close(self) -> None:
        """Ends the connection. The watch runs on."""
        self.forget()


class Service(_Connected):
    """A systemd unit, here or on another machine."""

    def __init__(
        self, resource: CairnWatch | NetworkCairnWatch, unit: str, reach: Reach, control: str, alive_within: float
    ) -> None:
        super().__init__(reach, control, alive_within)
        self._resource = resource
        self._unit = unit

    def on(self) -> None:
        """Starts the unit. Raises PowerFailed, which has systemctl's words."""
        self._systemctl("start")

    def off(self) -> None:
        """Stops the unit. Raises PowerFailed, which has systemctl's words."""
        self.forget()
        self._systemctl("stop")

    def is_on(self) -> bool:
        """Whether the unit is active."""
        return self._systemctl("is-active", wanted=(0, 3, 4)) == 0

    def _systemctl(self, verb: str, wanted: tuple[int, ...] = (0,)) -> int:
        command = [*shlex.split(self._resource.systemctl), verb, self._unit]
        words = shlex.join(command)
        try:
            done = subprocess.run(
                self._reach.command(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise PowerFailed("power", f"“{words}” cannot be run: {error}") from None
        if done.returncode not in wanted:
            said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
            raise PowerFailed("power", f"“{words}” ended with status {done.returncode}: {said}")
        return done.returncode


class Exported(_Connected):
    """A watch that its exporter switches."""

    def __init__(self, reach: Reach, switch: str, control: str, alive_within: float) -> None:
        super().__init__(reach, control, alive_within)
        self._switch = switch

    def on(self) -> None:
        """Has the exporter start it. Raises PowerFailed, which has the exporter's words."""
        self._ask("on")

    def off(self) -> None:
        """Has the exporter end it. Raises PowerFailed, which has the exporter's words."""
        self.forget()
        self._ask("off")

    def is_on(self) -> bool:
        """Whether the exporter says so."""
        return self._ask("get")

    def _ask(self, verb: str) -> bool:
        try:
            return ask(self._reach.socket(self._switch), verb, 2 * START_SECONDS)
        except OSError as error:
            raise PowerFailed(
                "power",
                f"the exporter's switch {self._switch} does not answer ({error}): the place is not acquired, its exporter has "
                "ended, or this user may not open it (access: group lets the exporter's group in)",
            ) from None
        except ValueError as error:
            raise PowerFailed("power", str(error)) from None


class Found(_Connected):
    """A watch that runs already, and is switched by something else."""

    def on(self) -> None:
        """Nothing, if it runs. Raises PowerFailed."""
        if not self.is_on():
            raise PowerFailed(
                "power", f"no watch runs at {self._control}, and the resource has nothing that starts one: name its unit"
            )

    def off(self) -> None:
        """Raises PowerFailed: this is not its switch."""
        raise PowerFailed(
            "power", f"the watch at {self._control} was not started here: name its unit, or let an exporter start it"
        )

    def is_on(self) -> bool:
        """Whether one answers there."""
        try:
            self.watch().status()
        except (NoWatch, WatchGone):
            self.forget()
            return False
        return True


def power(resource: Resource, reach: Reach, alive_within: float) -> Power:
    """The switch of a resource. `alive_within`: how long the watch may take to say that it lives, in seconds."""
    if isinstance(resource, NetworkCairnWatch):
        if resource.switch is not None:
            return Exported(reach, resource.switch, resource.control, alive_within)
        if resource.unit is not None:
            return Service(resource, resource.unit, reach, resource.control, alive_within)
        return Found(reach, resource.control, alive_within)
    if not isinstance(resource, CairnWatch):
        raise TypeError(f"{resource} is no watch")
    if resource.unit is not None:
        return Service(resource, resource.unit, reach, resource.control or SERVICE_CONTROL, alive_within)
    if resource.is_found:
        return Found(reach, resource.control or "", alive_within)
    return started_here(resource, alive_within)


def started_here(
    resource: CairnWatch,
    alive_within: float,
    *,
    control: Path | None = None,
    state: Path | None = None,
    log: Path | None = None,
    **settings: Any,
) -> StartedHere:
    """A process for a resource. `control`, `state`, `settings`: what the resource leaves open. `log`: where it logs to."""
    return StartedHere(
        controller=resource.controller or "virtual",
        control=Path(resource.control) if resource.control else control,
        state=resource.state_directory or state,
        program=resource.program,
        settings={**settings, **resource.settings},
        alive_within=alive_within,
        log=log,
    )
