"""The control socket of a running watch: JSON objects, one a line (Docs/control.md)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from .waiting import within


async def ask(state: Path, command: str, **fields: Any) -> dict[str, Any]:
    """Has the watch do something, and returns its answer."""
    reader, writer = await asyncio.open_unix_connection(str(state / "control.sock"), limit=1 << 22)
    try:
        writer.write(json.dumps({"command": command, **fields}).encode() + b"\n")
        line = await within(10, f"the watch to answer {command}", reader.readline())
    finally:
        writer.close()
    answer = json.loads(line)
    assert answer["ok"], answer
    return answer


async def services(state: Path) -> dict[str, Any]:
    """What phones have put on the watch."""
    return (await ask(state, "status"))["status"]["services"]
