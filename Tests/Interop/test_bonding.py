"""Bonding: pairing in every way, and what either side remembers.

So far on the watch made of Bumble only: it is the phone that is tried here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble import att, hci
from bumble.crypto import EccKey
from bumble.smp import CommandCode, ErrorCode
from fake_watch import FakeWatch
from rig import gatt as uuids
from rig.controllers import Controllers, controllers
from rig.pebble import PebbleSession
from rig.phone import Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.security import (
    SMP_CID,
    Answer,
    EncryptionRefused,
    IoCapability,
    PairingRefused,
    Person,
    RawChannel,
    RawInitiator,
    failure,
    pairing,
    stored_bonds,
)

DISPLAY = IoCapability.DISPLAY_OUTPUT_ONLY
YES_NO = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
KEYBOARD = IoCapability.KEYBOARD_INPUT_ONLY
NOTHING = IoCapability.NO_OUTPUT_NO_INPUT


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []


async def connectivity(watch: WatchLink) -> int:
    (value,) = await watch.client.read_characteristics_by_uuid(uuids.CONNECTIVITY, None)
    assert len(value) == 4
    return value[0]


@pytest.mark.parametrize("secure_connections", [True, False], ids=["secure", "legacy"])
async def test_just_works(room: Controllers, secure_connections: bool) -> None:
    """a: nobody can compare anything, and nobody is asked."""
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(Person(NOTHING))),
        Phone.on(room.phone.port, pairs=pairing(Person(NOTHING), secure_connections=secure_connections)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        assert await connectivity(watch) == 0x11
        await watch.pair()
        assert watch.connection.is_encrypted
        assert await connectivity(watch) == 0x1F
        keys = await phone.bond_with(FakeWatch.address)
        assert keys is not None and bool(keys.ltk) == secure_connections


async def test_numeric_comparison(room: Controllers) -> None:
    """a: both show the same number."""
    at_watch, at_phone = Person(YES_NO), Person(YES_NO)
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(at_watch)),
        Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        await watch.pair()
        shown = [await person.prompts.take(5, "the number") for person in (at_watch, at_phone)]
        assert shown[0].kind == "compare"
        assert shown[0] == shown[1]


@pytest.mark.parametrize("refuses", ["watch", "phone"])
async def test_numeric_comparison_rejected(room: Controllers, refuses: str) -> None:
    """a: the numbers differ, says one of the two."""
    at_watch = Person(YES_NO, Answer.REJECT if refuses == "watch" else Answer.ACCEPT)
    at_phone = Person(YES_NO, Answer.REJECT if refuses == "phone" else Answer.ACCEPT)
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(at_watch)),
        Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        # Bumble's word for it; the Core Specification has Numeric Comparison Failed (0x0C).
        assert refusal.value.reason == ErrorCode.CONFIRM_VALUE_FAILED
        assert not watch.connection.is_encrypted
        assert await phone.bond_with(FakeWatch.address) is None
        assert await connectivity(watch) == 0x11


@pytest.mark.parametrize("answer", [Answer.ACCEPT, Answer.WRONG_PASSKEY, Answer.REJECT])
async def test_passkey_typed_on_the_phone(room: Controllers, answer: Answer) -> None:
    """a: the watch shows a passkey, and the phone's person types it, another one, or none."""
    at_watch, at_phone = Person(DISPLAY), Person(KEYBOARD, answer)
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(at_watch)),
        Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        attempt = asyncio.create_task(watch.pair())
        shown = await at_watch.prompts.take(10, "the watch to show a passkey")
        assert shown.kind == "show" and shown.number
        at_phone.watch_shows(shown.number)
        if answer is Answer.ACCEPT:
            await attempt
            keys = await phone.bond_with(FakeWatch.address)
            assert keys is not None and keys.ltk is not None and keys.ltk.authenticated
            return
        with pytest.raises(PairingRefused) as refusal:
            await attempt
        expected = {
            Answer.WRONG_PASSKEY: ErrorCode.CONFIRM_VALUE_FAILED,
            Answer.REJECT: ErrorCode.PASSKEY_ENTRY_FAILED,
        }
        assert refusal.value.reason == expected[answer]


async def test_passkey_typed_on_the_watch(room: Controllers) -> None:
    """a: the phone shows a passkey, and the watch's person types it."""
    at_watch, at_phone = Person(KEYBOARD), Person(DISPLAY, passkey=123_456)
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(at_watch)),
        Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        at_watch.watch_shows(123_456)
        await watch.pair()
        assert (await at_phone.prompts.take(5, "the phone's passkey")).number == 123_456


async def test_a_person_who_never_answers(room: Controllers) -> None:
    """a: pairing hangs until somebody gives up; here it is the phone, by disconnecting."""
    at_phone = Person(YES_NO, Answer.NEVER)
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(Person(YES_NO))),
        Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        attempt = asyncio.create_task(watch.pair())
        await at_phone.prompts.take(10, "the number")
        assert not attempt.done()
        await watch.disconnect()
        with pytest.raises(asyncio.CancelledError):
            await attempt


async def test_trigger_asks_for_security(room: Controllers) -> None:
    """a: what iOS and Android write to Trigger Pairing, and the Security Request that follows, or does not."""
    async with FakeWatch.on(room.watch.port), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(FakeWatch.address)
        database = await watch.discover()
        trigger = database.characteristic(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING)
        await watch.write(trigger.handle, b"\x03")
        await watch.round_trip()
        assert watch.security_requests.waiting == []
        await watch.write(trigger.handle, b"\x04")
        await watch.security_requests.take(5, "the watch to ask for security")


@pytest.mark.parametrize("restarts", [False, True], ids=["same-phone", "restarted-phone"])
async def test_bond_outlives_everything(room: Controllers, tmp_path: Path, restarts: bool) -> None:
    """b: the watch restarts, the phone comes back under a new private address, and encrypts without pairing."""
    watch_bonds = stored_bonds(tmp_path / "watch.json")
    phone_bonds = stored_bonds(tmp_path / "phone.json")
    person = Person(NOTHING)
    addresses = []

    async def first(phone: Phone) -> None:
        async with FakeWatch.on(room.watch.port, keystore=watch_bonds):
            watch = await phone.connect(FakeWatch.address)
            addresses.append(str(watch.connection.self_address))
            await watch.pair()
            await watch.disconnect()
        await room.watch.detached()

    async def second(phone: Phone) -> None:
        async with FakeWatch.on(room.watch.port, keystore=watch_bonds):
            watch = await phone.connect(FakeWatch.address)
            addresses.append(str(watch.connection.self_address))
            database = await watch.discover()
            status = database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY)
            assert (await watch.read(status.handle))[0] == 0x1B
            notified = watch.listen(status.handle)
            await watch.encrypt()
            assert (await notified.take(5, "Connectivity after encryption"))[0] == 0x1F

    def switched_on():
        return Phone.on(room.phone.port, private=True, keystore=phone_bonds, pairs=pairing(person))

    async with switched_on() as phone:
        await first(phone)
        if not restarts:
            await phone.change_address()
            await second(phone)
    if restarts:
        await room.phone.detached()
        async with switched_on() as phone:
            await second(phone)
    assert addresses[0] != addresses[1]
    assert all(hci.Address(address).is_resolvable for address in addresses)


async def test_encrypted_service_is_opened_after_encryption(room: Controllers) -> None:
    """b: a phone whose service needs encryption, and a watch that waits for it."""
    async with FakeWatch.on(room.watch.port, encrypted=True), Phone.on(room.phone.port) as phone:
        channel = phone.host_ppogatt(encrypted=True)
        transport = PhoneTransport(channel)
        PebbleSession(transport)
        transport.start()
        watch = await phone.connect(FakeWatch.address)
        await watch.round_trip()
        assert channel.accesses.waiting == []
        await watch.pair()
        await transport.opened()
        assert transport.violations == []


async def test_watch_forgets(room: Controllers) -> None:
    """c: the phone still has the key and the watch does not."""
    async with Phone.on(room.phone.port) as phone:
        async with FakeWatch.on(room.watch.port):
            await (await phone.connect(FakeWatch.address)).pair()
        await room.watch.detached()
        async with FakeWatch.on(room.watch.port):
            watch = await phone.connect(FakeWatch.address)
            with pytest.raises(EncryptionRefused) as refusal:
                await watch.encrypt()
            assert refusal.value.status == hci.HCI_ErrorCode.PIN_OR_KEY_MISSING_ERROR


async def test_phone_forgets(room: Controllers) -> None:
    """c: the watch still has the key and the phone does not: it pairs again."""
    async with FakeWatch.on(room.watch.port), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(FakeWatch.address)
        await watch.pair()
        await watch.disconnect()
        await phone.forget(FakeWatch.address)
        watch = await phone.connect(FakeWatch.address)
        assert await connectivity(watch) == 0x1B
        await watch.pair()
        assert await connectivity(watch) == 0x1F


async def test_wrong_key(room: Controllers) -> None:
    """c: a phone with another key than the watch's loses the link."""
    async with FakeWatch.on(room.watch.port), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(FakeWatch.address)
        await watch.pair()
        await watch.disconnect()
        keys = await phone.bond_with(FakeWatch.address)
        assert keys is not None and keys.ltk is not None
        keys.ltk.value = bytes(16)
        watch = await phone.connect(FakeWatch.address)
        with pytest.raises(EncryptionRefused) as refusal:
            await watch.encrypt()
        assert refusal.value.status == hci.HCI_ErrorCode.CONNECTION_TERMINATED_DUE_TO_MIC_FAILURE_ERROR


class Unwilling(Person):
    async def accept(self) -> bool:
        return False


async def test_not_bondable(room: Controllers) -> None:
    """e: a watch that does not pair says so."""
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(Unwilling())),
        Phone.on(room.phone.port) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED


async def test_raw_pairing_is_right(room: Controllers) -> None:
    """g: an honest pairing with raw PDUs encrypts the link: what is bent below is bent on purpose."""
    async with (
        FakeWatch.on(room.watch.port, pairs=pairing(Person(NOTHING), protected=False)),
        Phone.on(room.phone.port) as phone,
    ):
        watch = await phone.connect(FakeWatch.address)
        with RawChannel(watch.connection, SMP_CID) as channel:
            initiator = RawInitiator(watch.connection, channel)
            await initiator.negotiate()
            await initiator.exchange_keys()
            await initiator.exchange_randoms()
            await initiator.exchange_checks()
            await initiator.encrypt()
        assert watch.connection.is_encrypted


async def test_raw_pairing_can_be_bent(room: Controllers) -> None:
    """g: a public key that is on no curve, and a PDU before its time; Bumble refuses each."""
    async with FakeWatch.on(room.watch.port, pairs=pairing(Person(NOTHING), protected=False)):
        async with Phone.on(room.phone.port) as phone:
            watch = await phone.connect(FakeWatch.address)
            with RawChannel(watch.connection, SMP_CID) as channel:
                initiator = RawInitiator(watch.connection, channel)
                await initiator.negotiate()
                answer = await channel.ask(initiator.public_key_pdu(y=EccKey.generate().y[::-1]))
                assert failure(answer) == ErrorCode.UNSPECIFIED_REASON
        await room.phone.detached()
        async with Phone.on(room.phone.port) as phone:
            watch = await phone.connect(FakeWatch.address)
            with RawChannel(watch.connection, SMP_CID) as channel:
                answer = await channel.ask(bytes([CommandCode.PAIRING_DHKEY_CHECK]) + bytes(16))
                assert failure(answer) == ErrorCode.UNSPECIFIED_REASON


async def test_raw_att(room: Controllers) -> None:
    """d: ATT PDUs that Bumble's client has no words for."""
    async with FakeWatch.on(room.watch.port), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(FakeWatch.address)
        with RawChannel(watch.connection, att.ATT_CID) as channel:
            answer = await channel.ask(b"\x0a\xff\xff")
            assert answer == b"\x01\x0a\xff\xff\x01"
