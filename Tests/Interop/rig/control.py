"""The control socket of a running watch: JSON objects, one a line (Docs/control.md)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .waiting import within

#: The longest line that the watch sends.
LINE_LIMIT = 1 << 22


async def ask(state: Path, command: str, **fields: Any) -> dict[str, Any]:
    """Has the watch do something, and returns its answer."""
    reader, writer = await asyncio.open_unix_connection(str(state / "control.sock"), limit=LINE_LIMIT)
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


async def until(state: Path, what: str, accept: Callable[[dict[str, Any]], bool], seconds: float = 10) -> dict[str, Any]:
    """What phones have put on the watch, once it is as wanted; it is looked at again whenever something happens."""
    reader, writer = await asyncio.open_unix_connection(str(state / "control.sock"), limit=LINE_LIMIT)

    async def watch() -> dict[str, Any]:
        writer.write(b'{"command":"events"}\n')
        while True:
            known = await services(state)
            if accept(known):
                return known
            await reader.readline()

    try:
        return await within(seconds, what, watch())
    finally:
        writer.close()
