"""Bonding with a person at the watch: every association model that needs one, and what the watch keeps when it is torn away.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble import att, crypto, hci
from bumble.core import AdvertisingData
from bumble.pairing import PairingConfig
from bumble.smp import ErrorCode, OobContext, OobSharedData
from rig import cairn
from rig import gatt as uuids
from rig.control import Control, Refused
from rig.controllers import Controllers, controllers
from rig.phone import ANDROID_ADDRESS, Phone
from rig.process import Program
from rig.security import (
    SMP_TIMEOUT_SECONDS,
    IoCapability,
    PairingRefused,
    Person,
    encrypt,
    pairing,
    stored_bonds,
)
from rig.waiting import GaveUp
from test_bonding import BONDED, BONDED_AND_ENCRYPTED, EVERYTHING, FRESH, connectivity
from watches import ADDRESS, cairn_on

DISPLAY = IoCapability.DISPLAY_OUTPUT_ONLY
YES_NO = IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
NOTHING = IoCapability.NO_OUTPUT_NO_INPUT
OTHER_PHONE = "E2:00:00:00:00:02"


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []


@contextlib.asynccontextmanager
async def watch_at_hand(
    room: Controllers, folder: Path, *options: str, state: Path | None = None
) -> AsyncIterator[tuple[Program, Control]]:
    """Cairn, and a person who can press its buttons and see what it shows."""
    socket = folder / "control"
    arguments = ("--control", str(socket), *(("--state", str(state)) if state else ()), *options)
    async with cairn_on(room.watch.address, folder, *arguments) as program, Control.on(socket) as control:
        await control.listen()
        yield program, control
    await room.watch.detached()


async def is_authenticated(phone: Phone) -> bool:
    keys = await phone.bond_with(ADDRESS)
    assert keys is not None and keys.ltk is not None
    return keys.ltk.authenticated


# a: a passkey that the phone shows and the watch's person types


@pytest.mark.parametrize("capability", ["keyboard-only", "keyboard-display"])
async def test_passkey_typed_on_the_watch(room: Controllers, tmp_path: Path, capability: str) -> None:
    """a: the right passkey, with the zeros in front of it."""
    person = Person(DISPLAY, passkey=4_711)
    async with (
        watch_at_hand(room, tmp_path, "--io-capability", capability) as (_, control),
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        assert (await control.event("pairing-waits"))["question"] == "type"
        (waiting,) = (await control.status())["pairing"]["waiting"]
        assert (waiting["phone"], waiting["question"]) == (ANDROID_ADDRESS, "type")
        with pytest.raises(Refused, match="passkey-is-asked"):
            await control.ask("confirm")
        await control.ask("passkey", passkey="004711")
        await attempt
        assert (await control.event("paired"))["isAuthenticated"]
        assert await is_authenticated(phone)
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        with pytest.raises(Refused, match="no-passkey-is-asked"):
            await control.ask("passkey", passkey="004711")


@pytest.mark.parametrize("is_typed", [True, False], ids=["wrong", "none"])
async def test_passkey_mistyped_on_the_watch(room: Controllers, tmp_path: Path, is_typed: bool) -> None:
    """a: another passkey, or none: there is no bond, and the next phone pairs."""
    person = Person(DISPLAY, passkey=123_456)
    async with watch_at_hand(room, tmp_path, "--io-capability", "keyboard-only") as (_, control):
        async with Phone.on(room.phone.port, pairs=pairing(person)) as phone:
            watch = await phone.connect(ADDRESS)
            attempt = asyncio.create_task(watch.pair())
            await control.event("pairing-waits")
            if is_typed:
                # Differs in the lowest bit, and so in the first of the twenty rounds.
                await control.ask("passkey", passkey="123457")
            else:
                await control.ask("refuse")
            with pytest.raises(PairingRefused) as refusal:
                await attempt
            expected = ErrorCode.CONFIRM_VALUE_FAILED if is_typed else ErrorCode.PASSKEY_ENTRY_FAILED
            assert refusal.value.reason == expected
            await control.event("pairing-failed")
            assert await phone.bond_with(ADDRESS) is None
            assert await connectivity(watch) == FRESH
        await room.phone.detached()
        other = Person(DISPLAY, passkey=999_999)
        async with Phone.on(room.phone.port, address=OTHER_PHONE, pairs=pairing(other)) as phone:
            watch = await phone.connect(ADDRESS)
            attempt = asyncio.create_task(watch.pair())
            await control.event("pairing-waits")
            await control.ask("passkey", passkey="999999")
            await attempt


@pytest.mark.slow
async def test_nobody_types_a_passkey(room: Controllers, tmp_path: Path) -> None:
    """a: half a minute without a passkey ends the pairing."""
    person = Person(DISPLAY, passkey=123_456)
    async with (
        watch_at_hand(room, tmp_path, "--io-capability", "keyboard-only") as (_, control),
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair(seconds=SMP_TIMEOUT_SECONDS + 20))
        await control.event("pairing-waits")
        await control.event("pairing-failed", SMP_TIMEOUT_SECONDS + 10)
        with pytest.raises(Refused, match="no-passkey-is-asked"):
            await control.ask("passkey", passkey="123456")
        assert await connectivity(watch) == FRESH
        await watch.disconnect()
        with pytest.raises(GaveUp, match="the connection ended"):
            await attempt


async def test_passkey_shown_by_the_watch(room: Controllers, tmp_path: Path) -> None:
    """a: the other way round, read off the watch's status."""
    person = Person(IoCapability.KEYBOARD_INPUT_ONLY)
    async with (
        watch_at_hand(room, tmp_path, "--io-capability", "display-only", "--pairing", "button") as (_, control),
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        await control.event("pairing-waits")
        (waiting,) = (await control.status())["pairing"]["waiting"]
        assert waiting["question"] == "show"
        with pytest.raises(Refused, match="passkey-is-shown"):
            await control.ask("confirm")
        person.watch_shows(int(waiting["number"]))
        await attempt
        assert await is_authenticated(phone)


# a: a pairing that a button confirms


@pytest.mark.parametrize(
    ("command", "fields", "is_yes"),
    [
        ("press", {"button": "up"}, True),
        ("press", {"button": "select"}, True),
        ("confirm", {}, True),
        ("press", {"button": "down"}, False),
        ("press", {"button": "back", "long": True}, False),
        ("refuse", {}, False),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("button", "") if isinstance(value, dict) else "",
)
async def test_button_confirms(room: Controllers, tmp_path: Path, command: str, fields: dict, is_yes: bool) -> None:
    """a: both show the same number, and nothing happens until a button is pressed."""
    person = Person(YES_NO)
    async with (
        watch_at_hand(room, tmp_path, "--pairing", "button") as (_, control),
        Phone.on(room.phone.port, pairs=pairing(person)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        question = await control.event("pairing-waits")
        shown = await person.prompts.take(10, "the number")
        assert question["question"] == "compare" and int(question["number"]) == shown.number
        await watch.round_trip()
        assert not attempt.done() and await connectivity(watch) == FRESH
        await control.ask(command, **fields)
        if is_yes:
            await attempt
            assert await is_authenticated(phone)
            assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        else:
            with pytest.raises(PairingRefused) as refusal:
                await attempt
            assert refusal.value.reason == ErrorCode.NUMERIC_COMPARISON_FAILED
            assert await connectivity(watch) == FRESH
        with pytest.raises(Refused, match="nothing-waits"):
            await control.ask("confirm")


@pytest.mark.parametrize("is_yes", [True, False], ids=["yes", "no"])
async def test_button_confirms_just_works(room: Controllers, tmp_path: Path, is_yes: bool) -> None:
    """a: there is no number to compare, and still a person has to say yes."""
    async with (
        watch_at_hand(room, tmp_path, "--pairing", "button") as (_, control),
        Phone.on(room.phone.port, pairs=pairing(Person(NOTHING))) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        assert (await control.event("pairing-waits"))["question"] == "confirm"
        await control.ask("press", button="up" if is_yes else "down")
        if is_yes:
            await attempt
            assert not await is_authenticated(phone)
        else:
            with pytest.raises(PairingRefused) as refusal:
                await attempt
            assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED


async def test_select_held_opens_pairing_and_back_held_forgets(room: Controllers, tmp_path: Path) -> None:
    """a, c: a second phone is refused until select is held; after back is held, no phone is remembered."""
    async with watch_at_hand(room, tmp_path) as (_, control):
        async with Phone.on(room.phone.port, pairs=pairing(Person(YES_NO))) as phone:
            await (await phone.connect(ADDRESS)).pair()
        await room.phone.detached()
        await control.event("disconnected", 20)
        pairs = pairing(Person(YES_NO))
        async with Phone.on(room.phone.port, address=OTHER_PHONE, pairs=pairs) as phone:
            watch = await phone.connect(ADDRESS)
            with pytest.raises(PairingRefused) as refusal:
                await watch.pair()
            assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
            await control.ask("press", button="select", long=True)
            assert (await control.status())["pairing"]["isOpen"]
            await watch.pair()
            assert (await control.event("forgotten"))["phone"] == ANDROID_ADDRESS
            assert [each["phone"] for each in (await control.status())["phones"]] == [OTHER_PHONE]
            await control.ask("press", button="back", long=True)
            assert (await control.event("forgotten"))["phone"] == OTHER_PHONE
            await watch.disconnected()
            assert (await control.status())["phones"] == []


# a: out of band data


def watch_secrets(block: str) -> OobSharedData:
    """The watch's block as Bumble reads it; the address and the role are checked by hand, for Bumble's address has no type."""
    structures = dict(AdvertisingData.from_bytes(bytes.fromhex(block)).ad_structures)
    assert structures[AdvertisingData.LE_BLUETOOTH_DEVICE_ADDRESS] == bytes(hci.Address(ADDRESS)) + b"\x01"
    assert structures[AdvertisingData.LE_ROLE] == b"\x00"
    return OobSharedData(
        c=structures[AdvertisingData.LE_SECURE_CONNECTIONS_CONFIRMATION_VALUE],
        r=structures[AdvertisingData.LE_SECURE_CONNECTIONS_RANDOM_VALUE],
    )


def phone_block(secrets: OobSharedData) -> str:
    """The phone's block."""
    address = bytes(hci.Address(ANDROID_ADDRESS)) + b"\x01"
    mine = bytes(AdvertisingData([(AdvertisingData.LE_BLUETOOTH_DEVICE_ADDRESS, address)]))
    return (mine + bytes(secrets.to_ad())).hex()


def out_of_band(context: OobContext, watch: OobSharedData | None) -> PairingConfig:
    return pairing(Person(NOTHING), oob=PairingConfig.OobConfig(context, watch, None))


@pytest.mark.parametrize("way", ["both-ways", "watch-to-phone", "phone-to-watch"])
async def test_out_of_band(room: Controllers, tmp_path: Path, way: str) -> None:
    """a: with the other's out of band data no person is needed, and the bond is authenticated."""
    context = OobContext()
    async with watch_at_hand(room, tmp_path, "--pairing", "button") as (_, control):
        secrets = None
        if way != "phone-to-watch":
            secrets = watch_secrets((await control.ask("oob"))["data"])
        if way != "watch-to-phone":
            await control.ask("take-oob", data=phone_block(context.share()))
        async with Phone.on(room.phone.port, pairs=out_of_band(context, secrets)) as phone:
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            assert (await control.event("paired"))["isAuthenticated"]
            assert await connectivity(watch) == BONDED_AND_ENCRYPTED
            assert (await control.status())["phones"][0]["isAuthenticated"]


@pytest.mark.parametrize("whose", ["watch", "phone", "stale"])
async def test_out_of_band_with_other_secrets(room: Controllers, tmp_path: Path, whose: str) -> None:
    """a: with wrong out of band data there is no bond."""
    context = OobContext()
    async with watch_at_hand(room, tmp_path) as (_, control):
        secrets = watch_secrets((await control.ask("oob"))["data"])
        mine = context.share()
        if whose == "watch":
            secrets = OobSharedData(c=secrets.c, r=bytes(16))
        elif whose == "phone":
            mine = OobSharedData(c=mine.c, r=bytes(16))
        else:
            # Made again: the data that was given out before is not valid any more.
            await control.ask("oob")
        await control.ask("take-oob", data=phone_block(mine))
        async with Phone.on(room.phone.port, pairs=out_of_band(context, secrets)) as phone:
            watch = await phone.connect(ADDRESS)
            with pytest.raises(PairingRefused) as refusal:
                await watch.pair()
            assert refusal.value.reason == ErrorCode.CONFIRM_VALUE_FAILED
            assert await connectivity(watch) == FRESH
            assert (await control.status())["phones"] == []


async def test_out_of_band_without_secrets(room: Controllers, tmp_path: Path) -> None:
    """a: a phone that says it has the watch's secrets, of which the watch never made any."""
    invented = OobSharedData(c=bytes(16), r=bytes(16))
    async with (
        watch_at_hand(room, tmp_path),
        Phone.on(room.phone.port, pairs=out_of_band(OobContext(), invented)) as phone,
    ):
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.OOB_NOT_AVAILABLE


# b: a watch that hides who it is


def is_of(key: bytes, address: hci.Address) -> bool:
    """Whether a private address was made with a key (Core 5.4, Vol 6, Part B, 1.3.2.3)."""
    octets = bytes(address)
    return address.is_resolvable and crypto.ah(key, octets[3:]) == octets[:3]


@pytest.mark.slow
async def test_private_address(room: Controllers, tmp_path: Path) -> None:
    """b: the watch's address changes with time and with a restart; the phone tells by its key whose it is, and encrypts."""
    seen: list[str] = []
    options = ("--private-address", "1")

    async def meet(phone: Phone) -> None:
        address = await phone.find(lambda report: report.address.to_string(False) not in seen)
        seen.append(address.to_string(False))
        watch = await phone.connect(seen[-1])
        if len(seen) == 1:
            assert await connectivity(watch) == FRESH
            await watch.pair()
        else:
            assert await connectivity(watch) == BONDED
        keys = await phone.bond_with(ADDRESS)
        assert keys is not None and keys.irk is not None and keys.ltk is not None
        assert is_of(keys.irk.value, address)
        if len(seen) > 1:
            await encrypt(watch.connection, keys.ltk.value)
        assert await connectivity(watch) == BONDED_AND_ENCRYPTED
        await watch.disconnect()

    async with Phone.on(room.phone.port, private=True, pairs=pairing(Person(YES_NO))) as phone:
        async with watch_at_hand(room, tmp_path, *options, state=tmp_path / "state"):
            await meet(phone)
            # A minute later.
            await meet(phone)
        async with watch_at_hand(room, tmp_path, *options, state=tmp_path / "state"):
            await meet(phone)
    assert len(set(seen)) == 3


# b: what a phone set is kept when it set it


async def test_what_a_phone_wrote_survives_a_power_cut(room: Controllers, tmp_path: Path) -> None:
    """b: Client Supported Features and subscriptions are there after kill -9 right after the writes were answered."""
    bonds = stored_bonds(tmp_path / "phone.json")
    state = tmp_path / "state"
    handles: dict[str, int] = {}

    def switched_on() -> contextlib.AbstractAsyncContextManager[Phone]:
        return Phone.on(room.phone.port, keystore=bonds, pairs=pairing(Person(YES_NO)))

    program = await cut_off(room, tmp_path, state)
    async with switched_on() as phone:
        watch = await phone.connect(ADDRESS)
        database = await watch.discover()
        features = database.characteristic(uuids.GATT_SERVICE, uuids.CLIENT_SUPPORTED_FEATURES)
        changed = database.characteristic(uuids.GATT_SERVICE, uuids.SERVICE_CHANGED)
        battery = database.characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
        handles |= {"changed": changed.handle, "battery": battery.handle}
        await watch.pair()
        await watch.subscribe(changed, bits=2)
        await watch.write(features.handle, b"\x01")
        program.kill()
        await program.wait_for_exit(10)
    await room.phone.detached()
    await room.watch.detached()
    options = ("--no-battery", "--service-changed-delay", "0")
    async with watch_at_hand(room, tmp_path, *options, state=state), switched_on() as phone:
        watch = await phone.connect(ADDRESS)
        indications = watch.listen(handles["changed"])
        await watch.encrypt()
        with pytest.raises(att.ATT_Error) as refusal:
            await watch.read(handles["battery"])
        assert refusal.value.error_code == att.ErrorCode.DATABASE_OUT_OF_SYNC, "the watch forgot that the phone caches"
        assert await indications.take(10, "Service Changed") == EVERYTHING


async def cut_off(room: Controllers, folder: Path, state: Path) -> Program:
    """A watch that the test kills."""
    command = (str(cairn.binary()), "run", "--controller", room.watch.address, "--address", ADDRESS, "--state", str(state))
    program = await Program.start(command, folder / "cut.log")
    await program.wait_for_line("advertises for", cairn.START_SECONDS)
    return program
