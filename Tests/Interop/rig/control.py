"""The control socket of a running watch: JSON objects, one a line (Docs/control.md)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from .waiting import Mailbox, within

#: The longest line that the watch sends.
LINE_LIMIT = 1 << 22


class Refused(Exception):
    """The watch did not do what it was asked."""

    def __init__(self, error: dict[str, str]) -> None:
        self.code = error["code"]
        super().__init__(f"{error['code']}: {error['message']}")


class Control:
    """A connection to the control socket of a running watch."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        #: What has happened since `listen`, in order.
        self.events: Mailbox[dict[str, Any]] = Mailbox("what happened on the watch")
        #: The packets since `packets` was asked for, in order.
        self.packets: Mailbox[dict[str, Any]] = Mailbox("what passed between the watch's host and its controller")
        self._answers: Mailbox[dict[str, Any]] = Mailbox("the watch's answers")
        self._reader = reader
        self._writer = writer
        self._reading = asyncio.create_task(self._read())

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, path: Path) -> AsyncIterator[Control]:
        reader, writer = await within(10, f"{path}", asyncio.open_unix_connection(str(path), limit=LINE_LIMIT))
        control = cls(reader, writer)
        try:
            yield control
        finally:
            control._reading.cancel()
            writer.close()

    async def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """The answer. Raises Refused."""
        self.send(json.dumps({"command": command, **fields}))
        return await self.answer()

    def send(self, line: str) -> None:
        self._writer.write(line.encode() + b"\n")

    async def answer(self) -> dict[str, Any]:
        """The next answer. Raises Refused."""
        answer = await self._answers.take(10, "the watch's answer")
        if not answer["ok"]:
            raise Refused(answer["error"])
        return answer

    async def status(self) -> dict[str, Any]:
        return (await self.ask("status"))["status"]

    async def listen(self) -> None:
        """From now on, what happens arrives in `events`."""
        await self.ask("events")

    async def event(self, name: str, seconds: float = 10) -> dict[str, Any]:
        """The next event of a kind."""
        return await self.events.take(seconds, f"the event {name}", lambda event: event["event"] == name)

    async def _read(self) -> None:
        try:
            async for line in self._reader:
                message = json.loads(line)
                if "packet" in message:
                    self.packets.put(message["packet"])
                else:
                    (self._answers if "ok" in message else self.events).put(message)
            failure: Exception = ConnectionError("the watch closed the control socket")
        except (OSError, ValueError) as error:
            failure = error
        self._answers.fail(failure)
        self.events.fail(failure)
        self.packets.fail(failure)


async def ask(state: Path, command: str, **fields: Any) -> dict[str, Any]:
    """Sends the watch a command, and returns its answer."""
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
