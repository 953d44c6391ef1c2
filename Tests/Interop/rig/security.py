"""The phone's side of pairing: the person who holds it, its bonds, and raw SMP for what no phone sends."""

from __future__ import annotations

import asyncio
import enum
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bumble import crypto, hci, smp
from bumble.device import Connection
from bumble.keys import JsonKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import AuthReq, CommandCode, ErrorCode, KeyDistribution

from .waiting import Mailbox, within

IoCapability = PairingDelegate.IoCapability

ATT_CID = 4
SMP_CID = 6
#: An SMP procedure that makes no progress for this long has failed (Core 5.4, Vol 3, Part H, 3.4).
SMP_TIMEOUT_SECONDS = 30.0


class PairingRefused(Exception):
    """Pairing failed, for a reason of the SMP's."""

    def __init__(self, reason: int) -> None:
        self.reason = ErrorCode(reason)
        super().__init__(self.reason.name)


class EncryptionRefused(Exception):
    """Encryption with a stored key failed, with a status of the HCI's."""

    def __init__(self, status: int) -> None:
        self.status = hci.HCI_ErrorCode(status)
        super().__init__(self.status.name)


class Answer(enum.Enum):
    """What the person who holds the phone does when it asks."""

    ACCEPT = enum.auto()
    REJECT = enum.auto()
    #: Types another passkey than the watch shows.
    WRONG_PASSKEY = enum.auto()
    #: Has put the phone down.
    NEVER = enum.auto()


@dataclass(frozen=True)
class Prompt:
    """Something the phone showed or asked. `kind`: "confirm", "compare", "show" or "type"."""

    kind: str
    number: int | None = None


class Person(PairingDelegate):
    """The person who holds the phone, and what the phone can show and take.

    A passkey that the watch shows is typed when the test has told it with `watch_shows`.
    """

    def __init__(
        self,
        io_capability: IoCapability = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
        answer: Answer = Answer.ACCEPT,
        *,
        passkey: int | None = None,
        key_size: int = 16,
    ) -> None:
        super().__init__(io_capability, maximum_encryption_key_size=key_size)
        self.answer = answer
        self.prompts: Mailbox[Prompt] = Mailbox("what the phone showed and asked")
        #: The passkey that the phone shows. Bumble cannot do 000000.
        self.passkey = passkey or 1 + secrets.randbelow(999_999)
        self._watch_shows: asyncio.Future[int] | None = None

    def watch_shows(self, passkey: int) -> None:
        self._typed().set_result(passkey)

    async def confirm(self, auto: bool = False) -> bool:
        self.prompts.put(Prompt("confirm"))
        return await self._decide()

    async def compare_numbers(self, number: int, digits: int) -> bool:
        assert digits == 6
        self.prompts.put(Prompt("compare", number))
        return await self._decide()

    async def generate_passkey(self) -> int:
        return self.passkey

    async def display_number(self, number: int, digits: int) -> None:
        assert digits == 6
        self.prompts.put(Prompt("show", number))

    async def get_number(self) -> int | None:
        self.prompts.put(Prompt("type"))
        if not await self._decide():
            return None
        shown = await self._typed()
        # Differs in the last digit's lowest bit, and so only in the first of the twenty rounds.
        return shown ^ 1 if self.answer is Answer.WRONG_PASSKEY else shown

    async def _decide(self) -> bool:
        if self.answer is Answer.NEVER:
            await asyncio.Event().wait()
        return self.answer is not Answer.REJECT

    def _typed(self) -> asyncio.Future[int]:
        if self._watch_shows is None:
            self._watch_shows = asyncio.get_running_loop().create_future()
        return self._watch_shows


def pairing(
    person: Person | None = None,
    *,
    secure_connections: bool = True,
    protected: bool = True,
    bonding: bool = True,
    oob: PairingConfig.OobConfig | None = None,
) -> PairingConfig:
    """How a device pairs. `protected`: it asks for protection from a man in the middle."""
    return PairingConfig(
        sc=secure_connections,
        mitm=protected,
        bonding=bonding,
        delegate=person or Person(),
        identity_address_type=PairingConfig.AddressType.RANDOM,
        oob=oob,
    )


def stored_bonds(file: Path) -> JsonKeyStore:
    """A device's own key store, which outlives the device's being switched on."""
    return JsonKeyStore("rig", str(file))


class RawChannel:
    """A fixed L2CAP channel of one connection, taken from Bumble: whole PDUs out and in, nothing answered by itself.

    On ATT's channel Bumble keeps what the watch asks of the phone; the phone's own half is taken.
    """

    def __init__(self, connection: Connection, channel: int) -> None:
        self._connection = connection
        self._channel = channel
        self._inbox: Mailbox[bytes] = Mailbox(f"what came on channel {channel}")
        self._channels = connection.device.l2cap_channel_manager.fixed_channels
        self._before: Callable[[int, bytes], None] | None = None
        connection.on(
            Connection.EVENT_DISCONNECTION,
            lambda reason: self._inbox.fail(ConnectionError(f"the link was lost: 0x{reason:02X}")),
        )

    def __enter__(self) -> RawChannel:
        self._before = self._channels[self._channel]
        self._channels[self._channel] = self._receive
        return self

    def __exit__(self, *_: object) -> None:
        assert self._before is not None
        self._channels[self._channel] = self._before

    def send(self, pdu: bytes) -> None:
        self._connection.send_l2cap_pdu(self._channel, pdu)

    async def receive(self, what: str, seconds: float = 10) -> bytes:
        return await self._inbox.take(seconds, what)

    async def ask(self, pdu: bytes) -> bytes:
        """Sends a PDU and returns the next that comes."""
        self.send(pdu)
        return await self.receive(f"the answer to {pdu.hex()}")

    @property
    def waiting(self) -> list[bytes]:
        return self._inbox.waiting

    def _receive(self, handle: int, pdu: bytes) -> None:
        assert self._before is not None
        is_request_of_the_watch = self._channel == ATT_CID and not pdu[0] & 1
        if handle != self._connection.handle or is_request_of_the_watch:
            self._before(handle, pdu)
        else:
            self._inbox.put(pdu)


def failure(pdu: bytes) -> ErrorCode:
    """The reason in a Pairing Failed, which `pdu` must be."""
    assert pdu[0] == CommandCode.PAIRING_FAILED and len(pdu) == 2, pdu.hex()
    return ErrorCode(pdu[1])


@dataclass
class RawInitiator:
    """LE Secure Connections as the initiator, Just Works, one PDU at a time: any step can be left out or changed."""

    connection: Connection
    channel: RawChannel
    key: crypto.EccKey = field(default_factory=crypto.EccKey.generate)
    random: bytes = field(default_factory=crypto.r)
    request_pdu: bytes = b""
    response_pdu: bytes = b""
    #: Of the watch, least significant octet first, as on the air.
    watch_x: bytes = b""
    watch_y: bytes = b""
    watch_confirm: bytes = b""
    watch_random: bytes = b""
    ltk: bytes = b""
    _mac_key: bytes = b""

    def request(
        self,
        *,
        io_capability: int = smp.IoCapability.NO_INPUT_NO_OUTPUT,
        auth_req: int = AuthReq.BONDING | AuthReq.SC,
        key_size: int = 16,
        initiator_keys: int = KeyDistribution.ID_KEY,
        responder_keys: int = 0,
    ) -> bytes:
        """A Pairing Request."""
        self.request_pdu = bytes(
            [CommandCode.PAIRING_REQUEST, io_capability, 0, auth_req, key_size, initiator_keys, responder_keys]
        )
        return self.request_pdu

    @property
    def public_key(self) -> tuple[bytes, bytes]:
        return self.key.x[::-1], self.key.y[::-1]

    def public_key_pdu(self, x: bytes | None = None, y: bytes | None = None) -> bytes:
        """Our Public Key; or another, of which we don't have the private key."""
        own_x, own_y = self.public_key
        return bytes([CommandCode.PAIRING_PUBLIC_KEY]) + (x or own_x) + (y or own_y)

    async def negotiate(self) -> None:
        """Pairing Request, and the watch's Response."""
        self.response_pdu = await self.channel.ask(self.request())
        self._check(self.response_pdu, CommandCode.PAIRING_RESPONSE, 7)

    async def exchange_keys(self) -> None:
        """Both public keys, and the watch's commitment."""
        key = await self.channel.ask(self.public_key_pdu())
        self._check(key, CommandCode.PAIRING_PUBLIC_KEY, 65)
        self.watch_x, self.watch_y = key[1:33], key[33:]
        confirm = await self.channel.receive("the watch's confirm value")
        self._check(confirm, CommandCode.PAIRING_CONFIRM, 17)
        self.watch_confirm = confirm[1:]

    async def exchange_randoms(self) -> None:
        """Both nonces; the watch's must be the one that it committed to."""
        answer = await self.channel.ask(bytes([CommandCode.PAIRING_RANDOM]) + self.random)
        self._check(answer, CommandCode.PAIRING_RANDOM, 17)
        self.watch_random = answer[1:]
        committed = crypto.f4(self.watch_x, self.public_key[0], self.watch_random, bytes(1))
        assert self.watch_confirm == committed, "the watch's nonce is not the one that it committed to"
        secret = self.key.dh(self.watch_x[::-1], self.watch_y[::-1])[::-1]
        a, b = self._addresses
        self._mac_key, self.ltk = crypto.f5(secret, self.random, self.watch_random, a, b)

    @property
    def check_pdu(self) -> bytes:
        """Our DHKey Check."""
        a, b = self._addresses
        value = crypto.f6(self._mac_key, self.random, self.watch_random, bytes(16), self.request_pdu[1:4], a, b)
        return bytes([CommandCode.PAIRING_DHKEY_CHECK]) + value

    async def exchange_checks(self) -> None:
        """Both DHKey Checks; the watch's must be right."""
        answer = await self.channel.ask(self.check_pdu)
        self._check(answer, CommandCode.PAIRING_DHKEY_CHECK, 17)
        a, b = self._addresses
        expected = crypto.f6(self._mac_key, self.watch_random, self.random, bytes(16), self.response_pdu[1:4], b, a)
        assert answer[1:] == expected, "the watch's DHKey Check is wrong"

    async def encrypt(self) -> None:
        """Encrypts the link with the key that both sides have computed."""
        await encrypt(self.connection, self.ltk)

    @property
    def _addresses(self) -> tuple[bytes, bytes]:
        """Ours and the watch's as f5 and f6 take them: the address, then its type."""
        phone = self.connection.self_resolvable_address or self.connection.self_address
        watch = self.connection.peer_resolvable_address or self.connection.peer_address
        return bytes(phone) + bytes([phone.is_random]), bytes(watch) + bytes([watch.is_random])

    @staticmethod
    def _check(pdu: bytes, code: CommandCode, length: int) -> None:
        assert pdu[0] == code and len(pdu) == length, f"{pdu.hex()} is no {code.name}"


async def encrypt(connection: Connection, key: bytes, *, random: bytes = bytes(8), diversifier: int = 0) -> None:
    """Encrypts the link with a key, whether or not it is in any store; the rest is for keys of legacy pairing."""
    outcome: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def finish(status: int) -> None:
        if not outcome.done():
            outcome.set_result(status)

    connection.once(Connection.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda: finish(0))
    connection.once(Connection.EVENT_CONNECTION_ENCRYPTION_FAILURE, finish)
    connection.once(Connection.EVENT_DISCONNECTION, finish)
    await connection.device.host.send_async_command(
        hci.HCI_LE_Enable_Encryption_Command(
            connection_handle=connection.handle,
            random_number=random,
            encrypted_diversifier=diversifier,
            long_term_key=key,
        )
    )
    if status := await within(10, "the link to be encrypted", outcome):
        raise EncryptionRefused(status)
