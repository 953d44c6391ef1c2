"""Captures, read by tshark."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Decoded:
    """What tshark made of a capture."""

    frames: int
    #: How many frames have each protocol.
    protocols: Counter[str]
    #: The frames that tshark calls malformed, or whose bytes it could not place, as it describes them.
    malformed: list[str]
    #: How many ATT PDUs there are of each opcode.
    att_opcodes: Counter[int]


def decode(capture: Path) -> Decoded:
    """Has tshark decode the capture; fails if tshark does."""
    output = subprocess.run(
        [
            "tshark",
            *("-r", str(capture), "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"),
            *("-e", "frame.protocols", "-e", "_ws.malformed", "-e", "btatt.opcode"),
            *("-e", "_ws.col.Info"),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    protocols: Counter[str] = Counter()
    att_opcodes: Counter[int] = Counter()
    malformed: list[str] = []
    lines = output.splitlines()
    for number, line in enumerate(lines, 1):
        stack, problem, opcodes, info = line.split("|", 3)
        protocols.update(set(stack.split(":")))
        att_opcodes.update(int(opcode, 16) for opcode in opcodes.split(",") if opcode)
        if problem or "malformed" in stack or "[Malformed" in info:
            malformed.append(f"frame {number}: {info}")
    return Decoded(len(lines), protocols, malformed, att_opcodes)
