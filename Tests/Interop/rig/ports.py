"""Ports for programs that must be told theirs."""

from __future__ import annotations

import contextlib
import os
import socket


def free_port() -> int:
    """A port that no other test gets: the kernel gives out those from 32768 on, and each of pytest's workers has 100 of its own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for port in range(20_000 + 100 * worker, 20_100 + 100 * worker):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("100 ports are taken")
