"""labgrid's drivers: the watch, and a phone on its virtual radio."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attr

from ..appmessage import Dictionary, Message, Value
from ..blocking import Watch
from ..errors import WatchGone
from ..screen import Screen
from ..vocabulary import LaunchAnswer, PressAnswer, SendAnswer, StartedEvent, Status, StopAnswer
from .interface import Driver, PowerProtocol, ResetProtocol, Resource, driver, step
from .power import Power, power
from .reach import Reach, reach

if TYPE_CHECKING:
    from ..phone import Phone


@driver
@attr.s(eq=False)
class CairnWatchDriver(Driver, PowerProtocol, ResetProtocol):
    """A watch: it is switched, and does what `cairn_watch.Watch` does. `watch` is that, for all that has no method here.

    `alive_within`: how long it may take to say that it lives, in seconds: more than on a bench, since ssh may be in between.
    """

    bindings = {"resource": {"CairnWatch", "NetworkCairnWatch"}}
    alive_within: float = attr.ib(default=5.0, converter=float)

    if TYPE_CHECKING:
        resource: Resource = attr.ib(init=False)

    def on_activate(self) -> None:
        """Finds the way to it. It is not switched."""
        self._reach: Reach = reach(self.resource)
        self._power: Power = power(self.resource, self._reach, self.alive_within)

    def on_deactivate(self) -> None:
        """Lets go of it. One that this driver has started ends."""
        try:
            self._power.close()
        finally:
            self._reach.close()

    # Power

    @Driver.check_active
    @step()
    def on(self) -> None:
        """Switches it on, and returns when its controller is ready. Raises PowerFailed, StartFailed, NoWatch or TimedOut."""
        if not self._power.is_on():
            self._power.forget()
        self._power.on()
        self.wait_for("ready")

    @Driver.check_active
    @step()
    def off(self) -> None:
        """Switches it off. Raises PowerFailed, or WatchHangs if it had to be killed for that."""
        self._power.off()

    @Driver.check_active
    @step()
    def cycle(self) -> None:
        """Switches it off and on."""
        self.off()
        self.on()

    @Driver.check_active
    @step(result=True)
    def get(self) -> bool:
        """Whether it is on."""
        return self._power.is_on()

    @Driver.check_active
    @step()
    def reset(self) -> None:
        """Restarts it, as a crash would, and returns when its controller is ready again. Its process stays."""
        self.restart()

    # What it is

    @property
    def watch(self) -> Watch:
        """The watch, which is on. The driver closes it. Raises NoWatch if it is off."""
        return self._connected()

    @property
    def name_on_air(self) -> str:
        """The name under which phones find it."""
        return self.watch.name

    @property
    def address(self) -> str:
        """Its device address, as it was when it was connected to."""
        return self.watch.address

    @property
    def air(self) -> str:
        """Where phones of this machine get a controller on its radio; from another machine, through ssh.

        Raises CairnError (`no-air`) if its radio is none that other hosts can share.
        """
        return self._air()

    # What it does

    @Driver.check_active
    @step(args=["command"])
    def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """Sends any command, and returns the watch's answer. See `Watch.ask`."""
        with self._used() as watch:
            return watch.ask(command, **fields)

    @Driver.check_active
    @step()
    def status(self) -> Status:
        """How it is doing. See `Watch.status`."""
        with self._used() as watch:
            return watch.status()

    @Driver.check_active
    @step(args=["button", "long"])
    def press(self, button: Literal["back", "up", "select", "down"], long: bool = False) -> PressAnswer:
        """Presses a button. See `Watch.press`."""
        with self._used() as watch:
            return watch.press(button, long)

    @Driver.check_active
    @step(args=["app"])
    def launch(self, app: str) -> LaunchAnswer:
        """Starts an installed watchapp. See `Watch.launch`."""
        with self._used() as watch:
            return watch.launch(app)

    @Driver.check_active
    @step()
    def stop(self) -> StopAnswer:
        """Leaves the running watchapp for the watchface. See `Watch.stop`."""
        with self._used() as watch:
            return watch.stop()

    @Driver.check_active
    @step(args=["path", "launch"])
    def install(self, path: str | Path, launch: bool = False) -> dict[str, Any]:
        """Installs a watchapp from a file of this machine. See `Watch.install`."""
        with self._used() as watch:
            return watch.install(path, launch)

    @Driver.check_active
    @step(args=["app"])
    def remove(self, app: str) -> dict[str, Any]:
        """Removes an installed watchapp. See `Watch.remove`."""
        with self._used() as watch:
            return watch.remove(app)

    @Driver.check_active
    @step(args=["entries"])
    def send(self, entries: Dictionary) -> SendAnswer:
        """Has the running watchapp send an AppMessage. See `Watch.send`."""
        with self._used() as watch:
            return watch.send(entries)

    @Driver.check_active
    @step(args=["entries", "app", "timeout"])
    def expect_message(
        self, entries: Mapping[int, Value | None], app: str | None = None, timeout: float = 10, *, since: int | None = None
    ) -> Message:
        """Waits for an AppMessage that the running app gets. See `Watch.expect_message`."""
        with self._used() as watch:
            return watch.expect_message(entries, app, timeout, since=since)

    @Driver.check_active
    @step(args=["what", "timeout"])
    def wait_for(self, what: str, timeout: float = 30, *, since: int | None = None, **fields: Any) -> dict[str, Any]:
        """Waits until it is so, or until that has happened. See `Watch.wait_for`."""
        with self._used() as watch:
            return watch.wait_for(what, timeout, since=since, **fields)

    @Driver.check_active
    @step(args=["format"])
    def screen(self, format: Literal["png", "raw"] = "png") -> Screen:
        """What the screen shows now. See `Watch.screen`."""
        with self._used() as watch:
            return watch.screen(format)

    @Driver.check_active
    @step(args=["how"])
    def restart(self, how: Literal["core-dump", "factory-reset", "reboot", "recovery"] = "reboot") -> StartedEvent:
        """Restarts it, and returns when its controller is ready again. See `Watch.restart`."""
        with self._used() as watch:
            return watch.restart(how)

    # Inside

    @Driver.check_active
    def _connected(self) -> Watch:
        return self._power.watch()

    @Driver.check_active
    def _air(self) -> str:
        with self._used() as watch:
            return self._reach.air(watch.air)

    @contextlib.contextmanager
    def _used(self) -> Iterator[Watch]:
        """The watch. A connection that has ended is not used again: it may have been switched by another program."""
        try:
            yield self._power.watch()
        except WatchGone:
            self._power.forget()
            raise


@driver
@attr.s(eq=False)
class CairnPhoneDriver(Driver):
    """A phone on the watch's virtual radio (extra `phone`). It is switched on when it is first asked for."""

    bindings = {"watch": "CairnWatchDriver"}
    _phone: Phone | None = attr.ib(default=None, init=False)

    if TYPE_CHECKING:
        watch: CairnWatchDriver = attr.ib(init=False)

    def on_deactivate(self) -> None:
        """Switches it off."""
        self.off()

    @property
    def phone(self) -> Phone:
        """The phone. Raises PhoneError or CairnError (`no-air`) if the watch's radio has no room for one."""
        return self._on()

    @property
    def is_on(self) -> bool:
        """Whether it has been switched on, and not off since."""
        return self._phone is not None

    @Driver.check_active
    def _on(self) -> Phone:
        if self._phone is None:
            from ..phone import Phone

            self._phone = Phone(self.watch)
        return self._phone

    @step()
    def off(self) -> None:
        """Switches it off, without a packet. Its bonds are gone, and the next one is another phone. It may be off already."""
        phone, self._phone = self._phone, None
        if phone is not None:
            phone.close()
