"""What a process has of the system's: memory, descriptors and threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def _fields(file: Path) -> dict[str, str]:
    return dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)


@dataclass(frozen=True)
class Footprint:
    """The resources that a process has.

    What a process keeps shows in its anonymous memory. Its resident memory has pages of files besides, such as those of its
    program: they come when code runs for the first time, and again after the watch gave them back.
    """

    resident_kilobytes: int
    anonymous_kilobytes: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, process_id: int) -> Footprint:
        folder = Path(f"/proc/{process_id}")
        # The kernel counts the pages for this file; the figures in "status" are late by up to a batch for each processor.
        memory = _fields(folder / "smaps_rollup")
        return cls(
            resident_kilobytes=int(memory["Rss"].split()[0]),
            anonymous_kilobytes=int(memory["Anonymous"].split()[0]),
            descriptors=len(list((folder / "fd").iterdir())),
            threads=int(_fields(folder / "status")["Threads"]),
        )
