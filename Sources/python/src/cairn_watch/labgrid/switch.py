"""The switch of an exported watch: a Unix socket where clients of the exporter have it switched on and off.

A connection carries one request, a line of JSON, and its answer: `{"power":"on"}`, `off` or `get`, then `{"ok":true,"isOn":true}` or
`{"ok":false,"message":…}`.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import socketserver
import threading
from pathlib import Path
from typing import Protocol

from ..errors import CairnError

#: The longest request and the longest answer, in bytes.
LINE_LIMIT = 64 << 10


class Switched(Protocol):
    """What is switched."""

    def on(self) -> None:
        """Switches it on."""

    def off(self) -> None:
        """Switches it off."""

    def is_on(self) -> bool:
        """Whether it is on."""


class Switch:
    """The exporter's end. One request after the other is carried out."""

    def __init__(self, path: Path, power: Switched, mode: int, logger: logging.Logger) -> None:
        """`mode`: the permissions of the socket."""
        self._path = path
        self._power = power
        self._mode = mode
        self._logger = logger
        self._turn = threading.Lock()
        self._server: socketserver.ThreadingUnixStreamServer | None = None

    def open(self) -> None:
        """Takes requests from now on. Raises OSError if the socket cannot be made."""
        switch = self

        class Handler(socketserver.StreamRequestHandler):
            #: A client that says nothing is not waited for.
            timeout = 10

            def handle(self) -> None:
                try:
                    self.wfile.write(json.dumps(switch._answer(self.rfile.readline(LINE_LIMIT))).encode() + b"\n")
                except OSError:
                    # The client has gone.
                    pass

        self._path.unlink(missing_ok=True)
        self._server = socketserver.ThreadingUnixStreamServer(str(self._path), Handler)
        self._server.daemon_threads = True
        os.chmod(self._path, self._mode)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self, *, switch_off: bool) -> None:
        """Takes no more requests. It may be closed already. `switch_off`: whether the watch ends with it."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            self._path.unlink(missing_ok=True)
        with self._turn:
            try:
                if switch_off:
                    self._power.off()
            except CairnError as error:
                # It has been killed, then.
                self._logger.warning("%s", error.message)

    def _answer(self, line: bytes) -> dict[str, object]:
        try:
            request = json.loads(line)
            verb = request["power"]
        except (ValueError, TypeError, KeyError):
            return {"ok": False, "message": 'the switch takes {"power":"on"}, off or get'}
        with self._turn:
            # Who closed the switch has the last word.
            if self._server is None:
                return {"ok": False, "message": "the place was released"}
            try:
                if verb == "on":
                    self._power.on()
                elif verb == "off":
                    self._power.off()
                elif verb != "get":
                    return {"ok": False, "message": f"the switch takes on, off and get, and not {verb!r}"}
                return {"ok": True, "isOn": self._power.is_on()}
            except CairnError as error:
                self._logger.warning("power %s: %s", verb, error.message)
                return {"ok": False, "message": error.message[-LINE_LIMIT // 8 :]}


def ask(path: Path, verb: str, seconds: float) -> bool:
    """A client's end: has a watch switched, and says whether it is on then.

    Raises OSError if the switch does not answer in time, ValueError with the exporter's words if it cannot do it.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(str(path))
        connection.sendall(json.dumps({"power": verb}).encode() + b"\n")
        with connection.makefile("rb") as lines:
            line = lines.readline(LINE_LIMIT)
    if not line.endswith(b"\n"):
        raise ConnectionResetError("the connection ended")
    answer = json.loads(line)
    if answer.get("ok") is not True:
        raise ValueError(str(answer.get("message")))
    return bool(answer["isOn"])
