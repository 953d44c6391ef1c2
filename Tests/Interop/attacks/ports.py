"""What other users and programs of the machine can send to the ports of a running watch."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
from pathlib import Path

#: A user who has nothing to do with the watch: Debian's “nobody”.
STRANGER = 65534

SPP = 1
RESET_ENDPOINT = 0x07D3
FACTORY_RESET = 0xFE
BUTTON = 8


def frame(protocol: int, data: bytes) -> bytes:
    """A frame of the emulator's protocol."""
    return b"\xfe\xed" + struct.pack(">HH", protocol, len(data)) + data + b"\xbe\xef"


def factory_reset() -> bytes:
    """What a tool sends to have the watch forget everything."""
    return frame(SPP, struct.pack(">HHB", 1, RESET_ENDPOINT, FACTORY_RESET))


def press(buttons: int) -> bytes:
    """What a tool sends while buttons are held."""
    return frame(BUTTON, bytes([buttons]))


#: HCI Reset, which every host begins with, and its answer.
HCI_RESET = bytes.fromhex("01030c00")
HCI_RESET_COMPLETE = bytes.fromhex("040e0401030c00")

#: How connections begin that are neither a tool's nor a host's.
FOREIGN = {
    "GET": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST": b"POST / HTTP/1.1\r\nContent-Length: 15\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303"),
    # WebRTC frames STUN by its length, which a page can choose: here it looks like an HCI command of group 0.
    "STUN": bytes.fromhex("0103000100f02112a442"),
    "a signature and no frame": bytes.fromhex("feedfacecafe"),
    "a half word": b"\xfe",
    "H4 data": bytes.fromhex("0240200000"),
    "zeros": bytes(16),
}


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


def try_as_stranger(port: int, sent: bytes, seconds: float = 3) -> bytes:
    """What another user of the machine gets for what they send. Only root can be another user."""
    return bytes.fromhex(_as_stranger(port, sent, f"timeout {seconds} dd bs=64 count=1 status=none <&3 | od -An -v -tx1"))


def flee_as_stranger(port: int, sent: bytes) -> None:
    """The same by a user who closes at once: the kernel then shows the socket without an owner, which looks like root's."""
    _as_stranger(port, sent, "exec 3>&-")


def _as_stranger(port: int, sent: bytes, then: str) -> str:
    # The interpreter of the tests may be where only its owner can go; every user may run the shell.
    words = "".join(f"\\x{byte:02x}" for byte in sent)
    result = subprocess.run(
        ["/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf '{words}' >&3 && {then}"],
        user=STRANGER,
        group=STRANGER,
        extra_groups=[],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return result.stdout.strip()


def processor_seconds(process: int) -> float:
    """How much of a processor a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hold(port: int, count: int, sent: bytes = b"") -> list[socket.socket]:
    """Connections that stay open and send only this."""
    held = []
    for _ in range(count):
        each = socket.socket()
        each.setblocking(False)
        each.connect_ex(("127.0.0.1", port))
        held.append(each)
    if sent:
        for each in held:
            try:
                each.send(sent)
            except OSError:
                pass
    return held
