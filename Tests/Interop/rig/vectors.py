"""The golden vectors that Cairn's own tests use as well: bytes from real firmware and real companion apps."""

from __future__ import annotations

import functools
import json
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
VECTORS = REPOSITORY / "Tests" / "PebbleProtocolTests" / "Vectors"


@functools.cache
def _load(file: str) -> dict[str, bytes]:
    entries = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    return {entry["name"]: bytes.fromhex(entry["hex"]) for entry in entries if "hex" in entry}


def over_the_air(name: str) -> bytes:
    """A vector of `ble-watch.json`."""
    return _load("ble-watch.json")[name]


def pebble_protocol(name: str) -> bytes:
    """A vector of `pebble-protocol.json`: a whole message with its header."""
    return _load("pebble-protocol.json")[name]
