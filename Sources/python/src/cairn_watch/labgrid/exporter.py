"""labgrid's exporter, with the watches of a machine: it starts them, and its clients switch them.

labgrid's own exporter imports no modules, so that this program is it, with one class more.
"""

from __future__ import annotations

import atexit
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attr

from ..asynchronous import ALIVE_WITHIN
from .power import Power, power, started_here
from .reach import Here
from .resources import CairnWatch
from .switch import Switch

if TYPE_CHECKING:
    import logging

    @attr.s(eq=False)
    class ResourceExport:
        """A resource of this machine, for the coordinator."""

        data: dict[str, Any] = attr.ib()
        host: str = attr.ib()
        cls: str = attr.ib(init=False)
        local: Any = attr.ib(init=False)
        local_params: dict[str, Any] = attr.ib(init=False)
        logger: logging.Logger = attr.ib(init=False)

        def __attrs_post_init__(self) -> None: ...

    class ExporterError(Exception):
        """What the exporter cannot do."""

    exports: dict[str, type[ResourceExport]]

    def run_exporter() -> None:
        """labgrid's exporter."""

else:
    from labgrid.remote.exporter import ExporterError, ResourceExport, exports
    from labgrid.remote.exporter import main as run_exporter


@attr.s(eq=False)
class CairnWatchExport(ResourceExport):
    """A CairnWatch, which clients see as a NetworkCairnWatch. While its place is acquired, its switch takes requests.

    A watch that is started here is off at first, is as it came from the factory, unless `state_directory` is named, and ends when the
    place is released.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        try:
            self.local = CairnWatch(target=None, name=None, **self.local_params)
        except TypeError as error:
            raise ExporterError(f"CairnWatch {self.local_params}: {error}") from None
        self.data["cls"] = "NetworkCairnWatch"
        is_shared = self.local.access == "group"
        self._problem: str | None = None
        self._directory = Path(tempfile.mkdtemp(prefix="cairn-lab-"))
        self._directory.chmod(0o750 if is_shared else 0o700)
        self._power: Power
        if self.local.unit is not None or self.local.is_found:
            self._power, self._control = power(self.local, Here(), ALIVE_WITHIN), str(self.local.control)
            self._is_ours = False
        else:
            self._control = self.local.control or str(self._directory / "control.sock")
            self._power = started_here(
                self.local,
                ALIVE_WITHIN,
                control=Path(self._control),
                state=self._directory / "state",
                log=self._directory / "cairn.log",
                control_access=self.local.access,
            )
            self._is_ours = True
        self._switch = Switch(self._directory / "switch.sock", self._power, 0o660 if is_shared else 0o600, self.logger)
        atexit.register(self._end)

    def poll(self) -> bool:
        """Looks whether the watch can be used, and says once why not. labgrid's exporter asks for that four times a second."""
        is_changed: bool = super().poll()  # type: ignore[misc]
        if (problem := self.local.problem) != self._problem:
            self._problem = problem
            self.logger.warning("%s", problem or "can be used now")
        return is_changed

    def _get_params(self) -> dict[str, Any]:
        """What clients get to know."""
        params: dict[str, Any] = {"host": self.host, "control": self._control}
        if not self.local.is_found:
            params["switch"] = str(self._directory / "switch.sock")
        return params

    def _start(self, start_params: dict[str, Any]) -> None:
        """The place was acquired."""
        if not self.local.is_found:
            self._switch.open()

    def _stop(self, start_params: dict[str, Any]) -> None:
        """The place was released, or what the watch needs is gone."""
        if self.local.is_found:
            return
        self._switch.close(switch_off=self._is_ours)
        shutil.rmtree(self._directory / "state", ignore_errors=True)

    def _end(self) -> None:
        """The exporter ends, and what it has started with it."""
        self._switch.close(switch_off=self._is_ours)
        shutil.rmtree(self._directory, ignore_errors=True)


def main() -> None:
    """Runs the exporter. Its options are those of labgrid-exporter."""
    exports["CairnWatch"] = CairnWatchExport
    # Not every version of labgrid's has one of its own, and without one the watches would outlive their exporter.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        run_exporter()
    except ExporterError as error:
        sys.exit(f"cairn-labgrid-exporter: {error}")


if __name__ == "__main__":
    main()
