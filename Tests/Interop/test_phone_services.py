"""What an iPhone offers by itself, without any app: notifications, player and clock, as the watch uses them.

The letters are the rows of the table in Tests/README.md.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bumble import att
from bumble.profiles import ams, ancs
from phones.handset import IPhone
from phones.libpebble3 import LibPebble3IOS
from rig import companion, control
from rig.apple import Clock, DeviceInformation, HostedService, MediaPlayer, Notification, NotificationCenter
from rig.control import Control
from rig.controllers import controllers
from rig.process import Program
from watches import ADDRESS, cairn_on

CHAT = "com.example.chat"
PHONE = "com.apple.mobilephone"
APPS = {CHAT: "Chat", PHONE: "Phone"}

#: Positive and negative, as the watch numbers what can be done with a notification.
YES, NO = 0, 1


@dataclass
class Pair:
    """An iPhone and a watch, and the person at the watch."""

    iphone: IPhone
    program: Program
    state: Path
    person: Control

    async def connect(self, *hosted: HostedService) -> None:
        """Connects for the first time, and pairs; before that, the watch uses nothing."""
        link = await self.iphone.connect(ADDRESS)
        await link.round_trip()
        assert [each.subscriptions.waiting for each in hosted] == [[] for _ in hosted]
        await link.pair()

    async def until(self, what: str, accept: Any) -> dict[str, Any]:
        return await control.until(self.state, what, accept)

    async def shown(self, what: str, accept: Any) -> list[dict[str, Any]]:
        """What the watch shows, once it is as wanted."""
        return (await self.until(what, lambda services: accept(services["notifications"])))["notifications"]

    async def clock_set(self, zone: str) -> None:
        await self.person.events.take(
            10, "the clock to be set", lambda event: event["event"] == "clock-set" and zone in event["text"]
        )

    async def service(self, name: str, result: str) -> dict[str, Any]:
        """The watch reports an event of one of the phone's services."""

        def accept(event: dict[str, Any]) -> bool:
            return (event["event"], event.get("name"), event.get("result")) == ("phone-service", name, result)

        return await self.person.events.take(20, f"{name}: {result}", accept)


@pytest.fixture
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    """`--personality` is the parameter, if there is one."""
    state = tmp_path / "state"
    options = ("--state", str(state), "--personality", getattr(request, "param", "universal"))
    async with controllers() as room, contextlib.AsyncExitStack() as stack:
        program = await stack.enter_async_context(cairn_on(room.watch.address, tmp_path, *options))
        person = await stack.enter_async_context(Control.on(state / "control.sock"))
        await person.listen()
        iphone = await stack.enter_async_context(IPhone.on(room.phone.port, tmp_path, room.phone.detached))
        yield Pair(iphone, program, state, person)
        assert room.faults == []


def host(iphone: IPhone) -> NotificationCenter:
    DeviceInformation(iphone.phone)
    return NotificationCenter(iphone.phone, APPS)


def asked_names(center: NotificationCenter) -> int:
    """How often the watch asked what an app is called."""
    return sum(command[0] == ancs.CommandId.GET_APP_ATTRIBUTES for command in center.commands.waiting)


async def test_notifications(pair: Pair) -> None:
    """a: a notification comes, a long one in parts, one changes, one is removed, and actions arrive at the phone."""
    center = host(pair.iphone)
    await pair.connect(center)
    await center.subscribed()
    await pair.service("notifications", "began")

    first = center.show(Notification(CHAT, "Ada", "Hello", positive="Reply"))
    (shown,) = await pair.shown("a notification", len)
    assert shown == {
        "id": shown["id"],
        "app": "Chat",
        "title": "Ada",
        "body": "Hello",
        "time": 1735732800,
        "actions": {"0": "Reply", "1": "Clear"},
    }

    # More than the watch asks for, in parts of 20 bytes, cut through a character.
    center.part = 20
    long = "Grüße, 世界 " * 40
    second = center.show(Notification(CHAT, "T" * 200, long, subtitle="S" * 99))
    shown = (await pair.shown("a long notification", lambda each: len(each) == 2))[1]
    assert shown["title"] == "T" * 128
    assert shown["subtitle"] == "S" * 40
    assert shown["body"] == long.encode()[:200].decode(errors="ignore")
    assert asked_names(center) == 1

    center.change(second, Notification(CHAT, "Bob", "Changed"))
    await pair.shown("the change", lambda each: [each["title"] for each in each] == ["Ada", "Bob"])

    center.remove(second)
    (shown,) = await pair.shown("the removal", lambda each: len(each) == 1)

    await pair.person.ask("act", item=shown["id"], action=YES)
    assert await center.actions.take(5, "the positive action") == (first, ancs.ActionId.POSITIVE)
    await pair.person.ask("act", item=shown["id"], action=NO)
    assert await center.actions.take(5, "the negative action") == (first, ancs.ActionId.NEGATIVE)
    await pair.shown("nothing", lambda each: each == [])
    assert "problem" not in pair.program.log


@pytest.mark.parametrize("pair", ["snowy"], indirect=True)
async def test_an_older_watch(pair: Pair) -> None:
    """h: a Pebble Time asks for less of a title, with an MTU of 158."""
    center = host(pair.iphone)
    await pair.connect(center)
    await center.subscribed()
    center.show(Notification(CHAT, "T" * 200, "M" * 300))
    (shown,) = await pair.shown("a notification", len)
    assert (shown["title"], shown["body"]) == ("T" * 40, "M" * 200)


async def test_calls(pair: Pair) -> None:
    """b: an iPhone's call rings on the watch, is answered and refused there, and ends; one is missed."""
    center = host(pair.iphone)
    await pair.connect(center)
    await center.subscribed()
    call = Notification(
        PHONE, "\u202aMum\u202c", category=ancs.CategoryId.INCOMING_CALL, positive="Answer", negative="Decline"
    )
    uid = center.show(call)
    calls = (await pair.until("a call", lambda services: services["calls"]))["calls"]
    assert calls == [{"state": "incoming", "name": "Mum", "number": ""}]
    await pair.person.ask("answer-call")
    assert await center.actions.take(5, "the answer") == (uid, ancs.ActionId.POSITIVE)
    center.remove(uid)
    await pair.until("the end of the call", lambda services: services["calls"] == [])

    uid = center.show(call)
    await pair.until("another call", lambda services: services["calls"])
    await pair.person.ask("end-call")
    assert await center.actions.take(5, "the refusal") == (uid, ancs.ActionId.NEGATIVE)
    assert (await pair.until("its end", lambda services: services["calls"] == []))["notifications"] == []

    # The phone counts the refused one as missed; the user who refused it knows.
    center.show(Notification(PHONE, "Mum", "Missed call", category=ancs.CategoryId.MISSED_CALL))
    center.show(Notification("com.example.voip", "Dad", "Missed call", category=ancs.CategoryId.MISSED_CALL))
    await pair.shown("a missed call", lambda each: [each["title"] for each in each] == ["Dad"])


async def test_media(pair: Pair) -> None:
    """c: what plays, a title longer than a notification, the volume; keys arrive at the player, and a refused one is told."""
    player = MediaPlayer(pair.iphone.phone)
    # Shorter than the title.
    pair.iphone.phone.device.gatt_server.max_mtu = IPhone.mtu
    title = "A title that is longer than what one notification holds: " + "ü" * 100
    for entity, attribute, value in (
        (ams.EntityId.TRACK, ams.TrackAttributeId.ARTIST, "Ada"),
        (ams.EntityId.TRACK, ams.TrackAttributeId.TITLE, title),
        (ams.EntityId.TRACK, ams.TrackAttributeId.DURATION, "184.755"),
        (ams.EntityId.PLAYER, ams.PlayerAttributeId.PLAYBACK_INFO, "1,1.0,12.5"),
        (ams.EntityId.PLAYER, ams.PlayerAttributeId.VOLUME, "0.604925"),
    ):
        player.set(entity, attribute, value)
    await pair.connect(player)
    await pair.service("media", "began")
    # The order and the bytes of a real watch.
    assert [bytes(each) for each in player.registrations.waiting] == [
        bytes([0, 1, 2]),
        bytes([1, 0, 1, 2, 3]),
        bytes([2, 0, 1, 2, 3]),
    ]
    assert await player.reads.take(5, "the whole title") == (ams.EntityId.TRACK, ams.TrackAttributeId.TITLE)
    known = title.encode()[:64].decode(errors="ignore")
    music = (await pair.until("the title", lambda services: services["music"].get("title") == known))["music"]
    assert music == {"artist": "Ada", "title": known, "state": "playing", "volume": 60}
    assert await pair.person.events.take(
        5, "the music in words", lambda event: event["event"] == "service" and "plays: Ada, A title" in event["text"]
    )

    keys = {
        "play": ams.RemoteCommandId.PLAY,
        "pause": ams.RemoteCommandId.PAUSE,
        "play-pause": ams.RemoteCommandId.TOGGLE_PLAY_PAUSE,
        "next": ams.RemoteCommandId.NEXT_TRACK,
        "previous": ams.RemoteCommandId.PREVIOUS_TRACK,
        "volume-up": ams.RemoteCommandId.VOLUME_UP,
        "volume-down": ams.RemoteCommandId.VOLUME_DOWN,
    }
    for key, command in keys.items():
        await pair.person.ask("music", key=key)
        assert await player.commands.take(5, key) == command
    player.able.clear()
    await pair.person.ask("music", key="next")
    assert "does not do that" in (await pair.service("media", "problem"))["reason"]


async def test_time(pair: Pair) -> None:
    """d: the phone's clock sets the watch's, when it connects and when it changes; nonsense does not."""
    start = datetime.datetime(2030, 6, 1, 12, 0, 0)
    clock = Clock(pair.iphone.phone, start, quarters=8)
    await pair.connect(clock)
    await pair.clock_set("UTC+2")
    await clock.subscriptions.take(10, "a subscription to the time")
    clock.quarters = 22
    clock.set(start, Clock.ZONE_CHANGED)
    await pair.clock_set("UTC+5:30")
    clock.notify(clock.time, b"\x00" * 10)
    assert "is none" in (await pair.service("time", "problem"))["reason"]
    clock.set(start + datetime.timedelta(hours=1), Clock.MANUAL)
    await pair.clock_set("UTC+5:30")

    # The Pebble app reads the same clock.
    client = LibPebble3IOS(pair.iphone)
    session = await client.connect(ADDRESS)
    await pair.clock_set("Europe/Paris")
    clock.set(start, Clock.MANUAL)
    await pair.clock_set("UTC+5:30")
    expected = (start - datetime.timedelta(hours=5, minutes=30)).replace(tzinfo=datetime.timezone.utc).timestamp()
    assert 0 <= await companion.ask_time(session) - expected <= 5
    assert client.violations == []


async def test_coming_and_going(pair: Pair) -> None:
    """e: a phone without the services, which come later, vanish in the middle of an answer, and come again; the Pebble
    app's session never notices."""
    client = LibPebble3IOS(pair.iphone)
    session = await client.connect(ADDRESS)
    await companion.ping(session, 1)
    phone = pair.iphone.phone
    links = (await pair.person.status())["links"]
    assert [link["services"] for link in links] == [[]]

    center = host(pair.iphone)
    first, last = center.range
    pair.iphone.database_changed(first - 3, last)
    await center.subscribed()
    await pair.service("notifications", "began")
    assert [link["services"] for link in (await pair.person.status())["links"]] == [["notifications"]]

    # Only the beginning of the answer comes.
    center.spoil = lambda answer: answer[:30]
    center.show(Notification(CHAT, "Ada", "Hello"))
    await center.commands.take(5, "a question")
    pair.iphone.database_changed(*phone.remove(center))
    await pair.service("notifications", "ended")
    await companion.ping(session, 2)

    center = NotificationCenter(phone, APPS)
    pair.iphone.database_changed(*center.range)
    await center.subscribed()
    await pair.service("notifications", "began")
    center.show(Notification(CHAT, "Bob", "Hello again"))
    await pair.shown("a notification", lambda each: [each["title"] for each in each] == ["Bob"])
    await companion.ping(session, 3)
    assert client.violations == []


async def test_refusals(pair: Pair) -> None:
    """f: no subscription without authentication; notifications that are gone, refused, malformed, without an app; garbage. Each
    is a problem with a name, and the next notification comes."""
    phone = pair.iphone.phone
    strict = host(pair.iphone)
    strict.refuse_subscriptions(strict.source)
    await pair.connect(strict)
    refused = (await pair.service("notifications", "problem"))["reason"]
    assert "Insufficient Authentication" in refused, refused

    pair.iphone.database_changed(*phone.remove(strict))
    center = NotificationCenter(phone, APPS)
    pair.iphone.database_changed(*center.range)
    await center.subscribed()

    async def problem(words: str) -> None:
        reason = (await pair.service("notifications", "problem"))["reason"]
        assert words in reason, reason

    uid = center.show(Notification(CHAT, "gone"))
    del center.notifications[uid]
    await problem("has no notification")
    center.notify(center.source, b"\x07" * 8)
    await problem("cannot be read")
    center.notify(center.source, b"\x00")
    await problem("cannot be read")
    center.spoil = lambda answer: b"\x00\xff" + answer[2:]
    center.show(Notification(CHAT, "of another number"))
    await problem("is none")
    center.spoil = lambda answer: answer[:5] + bytes([9, 0, 0])
    center.show(Notification(CHAT, "of an unknown attribute"))
    await problem("is none")
    center.spoil = lambda answer: answer
    center.show(Notification("", "of no app"))
    await problem("belongs to no app")
    center.refusal = att.ATT_Error(att.ErrorCode.INSUFFICIENT_AUTHENTICATION)
    center.show(Notification(CHAT, "refused once"))
    await center.commands.take(5, "the refused question", lambda command: command[1:5] == b"\x05\x00\x00\x00")
    center.refusal = None
    # It is asked again five seconds later.
    center.show(Notification("com.example.nameless", "of an app without a name"))
    shown = await pair.shown("both", lambda each: len(each) == 2)
    assert [(each["title"], each.get("app")) for each in shown] == [
        ("refused once", "Chat"),
        ("of an app without a name", None),
    ]
    await problem("does not name")


async def test_link_lost(pair: Pair) -> None:
    """g: the phone goes in the middle, and comes back: what was there before is not shown twice, and can be acted on again."""
    center = host(pair.iphone)
    player = MediaPlayer(pair.iphone.phone)
    player.set(ams.EntityId.TRACK, ams.TrackAttributeId.TITLE, "Song")
    await pair.connect(center, player)
    await center.subscribed()
    shown = Notification(CHAT, "Ada", "Hello")
    center.show(shown)
    (before,) = await pair.shown("a notification", len)
    await pair.until("a song", lambda services: services["music"].get("title") == "Song")
    center.spoil = lambda answer: answer[:30]
    center.show(Notification(CHAT, "Bob", "half"))
    seen = len(pair.program.lines)
    await pair.iphone.switch_off()
    await pair.program.wait_for_line("advertises for", 20, after=seen)
    services = await control.services(pair.state)
    assert services["music"] == {}
    with pytest.raises(control.Refused):
        await pair.person.ask("music", key="next")

    await pair.iphone.switch_on()
    center = host(pair.iphone)
    uid = center.keep(shown)
    await pair.iphone.connect(ADDRESS)
    await center.subscribed()
    await pair.service("notifications", "began")
    center.tell(ancs.EventId.NOTIFICATION_ADDED, uid)
    center.show(Notification(CHAT, "Cid", "new"))
    after = await pair.shown("the new one", lambda each: [each["title"] for each in each] == ["Ada", "Cid"])
    assert after[0]["id"] == before["id"]
    await pair.person.ask("act", item=before["id"], action=NO)
    assert await center.actions.take(5, "the action") == (uid, ancs.ActionId.NEGATIVE)
