#!/usr/bin/env python3
"""Measures Cairn's and libpebble2's AppMessage codecs on the same dictionaries, in turns, in one run.

One operation is a whole message: a push with its dictionary written into bytes, or read from bytes with every tuple. The
bytes are the same for both, which is checked first. The time is processor time.

    swift build -c release --product cairn-bench
    .venv/bin/python Tests/Bench/dictionary.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from libpebble2.protocol.appmessage import AppMessage, AppMessagePush, AppMessageTuple
from libpebble2.protocol.base import PebblePacket

REPOSITORY = Path(__file__).resolve().parent.parent.parent
#: The built-in watchapp that `cairn-bench` sends to, and the transaction that it begins with.
ECHO_APP = uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
#: How long one measurement of libpebble2 lasts, in seconds.
DURATION = 0.5

Type = AppMessageTuple.Type


def small() -> list[AppMessageTuple]:
    """What `cairn-bench` calls four tuples: a byte, a number, a text and 16 bytes."""
    return [
        AppMessageTuple(key=0, type=Type.Uint, data=b"\x07"),
        AppMessageTuple(key=1, type=Type.Int, data=(-123_456).to_bytes(4, "little", signed=True)),
        AppMessageTuple(key=2, type=Type.CString, data=b"hello, watch\0"),
        AppMessageTuple(key=3, type=Type.ByteArray, data=b"\xa5" * 16),
    ]


def large() -> list[AppMessageTuple]:
    """The largest dictionary that there is."""
    return [AppMessageTuple(key=0, type=Type.ByteArray, data=b"\xa5" * 8192)]


def encode(tuples: list[AppMessageTuple]) -> bytes:
    push = AppMessagePush(uuid=ECHO_APP, dictionary=tuples)
    return AppMessage(transaction_id=1, data=push).serialise_packet()


def decode(message: bytes) -> int:
    packet, length = PebblePacket.parse_message(message)
    assert length == len(message)
    return len(packet.data.dictionary)


def nanoseconds(operation: Callable[[], object]) -> float:
    """Processor time of one operation."""
    operation()
    count = 0
    start = now = time.process_time()
    while now - start < DURATION:
        for _ in range(10):
            operation()
        count += 10
        now = time.process_time()
    return (now - start) / count * 1e9


def cairn(binary: Path) -> dict[str, float]:
    """Nanoseconds of each of Cairn's workloads."""
    command = [str(binary), "cost", "--filter", "appmessage", "--repeats", "3", "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    return {entry["name"]: entry["nanoseconds"] for entry in report["measurements"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / ".build/release/cairn-bench")
    options = parser.parse_args()
    if not options.binary.exists():
        sys.exit(f"there is no {options.binary}: run 'swift build -c release --product cairn-bench' first")

    messages = {"": encode(small()), "-8k": encode(large())}
    assert len(messages["-8k"]) == 8222
    assert [decode(message) for message in messages.values()] == [4, 1]
    operations: dict[str, Callable[[], object]] = {
        "appmessage-encode": lambda: encode(small()),
        "appmessage-decode": lambda: decode(messages[""]),
        "appmessage-encode-8k": lambda: encode(large()),
        "appmessage-decode-8k": lambda: decode(messages["-8k"]),
    }
    ours: dict[str, list[float]] = {name: [] for name in operations}
    theirs: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(options.rounds):
        measured = cairn(options.binary)
        for name, operation in operations.items():
            ours[name].append(measured[name])
            theirs[name].append(nanoseconds(operation))

    print(f"{'operation':22}{'Cairn':>12}{'libpebble2':>14}{'ratio':>9}")
    for name in operations:
        mine, other = statistics.median(ours[name]), statistics.median(theirs[name])
        print(f"{name:22}{mine / 1000:9.2f} µs{other / 1000:11.2f} µs{other / mine:9.1f}")


if __name__ == "__main__":
    main()
