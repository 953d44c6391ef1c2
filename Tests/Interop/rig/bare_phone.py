"""A phone of a few packets: it takes the place of a controller's radio, and comes and goes as fast as the watch can follow.

The controller is Bumble's and answers the watch's commands; connections, the phone's half of ATT and PPoGATT, and the
ends of links are made here, packet by packet. Nothing is encrypted.
"""

from __future__ import annotations

import itertools
import struct

from bumble import hci

from .controllers import HostPort
from .waiting import Mailbox

ATT_CID = 4
HANDLE = 0x0040

#: Every request of ATT's by which a client looks around (Core 5.4, Vol 3, Part F, 3.4).
REQUESTS = frozenset({0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x20})
ERROR_RESPONSE = 0x01
ATTRIBUTE_NOT_FOUND = 0x0A
MTU_REQUEST, MTU_RESPONSE = 0x02, 0x03
WRITE_REQUEST, WRITE_RESPONSE = 0x12, 0x13
READ_REQUEST, READ_RESPONSE = 0x0A, 0x0B
NOTIFICATION = 0x1B
WRITE_COMMAND = 0x52
MTU = 185

RESET_REQUEST = bytes([0x02, 0x01])
RESET_COMPLETE = bytes([0x03, 25, 25])


class BarePhone:
    """The phone; `data`, `write`: the handles of the watch's reversed PPoGATT service, V2."""

    def __init__(self, port: HostPort, data: int, write: int) -> None:
        self._port = port
        self._data = data
        self._write = write
        self._handle = HANDLE
        self._take = port.controller.on_packet
        self._answers: Mailbox[bytes] = Mailbox("what the watch said")
        self._reasons = itertools.cycle((0x08, 0x13, 0x16, 0x3D))
        port.controller.on_packet = self._from_watch  # type: ignore[method-assign]

    async def cycle(self) -> None:
        """Connects, opens a session, and disconnects."""
        self.arrive()
        await self.open_session()
        self.vanish()

    def arrive(self, handle: int = HANDLE, address: str = "E1:B0:0B:1E:5A:01") -> None:
        """Is connected, without advertising or scanning."""
        self._handle = handle
        self._answers = Mailbox("what the watch said")
        event = hci.HCI_LE_Connection_Complete_Event(
            status=0,
            connection_handle=handle,
            role=hci.Role.PERIPHERAL,
            peer_address_type=1,
            peer_address=hci.Address(address),
            connection_interval=24,
            peripheral_latency=0,
            supervision_timeout=500,
            central_clock_accuracy=0,
        )
        self._port.on_packet(bytes(event))

    async def open_session(self) -> None:
        self._send(struct.pack("<BH", MTU_REQUEST, MTU))
        await self._answers.take(10, "the MTU", lambda pdu: pdu[0] == MTU_RESPONSE)
        # The CCCD stands right behind its value.
        self._send(struct.pack("<BHH", WRITE_REQUEST, self._data + 1, 1))
        await self._answers.take(10, "the subscription", lambda pdu: pdu[0] == WRITE_RESPONSE)
        self._send_packet(RESET_REQUEST)
        await self._answers.take(10, "Reset Complete", lambda pdu: pdu[0] == NOTIFICATION and pdu[3] & 7 == 3)
        self._send_packet(RESET_COMPLETE)
        await self._answers.take(10, "the session's first message", lambda pdu: pdu[0] == NOTIFICATION and pdu[3] & 7 == 0)
    def vanish(self) -> None:
        """Disconnects, for a reason."""
        self._port.on_packet(
            bytes(
                hci.HCI_Disconnection_Complete_Event(
                    status=0, connection_handle=self._handle, reason=next(self._reasons)
                )
            )
        )

    async def is_heard(self) -> None:
        """Returns when the watch has worked on everything that was sent: it answers in order."""
        self._send(struct.pack("<BH", READ_REQUEST, 1))
        answers = (READ_RESPONSE, ERROR_RESPONSE)
        await self._answers.take(60, "the answer to a read", lambda pdu: pdu[0] in answers)

    def forget_answers(self) -> None:
        self._answers = Mailbox("what the watch said")

    def send_frame(self, channel: int, data: bytes) -> None:
        """An L2CAP frame with any content."""
        frame = struct.pack("<HH", len(data), channel) + data
        self._port.on_packet(bytes(hci.HCI_AclDataPacket(self._handle, 2, 0, len(frame), frame)))

    def send_packet(self, packet: bytes) -> None:
        """A PPoGATT packet with any content."""
        self._send_packet(packet)

    def send_event(self, packet: bytes) -> None:
        """An HCI packet from the controller with any content."""
        self._port.on_packet(packet)

    def _send_packet(self, packet: bytes) -> None:
        self._send(struct.pack("<BH", WRITE_COMMAND, self._write) + packet)

    def _send(self, pdu: bytes) -> None:
        self.send_frame(ATT_CID, pdu)

    def _from_watch(self, packet: bytes) -> None:
        if packet[0] != hci.HCI_ACL_DATA_PACKET:
            self._take(packet)
            return
        self._port.on_packet(
            bytes(
                hci.HCI_Number_Of_Completed_Packets_Event(connection_handles=[self._handle], num_completed_packets=[1])
            )
        )
        _, channel = struct.unpack_from("<HH", packet, 5)
        pdu = packet[9:]
        if channel != ATT_CID:
            return
        if pdu[0] == MTU_REQUEST:
            self._send(struct.pack("<BH", MTU_RESPONSE, MTU))
        elif pdu[0] in REQUESTS:
            self._send(struct.pack("<BBHB", ERROR_RESPONSE, pdu[0], 0x0001, ATTRIBUTE_NOT_FOUND))
        else:
            self._answers.put(pdu)
