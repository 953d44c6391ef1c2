"""Watches as labgrid's resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attr

from ..errors import StartFailed
from ..program import find
from .interface import NetworkResource, Resource, resource

#: Where a watch that systemd runs takes commands, as the package of Cairn has it.
SERVICE_CONTROL = "/run/cairn/control.sock"
#: Settings that have an attribute of their own.
_OWN = frozenset({"controller", "control", "state", "program", "log", "timeout", "alive_within"})

_text = attr.validators.instance_of(str)
_optional_text = attr.validators.optional(_text)


def _settings(instance: object, attribute: object, value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"settings: options of cairn run by their names, such as {{pairing: open}}, and not {value!r}")
    if own := sorted(_OWN & {str(name).replace("-", "_") for name in value}):
        raise TypeError(f"settings: {', '.join(own)} cannot stand here: the resource has its own, or needs none")


@resource
@attr.s(eq=False)
class CairnWatch(Resource):
    """A watch on this machine. With neither `unit` nor `control` alone, the driver or the exporter starts it.

    `controller`: where its Bluetooth controller is, as `cairn run --controller` has it; `virtual` if nothing is named.
    `control`: its control socket. Without `controller` and `unit` it is that of a watch that runs already, which is not switched.
    `state_directory`: as `--state` has it; else one that is removed at the end. `program`: the program `cairn`; else CAIRN_BINARY, else
    the one on the PATH. `settings`: options of `cairn run`, such as `{pairing: open}`. `unit`: the systemd unit that runs it;
    `control` is then /run/cairn/control.sock if it is not named. `systemctl`: the command that switches the unit, such as
    `sudo -n systemctl`. `access`: who may use it where it is exported, `user` or `group`, as `cairn run --control-access` has it.
    """

    controller: str | None = attr.ib(default=None, validator=_optional_text)
    control: str | None = attr.ib(default=None, validator=_optional_text)
    state_directory: str | None = attr.ib(default=None, validator=_optional_text)
    program: str | None = attr.ib(default=None, validator=_optional_text)
    settings: dict[str, Any] = attr.ib(factory=dict, validator=_settings)
    unit: str | None = attr.ib(default=None, validator=_optional_text)
    systemctl: str = attr.ib(default="systemctl", validator=_text)
    access: str = attr.ib(default="user", validator=_text)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.access not in ("user", "group"):
            raise TypeError(f"access: user or group, and not {self.access}")
        started = [name for name in ("controller", "state_directory", "program", "settings") if getattr(self, name)]
        if self.unit is not None and started:
            raise TypeError(f"a watch with a unit has its settings there: {', '.join(started)} cannot stand here")
        if self.unit is not None and self.control is None:
            self.control = SERVICE_CONTROL
        if self.is_found and started:
            raise TypeError(f"control without controller means a watch that runs already: {', '.join(started)} cannot stand here")

    @property
    def is_found(self) -> bool:
        """Whether it runs already, and is switched by something else."""
        return self.unit is None and self.controller is None and self.control is not None

    @property
    def problem(self) -> str | None:
        """Why it cannot be used now; None if nothing is known to be in the way."""
        if self.unit is not None:
            return None
        if self.is_found:
            return None if Path(self.control or "").exists() else f"there is no socket {self.control}"
        try:
            find(self.program)
        except StartFailed as error:
            return error.message
        if re.fullmatch(r"hci\d+", self.controller or "") and not Path(f"/sys/class/bluetooth/{self.controller}").exists():
            return f"there is no adapter {self.controller}"
        return None

    def poll(self) -> None:
        """Looks whether it can be used. labgrid's exporter asks for that."""
        super().poll()
        if self.target is None:
            self.avail = self.problem is None


@resource
@attr.s(eq=False)
class NetworkCairnWatch(NetworkResource):
    """A watch on another machine, reached over ssh; on this one, directly.

    `host`: the machine. `control`: the control socket there. `switch`: the socket there where its exporter switches it; exporters
    say which. `unit`: the systemd unit that runs it, where there is no switch. `systemctl`: the command that switches the unit.
    With neither, it is not switched.
    """

    control: str = attr.ib(default=SERVICE_CONTROL, validator=_text)
    switch: str | None = attr.ib(default=None, validator=_optional_text)
    unit: str | None = attr.ib(default=None, validator=_optional_text)
    systemctl: str = attr.ib(default="systemctl", validator=_text)
