"""An L2CAP channel from a plain kernel socket: LE credit-based, as any Linux program would open it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
import threading
from collections.abc import Callable

AF_BLUETOOTH = 31
BTPROTO_L2CAP = 0
SOL_BLUETOOTH = 274
BT_SECURITY, BT_SNDMTU, BT_RCVMTU = 4, 12, 13
BT_SECURITY_MEDIUM = 2
PUBLIC, RANDOM = 1, 2
RECEIVE_MTU = 2048
SECONDS = 60

_libc = ctypes.CDLL(None, use_errno=True)


def _address(device: str, kind: int, psm: int = 0) -> bytes:
    """A sockaddr_l2."""
    octets = bytes.fromhex(device.replace(":", ""))[::-1]
    return struct.pack("<HH6sHBx", AF_BLUETOOTH, psm, octets, 0, kind)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


class Channel:
    """A connected channel. Python's sockets cannot name the peer's address type: bind and connect are libc's."""

    def __init__(self, adapter: str, watch: str, psm: int) -> None:
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET, BTPROTO_L2CAP)
        try:
            descriptor = self.socket.fileno()
            # The timeout of a blocking socket holds for connect(), too.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SECONDS, 0))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", SECONDS, 0))
            near, far = _address(adapter, PUBLIC), _address(watch, RANDOM, psm)
            _check(_libc.bind(descriptor, near, len(near)), f"bind to {adapter}")
            self.socket.setsockopt(SOL_BLUETOOTH, BT_SECURITY, bytes([BT_SECURITY_MEDIUM, 0]))
            self.socket.setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", RECEIVE_MTU))
            _check(_libc.connect(descriptor, far, len(far)), f"connect to PSM 0x{psm:04X} of {watch}")
            (self.mtu,) = struct.unpack("<H", self.socket.getsockopt(SOL_BLUETOOTH, BT_SNDMTU, 2))
        except BaseException:
            self.socket.close()
            raise

    def echo(self, data: bytes) -> bytes:
        """Sends data in SDUs that fit the watch's MTU, and returns as many bytes as come back."""
        failures: list[Exception] = []

        def send() -> None:
            try:
                for start in range(0, len(data), self.mtu):
                    self.socket.send(data[start : start + self.mtu])
            except OSError as error:
                failures.append(error)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        answer = bytearray()
        while len(answer) < len(data):
            piece = self.socket.recv(RECEIVE_MTU)
            if not piece:
                break
            answer += piece
        sender.join(SECONDS)
        if failures:
            raise failures[0]
        return bytes(answer)

    def close(self) -> None:
        self.socket.close()


class Stream:
    """The Pebble Protocol on a channel: the companion introduces itself, and messages follow (Docs/stream.md)."""

    def __init__(self, channel: Channel, introduction: bytes) -> None:
        self.on_bytes: Callable[[bytes], None] = lambda _: None
        self.on_closed: Callable[[Exception], None] = lambda _: None
        self._channel = channel
        channel.socket.setblocking(False)
        asyncio.get_running_loop().add_reader(channel.socket, self._receive)
        self.send(introduction)

    def send(self, stream: bytes) -> None:
        for start in range(0, len(stream), self._channel.mtu):
            self._channel.socket.send(stream[start : start + self._channel.mtu])

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel.socket)
        self._channel.close()

    def _receive(self) -> None:
        piece = self._channel.socket.recv(RECEIVE_MTU)
        if piece:
            self.on_bytes(piece)
        else:
            asyncio.get_running_loop().remove_reader(self._channel.socket)
            self.on_closed(ConnectionError("the watch closed the stream"))
