"""What the `pebble` tool installs of an SDK, with the stand-in `qemu_pebble.py` as its emulator."""

from __future__ import annotations

import bz2
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import qemu_pebble
from .vectors import REPOSITORY

VERSION = "4.9.169"
#: The contents of a watch's flash that has never run.
FLASH = bytes(4) + b"\xff" * (qemu_pebble.FLASH_SIZE - 4)


@dataclass
class Sdk:
    """The SDKs in a person's home, and what their emulators are told by the test."""

    home: Path

    @property
    def _orders(self) -> Path:
        return self.home / ".pebble-sdk" / "orders"

    def images(self, board: str, version: str = VERSION) -> Path:
        return self.home / ".pebble-sdk" / "SDKs" / version / "sdk-core" / "pebble" / board / "qemu"

    def program(self, version: str = VERSION) -> Path:
        return self.home / ".pebble-sdk" / "SDKs" / version / "toolchain" / "bin" / "qemu-pebble"

    def install(self, board: str, version: str = VERSION, flash: bytes = FLASH) -> None:
        """A board's images, and the emulator."""
        images = self.images(board, version)
        images.mkdir(parents=True)
        (images / "qemu_micro_flash.bin").write_bytes(b"firmware")
        (images / "qemu_spi_flash.bin.bz2").write_bytes(bz2.compress(flash))
        program = self.program(version)
        program.parent.mkdir(parents=True, exist_ok=True)
        variables = {"PYTHONPATH": str(REPOSITORY / "Tests" / "Interop"), qemu_pebble.ORDERS: str(self._orders)}
        settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        program.write_text(f'#!/bin/sh\n{settings}exec {shlex.join([sys.executable, "-m", "rig.qemu_pebble"])} "$@"\n')
        program.chmod(0o755)
        self.order()

    def order(self, **orders: Any) -> None:
        """What emulators do from their next start on."""
        self._orders.write_text(json.dumps(orders), encoding="utf-8")

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The emulators that were started: their process, words and folder."""
        path = self._orders.with_name("starts")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
