"""The program `cairn`, started and stopped by its process identifier."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import StartFailed, WatchHangs

#: How long a program may take to end when it is asked to, in seconds.
STOP_SECONDS = 10.0
#: How often a program is looked at that is to end, in seconds.
_LOOK = 0.01
#: How much of a log stands in an error, in bytes.
TAIL = 4096


def find(program: str | os.PathLike[str] | None) -> Path:
    """The program: the one that is named, else that of the environment's CAIRN_BINARY, else `cairn` on the PATH.

    Raises StartFailed if there is none.
    """
    named = program or os.environ.get("CAIRN_BINARY")
    if named:
        if not os.access(named, os.X_OK):
            raise StartFailed("start-failed", f"{named} is no program that can be run")
        return Path(named).absolute()
    found = shutil.which("cairn")
    if found is None:
        raise StartFailed(
            "start-failed", "there is no “cairn” on the PATH: install it, set CAIRN_BINARY, or name it with program="
        )
    return Path(found)


def options(settings: Mapping[str, Any]) -> list[str]:
    """Settings of `cairn run` as its options: `log_level="debug"` is `--log-level debug`.

    True is the bare option and False the one with `no-`; None is left out; a list is the option several times; of a
    dictionary, each entry is `KEY=VALUE`.
    """
    result: list[str] = []
    for name, value in settings.items():
        option = name.rstrip("_").replace("_", "-")
        if value is None:
            continue
        if value is True:
            result.append(f"--{option}")
        elif value is False:
            result.append(f"--no-{option}")
        elif isinstance(value, Mapping):
            for key, each in value.items():
                result += [f"--{option}", f"{key}={each}"]
        elif isinstance(value, (list, tuple)):
            for each in value:
                result += [f"--{option}", str(each)]
        else:
            result += [f"--{option}", str(value)]
    return result


class Program:
    """A running program. What it prints goes to a file, so that it never waits for a reader."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        """Starts it. Raises StartFailed if it cannot be started."""
        self.command = list(command)
        self.log_path = log
        #: Whether this side has asked it to end, and whether it has killed it.
        self._is_ending = self._was_killed = False
        try:
            with log.open("ab") as output:
                # A session of its own: Ctrl-C at the terminal is for the tests, which then stop the watch.
                self._process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
                )
        except OSError as error:
            raise StartFailed("start-failed", f"{command[0]} cannot be started: {error}") from None
        _running.add(self)

    @property
    def pid(self) -> int:
        """Its process identifier."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status once it has ended; negative: the signal that ended it."""
        return self._process.poll()

    @property
    def has_died(self) -> bool:
        """Whether it has ended before this side asked it to, or by a signal that is not this side's."""
        status = self.status
        return status is not None and not self._was_killed and (status < 0 or not self._is_ending)

    @property
    def log(self) -> str:
        """What it has printed so far."""
        try:
            return self.log_path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def last_lines(self) -> str:
        """The end of what it has printed."""
        return self.log[-TAIL:].strip() or "(it printed nothing)"

    async def ended(self, seconds: float) -> bool:
        """Whether it ends within this time."""
        end = time.monotonic() + seconds
        while self.status is None:
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(_LOOK)
        return True

    async def stop(self, seconds: float = STOP_SECONDS) -> int:
        """Asks it to end (SIGTERM), and returns its exit status. It may have ended already.

        Raises WatchHangs if it does not; then it is killed.
        """
        if self.status is None:
            self._is_ending = True
            # A program that was stopped (SIGSTOP) hears of nothing else before it goes on.
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            if not await self.ended(seconds):
                await self.kill()
                raise WatchHangs(
                    "hangs",
                    f"process {self.pid} did not end within {seconds:g} s of SIGTERM, and was killed:\n{self.last_lines}",
                )
        _running.discard(self)
        return self._process.wait()

    async def kill(self) -> None:
        """Ends it at once (SIGKILL), as a power cut would."""
        self._was_killed = True
        self._signal(signal.SIGKILL)
        await self.ended(STOP_SECONDS)
        _running.discard(self)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)


#: The programs that were started and have not been stopped.
_running: set[Program] = set()


@atexit.register
def _stop_all() -> None:
    """What a script forgot to close does not outlive it."""
    for program in list(_running):
        if program.status is None:
            program._signal(signal.SIGTERM)
            program._signal(signal.SIGCONT)


def condition(pid: int) -> str:
    """What the system says of a process, as the end of a sentence; nothing if that is nothing particular."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "; there is no such process any more"
    return {
        "T": "; it is stopped (SIGSTOP): kill -CONT lets it go on",
        "t": "; a debugger has stopped it",
        "D": "; it waits for a disk or a device",
        "Z": "; it has ended, and its parent has not noticed",
    }.get(state, "")
