"""Attacks on a watch that has an owner: `attacks/kit.py` is the attacker's.

Docs/security.md has the list of attacks, and what is promised.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attacks.kit import NOTHING, OWNER, STRANGER, YES_NO, Scene, connectivity, host_session, scene_of
from bumble import att
from bumble.smp import AuthReq, ErrorCode
from rig import companion
from rig import gatt as uuids
from rig.controllers import Controllers, controllers
from rig.phone import WatchLink
from rig.security import ATT_CID, SMP_CID, PairingRefused, Person, RawChannel, RawInitiator, failure
from watches import ADDRESS

#: A range of handles, as Service Changed has it.
EVERYTHING = b"\x01\x00\xff\xff"
READ_BY_TYPE_DEVICE_NAME = b"\x08\x01\x00\xff\xff\x00\x2a"

BUTTON = pytest.mark.parametrize("scene", [("--pairing", "button")], indirect=True, ids=["button"])
OPEN = pytest.mark.parametrize("scene", [("--pairing", "open")], indirect=True, ids=["open"])


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room
        assert room.faults == []
        assert room.watch.controller.refused == []


@pytest.fixture
async def scene(room: Controllers, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    """A watch as it is started where nothing else is said, or with the options of the test's parameter."""
    async with scene_of(room, tmp_path, *getattr(request, "param", ())) as scene:
        yield scene


@pytest.mark.parametrize("bonding", [False, True], ids=["without-bonding", "with-bonding"])
async def test_takeover_of_a_closed_watch(scene: Scene, bonding: bool) -> None:
    """The owner's address and no key: no pairing, no "is back", no session; and the owner hears of it."""
    await scene.take_possession()
    seen = len(scene.watch.lines)
    async with scene.attacker(bonding=bonding, person=Person(YES_NO)) as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
        assert (await connectivity(watch))[3] == ErrorCode.PAIRING_NOT_SUPPORTED
        await hosted.stays_closed()
        assert not watch.connection.is_encrypted
    refused = await scene.control.event("pairing-refused")
    assert (refused["phone"], refused["reason"]) == (OWNER, "key-lost")
    assert "cairn pair" in refused["advice"]
    assert not any("is back" in line for line in scene.watch.lines[seen:])
    await scene.owner_is_served()


async def test_a_comparison_that_no_person_made(scene: Scene) -> None:
    """The watch accepts the number by itself: in every place that tells of it, that counts as no authentication."""
    async with scene.owner(Person(YES_NO)) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        assert not (await scene.control.event("paired"))["isAuthenticated"]
        status = await scene.control.status()
        assert not status["phones"][0]["isAuthenticated"]
        assert not status["links"][0]["isAuthenticated"]


async def pair_with_a_yes(scene: Scene, watch: WatchLink) -> None:
    """Pairs while a person at the watch says yes."""
    attempt = asyncio.create_task(watch.pair())
    await scene.control.event("pairing-waits")
    await scene.control.ask("confirm")
    await attempt


async def test_another_phone_while_closed(scene: Scene) -> None:
    """The same with any name of the stranger; and the owner is told who, why, and what to press."""
    await scene.take_possession()
    async with scene.attacker(STRANGER) as phone:
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
        refused = (await scene.control.status())["pairing"]["refused"]
        assert (refused["phone"], refused["reason"]) == (STRANGER, "closed")
        assert "hold select" in refused["advice"]
    assert any("closed to new phones" in line and "cairn pair" in line for line in scene.watch.lines)
    await scene.owner_is_served()


@BUTTON
async def test_key_is_replaced_only_when_a_person_says_yes(scene: Scene) -> None:
    """Any phone may ask; until a person has answered, a phone without the key gets nothing of the bonded one's."""
    await scene.take_possession(with_a_yes=True)
    seen = len(scene.watch.lines)
    async with scene.attacker(person=Person(YES_NO)) as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        attempt = asyncio.create_task(watch.pair())
        await scene.control.event("pairing-waits")
        await hosted.stays_closed()
        assert not any("is back" in line for line in scene.watch.lines[seen:])
        await scene.control.ask("confirm")
        await attempt
        assert (await scene.control.event("key-replaced"))["phone"] == OWNER
        await hosted.opened()


@pytest.mark.parametrize("private", [False, True], ids=["same-address", "private-address"])
async def test_a_reset_phone_is_one_press_away(scene: Scene, private: bool) -> None:
    """The same identity, another identity key: refused, until select is held; then it is another key of the same phone."""
    async with scene.owner(private=private) as phone:
        await (await phone.connect(ADDRESS)).pair()
    async with scene.attacker(private=private, person=Person(YES_NO)) as phone:
        watch = await phone.connect(ADDRESS)
        with pytest.raises(PairingRefused) as refusal:
            await watch.pair()
        assert refusal.value.reason == ErrorCode.PAIRING_NOT_SUPPORTED
        await scene.control.ask("press", button="select", long=True)
        await watch.pair()
        assert (await scene.control.event("key-replaced"))["phone"] == OWNER
        assert (await connectivity(watch))[0] == 0x1F
        assert [each["phone"] for each in (await scene.control.status())["phones"]] == [OWNER]


@BUTTON
async def test_identity_that_is_only_claimed(scene: Scene) -> None:
    """A stranger may pair, and claims the owner's identity in his keys: a weaker key is not taken, and the link ends."""
    await scene.take_possession(with_a_yes=True)
    async with scene.attacker(private=True, person=Person(NOTHING)) as phone:
        watch = await phone.connect(ADDRESS)
        # The attacker gives his keys last, and need not have heard that they were not taken.
        with contextlib.suppress(PairingRefused):
            await pair_with_a_yes(scene, watch)
        assert "Key Rejected" in (await scene.control.event("pairing-failed"))["reason"]
        await watch.disconnected()
    assert (await scene.control.status())["phones"][0]["isAuthenticated"]
    await scene.owner_is_served()


@OPEN
async def test_bench_pairs_again_by_itself(scene: Scene) -> None:
    """And it warns at its start that any phone may pair."""
    assert any("pairing is open: anyone" in line for line in scene.watch.lines)
    await scene.take_possession()
    async with scene.attacker(person=Person(YES_NO)) as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        await hosted.opened()
        assert (await scene.control.event("key-replaced"))["phone"] == OWNER


@OPEN
async def test_shortened_key(scene: Scene) -> None:
    """KNOB: a key of 7 octets, from a phone that may pair otherwise."""
    await scene.take_possession()
    async with scene.attacker() as phone:
        watch = await phone.connect(ADDRESS)
        with RawChannel(watch.connection, SMP_CID) as channel:
            initiator = RawInitiator(watch.connection, channel)
            for size in range(7, 16):
                assert failure(await channel.ask(initiator.request(key_size=size))) == ErrorCode.ENCRYPTION_KEY_SIZE
    await scene.owner_is_served()


async def test_pairing_while_encrypted(scene: Scene) -> None:
    """A weaker pairing inside the owner's own link: refused, and neither link nor key have changed."""
    await scene.take_possession()
    async with scene.owner() as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()
        await hosted.opened()
        with RawChannel(watch.connection, SMP_CID) as channel:
            initiator = RawInitiator(watch.connection, channel)
            for request in (initiator.request(auth_req=AuthReq.SC), initiator.request(auth_req=AuthReq.BONDING)):
                assert failure(await channel.ask(request)) == ErrorCode.AUTHENTICATION_REQUIREMENTS
        assert (await connectivity(watch))[0] == 0x1F
        await companion.introduce(hosted.session)
        assert (await companion.ask_version(hosted.session)).running.version_tag
    await scene.owner_is_served()


async def test_service_changed_from_a_stranger(scene: Scene) -> None:
    """With the owner's address, for every handle: the watch confirms, and changes nothing that it remembers."""
    await scene.take_possession()
    seen = len(scene.watch.lines)
    async with scene.attacker() as phone:
        watch = await phone.connect(ADDRESS)
        with RawChannel(watch.connection, ATT_CID) as channel:
            for handle in range(1, 0x40):
                # The confirmation goes to Bumble, before the answer to what is asked next.
                channel.send(b"\x1d" + handle.to_bytes(2, "little") + EVERYTHING)
                answer = await channel.ask(READ_BY_TYPE_DEVICE_NAME)
                assert answer[0] == att.Opcode.ATT_READ_BY_TYPE_RESPONSE
    # What is remembered of the owner's phone is good: nothing was said to be out of date.
    await scene.owner_is_served()
    assert not any("out of date" in line for line in scene.watch.lines[seen:])


async def test_what_a_stranger_subscribes_to_is_his_own(scene: Scene) -> None:
    """Poisoning: on a plain link with the owner's address; the owner's subscriptions are as they were."""
    async with scene.owner() as phone:
        watch = await phone.connect(ADDRESS)
        battery = (await watch.discover()).characteristic(uuids.BATTERY_SERVICE, uuids.BATTERY_LEVEL)
        cccd = next(each.handle for each in battery.descriptors if each.type == uuids.CCCD)
        await watch.pair()
        await watch.subscribe(battery)
    async with scene.attacker() as phone:
        watch = await phone.connect(ADDRESS)
        assert await watch.read(cccd) == b"\x00\x00", "what the owner has subscribed to is nobody's affair"
        await watch.subscribe(battery)
        await watch.subscribe(battery, bits=0)
    async with scene.owner() as phone:
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()
        assert await watch.read(cccd) == b"\x01\x00"


async def test_a_session_does_not_go_on_with_another(scene: Scene) -> None:
    """The owner's session ends with his link; a phone with his address has none, and starts with none."""
    await scene.take_possession()
    async with scene.owner() as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()
        await hosted.opened()
        first = (await scene.control.event("session-opened"))["session"]
    await scene.control.event("session-closed", 20)
    async with scene.attacker() as phone:
        hosted = host_session(phone)
        watch = await phone.connect(ADDRESS)
        await hosted.stays_closed()
        assert (await scene.control.status())["sessions"] == []
        await scene.control.ask("open-pairing")
        await watch.pair()
        await hosted.opened()
        assert (await scene.control.event("session-opened"))["session"] > first
        # A conversation of its own from the first word on.
        await companion.introduce(hosted.session)
