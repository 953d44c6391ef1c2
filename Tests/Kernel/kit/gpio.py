"""A GPIO chip that the kernel simulates (Documentation/admin-guide/gpio/gpio-sim.rst): wires are pulled from outside."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .checks import Skipped

CONFIGURATION = Path("/sys/kernel/config/gpio-sim")


class SimulatedChip:
    """A chip and what is soldered to it."""

    def __init__(self, label: str, folder: Path, path: str) -> None:
        self.label = label
        self.path = path
        self._folder = folder

    @classmethod
    @contextlib.contextmanager
    def made(cls, label: str, lines: int, hogs: dict[int, str]) -> Iterator[SimulatedChip]:
        """A chip with a label, and lines of which some are used by the kernel itself."""
        if subprocess.run(["modprobe", "gpio-sim"], capture_output=True).returncode != 0 or not CONFIGURATION.exists():
            raise Skipped("this kernel has no simulated GPIO chip")
        device = CONFIGURATION / label
        bank = device / "bank"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(str(lines))
        (bank / "label").write_text(label)
        for line, name in hogs.items():
            hog = bank / f"line{line}" / "hog"
            hog.parent.mkdir()
            hog.mkdir()
            (hog / "name").write_text(name)
            (hog / "direction").write_text("input")
        (device / "live").write_text("1")
        try:
            chip = (bank / "chip_name").read_text().strip()
            folder = Path("/sys/devices/platform") / (device / "dev_name").read_text().strip() / chip
            yield cls(label, folder, f"/dev/{chip}")
        finally:
            (device / "live").write_text("0")

    def pull(self, line: int, up: bool) -> None:
        """What is connected to a line pulls it."""
        (self._folder / f"sim_gpio{line}" / "pull").write_text("pull-up" if up else "pull-down")

    def level(self, line: int) -> int:
        return int((self._folder / f"sim_gpio{line}" / "value").read_text())
