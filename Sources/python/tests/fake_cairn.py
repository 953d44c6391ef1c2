#!/usr/bin/env python3
"""A program that stands in for `cairn run` and `cairn air`: a socket that answers as a watch does, and no watch behind it.

As a module it is the watch of a test, in a thread. What it answers is what Docs/control.md says.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ECHO = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"
Answer = dict[str, Any]


class Refusal(Exception):
    """What the watch does not do: a code and words."""


class FakeWatch:
    """A watch at a socket. `answers` has a function for each command, and a test may put others there."""

    def __init__(
        self, path: Path, *, version: str = "0.1.0", pid: int | None = None, is_ready: bool = True
    ) -> None:
        self.path = path
        self.version = version
        self.pid = pid or os.getpid()
        self.is_ready = is_ready
        self.events: list[dict[str, Any]] = []
        #: Every request, in order.
        self.requests: list[dict[str, Any]] = []
        #: Of each connection, what `install-part` has brought.
        self.parts: dict[int, bytearray] = {}
        self.packets: list[dict[str, Any]] = []
        self.answers: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "status": lambda _: {"status": self.status()},
            "press": self._press,
            "screenshot": self._screenshot,
            "apps": lambda _: {"apps": [{"uuid": ECHO, "name": "Echo"}]},
            "inbox": lambda _: {"messages": [self._message(7, {"key": 1, "type": "string", "string": "in"})]},
            "outbox": lambda _: {"messages": [self._message(9, {"key": 1, "type": "uint8", "number": 3}) | {"result": "ok"}]},
            "capture-start": lambda _: {},
            "capture-stop": lambda _: {},
            "recorder-save": lambda _: {"size": 4096, "seconds": 12.5, "whole": True},
        }
        self._changed = threading.Condition()
        self._started = time.monotonic()
        self._sockets: list[socket.socket] = []
        watch = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                watch._serve(self)

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            request_queue_size = 32

        self._server = Server(str(path), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def status(self) -> dict[str, Any]:
        """What the watch says of itself."""
        return {
            "name": "Pebble FAKE", "address": "C0:00:00:00:FA:CE", "isReady": self.is_ready, "version": self.version,
            "pid": self.pid, "controller": "virtual", "ports": {"air": 1}, "links": [], "sessions": [], "phones": [],
            "events": {"last": len(self.events), "counts": {}},
        }  # fmt: skip

    def happen(self, event: str, **fields: Any) -> None:
        """Something happens on the watch."""
        with self._changed:
            number = len(self.events) + 1
            at = time.monotonic() - self._started
            self.events.append({"event": event, "sequence": number, "at": at, "text": f"{event} happened", **fields})
            self._changed.notify_all()

    def receive(self, *entries: dict[str, Any], app: str = ECHO) -> None:
        """An AppMessage comes."""
        self.happen("app-message-received", app=app, entries=list(entries))

    def end(self) -> None:
        """The watch is gone: nothing listens, and every connection ends."""
        self._server.shutdown()
        self._server.server_close()
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.path.unlink(missing_ok=True)

    def _press(self, request: dict[str, Any]) -> Answer:
        if request.get("button") not in ("back", "up", "select", "down"):
            raise Refusal("bad-request", f"“{request.get('button')}” is no button")
        self.happen("button", button=request["button"], isLong=bool(request.get("long")))
        return {}

    def _screenshot(self, request: dict[str, Any]) -> Answer:
        pixels = bytes([0b11000000, 0b11111111, 0b11110000, 0b11000011])
        format = request.get("format") or "png"
        data = pixels if format == "raw" else png(2, 2, b"\x00\x00\xff" * 4)
        screen = {"width": 2, "height": 2, "isRound": False, "hasColor": True, "format": format, "data": data.hex()}
        return {"screen": screen}

    @staticmethod
    def _message(sequence: int, entry: dict[str, Any]) -> dict[str, Any]:
        return {"sequence": sequence, "at": 1.5, "app": ECHO, "entries": [entry]}

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        self._sockets.append(handler.connection)
        for line in handler.rfile:
            request = json.loads(line)
            self.requests.append(request)
            answer = self._answer(request, id(handler))
            handler.wfile.write(json.dumps(answer).encode() + b"\n")
            if request["command"] == "events" and answer["ok"]:
                self._stream(handler, request.get("since"))
            elif request["command"] == "packets" and answer["ok"]:
                for packet in self.packets:
                    handler.wfile.write(json.dumps(packet).encode() + b"\n")

    def _answer(self, request: dict[str, Any], connection: int) -> Answer:
        name, sequence = request["command"], len(self.events)
        try:
            if name in ("events", "packets"):
                return {"ok": True}
            if name == "install-part":
                self.parts.setdefault(connection, bytearray()).extend(bytes.fromhex(request["data"]))
                return {"ok": True, "sequence": sequence}
            if name == "install":
                package = self.parts.pop(connection, bytearray())
                if not package.startswith(b"PK"):
                    raise Refusal("bad-package", "this is no package: it does not begin with PK")
                return {"ok": True, "sequence": sequence, "app": {"uuid": ECHO, "name": f"{len(package)} bytes"}}
            if name not in self.answers:
                raise Refusal("bad-request", f"“{name}” is no command; there are {', '.join(self.answers)}")
            return {"ok": True, "sequence": sequence, **self.answers[name](request)}
        except Refusal as refusal:
            code, message = refusal.args
            return {"ok": False, "error": {"code": code, "message": message}}

    def _stream(self, handler: socketserver.StreamRequestHandler, since: int | None) -> None:
        sent = len(self.events) if since is None else since
        try:
            while True:
                with self._changed:
                    while len(self.events) <= sent:
                        self._changed.wait(1)
                    new = self.events[sent:]
                    sent = len(self.events)
                for event in new:
                    handler.wfile.write(json.dumps(event).encode() + b"\n")
        except OSError:
            return


def png(width: int, height: int, pixels: bytes) -> bytes:
    """A PNG of three bytes a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[row * width * 3 : (row + 1) * width * 3] for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def main() -> int:
    """`run`, as far as the package needs it. `--name` says what is wrong with the watch."""
    arguments = sys.argv[1:]
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    print(" ".join(arguments), flush=True)
    name = options.get("--name", "")
    if name == "refuses":
        print("fake cairn: there is no such controller", file=sys.stderr)
        return 69
    control = Path(options["--control"])
    control.parent.mkdir(parents=True, exist_ok=True)
    control.unlink(missing_ok=True)
    if capture := options.get("--capture"):
        Path(capture).write_bytes(b"btsnoop\0")
    # No threading.Event: its lock may be held, by the very thread that the signal interrupts.
    asked: list[int] = []
    # Before a test can ask it to end: the socket is what they wait for.
    if name != "stubborn":
        signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watch = FakeWatch(control, is_ready=name != "never-ready")
    while not asked:
        time.sleep(0.05)
    watch.end()
    print("goodbye", flush=True)
    return 3 if name == "ends-badly" else 0


if __name__ == "__main__":
    sys.exit(main())
