"""What a process has of the system's: memory, descriptors and threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Footprint:
    """The resources that a process has."""

    resident_kilobytes: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, process_id: int) -> Footprint:
        folder = Path(f"/proc/{process_id}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        return cls(
            resident_kilobytes=int(status["VmRSS"].split()[0]),
            descriptors=len(list((folder / "fd").iterdir())),
            threads=int(status["Threads"]),
        )
