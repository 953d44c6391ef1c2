"""A connection to the control socket of a watch: JSON objects, one a line (Docs/control.md)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

from .errors import CairnError, NoWatch, Refused, UnknownCommand, WatchGone, WrongVersion

#: The longest line that is read, in bytes. The watch's own are far shorter; what is longer comes from something else.
LINE_LIMIT = 8 << 20
#: The longest line that the watch takes, in bytes.
REQUEST_LIMIT = 64 << 10
#: A Unix socket's path has at most so many bytes (sockaddr_un, less the NUL).
PATH_LIMIT = 107
#: `struct ucred`: process, user, group.
_CREDENTIALS = struct.Struct("3i")


class Ended(CairnError):
    """The socket has ended. The watch that is behind it says more with `AsyncWatch`'s help."""

    def __init__(self, what: str) -> None:
        super().__init__("ended", what)

    def __reduce__(self) -> tuple[type[CairnError], tuple[str, str]]:
        return WatchGone, (self.code, self.message)


class Connection:
    """Requests and answers, in order. After `events` or `packets`, other lines come in between."""

    def __init__(self, path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        #: The process that listens there, as the system says; None if it is in another namespace.
        self.peer = _peer(writer.get_extra_info("socket"))
        self._turn = asyncio.Lock()
        #: Answers to requests whose asker did not wait for them.
        self._unwanted = 0

    @classmethod
    async def open(cls, path: Path) -> Connection:
        """Connects. Raises NoWatch, which says why."""
        if len(os.fsencode(path)) > PATH_LIMIT:
            raise NoWatch(
                "no-watch", f"{path}: the path of a socket has at most {PATH_LIMIT} bytes; name a shorter one with control="
            )
        try:
            reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_LIMIT)
        except FileNotFoundError:
            raise NoWatch(
                "no-watch", f"there is no socket {path}: no watch runs there; start one with Watch.start or cairn run"
            ) from None
        except ConnectionRefusedError:
            raise NoWatch("no-watch", f"nothing listens at {path}: the watch that made it has ended") from None
        except PermissionError:
            raise NoWatch(
                "no-watch", f"{path}: this user may not open it; it is its watch's user's, or its group's with --control-access"
            ) from None
        except OSError as error:
            raise NoWatch("no-watch", f"{path}: {error.strerror or error}") from None
        return cls(path, reader, writer)

    def close(self) -> None:
        """Ends the connection. It may have ended already."""
        self._writer.close()

    async def ask(self, command: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The answer to a command. Fields that are None are left out.

        Raises Refused if the watch says no, UnknownCommand if it has no such command, WrongVersion if it answers with no
        answer, Ended when the socket ends. An asker that is cancelled leaves the connection usable.
        """
        request = {"command": command, **{key: value for key, value in fields.items() if value is not None}}
        line = json.dumps(request).encode() + b"\n"
        if len(line) > REQUEST_LIMIT:
            raise ValueError(f"“{command}” has {len(line)} bytes, and the watch takes lines of {REQUEST_LIMIT}")
        async with self._turn:
            self._unwanted += 1
            await self._write(line)
            while True:
                answer = await self.line()
                if "ok" not in answer:
                    continue
                self._unwanted -= 1
                if self._unwanted == 0:
                    break
        return self._checked(command, answer)

    async def line(self) -> dict[str, Any]:
        """The next line. Raises WrongVersion if it is no JSON object, Ended when the socket ends."""
        try:
            line = await self._reader.readline()
        except ValueError:
            raise WrongVersion(
                "wrong-version", f"{self.path} sends a line of more than {LINE_LIMIT} bytes: no known watch does"
            ) from None
        except OSError as error:
            raise Ended(f"the connection to {self.path} broke: {error.strerror or error}") from None
        if not line.endswith(b"\n"):
            raise Ended(f"the connection to {self.path} ended")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            words = line[:60].decode("utf-8", "replace").strip()
            raise WrongVersion(
                "wrong-version", f"{self.path} sends “{words}”, which is no JSON object: it is no watch, or of another version"
            )
        return message

    async def _write(self, line: bytes) -> None:
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise Ended(f"the connection to {self.path} broke: {error.strerror or error}") from None

    def _checked(self, command: str, answer: dict[str, Any]) -> dict[str, Any]:
        if answer["ok"] is True:
            return answer
        error = answer.get("error")
        if answer["ok"] is not False or not isinstance(error, dict) or not {"code", "message"} <= error.keys():
            raise WrongVersion(
                "wrong-version", f"{self.path} answers “{command}” with {json.dumps(answer)[:200]}, which is no answer"
            )
        code, message = str(error["code"]), str(error["message"])
        if code == "bad-request" and "is no command" in message:
            raise UnknownCommand(code, message)
        raise Refused(code, message)


def _peer(end: socket.socket) -> int | None:
    pid: int = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
    return pid or None
