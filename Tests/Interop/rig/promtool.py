"""Prometheus's own checker of metrics, from Debian's package `prometheus`."""

from __future__ import annotations

import functools
import shutil

from .vectors import REPOSITORY

#: Where Tests/run puts the one program of the package that is needed: installed as a whole it is a server that starts.
UNPACKED = REPOSITORY / ".build" / "promtool" / "usr" / "bin" / "promtool"


@functools.cache
def promtool() -> str:
    """The program: the machine's, or the unpacked one."""
    path = shutil.which("promtool") or (str(UNPACKED) if UNPACKED.exists() else None)
    assert path, f"there is no promtool: Tests/run unpacks one to {UNPACKED}"
    return path
