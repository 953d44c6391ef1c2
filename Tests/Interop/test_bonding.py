"""Bonding: pairing in every way, and what either side remembers.

The letters are the rows of the table in Tests/README.md. `self-test` is the watch made of Bumble.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from bumble import att, crypto, gatt, hci
from bumble.crypto import EccKey
from bumble.smp import CommandCode, ErrorCode
from fake_watch import FakeWatch
from rig import capture
from rig import gatt as uuids
from rig.controllers import Controllers, controllers
from rig.pebble import PebbleSession
from rig.phone import Database, Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.security import (
    SMP_CID,
    SMP_TIMEOUT_SECONDS,
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
from rig.waiting import GaveUp
from watches import ADDRESS, cairn_on

DISPLAY = IoCapability.DISPLAY_OUTPUT_ONLY
YES_NO = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
KEYBOARD = IoCapability.KEYBOARD_INPUT_ONLY
NOTHING = IoCapability.NO_OUTPUT_NO_INPUT

#: Connectivity Status, first byte (watch-over-BLE section 3.4).
FRESH = 0x11
OTHER_PHONE_BONDED = 0x19
BONDED = 0x1B
BONDED_AND_ENCRYPTED = 0x1F

#: A phone of which the watch has heard nothing: one whose pairing failed has to wait.
OTHER_PHONE = "E2:00:00:00:00:02"

#: Switches the watch on. The second time it remembers the first if both are given the same folder.
SwitchOn = Callable[[Path | None], contextlib.AbstractAsyncContextManager[object]]


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []
        assert room.watch.controller.refused == []


@pytest.fixture(params=["self-test", "cairn"])
def watch_on(request: pytest.FixtureRequest, room: Controllers, tmp_path: Path) -> SwitchOn:
    """A watch that shows a number and takes a yes or no, and says yes by itself."""
    return {"self-test": lambda s: fake_on(room, s), "cairn": lambda s: cairn_in(room, s, tmp_path)}[request.param]


@contextlib.asynccontextmanager
async def fake_on(room: Controllers, state: Path | None, person: Person | None = None) -> AsyncIterator[FakeWatch]:
    bonds = stored_bonds(state / "bonds.json") if state else None
    pairs = pairing(person or Person(YES_NO))
    async with FakeWatch.on(room.watch.port, encrypted=True, keystore=bonds, pairs=pairs) as watch:
        yield watch
    await room.watch.detached()


@contextlib.asynccontextmanager
async def cairn_in(room: Controllers, state: Path | None, folder: Path, *options: str) -> AsyncIterator[Program]:
    arguments = ("--state", str(state)) if state else ()
    async with cairn_on(room.watch.address, folder, *arguments, *options) as program:
        yield program
    await room.watch.detached()


#: Service Changed over every handle.
EVERYTHING = bytes.fromhex("0100ffff")

#: Core 5.4, Vol 3, Part F, 3.4.1.1, table 3.4.
DATABASE_OUT_OF_SYNC = 0x12


async def connectivity(watch: WatchLink) -> int:
    (value,) = await watch.client.read_characteristics_by_uuid(uuids.CONNECTIVITY, None)
    assert len(value) == 4
    return value[0]


async def another_phone_pairs(room: Controllers) -> None:
    """The watch is not bonded, and pairs with a phone that it doesn't know."""
    await room.phone.detached()
    async with Phone.on(room.phone.port, address=OTHER_PHONE, pairs=pairing(Person(YES_NO))) as phone:
        watch = await phone.connect(ADDRESS)
        assert await connectivity(watch) == FRESH
        await watch.pair()
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED


# a: each association model, both outcomes


@pytest.mark.parametrize("protected", [True, False], ids=["wants-protection", "wants-none"])
async def test_just_works(room: Controllers, watch_on: SwitchOn, protected: bool) -> None:
    """a: the phone can show and take nothing."""
    person = Person(NOTHING)
    async with watch_on(None), Phone.on(room.phone.port, pairs=pairing(person, protected=protected)) as phone:
        watch = await phone.connect(ADDRESS)
        assert await connectivity(watch) == FRESH
        await watch.pair()
        assert watch.connection.is_encrypted
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        keys = await phone.bond_with(ADDRESS)
        assert keys is not None and keys.ltk is not None and not keys.ltk.authenticated


async def test_numeric_comparison(room: Controllers, watch_on: SwitchOn) -> None:
    """a: both show a number, and both say that it is the same."""
    person = Person(YES_NO)
    async with watch_on(None), Phone.on(room.phone.port, pairs=pairing(person)) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        assert [prompt.kind for prompt in person.prompts.waiting] == ["compare"]
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        keys = await phone.bond_with(ADDRESS)
        assert keys is not None and keys.ltk is not None and keys.ltk.authenticated


async def test_numeric_comparison_rejected_on_the_phone(room: Controllers, watch_on: SwitchOn) -> None:
    """a: the phone's person says no; another phone pairs after that."""
    person = Person(YES_NO, Answer.REJECT)
    async with watch_on(None):
        async with Phone.on(room.phone.port, pairs=pairing(person)) as phone:
            watch = await phone.connect(ADDRESS)
            with pytest.raises(PairingRefused):
                await watch.pair()
            assert not watch.connection.is_encrypted
            assert await phone.bond_with(ADDRESS) is None
            assert await connectivity(watch) == FRESH
        await another_phone_pairs(room)


async def test_phone_gives_up(room: Controllers, watch_on: SwitchOn) -> None:
    """a: the person does not answer, and the phone disconnects; the watch pairs with the next."""
    person = Person(YES_NO, Answer.NEVER)
    async with watch_on(None), Phone.on(room.phone.port, pairs=pairing(person)) as phone:
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        await person.prompts.take(10, "the number")
        assert not attempt.done()
        await watch.disconnect()
        with pytest.raises(GaveUp, match="the connection ended"):
            await attempt
        person.answer = Answer.ACCEPT
        watch = await phone.connect(ADDRESS)
        await watch.pair()


async def passkey_of_fake_watch(room: Controllers, folder: Path) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """The watch made of Bumble, and how to read the passkey off it."""
    del folder
    at_watch = Person(DISPLAY)

    async def shown() -> int:
        prompt = await at_watch.prompts.take(10, "the watch to show a passkey")
        assert prompt.kind == "show" and prompt.number is not None
        return prompt.number

    async with fake_on(room, None, at_watch):
        yield shown


async def passkey_of_cairn(room: Controllers, folder: Path) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Cairn without a way to take an answer: the passkey is in what it prints."""
    async with cairn_in(room, None, folder, "--io-capability", "display-only") as program:

        async def shown() -> int:
            return int((await program.wait_for_line(r"type (\d{6}) on the phone", 10))[1])

        yield shown


@pytest.mark.parametrize("watch", [passkey_of_fake_watch, passkey_of_cairn], ids=["self-test", "cairn"])
@pytest.mark.parametrize("answer", [Answer.ACCEPT, Answer.WRONG_PASSKEY, Answer.REJECT])
async def test_passkey_typed_on_the_phone(room: Controllers, tmp_path: Path, watch, answer: Answer) -> None:
    """a: the watch shows a passkey, and the phone's person types it, another one, or none."""
    person = Person(KEYBOARD, answer)
    async with (
        contextlib.asynccontextmanager(watch)(room, tmp_path) as shown,
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        link = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(link.pair())
        person.watch_shows(await shown())
        if answer is Answer.ACCEPT:
            await attempt
            assert await connectivity(link) == BONDED_AND_ENCRYPTED
            keys = await phone.bond_with(ADDRESS)
            assert keys is not None and keys.ltk is not None and keys.ltk.authenticated
            return
        with pytest.raises(PairingRefused) as refusal:
            await attempt
        expected = {
            Answer.WRONG_PASSKEY: ErrorCode.CONFIRM_VALUE_FAILED,
            Answer.REJECT: ErrorCode.PASSKEY_ENTRY_FAILED,
        }
        assert refusal.value.reason == expected[answer]
        assert await connectivity(link) == FRESH


async def test_passkey_typed_on_the_watch(room: Controllers) -> None:
    """a, self-test: the phone shows a passkey, and the watch's person types it."""
    at_watch, at_phone = Person(KEYBOARD), Person(DISPLAY, passkey=123_456)
    async with fake_on(room, None, at_watch), Phone.on(room.phone.port, pairs=pairing(at_phone)) as phone:
        watch = await phone.connect(ADDRESS)
        at_watch.watch_shows(123_456)
        await watch.pair()
        assert (await at_phone.prompts.take(5, "the phone's passkey")).number == 123_456


@pytest.mark.parametrize("io_capability", [NOTHING, YES_NO, KEYBOARD], ids=["just-works", "comparison", "passkey"])
async def test_watch_that_refuses_every_pairing(
    room: Controllers, tmp_path: Path, io_capability: IoCapability
) -> None:
    """a: the watch says no at once, in every association model."""
    async with (
        cairn_in(room, None, tmp_path, "--pairing", "reject", "--io-capability", "keyboard-display"),
        Phone.on(room.phone.port, pairs=pairing(Person(io_capability))) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
        assert await phone.bond_with(ADDRESS) is None
        assert await connectivity(watch) == FRESH


@pytest.mark.parametrize("io_capability", [NOTHING, KEYBOARD], ids=["just-works", "passkey"])
async def test_legacy_pairing(room: Controllers, tmp_path: Path, io_capability: IoCapability) -> None:
    """a: a phone without LE Secure Connections, and a watch that was told to take those too."""
    person = Person(io_capability)
    async with (
        cairn_in(room, None, tmp_path, "--legacy-pairing") as program,
        Phone.on(room.phone.port, private=True, pairs=pairing(person, secure_connections=False)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        if io_capability is KEYBOARD:
            person.watch_shows(int((await program.wait_for_line(r"type (\d{6}) on the phone", 10))[1]))
        await attempt
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        await watch.disconnect()
        await phone.change_address()
        watch = await phone.connect(ADDRESS)
        assert await connectivity(watch) == BONDED
        await watch.encrypt()
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED


async def test_legacy_pairing_is_refused(room: Controllers, tmp_path: Path) -> None:
    """a: a phone without LE Secure Connections; the real watch refuses those as well (section 8.1)."""
    pairs = pairing(Person(NOTHING), secure_connections=False)
    async with cairn_in(room, None, tmp_path), Phone.on(room.phone.port, pairs=pairs) as phone:
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.AUTHENTICATION_REQUIREMENTS


async def test_trigger_asks_for_security(room: Controllers, watch_on: SwitchOn) -> None:
    """a: what Android and iOS write to Trigger Pairing, and the Security Request that follows, or does not."""
    async with watch_on(None), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        database = await watch.discover()
        trigger = database.characteristic(uuids.PAIRING_SERVICE, uuids.TRIGGER_PAIRING)
        await watch.write(trigger.handle, b"\x03")
        await watch.round_trip()
        assert watch.security_requests.waiting == []
        await watch.write(trigger.handle, b"\x04")
        await watch.security_requests.take(5, "the watch to ask for security")
        await watch.pair()
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED


@pytest.mark.slow
async def test_nobody_answers(room: Controllers, tmp_path: Path) -> None:
    """a: half a minute without an answer ends the pairing, and the watch pairs on the next link."""
    person = Person(YES_NO, Answer.NEVER)
    async with cairn_in(room, None, tmp_path) as program:
        async with Phone.on(room.phone.port, pairs=pairing(person)) as phone:
            watch = await phone.connect(ADDRESS)
            attempt = asyncio.create_task(watch.pair(seconds=SMP_TIMEOUT_SECONDS + 20))
            await person.prompts.take(10, "the number")
            await program.wait_for_line("not paired", SMP_TIMEOUT_SECONDS + 10)
            assert await connectivity(watch) == FRESH
            await watch.disconnect()
            with pytest.raises(GaveUp, match="the connection ended"):
                await attempt
        await another_phone_pairs(room)


# b: a bond that outlives restarts


@pytest.mark.parametrize("restarts", [False, True], ids=["same-phone", "restarted-phone"])
async def test_bond_outlives_everything(room: Controllers, watch_on: SwitchOn, tmp_path: Path, restarts: bool) -> None:
    """b: the watch restarts, the phone comes back under a new private address, and encrypts without pairing."""
    memory = tmp_path / "watch"
    bonds = stored_bonds(tmp_path / "phone.json")
    addresses = []

    async def first(phone: Phone) -> None:
        async with watch_on(memory):
            watch = await phone.connect(ADDRESS)
            addresses.append(str(watch.connection.self_address))
            assert await connectivity(watch) == FRESH
            await watch.pair()
            await watch.disconnect()

    async def second(phone: Phone) -> None:
        async with watch_on(memory):
            watch = await phone.connect(ADDRESS)
            addresses.append(str(watch.connection.self_address))
            database = await watch.discover()
            status = database.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY)
            assert (await watch.read(status.handle))[0] == BONDED
            notified = watch.listen(status.handle)
            await watch.encrypt()
            assert (await notified.take(5, "Connectivity after encryption"))[0] == BONDED_AND_ENCRYPTED

    def switched_on() -> contextlib.AbstractAsyncContextManager[Phone]:
        return Phone.on(room.phone.port, private=True, keystore=bonds, pairs=pairing(Person(YES_NO)))

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


async def test_subscriptions_outlive_a_restart(room: Controllers, tmp_path: Path) -> None:
    """b: what a bonded phone had subscribed to is live again after encryption, without a CCCD write."""
    bonds = stored_bonds(tmp_path / "phone.json")
    for run in range(2):
        async with (
            cairn_in(room, tmp_path / "watch", tmp_path),
            Phone.on(room.phone.port, private=True, keystore=bonds, pairs=pairing(Person(YES_NO))) as phone,
        ):
            watch = await phone.connect(ADDRESS)
            battery = (await watch.discover()).characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
            cccd = next(each.handle for each in battery.descriptors if each.type == uuids.CCCD)
            if run == 0:
                await watch.subscribe(battery)
                await watch.pair()
            else:
                assert await watch.read(cccd) == b"\x00\x00"
                await watch.encrypt()
            assert await watch.read(cccd) == b"\x01\x00"
        await room.phone.detached()


async def test_transport_opens_after_encryption(room: Controllers, watch_on: SwitchOn) -> None:
    """b: a phone whose PPoGATT service needs encryption, and a watch that waits for it."""
    async with watch_on(None), Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone:
        channel = phone.host_ppogatt(encrypted=True)
        transport = PhoneTransport(channel)
        PebbleSession(transport)
        transport.start()
        watch = await phone.connect(ADDRESS)
        await watch.round_trip()
        assert channel.accesses.waiting == []
        await watch.pair()
        await transport.opened()
        assert transport.violations == []


async def test_reversed_transport_needs_encryption(room: Controllers, tmp_path: Path) -> None:
    """b: V2's subscription is refused on a plain link (section 3.8)."""
    async with (
        cairn_in(room, None, tmp_path),
        Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        database = await watch.discover()
        data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
        with pytest.raises(att.ATT_Error) as refusal:
            await watch.subscribe(data)
        assert refusal.value.error_code == att.ATT_INSUFFICIENT_AUTHENTICATION_ERROR
        await watch.pair()
        transport, _ = await watch.open_reversed(database)
        assert transport.violations == []


# c: one side forgets


async def test_watch_forgets(room: Controllers, watch_on: SwitchOn) -> None:
    """c: the phone still has the key and the watch does not."""
    async with Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone:
        async with watch_on(None):
            await (await phone.connect(ADDRESS)).pair()
        async with watch_on(None):
            watch = await phone.connect(ADDRESS)
            assert await connectivity(watch) == FRESH
            with pytest.raises(EncryptionRefused) as refusal:
                await watch.encrypt()
            assert refusal.value.status == hci.HCI_ErrorCode.PIN_OR_KEY_MISSING_ERROR
            # Android's user now forgets the watch in the settings, and pairs again.
            await phone.forget(ADDRESS)
            await watch.pair()
            assert await connectivity(watch) == BONDED_AND_ENCRYPTED


@pytest.fixture(params=["self-test", "cairn"])
def bench_on(request: pytest.FixtureRequest, room: Controllers, tmp_path: Path) -> SwitchOn:
    """A watch on a bench, where any phone may pair at any time."""
    bench = ("--pairing", "open")
    return {
        "self-test": lambda s: fake_on(room, s),
        "cairn": lambda s: cairn_in(room, s, tmp_path, *bench),
    }[request.param]


async def test_phone_forgets_on_a_bench(room: Controllers, bench_on: SwitchOn) -> None:
    """c: the watch still has the key and the phone does not: it pairs again, by itself."""
    async with bench_on(None), Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        await watch.disconnect()
        await phone.forget(ADDRESS)
        watch = await phone.connect(ADDRESS)
        assert await connectivity(watch) == BONDED
        await watch.pair()
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        await watch.disconnect()
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()


async def test_wrong_key(room: Controllers, watch_on: SwitchOn) -> None:
    """c: a phone with another key than the watch's loses the link."""
    async with watch_on(None), Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        await watch.disconnect()
        keys = await phone.bond_with(ADDRESS)
        assert keys is not None and keys.ltk is not None
        keys.ltk.value = bytes(16)
        watch = await phone.connect(ADDRESS)
        with pytest.raises(EncryptionRefused) as refusal:
            await watch.encrypt()
        assert refusal.value.status == hci.HCI_ErrorCode.CONNECTION_TERMINATED_DUE_TO_MIC_FAILURE_ERROR


async def test_second_phone(room: Controllers, tmp_path: Path) -> None:
    """c: while one phone is bonded, another is told so and may not pair, and the first loses nothing."""
    first_bonds, second_bonds = (stored_bonds(tmp_path / f"phone-{number}.json") for number in (1, 2))
    pairs = pairing(Person(YES_NO))
    async with cairn_in(room, None, tmp_path):
        async with Phone.on(room.phone.port, keystore=first_bonds, pairs=pairs) as phone:
            await (await phone.connect(ADDRESS)).pair()
        await room.phone.detached()
        async with Phone.on(room.phone.port, address=OTHER_PHONE, keystore=second_bonds, pairs=pairs) as phone:
            watch = await phone.connect(ADDRESS)
            assert await connectivity(watch) == OTHER_PHONE_BONDED
            with pytest.raises(PairingRefused) as refusal:
                await watch.pair()
            assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
        await room.phone.detached()
        async with Phone.on(room.phone.port, keystore=first_bonds, pairs=pairs) as phone:
            await (await phone.connect(ADDRESS)).encrypt()


# d: a database that phones can trust


def database_hash(database: Database) -> bytes:
    """The hash that the database must have (Core 5.4, Vol 3, Part G, 7.3.1), from what the phone has discovered."""
    message = bytearray()
    for service in database.services:
        message += service.start.to_bytes(2, "little") + b"\x00\x28" + service.uuid.to_pdu_bytes()
        for characteristic in service.characteristics:
            message += characteristic.declaration.to_bytes(2, "little") + b"\x03\x28"
            message += bytes([characteristic.properties]) + characteristic.handle.to_bytes(2, "little")
            message += characteristic.uuid.to_pdu_bytes()
            for descriptor in characteristic.descriptors:
                assert descriptor.type == uuids.CCCD
                message += descriptor.handle.to_bytes(2, "little") + b"\x02\x29"
    return crypto.aes_cmac(bytes(message), bytes(16))[::-1]


async def test_database_hash(room: Controllers, tmp_path: Path) -> None:
    """d: a bondable watch has Service Changed and a Database Hash, and the hash is that of its database."""
    async with cairn_in(room, None, tmp_path), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        database = await watch.discover()
        changed = database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)
        assert changed.properties == gatt.Characteristic.Properties.INDICATE
        stored = database.characteristic(uuids.GATT_SERVICE, uuids.DATABASE_HASH)
        assert await watch.read(stored.handle) == database_hash(database)


async def test_changed_database(room: Controllers, tmp_path: Path) -> None:
    """d: a database that changed between two runs is indicated once, over the right range; an unchanged one is not."""
    bonds = stored_bonds(tmp_path / "phone.json")
    changed = ("--no-battery", "--service-changed-delay", "0")
    for options, expected in [((), []), (changed, [EVERYTHING]), (changed, [])]:
        async with (
            cairn_in(room, tmp_path / "watch", tmp_path, *options),
            Phone.on(room.phone.port, private=True, keystore=bonds, pairs=pairing(Person(YES_NO))) as phone,
        ):
            watch = await phone.connect(ADDRESS)
            database = await watch.discover()
            indications = watch.listen(database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED).handle)
            if not options:
                await watch.subscribe(database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED), bits=2)
                await watch.pair()
            else:
                await watch.encrypt()
            heard = [await indications.take(10, "Service Changed") for _ in expected]
            # The watch sends its other packets before this answer.
            assert await connectivity(watch) == BONDED_AND_ENCRYPTED
            await watch.round_trip()
            assert heard == expected
            assert indications.waiting == []
        await room.phone.detached()


async def test_database_out_of_sync(room: Controllers, tmp_path: Path) -> None:
    """d: a phone that caches the database is told that it is out of date until it has read the hash."""
    bonds = stored_bonds(tmp_path / "phone.json")
    handles: dict[str, int] = {}
    for options in [(), ("--no-battery",)]:
        async with (
            cairn_in(room, tmp_path / "watch", tmp_path, *options),
            Phone.on(room.phone.port, private=True, keystore=bonds, pairs=pairing(Person(YES_NO))) as phone,
        ):
            watch = await phone.connect(ADDRESS)
            if not options:
                database = await watch.discover()
                features = database.characteristic(uuids.GATT_SERVICE, uuids.CLIENT_SUPPORTED_FEATURES)
                handles["features"] = features.handle
                handles["serial"] = database.characteristic(uuids.DEVICE_INFORMATION, uuids.SERIAL_NUMBER).handle
                handles["battery"] = database.characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL).handle
                await watch.pair()
                await watch.write(handles["features"], b"\x01")
                continue
            await watch.encrypt()
            with pytest.raises(att.ATT_Error) as refusal:
                await watch.read(handles["battery"])
            assert refusal.value.error_code == DATABASE_OUT_OF_SYNC
            (stored,) = await watch.client.read_characteristics_by_uuid(uuids.DATABASE_HASH, None)
            database = await watch.discover()
            assert stored == database_hash(database)
            assert len(await watch.read(handles["serial"])) == 12
            with pytest.raises(att.ATT_Error) as refusal:
                await watch.read(handles["battery"])
            assert refusal.value.error_code == att.ErrorCode.INVALID_HANDLE
        await room.phone.detached()


async def test_raw_att(room: Controllers, watch_on: SwitchOn) -> None:
    """d: an ATT PDU that Bumble's client cannot send."""
    async with watch_on(None), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        with RawChannel(watch.connection, att.ATT_CID) as channel:
            answer = await channel.ask(b"\x0a\xff\xff")
            assert answer == b"\x01\x0a\xff\xff\x01"


# e: a watch that does not bond


@pytest.mark.parametrize("option", ["--no-bonding", "--insecure-test-link"])
async def test_not_bondable(room: Controllers, tmp_path: Path, option: str) -> None:
    """e: no Service Changed, and pairing is refused with the right reason."""
    async with (
        cairn_in(room, None, tmp_path, option),
        Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attributes = {each.type for each in (await watch.discover()).attributes}
        assert attributes.isdisjoint({uuids.SERVICE_CHANGED, uuids.DATABASE_HASH})
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED


class Unwilling(Person):
    async def accept(self) -> bool:
        return False


async def test_refusal_is_understood(room: Controllers) -> None:
    """e, self-test: a watch that does not pair says so."""
    async with fake_on(room, None, Unwilling()), Phone.on(room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED


# g: what no phone sends


@contextlib.asynccontextmanager
async def raw_initiator(room: Controllers) -> AsyncIterator[RawInitiator]:
    async with Phone.on(room.phone.port) as phone:
        watch = await phone.connect(ADDRESS)
        with RawChannel(watch.connection, SMP_CID) as channel:
            yield RawInitiator(watch.connection, channel)
    await room.phone.detached()


async def test_raw_pairing_is_right(room: Controllers, watch_on: SwitchOn) -> None:
    """g: a valid pairing with raw PDUs encrypts the link, so that the tests below fail for their change alone."""
    async with watch_on(None), raw_initiator(room) as initiator:
        await initiator.negotiate()
        await initiator.exchange_keys()
        await initiator.exchange_randoms()
        await initiator.exchange_checks()
        await initiator.encrypt()


async def off_the_curve(initiator: RawInitiator) -> bytes:
    """Our x with another key's y."""
    await initiator.negotiate()
    return await initiator.channel.ask(initiator.public_key_pdu(y=EccKey.generate().y[::-1]))


async def at_infinity(initiator: RawInitiator) -> bytes:
    await initiator.negotiate()
    return await initiator.channel.ask(initiator.public_key_pdu(x=bytes(32), y=bytes(32)))


async def short_key(initiator: RawInitiator) -> bytes:
    return await initiator.channel.ask(initiator.request(key_size=7))


async def impossible_key(initiator: RawInitiator) -> bytes:
    return await initiator.channel.ask(initiator.request(key_size=17))


async def wrong_check(initiator: RawInitiator) -> bytes:
    await initiator.negotiate()
    await initiator.exchange_keys()
    await initiator.exchange_randoms()
    return await initiator.channel.ask(bytes([CommandCode.PAIRING_DHKEY_CHECK]) + bytes(16))


async def too_long(initiator: RawInitiator) -> bytes:
    return await initiator.channel.ask(initiator.request() + b"\x00")


async def too_short(initiator: RawInitiator) -> bytes:
    return await initiator.channel.ask(initiator.request()[:-1])


async def before_its_time(initiator: RawInitiator) -> bytes:
    await initiator.negotiate()
    return await initiator.channel.ask(bytes([CommandCode.PAIRING_DHKEY_CHECK]) + bytes(16))


@pytest.mark.parametrize(
    ("bent", "reasons"),
    [
        (off_the_curve, {ErrorCode.INVALID_PARAMETERS, ErrorCode.DHKEY_CHECK_FAILED}),
        (at_infinity, {ErrorCode.INVALID_PARAMETERS, ErrorCode.DHKEY_CHECK_FAILED}),
        (short_key, {ErrorCode.ENCRYPTION_KEY_SIZE}),
        (impossible_key, {ErrorCode.INVALID_PARAMETERS}),
        (wrong_check, {ErrorCode.DHKEY_CHECK_FAILED}),
        (too_long, {ErrorCode.INVALID_PARAMETERS}),
        (too_short, {ErrorCode.INVALID_PARAMETERS}),
        (before_its_time, {ErrorCode.UNSPECIFIED_REASON, ErrorCode.INVALID_PARAMETERS}),
    ],
)
async def test_bent_pairing(room: Controllers, tmp_path: Path, bent, reasons: set[ErrorCode]) -> None:
    """g: refused with the right code, no bond, and a correct phone pairs afterwards."""
    async with cairn_in(room, None, tmp_path):
        async with raw_initiator(room) as initiator:
            assert failure(await bent(initiator)) in reasons
        await another_phone_pairs(room)


async def test_pairing_storm(room: Controllers, tmp_path: Path) -> None:
    """g: a phone whose pairing failed has to wait before the next attempt."""
    async with cairn_in(room, None, tmp_path):
        async with raw_initiator(room) as initiator:
            began = time.monotonic()
            assert failure(await wrong_check(initiator)) == ErrorCode.DHKEY_CHECK_FAILED
            refused = 0
            # The wait is a second at first. A busy machine gets fewer attempts into it, and what is answered later says nothing.
            while refused < 100:
                answer = await initiator.channel.ask(initiator.request())
                if time.monotonic() - began > 1:
                    break
                assert failure(answer) == ErrorCode.REPEATED_ATTEMPTS
                refused += 1
            assert refused > 0
        await another_phone_pairs(room)


async def test_unknown_command_is_ignored(room: Controllers, tmp_path: Path) -> None:
    """g: codes that are reserved (Core 5.4, Vol 3, Part H, 3.3)."""
    async with cairn_in(room, None, tmp_path), raw_initiator(room) as initiator:
        for code in (0x00, 0x0F, 0x77, 0xFF):
            initiator.channel.send(bytes([code, 1, 2, 3]))
        await initiator.negotiate()


async def test_refusals_of_the_fake_watch(room: Controllers) -> None:
    """g, self-test: a public key on no curve, and a PDU before its time, reach the other side as they are."""
    async with fake_on(room, None, Person(NOTHING)):
        async with raw_initiator(room) as initiator:
            assert failure(await off_the_curve(initiator)) == ErrorCode.UNSPECIFIED_REASON
        async with raw_initiator(room) as initiator:
            assert failure(await before_its_time(initiator)) == ErrorCode.UNSPECIFIED_REASON


# h: what is left behind


async def test_capture_and_log_of_a_pairing(room: Controllers, tmp_path: Path) -> None:
    """h: tshark decodes a whole pairing, and no key is in the log, at any level."""
    file = tmp_path / "pairing.btsnoop"
    person = Person(YES_NO)
    async with cairn_on(room.watch.address, tmp_path, "--capture", str(file), log_level="trace") as program:
        async with Phone.on(room.phone.port, private=True, pairs=pairing(person)) as phone:
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            await watch.disconnect()
            watch = await phone.connect(ADDRESS)
            await watch.encrypt()
            keys = await phone.bond_with(ADDRESS)
            secrets = {"the phone's IRK": phone.device.irk}
            assert keys is not None and keys.ltk is not None
            secrets["the LTK"] = keys.ltk.value
            if keys.irk:
                secrets["the watch's IRK"] = keys.irk.value
        await room.phone.detached()
    decoded = capture.decode(file)
    assert decoded.malformed == []
    assert decoded.protocols["btsmp"] >= 10
    text = program.log.lower().replace(" ", "").replace(":", "")
    for name, key in secrets.items():
        for order in (key, key[::-1]):
            assert order.hex() not in text, f"{name} is in the log"
