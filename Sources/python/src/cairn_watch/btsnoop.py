"""Captures of HCI packets as btsnoop files, which Wireshark reads."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from types import TracebackType

from .errors import WrongVersion

#: HCI packets with their H4 type byte.
DATALINK_H4 = 1002
#: From the year 0 to 1970, in microseconds: btsnoop counts from the former.
EPOCH = 0x00DC_DDB3_0F2F_8000
_COMMAND, _EVENT = 1, 4


class CaptureFile:
    """A btsnoop file that is being written. `packets`: how many it has."""

    def __init__(self, path: str | Path) -> None:
        self.packets = 0
        self._file = Path(path).open("wb")
        self._file.write(b"btsnoop\0" + struct.pack(">II", 1, DATALINK_H4))
        #: The watch counts from its start, and the file from the year 0.
        self._start: float | None = None

    def add(self, at: float, direction: str, packet: bytes) -> None:
        """Adds an H4 packet. `at`: seconds on the watch's clock. `direction`: `sent` by the watch's host, or `received`.

        Raises WrongVersion for another direction or an empty packet.
        """
        if direction not in ("sent", "received") or not packet:
            raise WrongVersion(
                "wrong-version",
                f"a packet of {len(packet)} bytes with the direction “{direction}”; there are sent and received",
            )
        if self._start is None:
            self._start = time.time() - at
        is_control = packet[0] in (_COMMAND, _EVENT)
        flags = (direction == "received") | is_control << 1
        microseconds = EPOCH + int((self._start + at) * 1_000_000)
        self._file.write(struct.pack(">IIIIQ", len(packet), len(packet), flags, 0, microseconds) + packet)
        self.packets += 1

    def close(self) -> None:
        """Writes what is left, and closes the file."""
        self._file.close()

    def __enter__(self) -> CaptureFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
