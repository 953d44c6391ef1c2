"""A program under test: started, watched line by line, stopped by its own process id."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Sequence
from pathlib import Path

from .waiting import GaveUp, within


class UnexpectedExit(AssertionError):
    """The program ended while a test still needed it."""


class Program:
    """A running program. Its standard output and error become one list of lines and one log file."""

    def __init__(self, process: asyncio.subprocess.Process, command: Sequence[str], log: Path) -> None:
        self.command = command
        self.lines: list[str] = []
        self._process = process
        self._log = log
        self._changed = asyncio.Condition()
        self._ended = False
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], log: Path) -> Program:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=1 << 20,
        )
        return cls(process, command, log)

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    @property
    def process_id(self) -> int:
        return self._process.pid

    async def wait_for_line(self, pattern: str, seconds: float, *, after: int = 0) -> re.Match[str]:
        """The first line, of those printed already or from now on, in which `pattern` is found.

        `after`: how many of the first lines don't count.
        """
        expression = re.compile(pattern)

        async def search() -> re.Match[str]:
            seen = after
            while True:
                for line in self.lines[seen:]:
                    if match := expression.search(line):
                        return match
                seen = len(self.lines)
                async with self._changed:
                    while len(self.lines) == seen and not self._ended:
                        await self._changed.wait()
                if self._ended and len(self.lines) == seen:
                    raise UnexpectedExit(
                        f"{self._name} ended with status {await self._process.wait()} "
                        f"before it printed /{pattern}/:\n{self.log}"
                    )

        try:
            return await within(seconds, f"{self._name} to print /{pattern}/", search())
        except GaveUp as error:
            raise GaveUp(f"{error}; it printed:\n{self.log}") from None

    async def wait_for_exit(self, seconds: float) -> int:
        """The exit status; negative: the signal that ended it."""
        status = await within(seconds, f"{self._name} to end", self._process.wait())
        await self._reader
        return status

    async def stop(self, seconds: float = 10) -> int:
        """Asks the program to end (SIGTERM) and returns its exit status. One that will not go is killed, and fails."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        try:
            return await self.wait_for_exit(seconds)
        except GaveUp:
            self.kill()
            await self.wait_for_exit(seconds)
            raise GaveUp(f"{self._name} did not end within {seconds:g} s of SIGTERM") from None

    def kill(self) -> None:
        """Ends it at once, as a power cut would (SIGKILL)."""
        if self.is_running:
            self._process.kill()

    @property
    def _name(self) -> str:
        return Path(self.command[0]).name

    async def _read(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("a", encoding="utf-8") as log:
            async for line in self._process.stdout:
                text = line.decode("utf-8", "replace").rstrip("\n")
                log.write(text + "\n")
                log.flush()
                async with self._changed:
                    self.lines.append(text)
                    self._changed.notify_all()
        await self._process.wait()
        async with self._changed:
            self._ended = True
            self._changed.notify_all()
