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


#: The packets of a capture that say how fast a link is: LE subevents, commands, ATT opcodes and signaling codes.
_LE_SUBEVENTS = {"0x01": "connected", "0x0a": "connected", "0x03": "parameters", "0x07": "data length", "0x0c": "PHY"}
_ATT_OPCODES = {"0x02": "MTU request", "0x03": "MTU response"}
_COMMANDS = {"0x2013": "parameters wanted"}
_SIGNALING = {"0x12": "parameters wanted"}


@dataclass(frozen=True)
class LinkStep:
    """A step that changes a link's speed, as it crossed HCI."""

    seconds: float
    what: str
    #: Of parameters: interval (both bounds when they are wanted), latency and supervision timeout, in HCI's units.
    parameters: tuple[int, ...] = ()


def link_steps(capture: Path) -> list[LinkStep]:
    """The steps that changed the speed of links, in the order and at the times at which it crossed HCI."""
    names = (
        *("frame.time_epoch", "bthci_evt.le_meta_subevent", "btatt.opcode", "bthci_cmd.opcode", "btl2cap.cmd_code"),
        *("bthci_evt.le_con_interval", "bthci_evt.le_con_latency", "bthci_evt.le_supv_timeout"),
        *("bthci_cmd.le_con_interval_min", "bthci_cmd.le_con_interval_max"),
        *("bthci_cmd.le_con_latency", "bthci_cmd.le_supv_timeout"),
        *("btl2cap.min_interval", "btl2cap.max_interval", "btl2cap.slave_latency", "btl2cap.timeout_multiplier"),
    )
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]
    for name in names:
        command += ["-e", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    steps = []
    for line in output.splitlines():
        time, subevent, att, command_code, signal, *numbers = line.split("|")
        what = (
            _LE_SUBEVENTS.get(subevent)
            or _ATT_OPCODES.get(att)
            or _COMMANDS.get(command_code)
            or _SIGNALING.get(signal)
        )
        if what:
            steps.append(LinkStep(float(time), what, tuple(int(each, 0) for each in numbers if each)))
    return steps
