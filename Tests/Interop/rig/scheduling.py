"""What the kernel's scheduler did with processes: how long something would have taken without other programs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Turns:
    """A process's turns at the processors, in seconds: those it had, and those it waited for while others had them."""

    used: float
    waited: float

    @classmethod
    def of(cls, process_id: int) -> Turns:
        """Of all its threads; a kernel that does not count (CONFIG_SCHED_INFO) says that none waited."""
        used = waited = 0
        for file in Path(f"/proc/{process_id}/task").glob("*/schedstat"):
            running, queued, _ = map(int, file.read_text().split())
            used += running
            waited += queued
        return cls(used / 1e9, waited / 1e9)


@dataclass(frozen=True)
class Took:
    """How long something took. `own`: without the time for which the two sides of it were ready and others had the processors."""

    wall: float
    own: float
    #: Of the program's own, the time on a processor.
    used: float

    def __str__(self) -> str:
        return f"{self.wall:.3f} s (of which {self.own:.3f} its own, {self.used:.3f} on a processor)"


class Stopwatch:
    """Begins before a program is executed; what is measured belongs to that program and to this process, its other side."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._here = Turns.of(os.getpid())

    def took(self, process_id: int) -> Took:
        wall = time.monotonic() - self._begin
        there = Turns.of(process_id)
        waited = there.waited + Turns.of(os.getpid()).waited - self._here.waited
        # Both may have waited at once: then it is a little more than what others took.
        return Took(wall, max(wall - waited, there.used), there.used)
