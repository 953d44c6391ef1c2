"""Cairn in a labgrid: resources, drivers and a strategy for places that are watches (extra `labgrid`).

An environment names this module in `imports`. Watches of a machine are exported by `cairn-labgrid-exporter`. Docs/lab.md is the
guide.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("labgrid") is None:
    raise ModuleNotFoundError("cairn_watch.labgrid needs labgrid: install cairn-watch[labgrid]", name="labgrid")

from .driver import CairnPhoneDriver, CairnWatchDriver
from .power import PowerFailed
from .resources import CairnWatch, NetworkCairnWatch
from .strategy import CairnStrategy, Status

__all__ = [
    "CairnPhoneDriver",
    "CairnStrategy",
    "CairnWatch",
    "CairnWatchDriver",
    "NetworkCairnWatch",
    "PowerFailed",
    "Status",
]
