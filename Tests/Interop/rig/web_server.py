"""`cairn-web`, and a client of it: requests, and streams as they come."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import cairn
from .process import Program
from .waiting import within

#: How long the server may take from its start until it prints its address, and for an answer.
PATIENCE = 30


@functools.cache
def binary() -> Path:
    """The program that `swift build` has built, beside `cairn`; CAIRN_WEB_BINARY names another."""
    named = os.environ.get("CAIRN_WEB_BINARY")
    path = Path(named) if named else cairn.binary().with_name("cairn-web")
    assert path.exists(), f"there is no {path}: run 'swift build' first"
    return path


@dataclass(frozen=True)
class Answer:
    """An answer that has an end."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The `code` of an error."""
        return self.json["error"]["code"]


@dataclass
class Event:
    """An event of a stream."""

    name: str
    data: Any
    id: str | None = None


@dataclass
class Stream:
    """A stream that goes on: its bytes as they come, and its events."""

    headers: str
    reader: asyncio.StreamReader
    _events: list[str] = field(default_factory=list)

    async def piece(self) -> bytes:
        """The next bytes; none at its end. The transfer coding is chunked (RFC 9112, 7.1)."""
        size = int((await self.reader.readline()).split(b";")[0] or b"0", 16)
        data = await self.reader.readexactly(size) if size else b""
        await self.reader.readline()
        return data

    async def event(self, seconds: float = PATIENCE) -> Event:
        """The next event; comments are passed over."""
        return await within(seconds, "the next event of a stream", self._next())

    async def _next(self) -> Event:
        while True:
            while self._events:
                lines = self._events.pop(0).split("\n")
                fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
                if "event" in fields:
                    return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
            text = ""
            while not text.endswith("\n\n"):
                piece = await self.piece()
                if not piece:
                    raise EOFError("the stream has ended")
                text += piece.decode()
            self._events += [block for block in text.split("\n\n") if block]

    async def until(self, name: str, seconds: float = PATIENCE) -> Event:
        """The next event of a name."""

        async def search() -> Event:
            while True:
                event = await self._next()
                if event.name == name:
                    return event

        return await within(seconds, f"the event {name}", search())


@dataclass
class Server:
    """A running `cairn-web`."""

    program: Program
    #: What it has printed, with the token that counts once.
    address: str
    token: str
    read_only_token: str
    certificate: Path | None = None

    @property
    def start(self) -> str:
        """The beginning of every address."""
        return self.address.split("/?")[0]

    @property
    def port(self) -> int:
        return int(self.start.rsplit(":", 1)[1])

    @property
    def _tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=str(self.certificate)) if self.certificate else None

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Sends a request. `token`: the one that may do everything; None for none."""
        head = {} if token is None else {"Authorization": f"Bearer {token or self.token}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            head["Content-Type"] = "application/json"
        head |= headers or {}

        def send() -> Answer:
            kind = http.client.HTTPSConnection if self.certificate else http.client.HTTPConnection
            more: dict[str, Any] = {"context": self._tls} if self.certificate else {}
            connection = kind("localhost" if self.certificate else "127.0.0.1", self.port, timeout=PATIENCE, **more)
            try:
                connection.request(method, path, body, head)
                response = connection.getresponse()
                return Answer(response.status, response.headers, response.read())
            finally:
                connection.close()

        return await asyncio.to_thread(send)

    async def command(self, watch: str, name: str, **fields: Any) -> dict[str, Any]:
        """The answer to a command that must succeed."""
        answer = await self.ask("POST", f"/api/watches/{watch}/commands/{name}", fields or None)
        assert answer.status == 200, answer.body
        return answer.json

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *headers: str) -> AsyncIterator[Stream]:
        """Opens a stream until the end of the block."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}", *headers]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
            head = await within(PATIENCE, f"the head of {path}", reader.readuntil(b"\r\n\r\n"))
            assert head.startswith(b"HTTP/1.1 200"), head + await reader.read(1000)
            yield Stream(head.decode(), reader)
        finally:
            writer.close()

    @contextlib.asynccontextmanager
    async def events(self, watch: str, query: str = "", *headers: str) -> AsyncIterator[Stream]:
        """Events of a watch that is up."""
        async with self.stream(f"/api/watches/{watch}/events{query}", *headers) as stream:
            yield stream


@contextlib.asynccontextmanager
async def serving(folder: Path, *arguments: str, certificate: Path | None = None) -> AsyncIterator[Server]:
    """Runs `cairn-web` until the end of the block; then it ends well when asked."""
    token = folder / "web" / "token"
    # A machine that is full of other tests makes no watch hang, unless the test says how long that takes.
    patience = () if "--patience" in arguments else ("--patience", "20")
    words = [str(binary()), "--token-file", str(token), *patience, *arguments]
    program = await Program.start(words, folder / "cairn-web.log")
    try:
        address = (await program.wait_for_line(r"(https?://\S+/\?token=\w+)", PATIENCE))[1]
        other = token.with_name("token.read-only")
        yield Server(program, address, token.read_text().strip(), other.read_text().strip(), certificate)
        assert program.is_running, f"cairn-web has ended:\n{program.log}"
        status = await program.stop()
        assert status == 0, f"cairn-web ended with status {status} when it was asked to stop:\n{program.log}"
    finally:
        program.kill()
