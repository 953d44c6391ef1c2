"""L2CAP channels as the phone opens them: Bumble's where they keep to the rules, raw frames where they must not."""

from __future__ import annotations

import struct
from types import TracebackType
from typing import Self

from bumble import l2cap
from bumble.device import Connection

from .waiting import Mailbox, within

SIGNALING_CID = 5
#: CIDs of channels on an LE link (Core 5.4, Vol 3, Part A, 2.1).
DYNAMIC_CIDS = range(0x40, 0x80)

#: Codes of signaling commands (Core 5.4, Vol 3, Part A, 4).
REJECT = 0x01
DISCONNECTION_REQUEST = 0x06
DISCONNECTION_RESPONSE = 0x07
UPDATE_REQUEST = 0x12
CONNECTION_REQUEST = 0x14
CONNECTION_RESPONSE = 0x15
CREDITS = 0x16
ENHANCED_REQUEST = 0x17
ENHANCED_RESPONSE = 0x18
RECONFIGURE_REQUEST = 0x19
RECONFIGURE_RESPONSE = 0x1A


def words(*values: int) -> bytes:
    """Numbers of two octets, least significant first."""
    return struct.pack(f"<{len(values)}H", *values)


class RawL2CAP:
    """Takes over the phone's end of L2CAP while it is entered, but for ATT and SMP: frames go out as they are given, and
    what comes in waits to be looked at."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        #: Signaling commands from the watch: code, identifier, data.
        self.commands: Mailbox[tuple[int, int, bytes]] = Mailbox("the watch's signaling commands")
        #: Frames on channels: CID, payload.
        self.frames: Mailbox[tuple[int, bytes]] = Mailbox("the watch's frames")
        #: Channels that answer by themselves, by their CID at the phone.
        self.channels: dict[int, RawChannel] = {}
        self._manager = connection.device.l2cap_channel_manager
        self._identifier = 0x80

    def __enter__(self) -> Self:
        # The instance's attribute hides the class's method.
        self._manager.on_pdu = self._on_pdu  # type: ignore[method-assign]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._manager.on_pdu

    def send(self, cid: int, payload: bytes) -> None:
        self.connection.send_l2cap_pdu(cid, payload)

    def signal(self, code: int, data: bytes, identifier: int | None = None) -> int:
        """Sends a signaling command; returns its identifier."""
        if identifier is None:
            self._identifier = self._identifier % 0xFF + 1
            identifier = self._identifier
        self.send(SIGNALING_CID, bytes([code, identifier]) + words(len(data)) + data)
        return identifier

    async def ask(self, code: int, data: bytes) -> tuple[int, bytes]:
        """Sends a request; the code and the data of its answer."""
        identifier = self.signal(code, data)
        answer, _, payload = await self.commands.take(
            10, f"the answer to command 0x{code:02x}", lambda each: each[1] == identifier
        )
        return answer, payload

    async def connect(
        self,
        spsm: int,
        source: int = 0x50,
        *,
        mtu: int = 512,
        mps: int = 256,
        credits: int = 10,
    ) -> tuple[int, ...]:
        """LE Credit Based Connection Request; destination CID, MTU, MPS, credits and result."""
        code, data = await self.ask(CONNECTION_REQUEST, words(spsm, source, mtu, mps, credits))
        assert code == CONNECTION_RESPONSE and len(data) == 10, f"0x{code:02x} {data.hex()}"
        return struct.unpack("<5H", data)

    async def connect_enhanced(
        self, spsm: int, sources: list[int], *, mtu: int = 512, mps: int = 256, credits: int = 10
    ) -> tuple[tuple[int, ...], list[int]]:
        """Credit Based Connection Request; MTU, MPS, credits and result, and the destination CIDs."""
        code, data = await self.ask(ENHANCED_REQUEST, words(spsm, mtu, mps, credits, *sources))
        assert code == ENHANCED_RESPONSE and len(data) == 8 + 2 * len(sources), f"0x{code:02x} {data.hex()}"
        numbers = struct.unpack(f"<{len(data) // 2}H", data)
        return numbers[:4], list(numbers[4:])

    async def reconfigure(self, sources: list[int], *, mtu: int, mps: int) -> int:
        """Credit Based Reconfigure Request; the result."""
        code, data = await self.ask(RECONFIGURE_REQUEST, words(mtu, mps, *sources))
        assert code == RECONFIGURE_RESPONSE and len(data) == 2, f"0x{code:02x} {data.hex()}"
        return int.from_bytes(data, "little")

    async def disconnect(self, destination: int, source: int = 0x50) -> None:
        code, data = await self.ask(DISCONNECTION_REQUEST, words(destination, source))
        assert (code, data) == (DISCONNECTION_RESPONSE, words(destination, source))

    async def closed_by_watch(self, destination: int, source: int = 0x50) -> None:
        """The watch closes a channel, and is answered."""
        _, identifier, data = await self.commands.take(
            10, "the watch to close the channel", lambda each: each[0] == DISCONNECTION_REQUEST
        )
        assert data == words(source, destination), data.hex()
        self.signal(DISCONNECTION_RESPONSE, data, identifier)

    def _on_pdu(self, connection: Connection, cid: int, pdu: bytes) -> None:
        if connection is not self.connection or (cid not in DYNAMIC_CIDS and cid != SIGNALING_CID):
            type(self._manager).on_pdu(self._manager, connection, cid, pdu)
            return
        if cid != SIGNALING_CID:
            if cid in self.channels:
                self.channels[cid].on_frame(pdu)
            else:
                self.frames.put((cid, pdu))
            return
        if pdu[0] == UPDATE_REQUEST:
            type(self._manager).on_pdu(self._manager, connection, cid, pdu)
            return
        if pdu[0] == CREDITS:
            destination, credits = struct.unpack("<HH", pdu[4:])
            for channel in self.channels.values():
                if channel.destination == destination:
                    channel.on_credits(credits)
                    return
        self.commands.put((pdu[0], pdu[1], pdu[4:]))


class RawChannel:
    """One raw channel, which keeps to the rules, holds the watch to them, and reads only when it is told to."""

    MTU = 2000
    MPS = 500

    def __init__(self, raw: RawL2CAP, destination: int, source: int, mps: int, credits: int, given: int) -> None:
        self.destination = destination
        #: The longest payload of a K-frame that the watch takes.
        self.watch_mps = mps
        #: How many K-frames the watch lets us send.
        self.credits = credits
        #: How many K-frames the watch may send.
        self.given = given
        self.received = bytearray()
        self._raw = raw
        self._source = source
        self._sdu_left = 0

    @classmethod
    async def open(cls, raw: RawL2CAP, spsm: int, source: int = 0x50, *, credits: int) -> Self:
        """Opens a channel on which the watch has `credits`."""
        destination, _, mps, own_credits, result = await raw.connect(
            spsm, source, mtu=cls.MTU, mps=cls.MPS, credits=credits
        )
        assert result == 0, f"result 0x{result:04x}"
        channel = cls(raw, destination, source, mps, own_credits, credits)
        raw.channels[source] = channel
        return channel

    def send_sdu(self, sdu: bytes) -> None:
        """Sends an SDU that fits into one K-frame."""
        assert self.credits > 0 and len(sdu) <= self.watch_mps - 2
        self.credits -= 1
        self._raw.send(self.destination, words(len(sdu)) + sdu)

    def grant(self, credits: int) -> None:
        """Lets the watch send so many K-frames more."""
        self.given += credits
        self._raw.signal(CREDITS, words(self._source, credits))

    def on_credits(self, credits: int) -> None:
        assert credits > 0, "the watch gave 0 credits"
        self.credits += credits

    def on_frame(self, payload: bytes) -> None:
        assert self.given > 0, "the watch sent a K-frame without a credit"
        self.given -= 1
        assert len(payload) <= self.MPS, "the watch exceeds the MPS"
        if not self._sdu_left:
            self._sdu_left = int.from_bytes(payload[:2], "little")
            assert self._sdu_left <= self.MTU, "the watch exceeds the MTU"
            payload = payload[2:]
        self._sdu_left -= len(payload)
        assert self._sdu_left >= 0, "the watch sent more than the SDU's length"
        self.received += payload


async def open_bumble_channel(
    connection: Connection, spsm: int, *, mtu: int = 8192, mps: int = 1000, credits: int = 256
) -> l2cap.LeCreditBasedChannel:
    specification = l2cap.LeCreditBasedChannelSpec(psm=spsm, mtu=mtu, mps=mps, max_credits=credits)
    return await within(10, f"a channel to 0x{spsm:04x}", connection.create_l2cap_channel(specification))
