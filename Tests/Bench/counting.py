"""What a process asks the C library for: memory, and the calls that move bytes and wait for them (counters.c)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, fields
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Calls:
    """How often, in the order of counters.c."""

    allocations: int
    reads: int
    waits: int
    sends: int
    options: int

    def __sub__(self, earlier: Calls) -> Calls:
        return Calls(*(getattr(self, each.name) - getattr(earlier, each.name) for each in fields(Calls)))


class Counting:
    """Counts the calls of one process, which is started with `prefix` in front of its command."""

    def __init__(self, folder: Path, name: str) -> None:
        self._library = folder / "counters.so"
        if not self._library.exists():
            command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(self._library), str(HERE / "counters.c")]
            subprocess.run(command, check=True)
        self._file = folder / f"{name}.counts"
        self._file.write_bytes(bytes(8 * len(fields(Calls))))

    @property
    def prefix(self) -> list[str]:
        return ["env", f"LD_PRELOAD={self._library}", f"CAIRN_COUNTERS={self._file}"]

    @property
    def calls(self) -> Calls:
        numbers = self._file.read_bytes()
        return Calls(*(int.from_bytes(numbers[place : place + 8], "little") for place in range(0, len(numbers), 8)))
