"""How a watch's sockets are reached: here, or on another machine through labgrid's ssh connection to it."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Protocol

from ..errors import NoWatch
from .interface import ExecutionError, NetworkResource, Resource, sshmanager

#: How long ssh may take to forward a socket over a connection that there is, in seconds.
_FORWARD_SECONDS = 10


class Reach(Protocol):
    """The way to a machine."""

    def socket(self, path: str) -> Path:
        """Where a Unix socket of that machine can be opened here."""

    def air(self, place: str) -> str:
        """Where a radio of that machine can be reached from here, as `tcp:HOST:PORT` or `unix:PATH`."""

    def command(self, words: list[str]) -> list[str]:
        """The command that runs a command on that machine. Raises NoWatch if the machine is not reached."""

    def close(self) -> None:
        """Ends what was forwarded."""


class Here:
    """This machine."""

    def socket(self, path: str) -> Path:
        """The same path."""
        return Path(path)

    def air(self, place: str) -> str:
        """The same place."""
        return place

    def command(self, words: list[str]) -> list[str]:
        """The same command."""
        return words

    def close(self) -> None:
        """There is nothing to end."""


class OverSSH:
    """Another machine. Sockets and ports are forwarded over the one connection to it that labgrid has."""

    def __init__(self, host: str) -> None:
        self.host = host
        #: Of each Unix socket there, the one here.
        self._sockets: dict[str, Path] = {}
        self._directory: Path | None = None

    def socket(self, path: str) -> Path:
        """Forwards it once. Raises NoWatch if the machine is not reached."""
        if path not in self._sockets:
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="cairn-ssh-"))
            here = self._directory / f"{len(self._sockets)}.sock"
            self._ssh("forward", here, path)
            self._sockets[path] = here
        return self._sockets[path]

    def air(self, place: str) -> str:
        """Forwards it once. Raises NoWatch if the machine is not reached."""
        kind, _, where = place.partition(":")
        if kind == "unix":
            return f"unix:{self.socket(where)}"
        name, _, port = where.rpartition(":")
        try:
            return f"tcp:127.0.0.1:{sshmanager.request_forward(self.host, name, int(port))}"
        except (ExecutionError, OSError, subprocess.SubprocessError) as error:
            raise self._unreached(error) from None

    def command(self, words: list[str]) -> list[str]:
        """The command over ssh. Raises NoWatch if the machine is not reached."""
        try:
            return [*sshmanager.get(self.host).get_prefix(), "--", shlex.join(words)]
        except (ExecutionError, OSError, subprocess.SubprocessError) as error:
            raise self._unreached(error) from None

    def close(self) -> None:
        """Ends what was forwarded. The connection is labgrid's, and stays."""
        for path, here in self._sockets.items():
            try:
                self._ssh("cancel", here, path)
            except NoWatch:
                # The connection has ended, and what went over it.
                pass
        self._sockets.clear()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _ssh(self, command: str, here: Path, path: str) -> None:
        try:
            *prefix, host = sshmanager.get(self.host).get_prefix()
            done = subprocess.run(
                [*prefix, "-O", command, "-L", f"{here}:{path}", host],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_FORWARD_SECONDS,
            )
        except (ExecutionError, OSError, subprocess.SubprocessError) as error:
            raise self._unreached(error) from None
        if done.returncode != 0:
            raise self._unreached(done.stderr.strip() or f"ssh ended with status {done.returncode}")

    def _unreached(self, why: object) -> NoWatch:
        return NoWatch(
            "no-watch", f"{self.host} is not reached over ssh: {why}; “ssh {self.host} true” has to work without a question"
        )


def reach(resource: Resource) -> Reach:
    """The way to a resource's machine."""
    if not isinstance(resource, NetworkResource):
        return Here()
    extra = getattr(resource, "extra", {})
    # An isolated exporter has all go through its own machine.
    if extra.get("proxy_required"):
        return OverSSH(extra["proxy"])
    return Here() if resource.host in _own_names() else OverSSH(resource.host)


def _own_names() -> set[str]:
    return {"localhost", "127.0.0.1", "::1", socket.gethostname(), socket.getfqdn()}
