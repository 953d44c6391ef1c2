"""The states of a watch, and the ways between them."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING, Any, cast

import attr

from ..errors import CairnError
from .driver import CairnPhoneDriver, CairnWatchDriver
from .interface import F, Step, Strategy, StrategyError, driver, step


class Status(enum.Enum):
    """The states, each of which has all that the one before has."""

    #: nothing is known yet
    unknown = 0
    #: switched off
    off = 1
    #: on the air; with a phone driver, without a link and without bonds
    advertising = 2
    #: a phone has paired; with a phone driver, it is that one, and connected
    bonded = 3
    #: a companion's session is open
    session = 4


def _breaks(change: F) -> F:
    """What fails once fails from then on, as labgrid 26 has it for strategies: its pytest plugin skips the tests that are left."""

    @functools.wraps(change)
    def changing(self: CairnStrategy, *arguments: Any, **fields: Any) -> Any:
        if self.broken is not None:
            raise StrategyError("CairnStrategy is in broken state") from self.broken
        try:
            return change(self, *arguments, **fields)
        except Exception as error:
            self.broken = error
            raise StrategyError(f"CairnStrategy is in broken state: {error}") from error

    return cast(F, changing)


@driver
@attr.s(eq=False)
class CairnStrategy(Strategy):
    """Brings a watch into a state. With a CairnPhoneDriver, that phone pairs and opens the session; else it waits for a real one.

    `patience`: how long a real phone is waited for, in seconds.
    """

    bindings = {"watch": "CairnWatchDriver", "phone": {"CairnPhoneDriver", None}}
    status: Status = attr.ib(default=Status.unknown)
    patience: float = attr.ib(default=60.0, converter=float)

    #: What a transition failed of. No more is tried then.
    broken: Exception | None = attr.ib(default=None, init=False)

    if TYPE_CHECKING:
        watch: CairnWatchDriver = attr.ib(init=False)
        phone: CairnPhoneDriver | None = attr.ib(init=False)

    @_breaks
    @step(args=["status"])
    def transition(self, status: Status | str, *, step: Step) -> None:
        """Brings the watch into a state: `off`, `advertising`, `bonded` or `session`.

        A watch that is not any more what it was, such as one that died, is switched off and on for it. Raises StrategyError,
        and what has failed as its cause.
        """
        wanted = self._named(status)
        if self.status is wanted and self._holds(wanted):
            step.skip("nothing to do")
            return
        self.target.activate(self.watch)
        if wanted is Status.off:
            self._switch_off()
        elif wanted is Status.advertising:
            self._advertise()
        elif wanted is Status.bonded:
            self._bond()
        else:
            self._open_session()
        self.status = wanted

    @_breaks
    @step(args=["status"])
    def force(self, status: Status | str) -> None:
        """Takes the watch to be in a state already. Raises StrategyError if it is not."""
        forced = self._named(status)
        self.target.activate(self.watch)
        if not self._holds(forced):
            raise StrategyError(f"the watch is not {forced.name}: transition({forced.name!r}) brings it there")
        self.status = forced

    # Inside

    def _named(self, status: Status | str) -> Status:
        try:
            named = status if isinstance(status, Status) else Status[status]
        except KeyError:
            named = Status.unknown
        if named is Status.unknown:
            names = ", ".join(each.name for each in Status if each is not Status.unknown)
            raise StrategyError(f"a watch has the states {names}, and not {status if isinstance(status, str) else status.name}")
        return named

    def _holds(self, wanted: Status) -> bool:
        """Whether the watch is in a state, by its own account and by the phone's."""
        self.target.activate(self.watch)
        try:
            if wanted is Status.off or not self.watch.get():
                return (wanted is Status.off) != self.watch.get()
            status = self.watch.status()
        except CairnError:
            # One that is gone, or that hangs, is in none.
            return False
        if wanted is Status.advertising:
            is_alone = not status["links"] and not any(phone["isStored"] for phone in status["phones"])
            return status["isReady"] and (self.phone is None or is_alone)
        if wanted is Status.bonded:
            is_connected = self.phone is None or self._active(self.phone).phone.is_connected
            return is_connected and any(phone["isStored"] for phone in status["phones"])
        has_session = self.phone is None or self._active(self.phone).phone.has_session
        return has_session and bool(status["sessions"])

    def _active(self, phone: CairnPhoneDriver) -> CairnPhoneDriver:
        self.target.activate(phone)
        return phone

    def _switch_off(self) -> None:
        if self.phone is not None:
            # Its radio goes with the watch.
            self.phone.off()
        self.watch.off()

    def _advertise(self) -> None:
        """On, ready, and, if the phone is ours to forget, as new to every phone."""
        if self._answers():
            self._part()
        else:
            if self.watch.get():
                self._switch_off()
            elif self.phone is not None:
                self.phone.off()
            self.watch.on()
        self.watch.wait_for("ready")
        if self.phone is None:
            return
        # A watch that is bonded waits for its phone, and no other finds it. Bonds outlive the power.
        status = self.watch.status()
        if status["phones"]:
            self.watch.ask("forget-all")
        elif status["links"]:
            self.watch.ask("disconnect")
        self._until_alone()

    def _answers(self) -> bool:
        """Whether it is on, and neither dead nor hanging."""
        try:
            return self.watch.get() and bool(self.watch.status())
        except CairnError:
            return False

    def _part(self) -> None:
        """The phone ends its link and forgets the watch. One that cannot is switched off."""
        if self.phone is None or not self.phone.is_on:
            return
        try:
            self.phone.phone.disconnect()
            self.phone.phone.forget()
        except CairnError:
            self.phone.off()

    def _until_alone(self) -> None:
        """A link that ends takes some packets, or a supervision timeout."""
        while (status := self.watch.status())["links"]:
            self.watch.wait_for("link-ended", since=status.get("events", {"last": 0})["last"])

    def _bond(self) -> None:
        if self.phone is None:
            if not self._answers():
                self._advertise()
            self.watch.wait_for("paired", self.patience)
            return
        if self._holds(Status.session):
            self.phone.phone.disconnect()
            self.phone.phone.connect(self.watch)
            return
        self._advertise()
        phone, watch = self._active(self.phone).phone, self.watch.watch
        phone.connect(phone.find(self.watch.name_on_air))
        status = watch.status()
        if not status["pairing"]["isOpen"]:
            watch.pairing()
        phone.pair(wait=False)
        if status["pairing"]["mode"] == "button":
            watch.wait_for("pairing-waits", since=status.get("events", {"last": 0})["last"])
            watch.confirm()
        phone.paired()
        self.watch.wait_for("paired")

    def _open_session(self) -> None:
        if not self._holds(Status.bonded):
            self._bond()
        if self.phone is not None:
            self.phone.phone.open_session()
        self.watch.wait_for("session", self.patience)
